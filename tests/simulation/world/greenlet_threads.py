"""Substitutes for the classes of `threading`, for greenlets of the event loop.

Where a thread would block, the greenlet yields to the loop. Waiters are served in order of arrival.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace
from typing import Any, Self
from unittest.mock import patch

from tests.simulation.world.virtual_time import PROCESS, current_greenlet, run_blocking, wait


class WaitQueue:
    """A queue of waiting greenlets, first in, first out."""

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[bool]] = deque()

    def wait_turn(self, seconds: float | None) -> bool:
        """Wait for a turn; False if it did not come in time."""
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[bool] = loop.create_future()
        self._waiting.append(turn)
        late = None if seconds is None else loop.call_later(seconds, self._time_out, turn)
        try:
            return wait(turn)
        finally:
            if late is not None:
                late.cancel()

    def _time_out(self, turn: asyncio.Future[bool]) -> None:
        if not turn.done():
            self._waiting.remove(turn)
            turn.set_result(False)

    def wake(self) -> bool:
        """Wake the first waiter; False if there is none."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(True)
                return True
        return False


class RLock:
    """A reentrant lock."""

    is_reentrant = True

    def __init__(self) -> None:
        self._holder: object | None = None
        self._depth = 0
        self._queue = WaitQueue()

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:  # noqa: FBT001, FBT002  # as threading has it
        """Acquire the lock."""
        if self._holder is current_greenlet() and self.is_reentrant:
            self._depth += 1
            return True
        while self._holder is not None:
            if not blocking or not self._queue.wait_turn(timeout if timeout >= 0 else None):
                return False
        self._holder, self._depth = current_greenlet(), 1
        return True

    def release(self) -> None:
        """Release the lock."""
        self._depth -= 1
        if self._depth == 0:
            self._holder = None
            self._queue.wake()

    def __enter__(self) -> Self:
        self.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


class Lock(RLock):
    """A lock that is not reentrant."""

    is_reentrant = False


class Condition(RLock):
    """A condition variable with its lock."""

    def __init__(self) -> None:
        super().__init__()
        self._notified = WaitQueue()

    def wait(self, timeout: float | None = None) -> bool:
        """Release the lock until notified; False if that did not happen in time."""
        depth, self._depth = self._depth, 1
        self.release()
        try:
            return self._notified.wait_turn(timeout)
        finally:
            self.acquire()
            self._depth = depth

    def wait_for(self, predicate: Callable[[], Any], timeout: float | None = None) -> Any:  # noqa: ANN401
        """Wait until a predicate holds; return its last value."""
        loop = asyncio.get_running_loop()
        end = None if timeout is None else loop.time() + timeout
        while not (found := predicate()):
            left = None if end is None else end - loop.time()
            if left is not None and left <= 0:
                break
            self.wait(left)
        return found

    def notify(self) -> None:
        """Wake the first waiter."""
        self._notified.wake()

    def notify_all(self) -> None:
        """Wake all waiters."""
        while self._notified.wake():
            pass


class Event:
    """An event that is set once."""

    def __init__(self) -> None:
        self._is_set = False
        self._queue = WaitQueue()

    def set(self) -> None:
        """Set the event, and wake all waiters."""
        self._is_set = True
        while self._queue.wake():
            pass

    def is_set(self) -> bool:
        """Tell whether it is set."""
        return self._is_set

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is set; False if that did not happen in time."""
        if not self._is_set:
            self._queue.wait_turn(timeout)
        return self._is_set


class Thread:
    """A thread as a greenlet; it belongs to the process that starts it."""

    def __init__(
        self,
        target: Callable[..., object],
        args: Sequence[Any] = (),
        name: str = "",
        *,
        daemon: bool = False,  # noqa: ARG002  # each ends with its process
    ) -> None:
        self._target = target
        self._args = args
        self.name = name
        self._task: asyncio.Task[object] | None = None

    def start(self) -> None:
        """Start."""
        self._task = PROCESS.get().spawn(run_blocking(self._target, *self._args))

    def join(self, timeout: float | None = None) -> None:
        """Wait until it ends."""
        if self._task is not None and not self._task.done():
            wait(asyncio.wait({self._task}, timeout=timeout))

    def is_alive(self) -> bool:
        """Tell whether it has started and not ended."""
        return self._task is not None and not self._task.done()


@contextmanager
def threads_as_greenlets() -> Iterator[None]:
    """Patch the modules that use threads and locks to use these classes."""
    places: dict[str, dict[str, Any]] = {
        "ibi.archive.archive": {"RLock": RLock},
        "ibi.archive.resolver_links.announcer": {
            "Condition": Condition,
            "Lock": Lock,
            "Thread": Thread,
        },
        "ibi.archive.transfers.step_scheduler": {
            "threading": SimpleNamespace(Condition=Condition, Thread=Thread),
        },
        "ibi.archive.repeating_thread": {"Event": Event, "Thread": Thread},
        "ibi.archive.resolver_links.change_notifier": {"Lock": Lock, "Thread": Thread},
        "ibi.archive.copies.fetch": {"Lock": Lock},
        "ibi.minting.waiting_room": {"Lock": Lock},
    }
    with ExitStack() as stack:
        for module, names in places.items():
            for name, value in names.items():
                stack.enter_context(patch(f"{module}.{name}", value))
        yield
