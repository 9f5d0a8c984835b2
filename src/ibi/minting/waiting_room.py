"""The waiting room: callers are served in the order of their arrival (003, chapter 6).

The standard draws one of those waiting by lot; first come, first served is a valid draw, and fair.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from ibi.errors import BusyError


class WaitingRoom:
    """A bounded queue of threads, of which the first is being served."""

    def __init__(self, seats: int) -> None:
        """Allow `seats` callers to wait, besides the one being served."""
        self._seats = seats
        self._lock = Lock()
        self.queue: deque[Lock] = deque()
        """A locked gate for each caller, that of the caller being served first."""

    @contextmanager
    def turn(self, timeout: float, step: float) -> Iterator[None]:
        """Wait for the caller's turn, and hold it; BusyError if the room is full or on a time-out.

        `step` is about how long serving each caller takes, in seconds.
        """
        gate = Lock()
        gate.acquire()
        try:
            with self._lock:
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
        """Remove a caller, served or not; if it was the first, let the next one in."""
        with self._lock:
            if gate not in self.queue:
                return
            first = self.queue[0] is gate
            self.queue.remove(gate)
            if first and self.queue:
                self.queue[0].release()

    def _later(self, step: float) -> int:
        return max(1, round(len(self.queue) * step + 0.5))
