"""A scheduler of work in steps: several threads, each step when it is due.

The work itself is durable elsewhere: the scheduler only knows when each entry is due next.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Final

import structlog

from ibi.errors import IbiError
from ibi.model.clock import SECOND, Clock

_LOG: Final = structlog.get_logger()
NEVER: Final = 1 << 62
"""Nanoseconds that mean: not before `wake`."""
_LOOK: Final = 30 * SECOND
"""Nanoseconds between two searches for new entries."""
_MOST: Final = 64
"""The most entries under way at once, so that begun ones end before others begin. Entries that rest
for longer than `_WHILE` do not count: peers that never answer must not block the others."""
_WHILE: Final = 5 * SECOND
_PATIENCE: Final = 5 * SECOND
"""Nanoseconds for which `stop` waits for steps that wait for a peer."""
_AT_ONCE: Final = -1
"""The due time of entries that go before all others: begun work is finished first."""


@dataclass(slots=True)
class _Entry:
    due: int = 0
    is_busy: bool = False
    is_woken: bool = False


class StepScheduler:
    """Threads that carry out steps when they are due."""

    def __init__(
        self,
        clock: Clock,
        step: Callable[[str], int | None],
        look: Callable[[], Iterable[str]],
        threads: int,
    ) -> None:
        """Carry out `step` for each entry that `look` finds.

        A step returns the nanoseconds until the entry's next step, or None if the entry has ended.
        An entry that returns 0 goes on before all others.
        """
        self._clock = clock
        self._step = step
        self._find = look
        self._count = threads
        self._entries: dict[str, _Entry] = {}
        self._new: dict[str, None] = {}
        """Entries that wait for their first step, in order."""
        self._looked = -_LOOK
        self._changed = threading.Condition()
        self._threads: list[threading.Thread] = []
        self.is_stopping = False

    def start(self, name: str) -> None:
        """Start the threads."""
        self.is_stopping = False
        self._looked = self._clock.uptime() - _LOOK
        for number in range(self._count):
            thread = threading.Thread(target=self._run, name=f"{name}-{number}", daemon=True)
            thread.start()
            self._threads.append(thread)

    def stop(self) -> None:
        """Begin no further step, and wait for running steps for a limited time."""
        with self._changed:
            self.is_stopping = True
            self._changed.notify_all()
        until = self._clock.uptime() + _PATIENCE
        for thread in self._threads:
            thread.join(max(0, until - self._clock.uptime()) / SECOND)
        self._threads.clear()

    def wake(self, *ids: str) -> None:
        """Make these entries due now."""
        with self._changed:
            for id_ in ids:
                self._meet(id_)
                if id_ in self._entries:
                    entry = self._entries[id_]
                    entry.due, entry.is_woken = 0, True
            self._changed.notify_all()

    def _meet(self, id_: str) -> None:
        if id_ not in self._entries:
            self._new[id_] = None

    def _run(self) -> None:
        while (id_ := self._next()) is not None:
            try:
                pause = self._step(id_)
            except Exception:  # noqa: BLE001  # one failing step must not end the thread
                _LOG.exception("a step failed", id=id_)
                pause = _LOOK
            self._leave(id_, pause)

    def _next(self) -> str | None:
        """Wait for a due entry and claim it; None once the scheduler stops."""
        with self._changed:
            while not self.is_stopping:
                now = self._clock.uptime()
                self._look(now)
                self._begin(now)
                free = {id_: each.due for id_, each in self._entries.items() if not each.is_busy}
                first = min(free, key=free.__getitem__, default="")
                if first and free[first] <= now:
                    entry = self._entries[first]
                    entry.is_busy, entry.is_woken = True, False
                    return first
                due = min(free.get(first, NEVER), self._looked + _LOOK)
                self._changed.wait(max(due - now, SECOND // 1000) / SECOND)
        return None

    def _look(self, now: int) -> None:
        if now - self._looked < _LOOK:
            return
        self._looked = now
        with suppress(IbiError):  # if the storage fails, the next search finds them
            for id_ in self._find():
                self._meet(id_)

    def _begin(self, now: int) -> None:
        """Make as many waiting entries due as there is room for."""
        moving = sum(each.due < now + _WHILE for each in self._entries.values())
        for id_ in list(islice(self._new, max(0, _MOST - moving))):
            del self._new[id_]
            self._entries[id_] = _Entry()

    def _leave(self, id_: str, pause: int | None) -> None:
        with self._changed:
            entry = self._entries[id_]
            entry.is_busy = False
            if entry.is_woken:
                entry.due = 0
            elif pause is None:
                del self._entries[id_]
            else:
                entry.due = self._clock.uptime() + pause if pause else _AT_ONCE
            self._changed.notify()
