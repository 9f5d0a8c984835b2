"""Virtual time: an event loop that never waits, and threads that are strands of it.

Time is what the loop says. When nothing is left to do at a moment, it is the moment of the next
timer: days pass in a second, and always in the same way. Code that was written for threads runs in
greenlets of the one thread that there is; where it would block, the loop goes on with others.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextvars import Context, ContextVar, copy_context
from heapq import heappop, heappush
from typing import Any, Final, TypeVar, cast

import greenlet  # type: ignore[import-untyped]

from tests.simulation.world.loop_handles import NumberedTask, QuickHandle, QuickTimer

T = TypeVar("T")

PROMPT: Final = 0.6
"""How often a thread is as quick as nothing: every other takes turns with the rest of the world."""
LATENCY: Final = 0.004
"""Seconds that a thread of an executor takes at the most, before or after its work."""


MOST_ROUNDS: Final = 300_000
"""Of the loop in one world: there are some ten thousand, unless somebody tries without a pause."""


_ALL_WAIT: Final = "everybody waits for somebody else"


class RestlessError(Exception):
    """The world comes to no end."""


class Dead(asyncio.CancelledError):  # it is no error of anybody's
    """Whoever works here has no process any more."""


class Process:
    """One run of a program: whatever belongs to it ends when it is killed."""

    def __init__(
        self,
        loop: VirtualLoop,
        name: str,
        write: Callable[[], None],
        failed: Callable[[BaseException, str], None],
        latency: Callable[[], float] = lambda: LATENCY,
    ) -> None:
        """Begin; `write` comes before every write, `latency` tells how long threads may take.

        `failed` is told of what a task raised, and by what name it goes.
        """
        self.latency = latency
        self._loop = loop
        self._failed = failed
        self._write = write
        self.name = name
        self.is_alive = True
        self._tasks: dict[asyncio.Task[Any], None] = {}

    def spawn(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Let a task of this process begin."""
        context = copy_context()
        context.run(PROCESS.set, self)
        return self._loop.create_task(work, context=context)

    def own(self, task: asyncio.Task[Any]) -> None:
        """Count a task to this process."""
        self._tasks[task] = None
        task.add_done_callback(self._done)
        if not self.is_alive:  # what the dead begin while they end
            task.cancel()

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.pop(task, None)
        failure = None if task.cancelled() else task.exception()
        # What the dead trip over is their own end.
        if failure is not None and self.is_alive:
            self._failed(failure, task.get_name())

    def kill(self) -> None:
        """End it: nothing that it does from here on reaches anybody."""
        self.is_alive = False
        for task in list(self._tasks):
            task.cancel()

    def check(self) -> None:
        """Refuse to work for the dead."""
        if not self.is_alive:
            raise Dead

    def write(self) -> None:
        """Come to a moment at which something is about to be durable: it may be the last."""
        self.check()
        self._write()
        self.check()


PROCESS: ContextVar[Process] = ContextVar("PROCESS")


class VirtualLoop(asyncio.BaseEventLoop):
    """An event loop of its own time: what is due next happens next, and nobody waits for it."""

    def __init__(self, chance: Callable[[], float]) -> None:
        """Begin at 0; `chance` says how long threads take."""
        super().__init__()
        self._chance = chance
        self._made = 0
        self._rounds = 0
        self._soon: deque[QuickHandle | QuickTimer] = deque()
        self._timers: list[tuple[float, int, QuickTimer]] = []
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
        """Call something at this moment, after all that is to be called already."""
        handle = QuickHandle(callback, args, self, context)
        self._soon.append(handle)
        return handle

    def call_at(  # type: ignore[override]
        self,
        when: float,
        callback: Callable[..., object],
        *args: Any,  # noqa: ANN401
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """Call something at a moment; of those of one moment, the first first."""
        timer = QuickTimer(when, callback, args, self, context)
        self._timed += 1
        heappush(self._timers, (when, self._timed, timer))
        return timer

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Leave it where it is: when its time has come, nothing happens."""

    def _run_once(self) -> None:
        """Call all that is to be called at this moment; the next moment comes if there is none."""
        soon, timers = self._soon, self._timers
        if not soon:
            while timers and timers[0][2]._cancelled:  # noqa: SLF001  # quicker than to ask
                heappop(timers)
            if not timers or self._rounds > MOST_ROUNDS:
                raise RestlessError("nothing ends" if timers else _ALL_WAIT)
            self.now = max(self.now, timers[0][0])
        self._rounds += 1
        while timers and timers[0][0] <= self.now:
            soon.append(heappop(timers)[2])
        for _ in range(len(soon)):
            handle = soon.popleft()
            if handle._cancelled:  # noqa: SLF001
                continue
            try:
                handle._context.run(handle._callback, *handle._args)  # type: ignore[arg-type]  # noqa: SLF001
            except Exception as failure:  # noqa: BLE001  # whatever it is, it is told
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
        """Do the work of a thread, in a strand; many times at once, and else after a while."""
        del executor
        if self._chance() < PROMPT:
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
        except BaseException as failure:  # noqa: BLE001  # it is for the one who waits for it
            done.set_exception(failure)
        else:
            if not side.dead:
                driving = self.create_task(_driven(side, result))
                # Who dies before it goes on has never waited for it.
                driving.add_done_callback(lambda _: _close(result))
                return driving
            done.set_result(result)
        return done

    def _begin(self, done: asyncio.Future[T], func: Callable[..., T], args: Sequence[Any]) -> None:
        process = PROCESS.get(None)
        longest = LATENCY if process is None else process.latency()
        latency = (self._chance() - 0.5) * longest
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
            self.call_later(latency, self.call_soon, _pass_on, worked, done)
        else:
            _pass_on(worked, done)


def _pass_on(worked: asyncio.Future[T], done: asyncio.Future[T]) -> None:
    """Give to one what another has; who has given up wants nothing."""
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


async def strand(func: Callable[..., T], *args: Any) -> T:  # noqa: ANN401  # whatever it takes
    """Run what was written for a thread; whenever it waits, others go on."""
    side = _greenlet(func)
    return cast("T", await _driven(side, side.switch(*args)))


def _greenlet(func: Callable[..., Any]) -> Any:  # noqa: ANN401  # of a library without types
    driver = greenlet.getcurrent()
    side = greenlet.greenlet(func, driver)
    side.gr_context = driver.gr_context
    return side


async def _driven(side: Any, result: Any) -> Any:  # noqa: ANN401
    """Wait for whatever a strand waits for, until it has ended."""
    while not side.dead:
        try:
            value = await result
        except BaseException as failure:  # noqa: BLE001  # it is for the strand to say
            result = side.throw(failure)
        else:
            result = side.switch(value)
    return result


def wait(awaitable: Awaitable[T]) -> T:
    """Wait in a strand, while others go on."""
    current = greenlet.getcurrent()
    if current.parent is None:
        _close(awaitable)
        msg = "Only a strand may wait."
        raise AssertionError(msg)
    return cast("T", current.parent.switch(awaitable))


def _close(awaitable: object) -> None:
    close = getattr(awaitable, "close", None)
    if close is not None:
        close()


def me() -> object:
    """Return who runs just now: a strand, or the loop itself."""
    return greenlet.getcurrent()
