"""Virtual time: an event loop that never waits, and greenlets in place of threads.

When nothing is left to do at a moment, the loop jumps to the next timer: days pass in a second, and
always in the same way. Code that was written for threads runs in greenlets of the only thread;
where it would block, the loop continues with other tasks.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextvars import Context, ContextVar, copy_context
from heapq import heappop, heappush
from typing import Any, Final, TypeVar, cast

import greenlet  # type: ignore[import-untyped]

from tests.simulation.world.loop_handles import FastHandle, FastTimer, NumberedTask

T = TypeVar("T")

IMMEDIATE_SHARE: Final = 0.6
"""Share of the calls in an executor that run at once; the others are delayed."""
LATENCY: Final = 0.004
"""Maximal seconds of latency of a call in an executor, before or after its work."""


MAX_ROUNDS: Final = 300_000
"""Maximal iterations of the loop in one world; about ten thousand without a busy loop."""


_ALL_WAIT: Final = "all tasks wait for each other"


class NoProgressError(Exception):
    """The world makes no progress: a deadlock, or a busy loop."""


class ProcessKilled(asyncio.CancelledError):  # not an error
    """The process of this task was killed."""


class Process:
    """One run of a program; all its tasks end when it is killed."""

    def __init__(
        self,
        loop: VirtualLoop,
        name: str,
        write: Callable[[], None],
        failed: Callable[[BaseException, str], None],
        latency: Callable[[], float] = lambda: LATENCY,
    ) -> None:
        """Start; `write` is called before every write, `latency` returns the latency of threads.

        `failed` is called with the exception and the name of a task that raised.
        """
        self.latency = latency
        self._loop = loop
        self._failed = failed
        self._write = write
        self.name = name
        self.is_alive = True
        self._tasks: dict[asyncio.Task[Any], None] = {}

    def spawn(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Start a task of this process."""
        context = copy_context()
        context.run(PROCESS.set, self)
        return self._loop.create_task(work, context=context)

    def own(self, task: asyncio.Task[Any]) -> None:
        """Add a task to this process."""
        self._tasks[task] = None
        task.add_done_callback(self._done)
        if not self.is_alive:  # started during its end
            task.cancel()

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.pop(task, None)
        failure = None if task.cancelled() else task.exception()
        # An exception after the kill is a result of it.
        if failure is not None and self.is_alive:
            self._failed(failure, task.get_name())

    def kill(self) -> None:
        """Kill the process: cancel its tasks and refuse its writes."""
        self.is_alive = False
        for task in list(self._tasks):
            task.cancel()

    def check(self) -> None:
        """Raise ProcessKilled if the process was killed."""
        if not self.is_alive:
            raise ProcessKilled

    def write(self) -> None:
        """Account for a write, which may be the last before a power loss."""
        self.check()
        self._write()
        self.check()


PROCESS: ContextVar[Process] = ContextVar("PROCESS")


