"""The queue of HTTP requests for labels: served in order, in groups, by one thread.

A group costs one durable step, however many requests are in it. A request whose client hangs up, or
that has waited too long, leaves the queue without a label.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from ibi.errors import BusyError, MinterClosedError, ShareError
from ibi.minting.label_binding import LabelBindings, MintOrder
from ibi.minting.rules.label_generator import Minted
from ibi.model.clock import SECOND

SEATS: Final = 1000
"""The largest number of requests that wait."""
SEATS_A_CLIENT: Final = 250
"""The largest number of requests of one client that wait."""
PATIENCE: Final = 10.0
"""Seconds that a request waits at most; most proxies give up after 30 or 60."""

SHARE: Final = PATIENCE / 2
"""Seconds that the labels of one client's waiting requests may take."""

_GROUP: Final = 500
"""The largest number of requests that are served together."""


@dataclass(eq=False, slots=True)
class Waiting:
    """A waiting request: its order, its deadline, and the future of its labels."""

    client: str
    order: MintOrder
    answer: asyncio.Future[list[Minted]]
    deadline: float


class RequestQueue:
    """The waiting room of the minting service."""

    def __init__(
        self, bindings: LabelBindings, seats: int = SEATS, seats_a_client: int = SEATS_A_CLIENT
    ) -> None:
        self._bindings = bindings
        self._seats = seats
        self._seats_a_client = seats_a_client
        self._line: deque[Waiting] = deque()
        self._inside: set[Waiting] = set()
        """The requests that wait and those being served."""
        self._arrival = asyncio.Event()
        self._allocator = ThreadPoolExecutor(max_workers=1, thread_name_prefix="ibi-mint")
        self._task: asyncio.Task[None] | None = None
        self._closed = False

    def __len__(self) -> int:
        """Return the number of waiting requests."""
        return len(self._line)

    def open(self) -> None:
        """Begin to serve requests."""
        self._task = asyncio.create_task(self._serve(), name="ibi-waiting-line")

    def dismiss(self) -> None:
        """Stop serving; waiting requests fail with MinterClosedError, and so do new ones."""
        self._closed = True
        if self._task is not None:
            self._task.cancel()
        for waiting in self._line:
            if not waiting.answer.done():
                waiting.answer.set_exception(MinterClosedError())

    async def close(self) -> None:
        """Stop serving, and wait until the group being served is done."""
        self.dismiss()
        if self._task is not None:
            with suppress(asyncio.CancelledError):
                await self._task
        await asyncio.to_thread(self._allocator.shutdown)

    async def wait(
        self, client: str, order: MintOrder, hang_up: Callable[[], Coroutine[object, object, None]]
    ) -> list[Minted]:
        """Wait for labels; BusyError if it takes too long or the queue is full."""
        self._check_seats(client, order)
        loop = asyncio.get_running_loop()
        waiting = Waiting(client, order, loop.create_future(), loop.time() + PATIENCE)
        answer = waiting.answer
        self._line.append(waiting)
        self._inside.add(waiting)
        self._arrival.set()
        gone = asyncio.ensure_future(hang_up())
        try:
            waited_for: list[asyncio.Future[Any]] = [answer, gone]
            await asyncio.wait(waited_for, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
            if answer.done():
                return answer.result()
            raise BusyError(self._later(self._inside), len(self._line))
        finally:
            gone.cancel()
            if answer.cancel():
                with suppress(ValueError):  # it may be being served already
                    self._line.remove(waiting)
            self._inside.discard(waiting)

    def _check_seats(self, client: str, order: MintOrder) -> None:
        """Raise if a request could not be served in time, or exceeds the share of its client."""
        if self._closed:
            raise MinterClosedError
        mine = {waiting for waiting in self._inside if waiting.client == client}
        if len(mine) >= self._seats_a_client or self._seconds(mine, order) > SHARE:
            raise ShareError(self._later(mine), len(mine))
        if len(self._line) >= self._seats or self._seconds(self._inside, order) > PATIENCE:
            raise BusyError(self._later(self._inside), len(self._line))

    def _seconds(self, others: Iterable[Waiting], order: MintOrder | None = None) -> float:
        """Return the seconds for labels of other requests, and those of an order but the first."""
        granularity = self._bindings.minter.granularity
        if not granularity.fixed:
            return 0.0  # an automatic granularity becomes as fine as the load needs
        if order is not None and (order.key or order.count == 1):
            return 0.0  # one label may be tried for, and a key may have its labels already
        labels = sum(waiting.order.count for waiting in others)
        labels += order.count - 1 if order is not None else 0
        return labels * granularity.nanoseconds / SECOND

    def _later(self, others: Iterable[Waiting]) -> int:
        return max(1, min(round(self._seconds(others)), 3600))

    async def _serve(self) -> None:
        while True:
            group = self._next_group()
            if group:
                await self._serve_group(group)
            else:
                self._arrival.clear()
                await self._arrival.wait()

    async def _serve_group(self, group: list[Waiting]) -> None:
        loop = asyncio.get_running_loop()
        orders = [waiting.order for waiting in group]
        # No request is served after its deadline.
        left = max(0.0, group[0].deadline - loop.time())
        outcomes: Sequence[list[Minted] | Exception] = [MinterClosedError()] * len(group)
        try:
            outcomes = await loop.run_in_executor(
                self._allocator, self._bindings.issue_all, orders, left
            )
        except Exception as error:  # noqa: BLE001  # each caller gets it, and the queue continues
            outcomes = [error] * len(group)
        finally:
            _resolve(group, outcomes)

    def _next_group(self) -> list[Waiting]:
        """Take the requests to serve together: as many as one durable step allows, at least one."""
        room = self._bindings.minter.at_once()
        group: list[Waiting] = []
        while self._line and len(group) < _GROUP:
            first = self._line[0]
            if first.answer.done():
                self._line.popleft()
                continue
            if group and first.order.count > room:
                break
            room -= first.order.count
            group.append(self._line.popleft())
        return group


def _resolve(group: list[Waiting], outcomes: Sequence[list[Minted] | Exception]) -> None:
    for waiting, outcome in zip(group, outcomes, strict=True):
        if waiting.answer.done():
            continue  # the client is gone
        if isinstance(outcome, Exception):
            waiting.answer.set_exception(outcome)
        else:
            waiting.answer.set_result(outcome)
