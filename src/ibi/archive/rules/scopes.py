"""The scopes of an archive's tokens, and of the roles of people with accounts."""

from __future__ import annotations

from typing import Final

from ibi.model.account import ADMINISTRATOR, CURATOR, DEPOSITOR, VIEWER, RoleScopes
from ibi.model.token import Scopes

READ: Final = "read"
DEPOSIT: Final = "deposit"
RECEIVE: Final = "receive"
"""By which another archive transfers Originals here; it reads nothing."""
CURATE: Final = "curate"
ADMINISTER: Final = "administer"

SCOPES: Final = Scopes((READ, DEPOSIT, RECEIVE, CURATE, ADMINISTER), apart=frozenset({RECEIVE}))

ROLE_SCOPES: Final[RoleScopes] = {
    VIEWER: READ,
    DEPOSITOR: DEPOSIT,
    CURATOR: CURATE,
    ADMINISTRATOR: ADMINISTER,
}
"""The scope of each role of people with accounts."""