class VirtualLoop(asyncio.BaseEventLoop):
    """An event loop with virtual time, which jumps to the next timer."""

    def __init__(self, draw: Callable[[], float]) -> None:
        """Start at 0; `draw` returns random numbers for the latency of threads."""
        super().__init__()
        self._draw = draw
        self._made = 0
        self._rounds = 0
        self._soon: deque[FastHandle | FastTimer] = deque()
        self._timers: list[tuple[float, int, FastTimer]] = []
        self._timed = 0
        self.now = 0.0
        self.set_task_factory(self._new_task)

    def time(self) -> float:
        """Return virtual seconds."""
        return self.now

    def call_soon(  # type: ignore[override]  # asyncio's own, but for what it checks
        self,
        callback: Callable[..., object],
        *args: Any,  # noqa: ANN401
        context: Context | None = None,
    ) -> asyncio.Handle:
        """Schedule a callback at this moment, after those already scheduled."""
        handle = FastHandle(callback, args, self, context)
        self._soon.append(handle)
        return handle

    def call_at(  # type: ignore[override]
        self,
        when: float,
        callback: Callable[..., object],
        *args: Any,  # noqa: ANN401
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """Schedule a callback at a moment; those of one moment run in order of scheduling."""
        timer = FastTimer(when, callback, args, self, context)
        self._timed += 1
        heappush(self._timers, (when, self._timed, timer))
        return timer

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Leave the handle in the heap; it is skipped when due."""

    def _run_once(self) -> None:
        """Run all callbacks of this moment; jump to the next timer if there are none."""
        pause_up_to, timers = self._soon, self._timers
        if not pause_up_to:
            while timers and timers[0][2]._cancelled:  # noqa: SLF001  # quicker than to ask
                heappop(timers)
            if not timers or self._rounds > MAX_ROUNDS:
                raise NoProgressError("nothing ends" if timers else _ALL_WAIT)
            self.now = max(self.now, timers[0][0])
        self._rounds += 1
        while timers and timers[0][0] <= self.now:
            pause_up_to.append(heappop(timers)[2])
        for _ in range(len(pause_up_to)):
            handle = pause_up_to.popleft()
            if handle._cancelled:  # noqa: SLF001
                continue
            try:
                handle._context.run(handle._callback, *handle._args)  # type: ignore[arg-type]  # noqa: SLF001
            except Exception as failure:  # noqa: BLE001  # any exception is reported
                self.call_exception_handler({"message": repr(handle), "exception": failure})

    def _new_task(
        self,
        _: asyncio.AbstractEventLoop,
        work: Any,  # noqa: ANN401  # asyncio's own
        **options: Any,  # noqa: ANN401
    ) -> asyncio.Future[Any]:
        self._made += 1
        number = self._made
        task = NumberedTask.__new__(NumberedTask)
        task.number = number
        task.__init__(work, loop=self, **options)  # type: ignore[misc]  # numbered before it is known
        context = options.get("context")
        process = PROCESS.get(None) if context is None else context.get(PROCESS)
        if process is not None:
            process.own(task)
        return task

    def run_in_executor(  # type: ignore[override]  # a task is a future
        self,
        executor: object,
        func: Callable[..., T],
        *args: Any,  # noqa: ANN401  # asyncio's own
    ) -> asyncio.Future[T]:
        """Run a function in a greenlet, at once or after a random latency."""
        del executor
        if self._draw() < IMMEDIATE_SHARE:
            return self._at_once(func, *args)
        done: asyncio.Future[T] = self.create_future()
        self.call_soon(self._begin, done, func, args)
        return done

    def _at_once(self, func: Callable[..., T], *args: Any) -> asyncio.Future[T]:  # noqa: ANN401
        done: asyncio.Future[T] = self.create_future()
        side = _greenlet(func)
        try:
            result = side.switch(*args)
        except asyncio.CancelledError:
            done.cancel()
        except BaseException as failure:  # noqa: BLE001  # passed to the waiter
            done.set_exception(failure)
        else:
            if not side.dead:
                driving = self.create_task(_drive(side, result))
                # A task cancelled before its first step has not awaited it.
                driving.add_done_callback(lambda _: _close(result))
                return driving
            done.set_result(result)
        return done

    def _begin(self, done: asyncio.Future[T], func: Callable[..., T], args: Sequence[Any]) -> None:
        process = PROCESS.get(None)
        longest = LATENCY if process is None else process.latency()
        latency = (self._draw() - 0.5) * longest
        if latency < 0:
            self.call_later(-latency, self.call_soon, self._work, done, func, args, 0.0)
        else:
            self._work(done, func, args, latency)

    def _work(
        self, done: asyncio.Future[T], func: Callable[..., T], args: Sequence[Any], latency: float
    ) -> None:
        process = PROCESS.get(None)
        if done.done() or (process is not None and not process.is_alive):
            done.cancel()
            return
        worked = self._at_once(func, *args)
        if worked.done():
            self._end_after(latency, worked, done)
            return
        done.add_done_callback(lambda ended: worked.cancel() if ended.cancelled() else None)
        worked.add_done_callback(lambda _: self._end_after(latency, worked, done))

    def _end_after(
        self, latency: float, worked: asyncio.Future[T], done: asyncio.Future[T]
    ) -> None:
        if latency:
            self.call_later(latency, self.call_soon, _copy_result, worked, done)
        else:
            _copy_result(worked, done)


def _copy_result(worked: asyncio.Future[T], done: asyncio.Future[T]) -> None:
    """Copy the result of one future to another, unless that is cancelled."""
    if worked.cancelled():
        done.cancel()
        return
    failure = worked.exception()
    if done.done():
        return
    if failure is not None:
        done.set_exception(failure)
    else:
        done.set_result(worked.result())


async def run_blocking(func: Callable[..., T], *args: Any) -> T:  # noqa: ANN401  # whatever it takes
    """Run blocking code in a greenlet; while it waits, other tasks continue."""
    side = _greenlet(func)
    return cast("T", await _drive(side, side.switch(*args)))


def _greenlet(func: Callable[..., Any]) -> Any:  # noqa: ANN401  # of a library without types
    driver = greenlet.getcurrent()
    side = greenlet.greenlet(func, driver)
    side.gr_context = driver.gr_context
    return side


async def _drive(side: Any, result: Any) -> Any:  # noqa: ANN401
    """Await what a greenlet waits for, until it has ended."""
    while not side.dead:
        try:
            value = await result
        except BaseException as failure:  # noqa: BLE001  # passed to the greenlet
            result = side.throw(failure)
        else:
            result = side.switch(value)
    return result


def wait(awaitable: Awaitable[T]) -> T:
    """Wait in a greenlet, while other tasks continue."""
    current = greenlet.getcurrent()
    if current.parent is None:
        _close(awaitable)
        msg = "Only a greenlet may wait."
        raise AssertionError(msg)
    return cast("T", current.parent.switch(awaitable))


def _close(awaitable: object) -> None:
    close = getattr(awaitable, "close", None)
    if close is not None:
        close()


def current_greenlet() -> object:
    """Return the running greenlet, or that of the loop."""
    return greenlet.getcurrent()
