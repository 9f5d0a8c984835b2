"""The scopes of a resolver's tokens, and of the roles of people with accounts."""

from __future__ import annotations

from typing import Final

from ibi.model.account import ADMINISTRATOR, VIEWER, RoleScopes
from ibi.model.token import Scopes

READ: Final = "read"
OPERATE: Final = "operate"

SCOPES: Final = Scopes((READ, OPERATE))

ROLE_SCOPES: Final[RoleScopes] = {VIEWER: READ, ADMINISTRATOR: OPERATE}
"""The scope of each role of people with accounts."""
