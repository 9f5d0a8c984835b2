"""Never twice, whatever happens: desks on one ledger, played against clocks and crashes.

Desks are opened, served, stopped in the middle, killed and closed; the clock is set back and
forth, the machine restarted; in the second machine old copies of the ledger, and snapshots of all
there is, are put back.
"""

from __future__ import annotations

from contextlib import suppress
from copy import copy, deepcopy
from dataclasses import dataclass, field, replace
from typing import ClassVar

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    precondition,
    rule,
    run_state_machine_as_test,
)

from ibi.errors import (
    BusyError,
    ClockAheadError,
    ClockError,
    LabelInUseError,
    LedgerRestoredError,
)
from ibi.minting import stretch_allocator as desk_module
from ibi.minting.ports import Commitment, LabelRecord
from ibi.minting.rules import reservation
from ibi.minting.rules.granularity import Granularity
from ibi.minting.rules.reservation import Postponement, ReservationLimits
from ibi.minting.stretch_allocator import Allocation, StretchAllocator
from ibi.model.clock import ClockReading
from tests.support.doubles.minting_machine import SECOND, FakeClock, MemoryLedger, MemoryMachine
from tests.support.extent import tried

MILLISECOND = SECOND // 1000
LIMITS = ReservationLimits()
GRANULARITIES = ("auto", "60", "1", "0.1", "0.001", "0.000000001")

spans = st.one_of(
    st.integers(0, 5 * MILLISECOND),
    st.integers(0, 3 * SECOND),
    st.sampled_from([60 * SECOND, 3700 * SECOND, 20 * 86_400 * SECOND]),
)


@dataclass
class World:
    """All that a snapshot of a machine holds."""

    ledger: MemoryLedger
    clock: FakeClock = field(default_factory=FakeClock)
    machine: MemoryMachine = field(default_factory=MemoryMachine)
    desks: list[StretchAllocator] = field(default_factory=list)


def reserved(desk: StretchAllocator, count: int, now: ClockReading, clock: FakeClock) -> Allocation:
    """Ask the ledger, and come again as often as one is told to."""
    deadline = clock.uptime() + LIMITS.wait
    while isinstance(made := desk.reserve(count, now, deadline - now.uptime), Postponement):
        clock.sleep(made.delay)
        now = desk.read()
    return made


