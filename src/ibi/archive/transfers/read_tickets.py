"""Read tickets: secrets with which the receiver of a transfer reads the offered item."""

from __future__ import annotations

import hashlib
import hmac
from typing import Final

from ibi.model.item import Item

SETTING: Final = "tickets"
"""The name of the catalogue's setting with the secret that tickets are made with."""


class ReadTickets:
    """The tickets of one archive, derived from a secret: none is stored."""

    def __init__(self, secret: bytes) -> None:
        """Derive tickets from a secret."""
        self._secret = secret

    def of(self, transfer: str) -> str:
        """Return the ticket of a transfer."""
        return hmac.new(self._secret, transfer.encode(), hashlib.sha256).hexdigest()

    def opens(self, item: Item, secret: str) -> bool:
        """Return whether a secret is the ticket of the open transfer of an item."""
        known = item.transfer
        if known is None or known.phase == "ready":
            return False
        given = secret.encode("utf-8", "surrogateescape")
        return hmac.compare_digest(self.of(known.id).encode(), given)
