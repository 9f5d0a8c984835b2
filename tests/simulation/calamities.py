"""What goes wrong: machines, clocks, disks and the network, as a scenario has it."""

from __future__ import annotations

from functools import singledispatchmethod
from typing import TYPE_CHECKING

from simulation import scenario
from simulation.machines import SECOND, Host
from simulation.network import Conditions

if TYPE_CHECKING:
    from simulation.world import World


class Calamities:
    """Befall a world."""

    def __init__(self, world: World) -> None:
        """Befall it, when the time comes."""
        self._world = world

    @singledispatchmethod
    def befall(self, event: scenario.Event) -> None:
        """Let something go wrong, and be mended after a while."""
        raise NotImplementedError(event)

    @befall.register
    def _(self, event: scenario.Restart) -> None:
        host = self._world.hosts[event.host]

        async def work() -> None:
            await host.stop()
            host.start_after(event.seconds)

        self._world.outside.spawn(work())

    @befall.register
    def _(self, event: scenario.Kill) -> None:
        host = self._world.hosts[event.host]
        host.kill()
        host.start_after(event.seconds)

    @befall.register
    def _(self, event: scenario.PowerLoss) -> None:
        host = self._world.hosts[event.host]
        host.say(f"will lose power after {event.writes} more writes")
        host.disk.writes_left = event.writes

    @befall.register
    def _(self, event: scenario.DiskFailure) -> None:
        host = self._world.hosts[event.host]
        host.say("has a disk that fails")
        host.disk.is_broken = True
        self._world.loop.call_later(event.seconds, self._mend, host)

    @staticmethod
    def _mend(host: Host) -> None:
        if host.disk.is_broken:
            host.disk.is_broken = False
            host.say("has a disk that works again")

    @befall.register
    def _(self, event: scenario.ClockJump) -> None:
        host = self._world.hosts[event.host]
        host.clock.error += int(event.jump * SECOND)
        host.say(f"has its clock set by {event.jump} s")

    @befall.register
    def _(self, event: scenario.Weather) -> None:
        network = self._world.network
        conditions = Conditions(event.loss, event.slow, event.doubling)
        network.conditions = conditions
        rates = f"loses {event.loss:.0%}, doubles {event.doubling:.0%}"
        self._world.trace.say("network", f"{rates}, takes {event.slow:.0f} times as long")
        self._world.loop.call_later(event.seconds, self._clear, conditions)

    def _clear(self, conditions: Conditions) -> None:
        if self._world.network.conditions is conditions:
            self._world.network.conditions = Conditions()
            self._world.trace.say("network", "works well again")

    @befall.register
    def _(self, event: scenario.Partition) -> None:
        network, apart = self._world.network, frozenset(event.hosts)
        network.cut_off = apart
        self._world.trace.say("network", f"cuts off {' '.join(event.hosts)}")
        self._world.loop.call_later(event.seconds, self._join, apart)

    def _join(self, apart: frozenset[str]) -> None:
        if self._world.network.cut_off is apart:
            self._world.network.cut_off = frozenset()
            self._world.trace.say("network", "is whole again")
