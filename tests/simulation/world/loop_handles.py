"""What the event loop of a world has in its hands: as asyncio has it, but quicker, or in order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextvars import Context, copy_context
from typing import Any


class NumberedTask(asyncio.Task[Any]):
    """A task whose place in a set depends on nothing but the order in which tasks were made."""

    number = 0

    def __hash__(self) -> int:
        """Return its number."""
        return self.number


class QuickHandle(asyncio.Handle):
    """A handle as it is, but for what only debugging needs: there are tens of thousands."""

    def __init__(
        self,
        callback: Callable[..., object],
        args: Sequence[Any],
        loop: asyncio.AbstractEventLoop,
        context: Context | None,
    ) -> None:
        """Take what is to be called."""
        self._context = copy_context() if context is None else context
        self._loop = loop
        self._callback = callback
        self._args = args
        self._cancelled = False
        self._repr = None
        self._source_traceback = None


class QuickTimer(asyncio.TimerHandle):
    """Likewise, for a moment."""

    _context: Context

    def __init__(
        self,
        when: float,
        callback: Callable[..., object],
        args: Sequence[Any],
        loop: asyncio.AbstractEventLoop,
        context: Context | None,
    ) -> None:
        """Take what is to be called, and when."""
        QuickHandle.__init__(self, callback, args, loop, context)  # type: ignore[arg-type]  # alike
        self._when = when
        self._scheduled = True

    def cancel(self) -> None:
        """Call nothing."""
        self._cancelled = True
        self._callback = self._args = None  # type: ignore[assignment]  # as asyncio has it
