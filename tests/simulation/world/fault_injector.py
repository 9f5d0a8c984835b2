"""Injects the faults of a scenario: machines, clocks, disks, the shared ledger, the network."""

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
"""Maximal seconds of latency of a thread on an overloaded machine, before and after its work."""
_UNTIL_CONFIRMED: Final = 20.0
"""Seconds after which the operator confirms a restored ledger."""


class FaultInjector:
    """Injects faults, and ends them after their time."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._restores = 0

    @singledispatchmethod
    def inject(self, event: events.Event) -> None:
        """Inject the fault of an event."""
        raise NotImplementedError(event)

    @inject.register
    def _(self, event: events.Restart) -> None:
        host = self._world.hosts[event.host]

        async def work() -> None:
            await host.stop()
            host.start_after(event.seconds)

        self._world.outside.spawn(work())

    @inject.register
    def _(self, event: events.Kill) -> None:
        host = self._world.hosts[event.host]
        host.kill()
        host.start_after(event.seconds)

    @inject.register
    def _(self, event: events.PowerLoss) -> None:
        host = self._world.hosts[event.host]
        host.log(f"will lose power after {event.writes} more writes")
        host.disk.writes_left = event.writes

    @inject.register
    def _(self, event: events.DiskFailure) -> None:
        host = self._world.hosts[event.host]
        host.log("has a disk that fails")
        host.disk.is_broken = True
        self._world.loop.call_later(event.seconds, self._mend, host)

    @staticmethod
    def _mend(host: Host) -> None:
        if host.disk.is_broken:
            host.disk.is_broken = False
            host.log("has a disk that works again")

    @inject.register
    def _(self, event: events.Slowness) -> None:
        host = self._world.hosts[event.host]
        host.log("has very much to do")
        host.latency = _SLOW
        self._world.loop.call_later(event.seconds, self._rest, host)

    @staticmethod
    def _rest(host: Host) -> None:
        if host.latency == _SLOW:
            host.latency = LATENCY
            host.log("has little to do again")

    @inject.register
    def _(self, event: events.LedgerRestore) -> None:
        copy = self._world.server.snapshot()
        self._world.loop.call_later(event.seconds, self._restore_ledger, copy)

    def _restore_ledger(self, copy: bytes) -> None:
        """Restore an old copy of the ledger; the operator confirms it after a while.

        Only if no clock was set: labels minted by a wrong clock are known to the lost ledger alone.
        """
        if any(host.clock.was_set for host in self._world.minters):
            return
        self._restores += 1
        self._world.server.restore(copy, self._restores)
        self._world.trace.log("people", "set back the ledger of p1 and p2")
        self._world.loop.call_later(_UNTIL_CONFIRMED, self._confirm)

    def _confirm(self) -> None:
        for host in self._world.minters:
            if host.process is not None:
                host.log("is told to go on with this ledger")
                host.process.spawn(host.confirm())

    @inject.register
    def _(self, event: events.ClockJump) -> None:
        host = self._world.hosts[event.host]
        host.clock.error += int(event.jump * SECOND)
        host.clock.was_set = True
        host.log(f"has its clock set by {event.jump} s")

    @inject.register
    def _(self, event: events.NetworkDegradation) -> None:
        network = self._world.network
        conditions = Conditions(event.loss, event.slow, event.duplication)
        network.conditions = conditions
        rates = f"loses {event.loss:.0%}, doubles {event.duplication:.0%}"
        self._world.trace.log("network", f"{rates}, takes {event.slow:.0f} times as long")
        self._world.loop.call_later(event.seconds, self._clear, conditions)

    def _clear(self, conditions: Conditions) -> None:
        if self._world.network.conditions is conditions:
            self._world.network.conditions = Conditions()
            self._world.trace.log("network", "works well again")

    @inject.register
    def _(self, event: events.Partition) -> None:
        network, apart = self._world.network, frozenset(event.hosts)
        network.cut_off, network.inbound_only = apart, event.inbound_only
        does = "lets nothing through to" if event.inbound_only else "cuts off"
        self._world.trace.log("network", f"{does} {' '.join(event.hosts)}")
        self._world.loop.call_later(event.seconds, self._join, apart)

    def _join(self, apart: frozenset[str]) -> None:
        if self._world.network.cut_off is apart:
            self._world.network.cut_off = frozenset()
            self._world.trace.log("network", "is whole again")
