"""Tasks and handles of the virtual event loop: deterministic, or faster than asyncio's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextvars import Context, copy_context
from typing import Any


class NumberedTask(asyncio.Task[Any]):
    """A task whose place in a set depends only on the order of creation."""

    number = 0

    def __hash__(self) -> int:
        return self.number


class FastHandle(asyncio.Handle):
    """A handle without the debugging data of asyncio, as there are tens of thousands."""

    def __init__(
        self,
        callback: Callable[..., object],
        args: Sequence[Any],
        loop: asyncio.AbstractEventLoop,
        context: Context | None,
    ) -> None:
        self._context = copy_context() if context is None else context
        self._loop = loop
        self._callback = callback
        self._args = args
        self._cancelled = False
        self._repr = None
        self._source_traceback = None


class FastTimer(asyncio.TimerHandle):
    """A timer handle without the debugging data of asyncio."""

    _context: Context

    def __init__(
        self,
        when: float,
        callback: Callable[..., object],
        args: Sequence[Any],
        loop: asyncio.AbstractEventLoop,
        context: Context | None,
    ) -> None:
        FastHandle.__init__(self, callback, args, loop, context)  # type: ignore[arg-type]  # alike
        self._when = when
        self._scheduled = True

    def cancel(self) -> None:
        """Cancel the call."""
        self._cancelled = True
        self._callback = self._args = None  # type: ignore[assignment]  # as asyncio has it
