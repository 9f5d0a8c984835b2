"""Protocol of the public documents of archives, which are no part of the standard."""

from __future__ import annotations

from typing import Protocol

from ibi.model.registration import RegisteredArchive
from ibi.resolver.ports.outbound import NoReply


class DocumentClient(Protocol):
    """Fetches documents of archives; no fault of an archive raises, and each has a deadline."""

    async def document(
        self, archive: RegisteredArchive, path: str, query: str, seconds: float
    ) -> bytes | NoReply | None:
        """Fetch a document in JSON; None if the archive has nothing at that path."""
        ...

    async def close(self) -> None:
        """Close all connections."""
        ...
