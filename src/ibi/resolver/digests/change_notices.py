"""Notices of archives that their digests have changed, brought to the process that fetches digests.

An archive sends one notice, which any process of a resolver may receive. A process that does not
fetch digests publishes it in the change feed, where an archive whose digest has changed stands as
the label of its service.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from ibi.errors import TooManyRequestsError
from ibi.model.clock import SECOND, Clock
from ibi.model.pace import TokenBuckets
from ibi.resolver.digests.fetcher import DigestFetcher
from ibi.resolver.ports.workers import FeedWriter

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

    def follow(self, label: str) -> None:
        """Take a label of the change feed, which may be that of an archive service."""
        if self._on_duty():
            self._fetcher.note_notification(label)
