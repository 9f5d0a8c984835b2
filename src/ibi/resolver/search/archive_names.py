"""The names that archives give themselves, which the standard's messages lack.

An archive of this software publishes its name (`GET /api/v1/archive`). Any archive can call itself
anything, so pages always show the address beside the name.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final

from ibi.model.registration import RegisteredArchive
from ibi.resolver.ports.documents import DocumentClient
from ibi.resolver.registry.registry import Registry
from ibi.resolver.rules.acknowledgment import is_ours
from ibi.resolver.rules.archive_documents import read_name

ARCHIVE_PATH: Final = "api/v1/archive"
LOOK_SECONDS: Final = 5.0
"""Seconds between two looks for archives whose names are due."""
NAME_SECONDS: Final = 3600.0
"""Seconds after which a name is fetched again."""
RETRY_SECONDS: Final = 600.0
"""Seconds after which a name that did not come is asked for again."""
MAX_AT_ONCE: Final = 8
"""Names that are fetched at the same time."""
MAX_IN_TURN: Final = 200
"""Names that are fetched between two looks."""
_TIMEOUT_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class _Name:
    text: str
    address: str
    due: float


class ArchiveNames:
    """The names of included archives, in the memory of this process; for one event loop."""

    def __init__(self, registry: Registry, documents: DocumentClient) -> None:
        """Know no name yet; `run` fetches them."""
        self._registry = registry
        self._documents = documents
        self._names: dict[str, _Name] = {}
        self._at_once = asyncio.Semaphore(MAX_AT_ONCE)

    def of(self, archive: str) -> str:
        """Return the name of an archive by its id; "" if it is not known."""
        known = self._names.get(archive)
        return "" if known is None else known.text

    async def run(self) -> None:
        """Fetch names, until cancelled."""
        while True:
            await self.fetch_due()
            await asyncio.sleep(LOOK_SECONDS)

    async def fetch_due(self) -> None:
        """Fetch the names that are due, and forget those of archives that were removed."""
        now = asyncio.get_running_loop().time()
        for name in [each for each in self._names if self._registry.find(each) is None]:
            del self._names[name]
        due = [each for each in self._registry.included() if self._is_due(each, now)]
        await asyncio.gather(*map(self._fetch, due[:MAX_IN_TURN]))

    def _is_due(self, archive: RegisteredArchive, now: float) -> bool:
        if not is_ours(archive) or not self._registry.is_asked(archive.id):
            return False
        known = self._names.get(archive.id)
        return known is None or known.address != archive.address or now >= known.due

    async def _fetch(self, archive: RegisteredArchive) -> None:
        async with self._at_once:
            reply = await self._documents.document(archive, ARCHIVE_PATH, "", _TIMEOUT_SECONDS)
        now = asyncio.get_running_loop().time()
        if isinstance(reply, bytes):
            name = _Name(read_name(reply), archive.address, now + NAME_SECONDS)
        else:
            name = _Name(self.of(archive.id), archive.address, now + RETRY_SECONDS)
        self._names[archive.id] = name
