"""Labels of services that the standard assigns."""

from __future__ import annotations

from typing import Final

from ibi.identifier.ibip import Ibip

DEFAULT_SERVICE: Final = Ibip.parse("J8LNKB5R7W/3FUQHC5")
"""The label of the resolver service (004, section 4.1)."""
