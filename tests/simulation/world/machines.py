"""Machines: a clock that can be set, a disk, an address, and the process that runs there."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ibi.errors import IbiError
from ibi.minting.ports import PrefixClaim, Witness
from tests.simulation.world.disks import Disk
from tests.simulation.world.virtual_time import LATENCY, Process, VirtualLoop, run_blocking, wait

if TYPE_CHECKING:
    from tests.simulation.world.world import World

SECOND: Final = 1_000_000_000
START: Final = 1_700_000_000 * SECOND
_SHORTEST: Final = 1000
"""Minimal duration of a sleep in nanoseconds."""
_AGAIN: Final = 5.0
"""Seconds after which a program that could not start is restarted."""


class MachineClock:
    """The wall clock and the uptime of one machine."""

    def __init__(self, loop: VirtualLoop, name: str) -> None:
        """Start with the right time, an hour after the machine was switched on."""
        self._loop = loop
        self._name = name
        self.error = 0
        """Nanoseconds that the wall clock is ahead of the true time."""
        self.was_set = False
        self._began = -3600 * SECOND
        self._boots = 1

    def _true(self) -> int:
        return int(self._loop.now * SECOND)

    def wall(self) -> int:
        """Return the POSIX time of the machine, in nanoseconds."""
        return START + self._true() + self.error

    def uptime(self) -> int:
        """Return the nanoseconds since the machine was switched on."""
        return self._true() - self._began

    def boot(self) -> str:
        """Return the name of this run of the machine."""
        return f"{self._name}-{self._boots}"

    def sleep(self, nanoseconds: int) -> None:
        """Sleep; other greenlets continue."""
        wait(asyncio.sleep(max(_SHORTEST, nanoseconds) / SECOND))

    def restart(self) -> None:
        """Reboot: the uptime starts at 0."""
        self._boots += 1
        self._began = self._true()


@dataclass
class MachineMemory:
    """The machine folder: witnesses of prefixes, independent of any ledger."""

    witnesses: dict[tuple[str, ...], Witness] = field(default_factory=dict)

    def claim(self, prefixes: Sequence[str], ledger: str, place: str) -> PrefixClaim:
        """Grant the claim: the process before has ended."""
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
        """Do nothing."""


class Host:
    """A machine with a program, which is restarted when it ends."""

    def __init__(self, world: World, name: str, address: str) -> None:
        self.world = world
        self.name = name
        self.address = address
        self.addresses: dict[str, float] = {}
        """Former addresses, and until when each was in use."""
        self.clock = MachineClock(world.loop, name)
        self.memory = MachineMemory()
        self.disk = Disk(name, self.lose_power, world.seeded.stream(f"disk/{name}").random)
        self.latency = LATENCY
        """Maximal seconds of latency of its threads, before or after their work."""
        self.is_ready = False
        self.ready = asyncio.Event()
        """Set when the program is ready for the first time."""
        self._running: Process | None = None
        self._off = 0
        world.network.places[address] = self

    @property
    def process(self) -> Process | None:
        """The process, if it is ready."""
        return self._running if self.is_ready else None

    @property
    def is_up(self) -> bool:
        """Whether the process is ready."""
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
                await run_blocking(self.open)
                await self.begin()
            except IbiError as fault:
                self.log(f"cannot start: {fault}")
                await asyncio.sleep(_AGAIN)
            else:
                self.is_ready = True
                self.ready.set()
                self.log("is up")
                self.world.judge.check_started(self)
                return

    def open(self) -> None:
        """Open databases and build services; it may block."""
        raise NotImplementedError

    async def begin(self) -> None:
        """Start the background work."""
        raise NotImplementedError

    async def end(self) -> None:
        """Stop in order."""
        raise NotImplementedError

    def kill(self, *, power: bool = False) -> None:
        """Kill the program; with `power` the machine too, and what was not durable is lost."""
        if self._running is None:
            return
        self.log("loses power" if power else "is killed")
        running, self._running = self._running, None
        self.is_ready = False
        if power:
            self.clock.restart()
            self.on_power_loss()
        running.kill()

    def on_power_loss(self) -> None:
        """Drop what was not durable."""

    def lose_power(self) -> None:
        """Lose power during a write; restart after a random pause."""
        self.kill(power=True)
        self.start_after(self._pause())

    def _pause(self) -> float:
        return 1.0 + self.world.seeded.stream(f"pause/{self.name}").random() * 120

    def start_after(self, seconds: float) -> None:
        """Start the program later, unless it was started before then."""
        self._off += 1
        self.world.loop.call_later(seconds, self._start_if_off, self._off)

    def _start_if_off(self, which: int) -> None:
        if self._running is None and which == self._off:
            self.start()

    async def stop(self) -> None:
        """Stop the program in order, within 30 seconds."""
        if self.is_ready and self._running is not None:
            self.log("is being stopped")
            ending = self._running.spawn(self.end())
            await asyncio.wait({ending}, timeout=30.0)
        self.kill()

    def move(self, address: str) -> None:
        """Change the address."""
        places, now = self.world.network.places, self.world.loop.now
        if places.get(self.address) is self:
            del places[self.address]
        self.addresses[self.address] = now
        self.address = address
        self.addresses.pop(address, None)
        places[address] = self

    def log(self, what: str) -> None:
        """Add a line about this machine to the trace."""
        self.world.trace.log(self.name, what)
