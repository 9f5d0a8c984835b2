"""The pages of administrators of an archive, by their paths."""

from __future__ import annotations

from typing import Final

from ibi.archive.rules.scopes import ADMINISTER, CURATE
from ibi.errors import Sentence
from ibi.foundation.pages.administration import ADMIN, Tab

TASKS: Final = f"{ADMIN}/tasks"
FILES: Final = f"{ADMIN}/files"
RESOLVERS: Final = f"{ADMIN}/resolvers"
MINTING: Final = f"{ADMIN}/minting"
IDENTITY: Final = f"{ADMIN}/identity"
FIGURES: Final = f"{ADMIN}/figures"
ACCOUNTS: Final = f"{ADMIN}/accounts"
"""A page of foundation.accounts."""
AUDIT_LOG: Final = f"{ADMIN}/audit-log"

TABS: Final = (
    Tab(ADMIN, Sentence("Health"), CURATE),
    Tab(FIGURES, Sentence("Figures"), CURATE),
    Tab(TASKS, Sentence("Tasks"), CURATE),
    Tab(FILES, Sentence("Files"), CURATE),
    Tab(RESOLVERS, Sentence("Resolvers"), CURATE),
    Tab(ACCOUNTS, Sentence("Accounts"), ADMINISTER),
    Tab(MINTING, Sentence("Minting"), ADMINISTER),
    Tab(IDENTITY, Sentence("Identity"), ADMINISTER),
    Tab(AUDIT_LOG, Sentence("Audit log"), CURATE),
)
"""The tabs, in their order."""
