"""What goes wrong: machines, clocks, disks and the network, as a scenario has it."""

from __future__ import annotations

from functools import singledispatchmethod
from typing import TYPE_CHECKING, Final

from tests.simulation.scenarios import events
from tests.simulation.world.machines import SECOND, Host
from tests.simulation.world.network import Conditions
from tests.simulation.world.virtual_time import LATENCY

if TYPE_CHECKING:
    from tests.simulation.world.world import World

_SLOW: Final = 2.0
"""Seconds that a thread takes at the most, of a machine that has very much to do: twice what one
takes before its work or after it."""
_UNTIL_CONFIRMED: Final = 20.0
"""Seconds after which the operator says that a ledger which was set back is the right one."""


class Calamities:
    """Befall a world."""

    def __init__(self, world: World) -> None:
        """Befall it, when the time comes."""
        self._world = world
        self._setbacks = 0

    @singledispatchmethod
    def befall(self, event: events.Event) -> None:
        """Let something go wrong, and be mended after a while."""
        raise NotImplementedError(event)

    @befall.register
    def _(self, event: events.Restart) -> None:
        host = self._world.hosts[event.host]

        async def work() -> None:
            await host.stop()
            host.start_after(event.seconds)

        self._world.outside.spawn(work())

    @befall.register
    def _(self, event: events.Kill) -> None:
        host = self._world.hosts[event.host]
        host.kill()
        host.start_after(event.seconds)

    @befall.register
    def _(self, event: events.PowerLoss) -> None:
        host = self._world.hosts[event.host]
        host.say(f"will lose power after {event.writes} more writes")
        host.disk.writes_left = event.writes

    @befall.register
    def _(self, event: events.DiskFailure) -> None:
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
    def _(self, event: events.Slowness) -> None:
        host = self._world.hosts[event.host]
        host.say("has very much to do")
        host.latency = _SLOW
        self._world.loop.call_later(event.seconds, self._rest, host)

    @staticmethod
    def _rest(host: Host) -> None:
        if host.latency == _SLOW:
            host.latency = LATENCY
            host.say("has little to do again")

    @befall.register
    def _(self, event: events.Setback) -> None:
        copy = self._world.server.copied()
        self._world.loop.call_later(event.seconds, self._set_back, copy)

    def _set_back(self, copy: bytes) -> None:
        """Put an old copy in the place of the ledger; the operator confirms it after a while.

        What was given by a clock that was wrong, nothing tells but the ledger that is lost.
        """
        if any(host.clock.was_set for host in self._world.presses):
            return
        self._setbacks += 1
        self._world.server.restore(copy, self._setbacks)
        self._world.trace.say("people", "set back the ledger of p1 and p2")
        self._world.loop.call_later(_UNTIL_CONFIRMED, self._confirm)

    def _confirm(self) -> None:
        for host in self._world.presses:
            if host.process is not None:
                host.say("is told to go on with this ledger")
                host.process.spawn(host.confirm())

    @befall.register
    def _(self, event: events.ClockJump) -> None:
        host = self._world.hosts[event.host]
        host.clock.error += int(event.jump * SECOND)
        host.clock.was_set = True
        host.say(f"has its clock set by {event.jump} s")

    @befall.register
    def _(self, event: events.Weather) -> None:
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
    def _(self, event: events.Partition) -> None:
        network, apart = self._world.network, frozenset(event.hosts)
        network.cut_off, network.deaf = apart, event.deaf
        does = "lets nothing through to" if event.deaf else "cuts off"
        self._world.trace.say("network", f"{does} {' '.join(event.hosts)}")
        self._world.loop.call_later(event.seconds, self._join, apart)

    def _join(self, apart: frozenset[str]) -> None:
        if self._world.network.cut_off is apart:
            self._world.network.cut_off = frozenset()
            self._world.trace.say("network", "is whole again")
