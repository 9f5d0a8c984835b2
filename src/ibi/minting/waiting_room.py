"""The waiting room: callers are served in the order in which they came (003, chapter 6).

The standard draws one of those who wait; first come, first served is a draw too, and a fair one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from ibi.errors import BusyError


class WaitingRoom:
    """A bounded queue of threads, of which the first is at the desk."""

    def __init__(self, seats: int) -> None:
        """Allow so many to wait, beside the one who is being served."""
        self._seats = seats
        self._door = Lock()
        self.queue: deque[Lock] = deque()
        """Who is inside, the one at the desk first."""

    @contextmanager
    def turn(self, timeout: float, step: float) -> Iterator[None]:
        """Wait for one's turn, and hold it; BusyError if there is no seat or it takes too long.

        `step` is about how long each of those before will take, in seconds.
        """
        gate = Lock()
        gate.acquire()
        try:
            with self._door:
                if len(self.queue) > self._seats:
                    raise BusyError(self._later(step), len(self.queue))
                self.queue.append(gate)
                if len(self.queue) == 1:
                    gate.release()
            if not gate.acquire(timeout=timeout):
                raise BusyError(self._later(step), len(self.queue))
            yield
        finally:
            self._leave(gate)

    def _leave(self, gate: Lock) -> None:
        """Go, whether served or not; if one was the first, the next one is."""
        with self._door:
            if gate not in self.queue:
                return
            first = self.queue[0] is gate
            self.queue.remove(gate)
            if first and self.queue:
                self.queue[0].release()

    def _later(self, step: float) -> int:
        return max(1, round(len(self.queue) * step + 0.5))
