"""Places in a line: how much is asked of one archive, and of all, at once.

Who waits here waits for us. That is not the archive's silence, and does not count against it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary


class NoPlaceError(Exception):
    """There was no place in time."""


class Places:
    """So many at once in all, and for each address; of one event loop."""

    def __init__(self, in_all: int, for_each: int) -> None:
        """Have all places free."""
        self._in_all = asyncio.Semaphore(in_all)
        self._for_each = for_each
        # Whoever holds or awaits a place keeps the line of that address.
        self._lines: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    @asynccontextmanager
    async def place(self, address: str, seconds: float) -> AsyncIterator[None]:
        """Hold a place for an address; NoPlaceError if none was free in that time."""
        line = self._lines.get(address)
        if line is None:
            line = self._lines[address] = asyncio.Semaphore(self._for_each)
        try:
            async with asyncio.timeout(seconds):
                await line.acquire()
                try:
                    await self._in_all.acquire()
                except BaseException:
                    line.release()
                    raise
        except TimeoutError:
            raise NoPlaceError from None
        try:
            yield
        finally:
            self._in_all.release()
            line.release()
