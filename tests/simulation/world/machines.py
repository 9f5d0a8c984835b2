"""Machines: a clock that anybody may set, a disk, an address, and the process that runs there."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ibi.errors import IbiError
from ibi.minting.ports import PrefixClaim, Witness
from tests.simulation.world.disks import Disk
from tests.simulation.world.virtual_time import LATENCY, Process, VirtualLoop, strand, wait

if TYPE_CHECKING:
    from tests.simulation.world.world import World

SECOND: Final = 1_000_000_000
START: Final = 1_700_000_000 * SECOND
_SHORTEST: Final = 1000
"""Nanoseconds that a sleep takes."""
_AGAIN: Final = 5.0
"""Seconds after which a program that could not start is started again."""


class MachineClock:
    """The clocks of one machine."""

    def __init__(self, loop: VirtualLoop, name: str) -> None:
        """Begin right, an hour after the machine was switched on."""
        self._loop = loop
        self._name = name
        self.error = 0
        """Nanoseconds that the wall clock is ahead of the truth."""
        self.was_set = False
        self._began = -3600 * SECOND
        self._boots = 1

    def _true(self) -> int:
        return int(self._loop.now * SECOND)

    def wall(self) -> int:
        """Return POSIX time, as the machine has it."""
        return START + self._true() + self.error

    def uptime(self) -> int:
        """Return how long the machine has been on."""
        return self._true() - self._began

    def boot(self) -> str:
        """Return the name of this run of the machine."""
        return f"{self._name}-{self._boots}"

    def sleep(self, nanoseconds: int) -> None:
        """Let others go on meanwhile."""
        wait(asyncio.sleep(max(_SHORTEST, nanoseconds) / SECOND))

    def restart(self) -> None:
        """Start the machine anew."""
        self._boots += 1
        self._began = self._true()


@dataclass
class MachineMemory:
    """What a machine remembers of prefixes, apart from any ledger."""

    witnesses: dict[tuple[str, ...], Witness] = field(default_factory=dict)

    def claim(self, prefixes: Sequence[str], ledger: str, place: str) -> PrefixClaim:
        """Let everyone in: whoever was here before has ended."""
        del ledger, place
        return _Claim(self, tuple(prefixes))


@dataclass
class _Claim:
    memory: MachineMemory
    prefixes: tuple[str, ...]

    def witness(self) -> Witness | None:
        return self.memory.witnesses.get(self.prefixes)

    def note(self, witness: Witness) -> None:
        self.memory.witnesses[self.prefixes] = witness

    def release(self) -> None:
        """Let go."""


class Host:
    """A machine with a program that is started again whenever it ends."""

    def __init__(self, world: World, name: str, address: str) -> None:
        """Stand there, switched off."""
        self.world = world
        self.name = name
        self.address = address
        self.addresses: dict[str, float] = {}
        """All that it ever had, and until when."""
        self.clock = MachineClock(world.loop, name)
        self.memory = MachineMemory()
        self.disk = Disk(name, self.lose_power, world.chance.of(f"disk/{name}").random)
        self.latency = LATENCY
        """Seconds that its threads take at the most, before or after their work."""
        self.is_ready = False
        self.ready = asyncio.Event()
        """Set once it was ready for the first time."""
        self._running: Process | None = None
        self._off = 0
        world.network.places[address] = self

    @property
    def process(self) -> Process | None:
        """The process, once it answers."""
        return self._running if self.is_ready else None

    @property
    def is_up(self) -> bool:
        """Whether it answers."""
        return self.process is not None

    def start(self) -> None:
        """Start the program."""
        self._running = Process(
            self.world.loop, self.name, self.disk.write, self.world.failed, lambda: self.latency
        )
        self._running.spawn(self._start())

    async def _start(self) -> None:
        while True:
            try:
                await strand(self.open)
                await self.begin()
            except IbiError as fault:
                self.say(f"cannot start: {fault}")
                await asyncio.sleep(_AGAIN)
            else:
                self.is_ready = True
                self.ready.set()
                self.say("is up")
                self.world.judge.started(self)
                return

    def open(self) -> None:
        """Open everything, in a strand."""
        raise NotImplementedError

    async def begin(self) -> None:
        """Begin to work."""
        raise NotImplementedError

    async def end(self) -> None:
        """End in good order."""
        raise NotImplementedError

    def kill(self, *, power: bool = False) -> None:
        """Kill the program; or the machine with it, and what was not durable is lost."""
        if self._running is None:
            return
        self.say("loses power" if power else "is killed")
        running, self._running = self._running, None
        self.is_ready = False
        if power:
            self.clock.restart()
            self.lost()
        running.kill()

    def lost(self) -> None:
        """Lose what was not durable."""

    def lose_power(self) -> None:
        """Lose power in the midst of a write; come back in a while."""
        self.kill(power=True)
        self.start_after(self._pause())

    def _pause(self) -> float:
        return 1.0 + self.world.chance.of(f"pause/{self.name}").random() * 120

    def start_after(self, seconds: float) -> None:
        """Start the program in a while, unless somebody does it before."""
        self._off += 1
        self.world.loop.call_later(seconds, self._start_if_off, self._off)

    def _start_if_off(self, which: int) -> None:
        if self._running is None and which == self._off:
            self.start()

    async def stop(self) -> None:
        """End the program in good order."""
        if self.is_ready and self._running is not None:
            self.say("is being stopped")
            ending = self._running.spawn(self.end())
            await asyncio.wait({ending}, timeout=30.0)
        self.kill()

    def move(self, address: str) -> None:
        """Have another address; whoever speaks to the old one speaks to nobody, or another."""
        places, now = self.world.network.places, self.world.loop.now
        if places.get(self.address) is self:
            del places[self.address]
        self.addresses[self.address] = now
        self.address = address
        self.addresses.pop(address, None)
        places[address] = self

    def say(self, what: str) -> None:
        """Write down what happens here."""
        self.world.trace.say(self.name, what)
