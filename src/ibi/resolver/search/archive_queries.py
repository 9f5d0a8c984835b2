"""Asks one archive for a search, within limits that all searches share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from enum import Enum, auto
from typing import Final

import structlog

from ibi.model.registration import RegisteredArchive
from ibi.resolver.ports.outbound import NO_SLOT, ArchiveClient, ArchiveReply, NoReply, Reply
from ibi.resolver.registry.registry import Registry
from ibi.resolver.rules.outage import silence_of
from ibi.resolver.rules.redirect_target import marked, vetted
from ibi.wire.requests import UrlRequest

MAX_OTHER_ASKS: Final = 384
"""Archives whose reply alone decides nothing, asked at the same time by all searches. When hundreds
of them hang, there is still room to ask those whose reply does."""
MAX_LISTED_ASKS: Final = 64
"""Archives that only list an item in their digests, asked at the same time by all searches. Any
archive can list any item, and hang: there is still room to ask homes and owners."""
UNEXPECTED_FAILURE: Final = "its answer makes no sense"

_LOG: Final = structlog.get_logger()


class Weight(Enum):
    """The weight of an archive's reply in a search, by which its limit is chosen."""

    TRUSTED = auto()
    """The archive is a home or the owner: no limit."""
    LISTED = auto()
    """The digest of the archive lists the item."""
    OTHER = auto()


class ArchiveAsker:
    """Sends questions to archives for all searches of a resolver; for one event loop."""

    def __init__(
        self,
        client: ArchiveClient,
        registry: Registry,
        seconds: float,
        on_silence: Callable[[str], object] | None = None,
    ) -> None:
        """Ask by a client; each archive may take so many seconds.

        `on_silence` is called with each archive that did not answer.
        """
        self._on_silence = on_silence
        self._client = client
        self._registry = registry
        self._seconds = seconds
        self._slots = {
            Weight.LISTED: asyncio.Semaphore(MAX_LISTED_ASKS),
            Weight.OTHER: asyncio.Semaphore(MAX_OTHER_ASKS),
        }

    def refusal(self, archive: RegisteredArchive) -> NoReply | None:
        """Return why an archive is not asked now; None if it is."""
        return None if self._registry.is_asked(archive.id) else silence_of(archive)

    async def ask(
        self, archive: RegisteredArchive, request: UrlRequest, weight: Weight
    ) -> ArchiveReply | NoReply:
        """Return the valid part of an archive's reply, and record whether it answers."""
        clock = asyncio.get_running_loop().time
        began = clock()
        try:
            reply = await self._ask(archive, request, weight)
        except Exception:  # noqa: BLE001  # a failure of one archive must not end the search
            _LOG.exception("an archive could not be asked")
            reply = NoReply(archive.id, UNEXPECTED_FAILURE)
        if isinstance(reply, ArchiveReply) or reply.alive:
            self._registry.note_reply(archive.id, "")
            self._registry.response_times.note(archive.id, clock() - began)
        elif reply.asked:
            self._registry.note_reply(archive.id, reply.reason)
            if self._on_silence is not None:
                self._on_silence(archive.id)
        if isinstance(reply, ArchiveReply):
            return vetted(marked(reply, archive), archive)
        return reply

    async def _ask(self, archive: RegisteredArchive, request: UrlRequest, weight: Weight) -> Reply:
        slots = self._slots.get(weight)
        if slots is None:
            return await self._client.ask(archive, request, self._seconds)
        try:
            async with asyncio.timeout(self._seconds):
                await slots.acquire()
        except TimeoutError:
            return NoReply(archive.id, NO_SLOT, asked=False)
        try:
            return await self._client.ask(archive, request, self._seconds)
        finally:
            slots.release()
