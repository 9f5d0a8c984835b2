"""The scopes of a minting service's tokens."""

from __future__ import annotations

from typing import Final

from ibi.model.token import Scopes

MINT: Final = "mint"
ADMINISTER: Final = "administer"

SCOPES: Final = Scopes((MINT, ADMINISTER))
