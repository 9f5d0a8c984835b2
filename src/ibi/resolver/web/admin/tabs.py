"""The pages of operators of a resolver, by their paths."""

from __future__ import annotations

from typing import Final

from ibi.errors import Sentence
from ibi.foundation.pages.administration import ADMIN, Tab
from ibi.resolver.rules.scopes import OPERATE, READ

REGISTRATIONS: Final = f"{ADMIN}/registrations"
CONFLICTS: Final = f"{ADMIN}/conflicts"
FIGURES: Final = f"{ADMIN}/figures"
ACCOUNTS: Final = f"{ADMIN}/accounts"
"""A page of foundation.accounts."""
AUDIT_LOG: Final = f"{ADMIN}/audit-log"

TABS: Final = (
    Tab(ADMIN, Sentence("Archives"), READ),
    Tab(REGISTRATIONS, Sentence("Registrations"), READ),
    Tab(CONFLICTS, Sentence("Conflicts"), READ),
    Tab(FIGURES, Sentence("Traffic"), READ),
    Tab(ACCOUNTS, Sentence("Accounts"), OPERATE),
    Tab(AUDIT_LOG, Sentence("Audit log"), READ),
)
"""The tabs, in their order."""
