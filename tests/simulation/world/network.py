"""The network: messages may be lost, late or duplicated, or reach another host.

An address belongs to one host at a time. A caller waits no longer than its timeout. A duplicate is
delivered to the host that has the address by then, and its answer is dropped.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

from ibi.errors import IbiError
from tests.simulation.world.virtual_time import Process, ProcessKilled

if TYPE_CHECKING:
    from tests.simulation.world.seeded_random import SeededRandom

T = TypeVar("T")
H = TypeVar("H", bound="Listener")

LOST: Final = "it did not answer in time"
CLOSED: Final = "there is no connection to it"
_NEAR: Final = 0.02
"""Maximal seconds that a message takes on a network without faults."""
_STREAM: Final = 60.0
"""Seconds for which a link draws from one random stream."""
_LATE: Final = 90.0
"""Maximal seconds after which a duplicate is delivered."""


class Listener(Protocol):
    """A host that has an address."""

    name: str

    @property
    def process(self) -> Process | None:
        """The process that answers, or None if it is down."""
        ...


class UnreachableError(Exception):
    """There is no answer; the message says why."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """The faults of the network at one time."""

    loss: float = 0.0
    """Share of the messages, and of the answers, that are lost."""
    slow: float = 1.0
    """Factor by which messages take longer."""
    duplication: float = 0.0


class Network(Generic[H]):
    """Connects all hosts."""

    def __init__(
        self,
        seeded: SeededRandom,
        tell: Callable[[str, str], None],
        unforeseen: Callable[[str], None],
    ) -> None:
        """Start without faults; `tell` is called with the sender and a text for every fault."""
        self._seeded = seeded
        self._tell = tell
        self._unforeseen = unforeseen
        self.places: dict[str, H] = {}
        self.conditions = Conditions()
        self.cut_off: frozenset[str] = frozenset()
        """Names of hosts that reach only each other."""
        self.inbound_only = False
        """Whether only messages to these hosts are cut."""
        self.messages = 0

    def is_cut(self, sender: str, receiver: str) -> bool:
        """Tell whether messages of a sender do not reach a receiver."""
        is_sent_from_there, is_sent_there = sender in self.cut_off, receiver in self.cut_off
        if self.inbound_only:
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
        """Deliver a message to the host at an address; return the answer."""
        self.messages += 1
        now = self.conditions
        began = asyncio.get_running_loop().time()
        ends = began + seconds
        # With one stream a link, an event that a shrunk scenario lacks would shift later draws.
        draw = self._seeded.stream(f"link/{sender}/{address}/{began // _STREAM:.0f}").random
        lost, unanswered, duplicated = (
            draw() < now.loss,
            draw() < now.loss,
            draw() < now.duplication,
        )
        there, back = draw() ** 3 * _NEAR * now.slow, draw() ** 3 * _NEAR * now.slow
        host = self.places.get(address)
        if lost or (host is not None and self.is_cut(sender, host.name)):
            self._tell(sender, f"{what} to {address} is lost")
            await _until(ends, math.inf)
        await _until(ends, there)
        if duplicated:
            self._tell(sender, f"{what} to {address} is doubled")
            later = draw() * _LATE
            asyncio.get_running_loop().call_later(
                later, self._deliver_duplicate, address, what, deliver
            )
        answer = await self._deliver(address, deliver, what, ends)
        receiver = self.places.get(address)
        if unanswered or (receiver is not None and self.is_cut(receiver.name, sender)):
            self._tell(sender, f"the answer of {address} to {what} is lost")
            await _until(ends, math.inf)
        await _until(ends, back)
        return answer

    async def _deliver(
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
        except asyncio.CancelledError:  # the process that was asked was killed
            raise UnreachableError("it broke off") from None
        except IbiError as fault:
            self._unforeseen(f"{host.name} could not answer {what}: {fault!r}")
            raise UnreachableError("it answered 500") from None

    def _deliver_duplicate(
        self, address: str, what: str, deliver: Callable[[H], Coroutine[Any, Any, Any]]
    ) -> None:
        host = self.places.get(address)
        if host is not None and host.process is not None and host.process.is_alive:
            self._tell(host.name, f"the double of {what} comes")
            host.process.spawn(_ignored(deliver(host)))


async def _until(ends: float, seconds: float) -> None:
    """Sleep; UnreachableError if the timeout comes first."""
    left = ends - asyncio.get_running_loop().time()
    await asyncio.sleep(min(left, seconds))
    if left <= seconds:
        raise UnreachableError(LOST)


async def _ended(task: asyncio.Task[Any], ends: float) -> None:
    """Wait for the answer or the timeout; a timeout does not cancel the work."""
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
    except (IbiError, ProcessKilled):
        return
