"""The scopes of an archive's tokens and of the roles of people, and what callers may do by them.

A session, and a token of an account, act with the rights of the role. A token that an operator made
belongs to no account, and its scope alone decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ibi.model.account import ADMINISTRATOR, CURATOR, DEPOSITOR, VIEWER, RoleScopes, owner_of
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


@dataclass(frozen=True, slots=True)
class Caller:
    """The person or the program that asks for an act."""

    name: str
    """As histories name it: `@account`, `@account/token`, or the name of an operator's token."""
    scopes: frozenset[str]
    """The scopes that its session or its token includes."""

    @property
    def account(self) -> str:
        """The name of its account; empty if it has none."""
        return owner_of(self.name)

    @property
    def is_limited(self) -> bool:
        """Whether it may change only the items that its account deposited."""
        return bool(self.account) and CURATE not in self.scopes
