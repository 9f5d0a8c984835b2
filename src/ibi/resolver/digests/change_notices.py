"""Notices of archives that their digests have changed, brought to the process that fetches digests.

An archive sends one notice, which any process of a resolver may receive. A process that does not
fetch digests publishes it in the change feed, where an archive whose digest has changed stands as
the label of its service. An archive that did not answer stands there behind `SILENCE`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from ibi.errors import StorageError, TooManyRequestsError
from ibi.model.clock import SECOND, Clock
from ibi.model.pace import TokenBuckets
from ibi.resolver.digests.fetcher import DigestFetcher
from ibi.resolver.ports.workers import FeedWriter

SILENCE: Final = "silence of "
_RATE, _BURST, _MAX_ARCHIVES = 1, 4, 100_000


class ChangeNotices:
    """Takes notices, from archives and from the change feed; for one event loop."""

    def __init__(
        self, fetcher: DigestFetcher, feed: FeedWriter, clock: Clock, on_duty: Callable[[], bool]
    ) -> None:
        """Give them to a fetcher if this process fetches digests, and else to the feed."""
        self._fetcher = fetcher
        self._feed = feed
        self._clock = clock
        self._on_duty = on_duty
        self._pace = TokenBuckets(_RATE, _BURST, _MAX_ARCHIVES)
        self._reports: set[asyncio.Task[None]] = set()

    async def take(self, archive: str) -> None:
        """Take a notice of an archive; raise TooManyRequestsError if they come too fast.

        Anybody can send one: all of them together cost the archive one message a second.
        """
        wait = self._pace.take(archive, self._clock.uptime())
        if wait:
            raise TooManyRequestsError(-(-wait // SECOND))
        if self._on_duty():
            self._fetcher.note_notification(archive)
        else:
            await asyncio.to_thread(self._feed.publish, archive)

    def note_silence(self, archive: str) -> None:
        """Follow an archive that did not answer no longer, in any process."""
        if self._fetcher.note_silence(archive) and not self._on_duty():
            report = asyncio.create_task(self._report(archive), name="ibi-silence")
            self._reports.add(report)
            report.add_done_callback(self._reports.discard)

    async def _report(self, archive: str) -> None:
        # If the database is down, no process uses what another one follows.
        with suppress(StorageError):
            await asyncio.to_thread(self._feed.publish, SILENCE + archive)

    def follow(self, label: str, since: float) -> None:
        """Take a label that came into the change feed after `since`; it may be of an archive."""
        if not self._on_duty():
            return
        if label.startswith(SILENCE):
            self._fetcher.note_silence(label.removeprefix(SILENCE))
        else:
            self._fetcher.note_notification(label, since)
