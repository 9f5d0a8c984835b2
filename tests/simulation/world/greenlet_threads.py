"""What `threading` offers, for strands: whoever would block lets others go on.

A lock that is held by a strand keeps other strands out, as it would keep threads. They take turns
in the order in which they came.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace
from typing import Any, Self
from unittest.mock import patch

from tests.simulation.world.virtual_time import PROCESS, me, strand, wait


class Line:
    """Those who wait for something, the first first."""

    def __init__(self) -> None:
        """Begin with nobody."""
        self._waiting: deque[asyncio.Future[bool]] = deque()

    def stand(self, seconds: float | None) -> bool:
        """Wait for one's turn; False if it did not come in time."""
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[bool] = loop.create_future()
        self._waiting.append(turn)
        late = None if seconds is None else loop.call_later(seconds, self._leave, turn)
        try:
            return wait(turn)
        finally:
            if late is not None:
                late.cancel()

    def _leave(self, turn: asyncio.Future[bool]) -> None:
        if not turn.done():
            self._waiting.remove(turn)
            turn.set_result(False)

    def call(self) -> bool:
        """Let the first have its turn; False if nobody waits."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(True)
                return True
        return False


class RLock:
    """A lock that its holder may take again."""

    is_reentrant = True

    def __init__(self) -> None:
        """Begin free."""
        self._holder: object | None = None
        self._depth = 0
        self._line = Line()

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:  # noqa: FBT001, FBT002  # as threading has it
        """Take it."""
        if self._holder is me() and self.is_reentrant:
            self._depth += 1
            return True
        while self._holder is not None:
            if not blocking or not self._line.stand(timeout if timeout >= 0 else None):
                return False
        self._holder, self._depth = me(), 1
        return True

    def release(self) -> None:
        """Let go of it."""
        self._depth -= 1
        if self._depth == 0:
            self._holder = None
            self._line.call()

    def __enter__(self) -> Self:
        """Take it."""
        self.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        """Let go of it."""
        self.release()


class Lock(RLock):
    """A lock that anybody may let go of."""

    is_reentrant = False


class Condition(RLock):
    """A lock whose holder may wait for news."""

    def __init__(self) -> None:
        """Begin free."""
        super().__init__()
        self._news = Line()

    def wait(self, timeout: float | None = None) -> bool:
        """Let others in until there is news."""
        depth, self._depth = self._depth, 1
        self.release()
        try:
            return self._news.stand(timeout)
        finally:
            self.acquire()
            self._depth = depth

    def wait_for(self, predicate: Callable[[], Any], timeout: float | None = None) -> Any:  # noqa: ANN401
        """Wait until something is so."""
        loop = asyncio.get_running_loop()
        end = None if timeout is None else loop.time() + timeout
        while not (found := predicate()):
            left = None if end is None else end - loop.time()
            if left is not None and left <= 0:
                break
            self.wait(left)
        return found

    def notify(self) -> None:
        """Tell the first of those who wait."""
        self._news.call()

    def notify_all(self) -> None:
        """Tell all."""
        while self._news.call():
            pass


class Event:
    """Something that happens once."""

    def __init__(self) -> None:
        """Begin before it."""
        self._is_set = False
        self._line = Line()

    def set(self) -> None:
        """Let it happen."""
        self._is_set = True
        while self._line.call():
            pass

    def is_set(self) -> bool:
        """Tell whether it has."""
        return self._is_set

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for it."""
        if not self._is_set:
            self._line.stand(timeout)
        return self._is_set


class Thread:
    """A strand by the name of a thread; it belongs to the process that starts it."""

    def __init__(
        self,
        target: Callable[..., object],
        args: Sequence[Any] = (),
        name: str = "",
        *,
        daemon: bool = False,  # noqa: ARG002  # every one of them ends with its process
    ) -> None:
        """Get ready."""
        self._target = target
        self._args = args
        self.name = name
        self._task: asyncio.Task[object] | None = None

    def start(self) -> None:
        """Begin."""
        self._task = PROCESS.get().spawn(strand(self._target, *self._args))

    def join(self, timeout: float | None = None) -> None:
        """Wait for its end."""
        if self._task is not None and not self._task.done():
            wait(asyncio.wait({self._task}, timeout=timeout))

    def is_alive(self) -> bool:
        """Tell whether it has not ended."""
        return self._task is not None and not self._task.done()


@contextmanager
def strands_for_threads() -> Iterator[None]:
    """Give strands to all that would take threads and locks of the machine."""
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
        "ibi.archive.resolver_links.digest_log": {"Event": Event, "Thread": Thread},
        "ibi.archive.copies.fetch": {"Lock": Lock},
        "ibi.minting.waiting_room": {"Lock": Lock},
    }
    with ExitStack() as stack:
        for module, names in places.items():
            for name, value in names.items():
                stack.enter_context(patch(f"{module}.{name}", value))
        yield
