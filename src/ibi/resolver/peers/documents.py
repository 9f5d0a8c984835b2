"""Public documents of archives in JSON, over HTTP: their names, searches and tombstones.

They have connections of their own, so that they do not delay messages of the protocol.
"""

from __future__ import annotations

import time
from typing import Final

from ibi.foundation.http_client.ssrf_guard import OutboundGuard
from ibi.model.registration import RegisteredArchive
from ibi.resolver.peers.archive_client import ArchiveConnections, url_of
from ibi.resolver.peers.bounded_response import (
    BoundedDocuments,
    NoSlotError,
    RefusalError,
    Slots,
    document_of,
    words,
)
from ibi.resolver.ports.outbound import NoReply

MAX_DOCUMENTS: Final = 64
"""Documents that are fetched at the same time, for all purposes."""
MAX_PER_ARCHIVE: Final = 4
"""Documents that are fetched from one archive at the same time."""


class HttpDocumentClient:
    """Fetches documents over persistent connections; for one event loop."""

    def __init__(self, guard: OutboundGuard) -> None:
        """Open nothing yet: that needs the event loop."""
        slots = Slots(MAX_DOCUMENTS, MAX_PER_ARCHIVE)
        self._connections = ArchiveConnections(guard, slots, BoundedDocuments, "application/json")

    async def document(
        self, archive: RegisteredArchive, path: str, query: str, seconds: float
    ) -> bytes | NoReply | None:
        """Fetch a document in JSON; None if the archive has nothing at that path."""
        if not archive.address:
            return NoReply(archive.id, "it is not included", asked=False)
        begun = time.monotonic()
        try:
            url = url_of(archive.address, path, query)
            return await self._connections.get(url, seconds, document_of)
        except Exception as failure:  # noqa: BLE001  # the data of a stranger may cause any error
            return NoReply(
                archive.id,
                words(failure),
                time.monotonic() - begun,
                asked=not isinstance(failure, NoSlotError),
                alive=isinstance(failure, RefusalError),
            )

    async def close(self) -> None:
        """Close all connections; requests that are still open fail."""
        await self._connections.close()
