"""The network: what one says to another may be lost, late, doubled, or go to somebody else.

An address is a name that somebody has at a time. Who asks waits no longer than he said. A doubled
message comes to whoever is at the address by then, and nobody waits for the answer to it.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

from ibi.errors import IbiError
from tests.simulation.world.virtual_time import Dead, Process

if TYPE_CHECKING:
    from tests.simulation.world.seeded_random import Chance

T = TypeVar("T")
H = TypeVar("H", bound="Listener")

LOST: Final = "it did not answer in time"
CLOSED: Final = "there is no connection to it"
_NEAR: Final = 0.02
"""Seconds that a message takes at the most, in good weather."""
_LATE: Final = 90.0
"""Seconds after which the double of a message comes at the latest."""


class Listener(Protocol):
    """Somebody at an address."""

    name: str

    @property
    def process(self) -> Process | None:
        """The process that answers, if any does."""
        ...


class UnreachableError(Exception):
    """There is no answer; why, in some words."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """How well the network works."""

    loss: float = 0.0
    """How many of the messages are lost, and of the answers."""
    slow: float = 1.0
    """How many times longer they take."""
    doubling: float = 0.0


class Network(Generic[H]):
    """Connects everybody."""

    def __init__(
        self,
        chance: Chance,
        tell: Callable[[str, str], None],
        unforeseen: Callable[[str], None],
    ) -> None:
        """Begin in good weather; `tell` is told of what goes wrong, by whom."""
        self._chance = chance
        self._tell = tell
        self._unforeseen = unforeseen
        self.places: dict[str, H] = {}
        self.conditions = Conditions()
        self.cut_off: frozenset[str] = frozenset()
        """Those who reach each other, and nobody else."""
        self.deaf = False
        """Whether they are heard all the same."""
        self.messages = 0

    def is_cut(self, sender: str, receiver: str) -> bool:
        """Tell whether what one says does not reach another."""
        is_sent_from_there, is_sent_there = sender in self.cut_off, receiver in self.cut_off
        if self.deaf:
            return is_sent_there and not is_sent_from_there
        return is_sent_from_there != is_sent_there

    async def call(
        self,
        sender: str,
        address: str,
        what: str,
        deliver: Callable[[H], Coroutine[Any, Any, T]],
        seconds: float,
    ) -> T:
        """Say something to whoever is at an address, and return the answer."""
        self.messages += 1
        now = self.conditions
        ends = asyncio.get_running_loop().time() + seconds
        draw = self._chance.of(f"link/{sender}/{address}").random
        lost, unanswered, doubled = draw() < now.loss, draw() < now.loss, draw() < now.doubling
        there, back = draw() ** 3 * _NEAR * now.slow, draw() ** 3 * _NEAR * now.slow
        host = self.places.get(address)
        if lost or (host is not None and self.is_cut(sender, host.name)):
            self._tell(sender, f"{what} to {address} is lost")
            await _until(ends, math.inf)
        await _until(ends, there)
        if doubled:
            self._tell(sender, f"{what} to {address} is doubled")
            later = draw() * _LATE
            asyncio.get_running_loop().call_later(later, self._double, address, what, deliver)
        answer = await self._heard(address, deliver, what, ends)
        receiver = self.places.get(address)
        if unanswered or (receiver is not None and self.is_cut(receiver.name, sender)):
            self._tell(sender, f"the answer of {address} to {what} is lost")
            await _until(ends, math.inf)
        await _until(ends, back)
        return answer

    async def _heard(
        self, address: str, deliver: Callable[[H], Coroutine[Any, Any, T]], what: str, ends: float
    ) -> T:
        host = self.places.get(address)
        process = None if host is None else host.process
        if host is None or process is None or not process.is_alive:
            raise UnreachableError(CLOSED)
        task = process.spawn(deliver(host))
        await _ended(task, ends)
        try:
            return task.result()
        except asyncio.InvalidStateError:
            raise UnreachableError(LOST) from None
        except asyncio.CancelledError:  # whoever was asked is no more
            raise UnreachableError("it broke off") from None
        except IbiError as fault:
            self._unforeseen(f"{host.name} could not answer {what}: {fault!r}")
            raise UnreachableError("it answered 500") from None

    def _double(
        self, address: str, what: str, deliver: Callable[[H], Coroutine[Any, Any, Any]]
    ) -> None:
        host = self.places.get(address)
        if host is not None and host.process is not None and host.process.is_alive:
            self._tell(host.name, f"the double of {what} comes")
            host.process.spawn(_ignored(deliver(host)))


async def _until(ends: float, seconds: float) -> None:
    """Let some time pass; UnreachableError at the end of all patience, if that comes before."""
    left = ends - asyncio.get_running_loop().time()
    await asyncio.sleep(min(left, seconds))
    if left <= seconds:
        raise UnreachableError(LOST)


async def _ended(task: asyncio.Task[Any], ends: float) -> None:
    """Wait until somebody has answered, or patience ends; who gives up does not end the work."""
    loop = asyncio.get_running_loop()
    waiter: asyncio.Future[None] = loop.create_future()

    def release(_: object = None) -> None:
        if not waiter.done():
            waiter.set_result(None)

    task.add_done_callback(release)
    late = loop.call_at(ends, release)
    try:
        await waiter
    finally:
        late.cancel()
        task.remove_done_callback(release)


async def _ignored(work: Coroutine[Any, Any, Any]) -> None:
    try:
        await work
    except (IbiError, Dead):
        return
