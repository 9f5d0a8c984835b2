"""The scopes of a resolver's tokens."""

from __future__ import annotations

from typing import Final

from ibi.model.token import Scopes

READ: Final = "read"
OPERATE: Final = "operate"

SCOPES: Final = Scopes((READ, OPERATE))
