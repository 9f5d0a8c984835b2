"""Threats, row 30: an archive becomes senior by a wrong clock.

Two processes of a resolver share its database, and the clock of one is an hour behind; or the clock
of the only machine is set back by an hour, while the resolver runs or before it starts again.
Archives register at either. The later one claims what the earlier one has: labels without a home,
that no digest lists. Readers go to the archive that was registered first, whatever the clocks said.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from tests.support.doubles.archive import ArchiveDouble, ClaimingArchive
from tests.support.servers.attacked import FULL, switched_off
from tests.support.servers.attacked_resolver import at_once, attacked, label, service_of
from tests.support.servers.cluster import Machine
from tests.support.servers.postgres import PostgresServer
from tests.support.servers.resolver import ResolverServer
from tests.support.waiting import wait_until

READS: Final = 1000 if FULL else 10
READERS: Final = 8
HOUR: Final = 3600
BY_THE_CLOCK: Final = """
from ibi.resolver.rules import archive_roster

archive_roster.seniority = lambda archive: (0, archive.confirmed, archive.id)
"""


@dataclass(frozen=True)
class SettableClock:
    """The clock of a machine: as far from the right time as a file says."""

    file: Path

    def set(self, seconds: int) -> None:
        """Set it so many seconds ahead of the right time; behind it, if they are negative."""
        self.file.write_text(str(seconds), "ascii")

    @property
    def lines(self) -> str:
        """What a process runs that has this clock, and that leaves archives time for claims."""
        return f"""
from pathlib import Path
from ibi.foundation.system import clock
from ibi.resolver.rules import search_progress

search_progress.CLAIM_GRACE_SECONDS = 60.0  # others get to speak up, on a machine however loaded
right = clock.SystemClock.wall
file = Path({str(self.file)!r})
clock.SystemClock.wall = staticmethod(lambda: right() + int(file.read_text("ascii")) * 10**9)
"""


def machine_clock(folder: Path, seconds: int = 0) -> SettableClock:
    """Return the clock of a machine, and set it."""
    folder.mkdir(exist_ok=True)
    clock = SettableClock(folder / "clock")
    clock.set(seconds)
    return clock


class Scene:
    """Two archives that claim the same items, and the machines of their resolver."""

    def __init__(self, machines: Sequence[ResolverServer], stack: ExitStack) -> None:
        """Start the archives; the first has items that nobody asked for yet."""
        self.machines = machines
        # By its label, too, the later one comes first.
        self.later, self.earlier = (
            stack.enter_context(made)
            for made in (ClaimingArchive(service_of(1)), ArchiveDouble(service_of(2)))
        )
        for number in range(READS):
            self.earlier.hold(label(number))

    def include(self, archive: ArchiveDouble, machine: ResolverServer) -> None:
        """Register and include an archive at a machine, and wait until all know of it."""
        machine.include(archive)
        for each in self.machines:
            wait_until(
                lambda each=each: (  # type: ignore[misc]
                    each.archives().get(archive.service, {}).get("state") == "included"
                )
            )

    def registered(self) -> dict[str, str]:
        """Return the times of registration, as the operator sees them."""
        archives = self.machines[0].archives()
        return {
            name: archives[archive.service]["since"]
            for name, archive in (("earlier", self.earlier), ("later", self.later))
        }

    def sent(self) -> Counter[str]:
        """Let readers ask the machines in turn for all items; return where they were sent."""

        def read(number: int) -> str:
            name, machine = label(number), self.machines[number % len(self.machines)]
            location = machine.get(f"/{name}").headers["location"]
            places = {self.earlier.items[name]["url"]: "earlier"}
            places[self.later.items[name]["url"]] = "later"
            return places[location]

        return Counter(at_once(READERS, read, range(READS)))


def two_machines(
    folder: Path, stack: ExitStack, database: str, first_seconds: int, without: str = ""
) -> Scene:
    """Run two machines on one database, register an archive at each, the first at the first."""
    first_clock = machine_clock(folder / "first", first_seconds)
    second_clock = machine_clock(folder / "second", -first_seconds)
    first = ResolverServer(folder / "first", "--database", database)
    first.set(hot_seconds=0.0)
    second = Machine(first, folder / "second")
    for machine, clock in ((first, first_clock), (second, second_clock)):
        with switched_off(machine.folder, clock.lines + without):
            stack.enter_context(machine)
    scene = Scene((first, second), stack)
    scene.include(scene.earlier, first)
    scene.include(scene.later, second)
    return scene


@pytest.mark.parametrize("first_seconds", [HOUR // 2, -HOUR // 2], ids=["ahead", "behind"])
def test_machines_an_hour_apart_agree_which_archive_is_senior(
    tmp_path: Path, postgres: PostgresServer, first_seconds: int
) -> None:
    with ExitStack() as stack:
        scene = two_machines(tmp_path, stack, postgres.database(), first_seconds)
        times = scene.registered()
        assert (times["later"] < times["earlier"]) == (first_seconds > 0)
        assert scene.sent() == Counter(earlier=READS)


def test_clocks_apart_bite(tmp_path: Path, postgres: PostgresServer) -> None:
    """The twin: an order by the time of registration sends all readers to the later archive."""
    with ExitStack() as stack:
        scene = two_machines(tmp_path, stack, postgres.database(), HOUR // 2, BY_THE_CLOCK)
        assert scene.sent() == Counter(later=READS)


def set_back(folder: Path, stack: ExitStack, without: str = "", *, restarts: bool) -> Scene:
    """Register an archive, set the clock of the only machine back, and register another."""
    clock = machine_clock(folder)
    resolver = stack.enter_context(attacked(folder, clock.lines + without, hot_seconds=0.0))
    scene = Scene((resolver,), stack)
    scene.include(scene.earlier, resolver)
    clock.set(-HOUR)
    if restarts:
        resolver.restart()
    scene.include(scene.later, resolver)
    times = scene.registered()
    assert times["later"] < times["earlier"]
    return scene


@pytest.mark.parametrize("restarts", [False, True], ids=["running", "restarted"])
def test_a_clock_that_is_set_back_makes_no_archive_senior(
    tmp_path: Path, *, restarts: bool
) -> None:
    with ExitStack() as stack:
        assert set_back(tmp_path, stack, restarts=restarts).sent() == Counter(earlier=READS)


def test_a_clock_that_is_set_back_bites(tmp_path: Path) -> None:
    """The twin: an order by the time of registration sends all readers to the later archive."""
    with ExitStack() as stack:
        scene = set_back(tmp_path, stack, BY_THE_CLOCK, restarts=False)
        assert scene.sent() == Counter(later=READS)
