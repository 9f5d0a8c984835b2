"""The queue of harvesters: a few are answered at a time, some wait, and others come back later."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from http import HTTPStatus
from typing import Final, TypeVar

from starlette.exceptions import HTTPException

AT_ONCE: Final = 2
"""Pages that are written at a time, in threads: other requests are answered meanwhile."""
WAITING: Final = 32
"""Requests that may wait for that."""
_RETRY_AFTER: Final = "60"
"""Seconds after which a client may try again."""

T = TypeVar("T")


class HarvestQueue:
    """Runs the work of harvesters in threads."""

    def __init__(self, is_whole: Callable[[], bool]) -> None:
        """Answer 503 until `is_whole` has returned True."""
        self._is_whole = is_whole
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._waiting = 0

    async def run(self, work: Callable[[], T]) -> T:
        """Return what `work` returns; raise HTTPException if too many wait."""
        if self._waiting >= AT_ONCE + WAITING:
            raise _later("Too many harvest just now.")
        self._waiting += 1
        try:
            async with self._turns:
                if not await asyncio.to_thread(self._is_whole):
                    raise _later("The log of changes is being written for the first time.")
                return await asyncio.to_thread(work)
        finally:
            self._waiting -= 1


def _later(why: str) -> HTTPException:
    headers = {"Retry-After": _RETRY_AFTER}
    return HTTPException(HTTPStatus.SERVICE_UNAVAILABLE, why, headers=headers)
