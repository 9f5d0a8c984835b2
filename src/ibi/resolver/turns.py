"""Acts that take turns, and are carried out to their end."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

_Done = TypeVar("_Done")


class Turns:
    """One act at a time; of one event loop."""

    def __init__(self) -> None:
        """Begin with none."""
        self._alone = asyncio.Lock()
        self._acts: set[asyncio.Task[Any]] = set()

    async def take(self, act: Coroutine[Any, Any, _Done]) -> _Done:
        """Carry out an act to its end.

        Who asked for it may hang up, and memory and store must agree all the same.
        """

        async def alone() -> _Done:
            async with self._alone:
                return await act

        task = asyncio.create_task(alone())
        self._acts.add(task)
        task.add_done_callback(self._acts.discard)
        return await asyncio.shield(task)

    async def close(self) -> None:
        """Wait for the end of all acts."""
        await asyncio.gather(*self._acts, return_exceptions=True)
