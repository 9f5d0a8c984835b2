"""Those who wait for labels over HTTP: served in order, in groups, by one thread.

A group costs one durable step, however many are in it. Who hangs up or has waited long enough
leaves the line without a label.
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
from ibi.minting.rules.granularity import SECOND
from ibi.minting.rules.label_generator import Minted

SEATS: Final = 1000
SEATS_A_CLIENT: Final = 250
PATIENCE: Final = 10.0
"""Seconds that a request waits; most proxies give up after 30 or 60."""

SHARE: Final = PATIENCE / 2
"""Seconds of labels that one client may have waiting."""

_GROUP: Final = 500


@dataclass(eq=False, slots=True)
class Waiting:
    """Somebody who waits: for how many labels, and until when."""

    client: str
    order: MintOrder
    answer: asyncio.Future[list[Minted]]
    deadline: float


class RequestQueue:
    """The waiting room of the service."""

    def __init__(
        self, bindings: LabelBindings, seats: int = SEATS, seats_a_client: int = SEATS_A_CLIENT
    ) -> None:
        """Let so many wait, and so many of one client."""
        self._bindings = bindings
        self._seats = seats
        self._seats_a_client = seats_a_client
        self._line: deque[Waiting] = deque()
        self._inside: set[Waiting] = set()
        """Those in the line and those at the desk."""
        self._arrival = asyncio.Event()
        self._allocator = ThreadPoolExecutor(max_workers=1, thread_name_prefix="ibi-mint")
        self._task: asyncio.Task[None] | None = None
        self._closed = False

    def __len__(self) -> int:
        """Return how many wait."""
        return len(self._line)

    def open(self) -> None:
        """Begin to serve."""
        self._task = asyncio.create_task(self._serve(), name="ibi-waiting-line")

    def dismiss(self) -> None:
        """Serve nobody any more; those who wait are told, and so are those who come."""
        self._closed = True
        if self._task is not None:
            self._task.cancel()
        for waiting in self._line:
            if not waiting.answer.done():
                waiting.answer.set_exception(MinterClosedError())

    async def close(self) -> None:
        """Dismiss everybody, and wait until the desk is empty."""
        self.dismiss()
        if self._task is not None:
            with suppress(asyncio.CancelledError):
                await self._task
        await asyncio.to_thread(self._allocator.shutdown)

    async def wait(
        self, client: str, order: MintOrder, hang_up: Callable[[], Coroutine[object, object, None]]
    ) -> list[Minted]:
        """Wait for labels; BusyError if it takes too long or the room is full."""
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
                with suppress(ValueError):  # it may be at the desk already
                    self._line.remove(waiting)
            self._inside.discard(waiting)

    def _check_seats(self, client: str, order: MintOrder) -> None:
        """Refuse at the door who could not be served in time, or takes more than a share."""
        if self._closed:
            raise MinterClosedError
        mine = {waiting for waiting in self._inside if waiting.client == client}
        if len(mine) >= self._seats_a_client or self._seconds(mine, order) > SHARE:
            raise ShareError(self._later(mine), len(mine))
        if len(self._line) >= self._seats or self._seconds(self._inside, order) > PATIENCE:
            raise BusyError(self._later(self._inside), len(self._line))

    def _seconds(self, others: Iterable[Waiting], order: MintOrder | None = None) -> float:
        """Return how long the labels of others take, and all of an order's but the first."""
        granularity = self._bindings.minter.granularity
        if not granularity.fixed:
            return 0.0  # it becomes as fine as the crowd needs
        if order is not None and (order.key or order.count == 1):
            return 0.0  # who wants one may try, and a key may have its labels already
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
        # Nobody is served who will have gone.
        left = max(0.0, group[0].deadline - loop.time())
        outcomes: Sequence[list[Minted] | Exception] = [MinterClosedError()] * len(group)
        try:
            outcomes = await loop.run_in_executor(
                self._allocator, self._bindings.issue_all, orders, left
            )
        except Exception as error:  # noqa: BLE001  # it reaches every caller, and the line goes on
            outcomes = [error] * len(group)
        finally:
            _tell(group, outcomes)

    def _next_group(self) -> list[Waiting]:
        """Take those who are served together: as many as one durable step allows, at least one."""
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


def _tell(group: list[Waiting], outcomes: Sequence[list[Minted] | Exception]) -> None:
    for waiting, outcome in zip(group, outcomes, strict=True):
        if waiting.answer.done():
            continue  # gone meanwhile
        if isinstance(outcome, Exception):
            waiting.answer.set_exception(outcome)
        else:
            waiting.answer.set_result(outcome)
