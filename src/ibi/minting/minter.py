"""The minter: issues the labels of one subsystem, each only once.

Most labels come straight from the stretch of time that its allocator holds; `reservation` defines
when and how it takes another one from the ledger. Threads may share a minter. A forked process must
not use the stretch of its parent: it starts with none.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from threading import Lock
from typing import Final
from weakref import WeakSet

from ibi.errors import BusyError, MinterClosedError
from ibi.minting.ports import LabelRecord, Ledger, Machine
from ibi.minting.rules.distributor import create_date
from ibi.minting.rules.granularity import (
    MOST_AT_ONCE,
    Granularity,
    check_count,
    check_duration,
)
from ibi.minting.rules.label_generator import LabelGenerator, Minted
from ibi.minting.rules.reservation import JITTER, ReservationLimits
from ibi.minting.rules.subsystem import Subsystem
from ibi.minting.stretch_allocator import Allocation, MinterHealth, StretchAllocator, health_of
from ibi.minting.waiting_room import WaitingRoom
from ibi.model.clock import SECOND, Clock

SEATS: Final = 1000
"""How many callers may wait, each with a thread of its own: more would exhaust the machine."""

_SOON: Final = 1_000_000
"""Nanoseconds to wait at least before the ledger is asked again."""


class Minter(AbstractContextManager["Minter"]):
    """Mints the labels of one subsystem; a context manager that releases its prefixes."""

    def __init__(  # noqa: PLR0913  # one argument a port, and what an operator sets
        self,
        subsystem: Subsystem,
        ledger: Ledger,
        clock: Clock,
        machine: Machine,
        *,
        granularity: str = "auto",
        limits: ReservationLimits | None = None,
        seats: int = SEATS,
        observe: Callable[[float], None] = lambda _: None,
    ) -> None:
        """Claim the prefixes on this machine; `observe` gets the seconds of every durable step."""
        self.subsystem = subsystem
        self.ledger = ledger
        self.limits = limits or ReservationLimits()
        self._clock = clock
        self._wall = clock.wall
        self._uptime = clock.uptime
        self._generator = LabelGenerator(subsystem)
        self._label = self._generator.label
        self._closed = False
        self._lock = Lock()
        self._seats = seats
        self._room = WaitingRoom(seats)
        self._allocator = StretchAllocator(
            subsystem.prefixes,
            ledger,
            clock,
            machine,
            Granularity.of(granularity),
            self.limits,
            observe,
        )
        _MINTERS.add(self)

    def mint(self, timeout: float | None = None) -> Minted:
        """Mint one label, in all forms that the subsystem has; wait up to `timeout` seconds."""
        with self._lock:
            instant = self._quick()
        if instant is None:
            return self.mint_many(1, timeout)[0]
        return self._label(instant)

    def _quick(self) -> int | None:
        """Return an instant if no caller waits and the stretch has one left; otherwise None."""
        allocator = self._allocator
        wall = self._wall()
        if (
            wall > allocator.mark
            # The wall clock still agrees with the uptime: no need to ask the ledger.
            or not -JITTER < wall - self._uptime() - allocator.offset < JITTER
            or self._room.queue
        ):
            return None
        creation, instant = create_date(wall, allocator.last, allocator.r)
        if creation > wall:
            return None
        allocator.last = instant
        allocator.given += 1
        return instant

    def mint_many(self, count: int, timeout: float | None = None) -> list[Minted]:
        """Mint many labels in one durable step, or in as few as the granularity allows."""
        return self._generator.labels(self.instants(count, timeout))

    def attempt(self, count: int) -> list[Minted] | None:
        """Return labels if that takes neither waiting nor the ledger; otherwise None."""
        check_count(count)
        # Another thread may hold the lock while the ledger writes: that would be waiting.
        if not self._lock.acquire(blocking=False):
            return None
        try:
            if count == 1 and (instant := self._quick()) is not None:
                return [self._label(instant)]
            if self._room.queue or self._closed:
                return None
            now = self._allocator.read()
            allocation = self._allocator.draw(count, now)
            if allocation is None or allocation.creation > now.wall:
                return None
            self._allocator.take(allocation)
        finally:
            self._lock.release()
        return self._generator.labels(allocation.instants)

    def instants(self, count: int, timeout: float | None = None) -> list[int]:
        """Return new instants, for `labels` to make labels of."""
        check_count(count)
        longest = self.limits.wait / SECOND
        wait = int(max(0.0, longest if timeout is None else min(timeout, longest)) * SECOND)
        granularity = self._allocator.granularity
        check_duration(count, granularity, self.limits.wait)
        if granularity.fixed and (count - 1) * granularity.nanoseconds > wait:
            raise BusyError(-(-(count - 1) * granularity.nanoseconds // SECOND))
        deadline = self._uptime() + wait
        given: list[int] = []
        with self._room.turn(wait / SECOND, granularity.nanoseconds / SECOND):
            while len(given) < count:
                given += self._serve(count - len(given), deadline)
        return given

    def labels(self, instants: Sequence[int]) -> list[Minted]:
        """Return the labels of instants that this minter has issued."""
        return self._generator.labels(instants)

    def _serve(self, count: int, deadline: int) -> list[int]:
        """Return as many instants as the granularity allows, to the caller whose turn it is."""
        allocator = self._allocator
        while True:
            with self._lock:
                if self._closed:
                    raise MinterClosedError
                now = allocator.read()
                wait = max(0, deadline - now.uptime)  # a caller that need not wait is never late
                batch = min(count, self.at_once())
                crowd = len(self._room.queue) - 1
                allocation = allocator.draw(batch, now, crowd)
                if allocation is None:
                    reserved = allocator.reserve(batch, now, wait, crowd)
                    if isinstance(reserved, Allocation):
                        allocation = reserved
                        break
                    delay = max(reserved.delay, _SOON)
                else:
                    delay = allocation.creation - now.wall
                    if delay > wait:
                        raise BusyError(max(1, -(-delay // SECOND)))
                    if len(allocation.instants) > 1 or delay <= 0:
                        allocator.take(allocation)
                        break
            # It is this caller's turn, but early: if it gives up now, no instant is lost.
            self._clock.sleep(delay)
        self._wait_for(allocation, deadline)
        return allocation.instants

    def at_once(self) -> int:
        """Return how many labels may be reserved in one step.

        A mark further ahead than a stretch would make all callers wait after a crash. An automatic
        granularity becomes as fine as the batch needs.
        """
        granularity = self._allocator.granularity
        if not granularity.fixed:
            return MOST_AT_ONCE
        return max(1, self.limits.stretch // granularity.nanoseconds)

    def _wait_for(self, allocation: Allocation, deadline: int) -> None:
        """Wait until the instants have passed: no label may carry a date in the future."""
        while (delay := allocation.creation - self._wall()) > 0:
            if self._uptime() + delay > deadline + self.limits.behind:
                # The clock was set back meanwhile. The instants are lost, which is harmless.
                raise BusyError(-(-delay // SECOND))
            self._clock.sleep(delay)

    def now(self) -> int:
        """Return the POSIX time in nanoseconds, by the minter's clock."""
        return self._wall()

    @property
    def granularity(self) -> Granularity:
        """The granularity at this moment."""
        return self._allocator.granularity

    def set_granularity(self, text: str) -> None:
        """Change the granularity, from the next label on; `auto` adapts it to the load."""
        chosen = Granularity.of(text)
        with self._lock:
            self._allocator.adapt(chosen)

    def health(self) -> MinterHealth:
        """Return counters and state for monitoring."""
        return health_of(self._allocator, max(0, len(self._room.queue) - 1), self._wall())

    def check(self) -> None:
        """Raise the error that would keep a label from being minted now, without minting one."""
        with self._lock:
            if self._closed:
                raise MinterClosedError
            self._allocator.check()

    def confirm(self) -> None:
        """Accept the operator's word that clock and ledger are right, and continue after now."""
        with self._lock:
            if self._closed:
                raise MinterClosedError
            self._allocator.confirm()

    def adopt(self, label: LabelRecord, spelling: str) -> None:
        """Record a label that this minter did not issue; from now on it never issues it."""
        with self._lock:
            if self._closed:
                raise MinterClosedError
            self._allocator.adopt(label, spelling)

    def close(self) -> None:
        """Return the unused rest of the stretch to the ledger, and release the prefixes."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._allocator.close()
                self.ledger.close()

    def __exit__(self, *_: object) -> None:
        self.close()

    def _reset_in_child(self) -> None:
        """Discard the stretch and the waiting threads, which belong to the parent process."""
        self._allocator.forget()
        self._room = WaitingRoom(self._seats)


_MINTERS: Final[WeakSet[Minter]] = WeakSet()
"""All minters of this process, to pause while it forks."""
_FORKING: Final = Lock()
"""Held from before a fork until after it, because two threads may fork at the same time."""
_PAUSED: Final[list[Minter]] = []


def _before_fork() -> None:
    _FORKING.acquire()
    _PAUSED.extend(_MINTERS)
    # All locks of minters before those of ledgers, the order in which minting takes them.
    for minter in _PAUSED:
        minter._lock.acquire()  # noqa: SLF001  # its own module
    for minter in _PAUSED:
        minter.ledger.pause()


def _after_fork(*, in_child: bool) -> None:
    if in_child:
        # All of them: a fork made by C code may have called no hook before.
        for minter in list(_MINTERS):
            minter._reset_in_child()  # noqa: SLF001
            if minter not in _PAUSED:
                minter._lock = Lock()  # noqa: SLF001
    while _PAUSED:
        minter = _PAUSED.pop()
        minter.ledger.resume()
        minter._lock.release()  # noqa: SLF001
    if _FORKING.locked():
        _FORKING.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=partial(_after_fork, in_child=False),
        after_in_child=partial(_after_fork, in_child=True),
    )
