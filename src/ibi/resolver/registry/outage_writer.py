"""Writes outages to the store, in the background."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

import structlog

from ibi.errors import IbiError, NotOnRecordError
from ibi.model.clock import Clock
from ibi.resolver.ports.store import RegistryEvent

RETRY_SECONDS: Final = 5.0
"""Seconds after which a store that failed is tried again."""
RESOLVER: Final = "resolver"
"""The actor in the history of outages: the resolver itself."""
_LOG: Final = structlog.get_logger()


class OutageWriter:
    """The outages still to be written: of each archive only the last event."""

    def __init__(self, write: Callable[[RegistryEvent], Awaitable[None]], clock: Clock) -> None:
        """Begin empty; `write` stores the current state of an archive, and the event with it."""
        self._write = write
        self._clock = clock
        self._events: dict[str, RegistryEvent] = {}
        self._being_written = ""
        self._news = asyncio.Event()
        self._closing = asyncio.Event()

    def add(self, archive: str, act: str, detail: str) -> None:
        """Queue the event that an archive went down or came up."""
        self._events[archive] = RegistryEvent(0, self._clock.wall(), RESOLVER, act, archive, detail)
        self._news.set()

    def has(self, archive: str) -> bool:
        """Return whether an event of an archive is still to be written."""
        return archive in self._events or archive == self._being_written

    def forget(self, archive: str) -> None:
        """Discard the event of an archive that was removed."""
        self._events.pop(archive, None)

    async def run(self) -> None:
        """Write events as they come, until it is closed; a write is never interrupted."""
        while not self._closing.is_set():
            await self._news.wait()
            self._news.clear()
            if not await self.drain():
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._closing.wait(), RETRY_SECONDS)
                self._news.set()

    def close(self) -> None:
        """Begin no further write."""
        self._closing.set()
        self._news.set()

    async def drain(self) -> bool:
        """Write all events; return False if the store fails."""
        for archive in tuple(self._events):
            # Taken first: another event of the archive may come meanwhile.
            event = self._events.pop(archive, None)
            if event is None:
                continue
            self._being_written = archive
            try:
                await self._write(event)
            except NotOnRecordError:
                continue  # it was removed meanwhile
            except IbiError as failure:
                self._events.setdefault(archive, event)
                _LOG.warning("an outage was not written", archive=archive, error=str(failure))
                return False
            finally:
                self._being_written = ""
        return True
