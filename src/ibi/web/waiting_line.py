"""Those who wait for labels over HTTP: served in order, in groups, by one thread.

A group costs one durable step, however many are in it. Who hangs up or has waited long enough
leaves the line without a label.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Final, TypeAlias

from ibi.errors import BusyError, MinterClosedError
from ibi.minting.association import Associations, Order
from ibi.minting.granularity import SECOND
from ibi.minting.label_generator import Minted

SEATS: Final = 1000
SEATS_A_CLIENT: Final = 250
PATIENCE: Final = 10.0
"""Seconds that a request waits; most proxies give up after 30 or 60."""

_GROUP: Final = 500

Waiting: TypeAlias = "tuple[str, Order, asyncio.Future[list[Minted]]]"


class ShareError(BusyError):
    """One client has as many requests waiting as one client may."""


class WaitingLine:
    """The waiting room of the service."""

    def __init__(
        self, associations: Associations, seats: int = SEATS, seats_a_client: int = SEATS_A_CLIENT
    ) -> None:
        """Let so many wait, and so many of one client."""
        self._associations = associations
        self._seats = seats
        self._seats_a_client = seats_a_client
        self._line: deque[Waiting] = deque()
        self._of_client: dict[str, int] = {}
        self._arrival = asyncio.Event()
        self._desk = ThreadPoolExecutor(max_workers=1, thread_name_prefix="ibi-mint")
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
        for _, _, answer in self._line:
            if not answer.done():
                answer.set_exception(MinterClosedError())

    async def close(self) -> None:
        """Dismiss everybody, and wait until the desk is empty."""
        self.dismiss()
        if self._task is not None:
            with suppress(asyncio.CancelledError):
                await self._task
        await asyncio.to_thread(self._desk.shutdown)

    async def wait(
        self, client: str, order: Order, hang_up: Callable[[], Coroutine[object, object, None]]
    ) -> list[Minted]:
        """Wait for labels; BusyError if it takes too long or the room is full."""
        self._check_seats(client)
        answer: asyncio.Future[list[Minted]] = asyncio.get_running_loop().create_future()
        waiting = (client, order, answer)
        self._line.append(waiting)
        self._of_client[client] = self._of_client.get(client, 0) + 1
        self._arrival.set()
        gone = asyncio.ensure_future(hang_up())
        try:
            waited_for: list[asyncio.Future[Any]] = [answer, gone]
            await asyncio.wait(waited_for, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
            if answer.done():
                return answer.result()
            raise BusyError(self._later(), len(self._line))
        finally:
            gone.cancel()
            if answer.cancel():
                with suppress(ValueError):  # it may be at the desk already
                    self._line.remove(waiting)
            self._leave(client)

    def _check_seats(self, client: str) -> None:
        if self._closed:
            raise MinterClosedError
        if len(self._line) >= self._seats:
            raise BusyError(self._later(), len(self._line))
        if self._of_client.get(client, 0) >= self._seats_a_client:
            raise ShareError(self._later(), self._of_client[client])

    def _leave(self, client: str) -> None:
        left = self._of_client[client] - 1
        if left:
            self._of_client[client] = left
        else:
            del self._of_client[client]

    def _later(self) -> int:
        r = self._associations.minter.granularity.nanoseconds
        return max(1, min(len(self._line) * r // SECOND, 3600))

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
        orders = [order for _, order, _ in group]
        outcomes: Sequence[list[Minted] | Exception] = [MinterClosedError()] * len(group)
        try:
            outcomes = await loop.run_in_executor(
                self._desk, self._associations.issue_all, orders, PATIENCE
            )
        except Exception as error:  # noqa: BLE001  # it reaches every caller, and the line goes on
            outcomes = [error] * len(group)
        finally:
            _tell(group, outcomes)

    def _next_group(self) -> list[Waiting]:
        """Take those who are served together: as many as one durable step allows, at least one."""
        room = self._associations.minter.at_once()
        group: list[Waiting] = []
        while self._line and len(group) < _GROUP:
            _, order, answer = self._line[0]
            if answer.done():
                self._line.popleft()
                continue
            if group and order.count > room:
                break
            room -= order.count
            group.append(self._line.popleft())
        return group


def _tell(group: list[Waiting], outcomes: Sequence[list[Minted] | Exception]) -> None:
    for (_, _, answer), outcome in zip(group, outcomes, strict=True):
        if answer.done():
            continue  # gone meanwhile
        if isinstance(outcome, Exception):
            answer.set_exception(outcome)
        else:
            answer.set_result(outcome)
