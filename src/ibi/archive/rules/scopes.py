"""The scopes of an archive's tokens."""

from __future__ import annotations

from typing import Final

from ibi.model.token import Scopes

READ: Final = "read"
DEPOSIT: Final = "deposit"
RECEIVE: Final = "receive"
"""By which another archive transfers Originals here; it reads nothing."""
ADMINISTER: Final = "administer"

SCOPES: Final = Scopes((READ, DEPOSIT, RECEIVE, ADMINISTER), apart=frozenset({RECEIVE}))
