"""Tickets: secrets by which the archive that an item is offered to reads it, and nobody else."""

from __future__ import annotations

import hashlib
import hmac
from typing import Final

from ibi.model.item import Item

SETTING: Final = "tickets"
"""Under which a catalogue keeps the secret that they are made with."""


class ReadTickets:
    """The tickets of one archive; none has to be remembered."""

    def __init__(self, secret: bytes) -> None:
        """Make them with a secret."""
        self._secret = secret

    def of(self, transfer: str) -> str:
        """Return the ticket of a transfer."""
        return hmac.new(self._secret, transfer.encode(), hashlib.sha256).hexdigest()

    def opens(self, item: Item, secret: str) -> bool:
        """Tell whether a secret opens an item to the archive that it is offered to."""
        known = item.transfer
        if known is None or known.phase == "ready":
            return False
        given = secret.encode("utf-8", "surrogateescape")
        return hmac.compare_digest(self.of(known.id).encode(), given)