class Minting(RuleBasedStateMachine):
    """Several minters on one ledger and one machine."""

    ledger: ClassVar[type[MemoryLedger]] = MemoryLedger
    desk: ClassVar[type[StretchAllocator]] = StretchAllocator

    def __init__(self) -> None:
        """Begin with a new subsystem."""
        super().__init__()
        self.world = World(self.ledger())
        self.stopped: dict[int, ClockReading] = {}
        """Desks that were stopped right after they had read the clock."""
        self.given: set[int] = set()
        self.adopted: set[int] = set()
        self.latest = 0

    # --- what minters do --------------------------------------------------------------------

    @precondition(lambda self: len(self.world.desks) < 3)
    @rule(granularity=st.sampled_from(GRANULARITIES))
    def open(self, granularity: str) -> None:
        """Start another minter."""
        world = self.world
        self.stopped.pop(len(world.desks), None)
        world.desks.append(opened(world, granularity, self.desk))

    @precondition(lambda self: self.world.desks)
    @rule(which=st.integers(0, 2), count=st.sampled_from([1, 1, 1, 2, 50]), more=st.integers(0, 3))
    def mint(self, which: int, count: int, more: int) -> None:
        """Ask a minter for labels, several times at once."""
        which %= len(self.world.desks)
        for _ in range(more + 1):
            now = self.stopped.pop(which, None) or self.world.desks[which].read()
            try:
                self.serve(self.world.desks[which], count, now)
            except (BusyError, ClockError, LedgerRestoredError):
                break

    def serve(self, desk: StretchAllocator, count: int, now: ClockReading) -> None:
        """Do as a minter does: give from the stretch or by the ledger, then wait."""
        if desk.granularity.fixed:
            count = min(count, max(1, LIMITS.stretch // desk.r))
        drawn = desk.draw(count, now)
        if drawn is None:
            drawn = reserved(desk, count, now, self.world.clock)
        elif drawn.creation - now.wall > LIMITS.wait:
            raise BusyError(1)
        else:
            desk.take(drawn)
        self.check_mark(drawn)
        clock = self.world.clock
        clock.sleep(max(0, drawn.creation - clock.wall()))
        self.leave(drawn)

    def check_mark(self, drawn: Allocation) -> None:
        """What is given must be durable at that moment."""
        assert self.world.ledger.mark is not None
        assert drawn.instants[-1] <= self.world.ledger.mark

    def leave(self, drawn: Allocation) -> None:
        """The labels go to whoever asked for them."""
        twice = (self.given | self.adopted).intersection(drawn.instants)
        assert not twice, f"given twice: {sorted(twice)}"
        self.given.update(drawn.instants)
        self.latest = max(self.latest, drawn.instants[-1])

    @precondition(lambda self: self.world.desks)
    @rule(which=st.integers(0, 2), back=spans, of_the_mark=st.booleans(), grid=st.booleans())
    def adopt(self, which: int, back: int, *, of_the_mark: bool, grid: bool) -> None:
        """An item comes with a label of a while ago, or of a while before the mark."""
        desk = self.world.desks[which % len(self.world.desks)]
        from_ = self.world.ledger.mark if of_the_mark else None
        instant = (from_ or self.world.clock.wall()) - back
        instant -= instant % (60 * SECOND if grid else desk.r)
        with suppress(LabelInUseError, ClockError, LedgerRestoredError):
            desk.adopt(LabelRecord(instant, ("prefix",), 0, "an item"), "a label")
            self.adopted.add(instant)
            self.latest = max(self.latest, instant)

    @precondition(lambda self: self.world.desks)
    @rule(which=st.integers(0, 2))
    def stop_after_reading_the_clock(self, which: int) -> None:
        """Let it go on at its next turn, with what it read now."""
        which %= len(self.world.desks)
        self.stopped[which] = self.world.desks[which].read()

    @precondition(lambda self: self.world.desks)
    @rule(which=st.integers(0, 2), cleanly=st.booleans())
    def end(self, which: int, *, cleanly: bool) -> None:
        """Close it, or kill it."""
        desk = self.world.desks.pop(which % len(self.world.desks))
        self.stopped.clear()
        if cleanly:
            desk.close()

    @precondition(lambda self: 0 < len(self.world.desks) < 3)
    @rule(which=st.integers(0, 2))
    def fork(self, which: int) -> None:
        """A busy one: parent and child go on from the same memory, but the child begins anew."""
        which %= len(self.world.desks)
        self.mint(which, count=1, more=2)
        child = copy(self.world.desks[which])
        child.forget()
        self.world.desks.append(child)
        self.mint(which, count=1, more=0)
        self.mint(-1, count=1, more=0)

    # --- what happens to them ---------------------------------------------------------------

    @rule(span=spans)
    def time_passes(self, span: int) -> None:
        """Nothing happens for a while."""
        self.world.clock.sleep(span)

    @rule(span=spans, ahead=st.booleans())
    def somebody_sets_the_clock(self, span: int, *, ahead: bool) -> None:
        """By little or by far."""
        self.world.clock.error += span if ahead else -span

    @rule()
    def ntp_sets_the_clock_right(self) -> None:
        """In one step."""
        self.world.clock.error = 0

    @rule(wrong=st.one_of(st.just(0), spans))
    def the_machine_is_restarted(self, wrong: int) -> None:
        """All minters die; the clock of the machine may have stood still meanwhile."""
        self.world.clock.restart()
        self.world.clock.error = -wrong
        self.world.desks.clear()
        self.stopped.clear()

    # --- and after all that -----------------------------------------------------------------

    def teardown(self) -> None:
        """Minting works again a few seconds after the clock is right and past the last label."""
        clock, ledger = self.world.clock, self.world.ledger
        clock.error = 0
        clock.sleep(max(0, self.latest - clock.wall(), (ledger.mark or 0) - clock.wall()))
        if not self.world.desks:
            self.open("auto")
        desk = self.world.desks[0]
        desk.adapt(Granularity.of("auto"))
        before = clock.uptime()
        try:
            self.serve(desk, 1, desk.read())
        except (ClockAheadError, LedgerRestoredError):
            desk.confirm()
            self.serve(desk, 1, desk.read())
        assert clock.uptime() - before < 5 * SECOND


class MintingWithRestores(Minting):
    """Old copies of the ledger and old snapshots of the machine are put back."""

    def __init__(self) -> None:
        """Keep what it is to go back to."""
        super().__init__()
        self.copy = deepcopy(self.world.ledger)
        self.snapshot: World | None = None

    def check_mark(self, drawn: Allocation) -> None:
        """A desk that draws from its stretch does not see that the ledger was put back."""

    def is_right(self) -> bool:
        """Tell whether the clock is right and past all labels: then nothing else is needed."""
        return self.world.clock.error == 0 and self.latest <= self.world.clock.wall()

    @rule()
    def somebody_copies_the_ledger(self) -> None:
        """A backup."""
        self.copy = deepcopy(self.world.ledger)

    @rule()
    def somebody_puts_the_copy_back(self) -> None:
        """Minters may go on running."""
        for name in ("generation", "mark", "began"):
            setattr(self.world.ledger, name, getattr(self.copy, name))
        self.world.ledger.sightings = dict(self.copy.sightings)

    @precondition(lambda self: self.world.ledger.mark is not None)
    @rule()
    def somebody_takes_a_snapshot(self) -> None:
        """Of disk and memory; one from before the first label shows a subsystem without a past."""
        self.snapshot = deepcopy(self.world)

    @precondition(lambda self: self.snapshot and self.is_right())
    @rule()
    def somebody_puts_the_snapshot_back(self) -> None:
        """The uptime goes on where it was, the wall clock is right."""
        now = self.world.clock.true + SECOND  # no hypervisor is faster
        assert self.snapshot is not None
        self.world = deepcopy(self.snapshot)
        clock = self.world.clock
        clock.started += now - clock.true
        clock.true = now
        clock.error = 0
        self.stopped.clear()

    @precondition(lambda self: self.is_right() and self.world.desks)
    @rule(which=st.integers(0, 2))
    def somebody_confirms(self, which: int) -> None:
        """An operator gives his word, and it is true."""
        self.world.desks[which % len(self.world.desks)].confirm()


QUICK = settings(max_examples=tried(300), stateful_step_count=40, deadline=None)


@pytest.mark.many
def test_no_instant_is_given_twice_and_minting_always_works_again() -> None:
    run_state_machine_as_test(Minting, settings=QUICK)


@pytest.mark.many
def test_no_instant_is_given_twice_after_a_restored_ledger_or_machine() -> None:
    run_state_machine_as_test(MintingWithRestores, settings=QUICK)


# --- twins: the machines find what they are for -------------------------------------------------


class ForgetsTheMark(MemoryLedger):
    """A ledger that loses what a minter reserved ahead."""

    def write(self, commitment: Commitment) -> None:
        """Write everything but the mark."""
        super().write(replace(commitment, mark=self.mark or 0))


class NeverForgets(StretchAllocator):
    """A child that goes on with the stretch of its parent."""

    def forget(self) -> None:
        """Keep it."""


class AdoptsAll(StretchAllocator):
    """One that adopts every label, and records none."""

    def adopt(self, label: LabelRecord, spelling: str) -> None:
        """Do nothing."""


class MarksOnly(StretchAllocator):
    """One that adopts what the mark has passed, as if no minter could hold a stretch before it."""

    def adopt(self, label: LabelRecord, spelling: str) -> None:
        """Ask the ledger only for labels after the mark."""
        mark = self._ledger.settle(("prefix",), "", lambda _: None).mark
        if mark is None or label.instant > mark:
            super().adopt(label, spelling)


class GreedyMinting(Minting):
    """With minters that adopt every label."""

    desk = AdoptsAll


class CarelessMinting(Minting):
    """With minters that trust the mark."""

    desk = MarksOnly


class ForgetfulMinting(Minting):
    """With a ledger that forgets the mark."""

    ledger = ForgetsTheMark


class ForkedMinting(Minting):
    """With children that keep what is their parents'."""

    desk = NeverForgets


BITES = settings(
    max_examples=2000,
    stateful_step_count=40,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
)


@pytest.mark.parametrize(
    "machine", [ForgetfulMinting, ForkedMinting, GreedyMinting, CarelessMinting]
)
def test_the_machine_finds_a_planted_fault(machine: type[Minting]) -> None:
    with pytest.raises(AssertionError, match=r"given twice|\.mark"):
        run_state_machine_as_test(machine, settings=BITES)


@pytest.mark.parametrize("blindly", [False, True])
def test_a_snapshot_is_put_back_and_the_clock_is_trusted(
    monkeypatch: pytest.MonkeyPatch, *, blindly: bool
) -> None:
    """The twin: who does not compare the clock with the uptime gives the minute twice."""
    world = World(MemoryLedger())
    world.clock.true -= world.clock.true % (60 * SECOND) - SECOND  # a second into a minute
    desk = opened(world)
    reserved(desk, 1, desk.read(), world.clock)
    world.desks.append(desk)
    snapshot = deepcopy(world)
    world.clock.sleep(60 * SECOND)
    given = reserved(desk, 1, desk.read(), world.clock).instants
    snapshot.clock.true += 70 * SECOND
    snapshot.clock.started += 70 * SECOND
    [again] = snapshot.desks
    if blindly:
        for module in (desk_module, reservation):
            monkeypatch.setattr(module, "is_steady", lambda *_: True)
    assert (reserved(again, 1, again.read(), snapshot.clock).instants == given) is blindly


def opened(
    world: World, granularity: str = "1", kind: type[StretchAllocator] = StretchAllocator
) -> StretchAllocator:
    return kind(
        ("prefix",),
        world.ledger.as_port(),
        world.clock,
        world.machine,
        Granularity.of(granularity),
        LIMITS,
        lambda _: None,
    )


def test_a_desk_gives_nothing_twice_that_its_neighbour_gave_by_a_newer_ledger() -> None:
    world = World(MemoryLedger())
    one = opened(world)
    reserved(one, 1, one.read(), world.clock)
    backup = deepcopy(world.ledger)
    two = opened(world)
    world.clock.sleep(60 * SECOND)
    given = reserved(two, 1, two.read(), world.clock).instants
    world.ledger.generation, world.ledger.mark = backup.generation, backup.mark
    world.ledger.sightings = backup.sightings
    with suppress(LedgerRestoredError):
        assert reserved(one, 1, one.read(), world.clock).instants != given, "given twice"


def test_a_crowd_on_one_ledger_waits_as_long_as_its_callers_would() -> None:
    world = World(MemoryLedger())
    for _ in range(20):
        desk = opened(world)
        reserved(desk, 1, desk.read(), world.clock)
