"""The rule by which a minter takes a stretch of time for itself, case by case."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ibi.errors import BusyError, ClockAheadError, ClockBehindError, LedgerRestoredError
from ibi.minting.ports import Commitment, Entry, Witness
from ibi.minting.rules.granularity import (
    MINUTE,
    Granularity,
)
from ibi.minting.rules.label_generator import EARLIEST, LATEST
from ibi.minting.rules.reservation import (
    Postponement,
    Request,
    Reservation,
    ReservationLimits,
    Stretch,
    check_clock,
    confirm,
    is_steady,
    release,
    reserve,
)
from ibi.model.clock import SECOND, ClockReading

LEDGER = "ledger-1"
DAY = 86_400 * SECOND
MILLISECOND = SECOND // 1000
NOW = ClockReading(1_700_000_030 * SECOND + SECOND // 2, 1000 * SECOND, "boot-1")
FRESH = Entry(LEDGER, 0, None, None, None)
FIXED = Granularity(SECOND, fixed=True)
LIMITS = ReservationLimits()


def earlier(nanoseconds: int, reading: ClockReading = NOW) -> ClockReading:
    """Return what steady clocks said so long before."""
    return replace(reading, wall=reading.wall - nanoseconds, uptime=reading.uptime - nanoseconds)


def used(mark: int, seen: ClockReading | None, generation: int = 7) -> Entry:
    """Return an entry that was written before."""
    return Entry(LEDGER, generation, mark, seen, None if seen is None else seen.wall)


def witness_of(entry: Entry) -> Witness:
    return Witness(entry.ledger, entry.generation, entry.mark or 0)


def holder(entry: Entry, last: int) -> Stretch:
    """Return the stretch of whoever wrote the entry last."""
    assert entry.mark is not None
    assert entry.seen is not None
    return Stretch(last, entry.mark, entry.generation, entry.seen)


def served(
    entry: Entry,
    own: Stretch | None = None,
    witness: Witness | None = None,
    now: ClockReading = NOW,
    count: int = 1,
) -> Reservation:
    made = reserve(entry, own, witness, Request(count, now, FIXED, LIMITS.wait), LIMITS)
    assert isinstance(made, Reservation)
    return made


def postponed(
    entry: Entry, own: Stretch | None = None, witness: Witness | None = None
) -> Postponement:
    made = reserve(entry, own, witness, Request(1, NOW, FIXED, LIMITS.wait), LIMITS)
    assert isinstance(made, Postponement)
    return made


def goes_on_after_now(
    entry: Entry, own: Stretch | None = None, witness: Witness | None = None
) -> bool:
    """Tell whether nothing is given before a mark after now is written."""
    written = postponed(entry, own, witness).commitment
    assert written is not None
    assert written.generation == entry.generation + 1
    return written.mark >= NOW.wall + LIMITS.reach


def test_on_a_fresh_ledger_the_first_instant_is_that_of_the_standard() -> None:
    made = served(FRESH)
    assert made.instants == [NOW.wall // SECOND * SECOND]
    assert made.creation == made.instants[0]
    assert made.commitment == Commitment(made.instants[0], 1, NOW)


def test_after_a_crash_it_starts_after_the_mark() -> None:
    entry = used(NOW.wall + 300 * MILLISECOND, earlier(700 * MILLISECOND))
    made = served(entry, witness=witness_of(entry))
    assert entry.mark is not None
    assert made.instants[0] > entry.mark
    assert made.instants[0] - entry.mark <= SECOND
    assert made.stretch.generation == entry.generation + 1


def test_alone_and_busy_it_reserves_ahead_and_uses_up_what_it_has() -> None:
    entry = used(NOW.wall - 100 * MILLISECOND, earlier(900 * MILLISECOND))
    last = NOW.wall // SECOND * SECOND - SECOND
    made = served(entry, holder(entry, last), witness_of(entry))
    assert made.instants == [last + SECOND]
    assert made.stretch == Stretch(last + SECOND, NOW.wall + LIMITS.stretch, 8, NOW)


def test_alone_and_quiet_it_takes_exactly_what_it_gives() -> None:
    entry = used(NOW.wall - 10 * SECOND, earlier(10 * SECOND))
    assert entry.mark is not None
    made = served(entry, holder(entry, entry.mark), witness_of(entry))
    assert made.instants == [NOW.wall // SECOND * SECOND]
    assert made.stretch.mark == made.instants[-1]


def test_no_mark_is_moved_further_ahead_than_its_reach() -> None:
    entry = used(NOW.wall + 1900 * MILLISECOND, earlier(100 * MILLISECOND))
    early = postponed(entry, witness=witness_of(entry))
    assert early.commitment is None
    later = replace(NOW, wall=NOW.wall + early.delay, uptime=NOW.uptime + early.delay)
    made = served(entry, witness=witness_of(entry), now=later)
    assert made.instants[-1] <= made.stretch.mark <= later.wall + LIMITS.reach


def test_a_mark_that_was_moved_far_is_not_moved_back() -> None:
    entry = used(NOW.wall + 4 * SECOND, earlier(SECOND))
    assert entry.mark is not None
    made = served(entry, holder(entry, NOW.wall - SECOND), witness_of(entry))
    assert made.stretch.mark == entry.mark


def test_contended_it_takes_exactly_what_it_gives_after_the_mark_of_the_others() -> None:
    before = used(NOW.wall - SECOND, earlier(SECOND))
    entry = used(NOW.wall + 200 * MILLISECOND, earlier(100 * MILLISECOND), generation=9)
    made = served(entry, holder(before, NOW.wall - 2 * SECOND), witness_of(before))
    assert entry.mark is not None
    assert made.instants[0] > entry.mark
    assert made.stretch.mark == made.instants[-1]
    assert made.stretch.generation == 10


@pytest.mark.parametrize("generation", [0, 1, 6])
def test_a_ledger_whose_generation_went_back_is_refused(generation: int) -> None:
    entry = used(NOW.wall - SECOND, earlier(SECOND))
    own = holder(entry, NOW.wall - SECOND)
    with pytest.raises(LedgerRestoredError) as refused:
        served(replace(entry, generation=generation), own)
    assert refused.value.reason == f"written {generation} times, and 7 times were seen"


def test_a_ledger_older_than_the_machines_witness_of_it_is_refused() -> None:
    entry = used(NOW.wall - SECOND, earlier(SECOND))
    with pytest.raises(LedgerRestoredError):
        served(entry, witness=Witness(LEDGER, 8, NOW.wall - SECOND))
    served(entry, witness=Witness(LEDGER, 7, NOW.wall - SECOND))


@pytest.mark.parametrize("mark", [None, NOW.wall - DAY])
def test_after_another_ledger_it_starts_after_that_ones_mark_and_after_now(
    mark: int | None,
) -> None:
    entry = replace(FRESH, mark=mark, seen=earlier(DAY), last_seen=NOW.wall - DAY)
    assert goes_on_after_now(entry, witness=Witness("ledger-2", 100, NOW.wall - SECOND))


def test_another_ledgers_mark_counts_when_the_clock_was_set_back_too() -> None:
    """Its labels were given, and this machine remembers it."""
    witness = Witness("ledger-2", 100, NOW.wall + 3 * SECOND)
    written = postponed(FRESH, witness=witness).commitment
    assert written is not None
    assert written.mark == witness.mark


@pytest.mark.parametrize("behind", [LIMITS.reach, LIMITS.behind])
def test_a_clock_a_little_behind_is_waited_for(behind: int) -> None:
    last = NOW.wall + behind
    entry = used(last, earlier(SECOND))
    made = postponed(entry, holder(entry, last), witness_of(entry))
    assert behind - LIMITS.reach <= made.delay <= behind


def test_a_mark_in_reach_is_no_clock_behind_however_little_is_waited_for() -> None:
    entry = used(NOW.wall + LIMITS.reach, earlier(MILLISECOND))
    strict = replace(LIMITS, behind=0)
    request = Request(1, NOW, FIXED, LIMITS.wait)
    assert isinstance(reserve(entry, None, witness_of(entry), request, strict), Postponement)


@pytest.mark.parametrize("behind", [LIMITS.behind + 1, DAY])
def test_a_clock_far_behind_is_refused_with_how_far(behind: int) -> None:
    entry = used(NOW.wall + behind, earlier(-behind))
    with pytest.raises(ClockBehindError) as refused:
        served(entry, witness=witness_of(entry))
    assert (refused.value.distance, refused.value.limit) == (behind, LIMITS.behind)


@pytest.mark.parametrize(
    ("asleep", "ahead", "refused"),
    [
        (0, LIMITS.ahead, False),
        (0, LIMITS.ahead + 1, True),
        (DAY, LIMITS.ahead, False),  # a machine that slept saw both clocks go on
        (DAY, LIMITS.ahead + 1, True),
    ],
)
def test_a_clock_that_ran_ahead_of_the_uptime_is_refused(
    asleep: int, ahead: int, *, refused: bool
) -> None:
    seen = earlier(asleep)
    entry = used(seen.wall, seen)
    now = replace(NOW, wall=NOW.wall + ahead)
    if not refused:
        check_clock(entry, now, LIMITS)
        return
    with pytest.raises(ClockAheadError) as refusal:
        served(entry, witness=witness_of(entry), now=now)
    assert (refusal.value.distance, refusal.value.limit) == (ahead, LIMITS.ahead)


@pytest.mark.parametrize(("absent", "refused"), [(0, False), (1, True)])
def test_a_clock_after_a_very_long_absence_is_refused(absent: int, *, refused: bool) -> None:
    entry = Entry(
        LEDGER, 7, NOW.wall - 2 * LIMITS.absence, None, NOW.wall - LIMITS.absence - absent
    )
    if not refused:
        check_clock(entry, NOW, LIMITS)
        return
    with pytest.raises(ClockAheadError) as refusal:
        served(entry)
    assert refusal.value.limit == LIMITS.absence


def test_a_clock_before_the_first_label_or_after_the_last_is_refused() -> None:
    with pytest.raises(ClockBehindError):
        check_clock(FRESH, replace(NOW, wall=EARLIEST - 1), LIMITS)
    check_clock(FRESH, replace(NOW, wall=EARLIEST), LIMITS)
    with pytest.raises(ClockAheadError):
        check_clock(FRESH, replace(NOW, wall=LATEST - LIMITS.wait), LIMITS)


STEADY = used(NOW.wall - 10 * SECOND, earlier(10 * SECOND))


@pytest.mark.parametrize(
    ("entry", "witness"),
    [
        (replace(STEADY, seen=None), witness_of(STEADY)),
        (STEADY, None),
        (STEADY, Witness("ledger-2", 1, 1)),
        (replace(STEADY, seen=replace(NOW, wall=NOW.wall - MINUTE)), witness_of(STEADY)),
        (replace(STEADY, seen=replace(NOW, wall=NOW.wall + SECOND)), witness_of(STEADY)),
        (replace(STEADY, seen=replace(NOW, uptime=NOW.uptime + SECOND)), witness_of(STEADY)),
    ],
    ids=[
        "a boot that wrote nothing yet",
        "a machine that knows nothing of it",
        "a machine that knows another ledger",
        "a clock that went ahead",
        "a clock that went back",
        "an uptime that went back",
    ],
)
def test_where_the_past_may_not_be_known_it_starts_after_now(
    entry: Entry, witness: Witness | None
) -> None:
    assert goes_on_after_now(entry, witness=witness)


def test_after_a_promoted_replica_it_starts_after_what_others_may_hold() -> None:
    entry = replace(STEADY, moved=True)
    assert goes_on_after_now(entry, holder(STEADY, NOW.wall), witness_of(STEADY))


def test_a_history_that_split_is_told_by_its_mark() -> None:
    """An old copy was put back, and written as often again by somebody else."""
    own = holder(STEADY, NOW.wall - SECOND)
    entry = replace(STEADY, mark=NOW.wall - 2 * SECOND)
    made = served(entry, own, witness_of(STEADY))
    assert made.instants[0] > own.last
    assert made.stretch.mark == made.instants[-1]


def test_where_the_past_is_known_it_finds_a_short_label() -> None:
    made = served(STEADY, witness=witness_of(STEADY))
    assert made.instants[0] < NOW.wall


def test_its_own_past_does_not_outlast_a_clock_that_went_ahead() -> None:
    """A snapshot of the whole machine, put back: ledger, witness and stretch agree, and are old."""
    seen = earlier(10 * SECOND, replace(NOW, wall=NOW.wall - MINUTE))
    entry = used(seen.wall, seen)
    assert goes_on_after_now(entry, holder(entry, seen.wall), witness_of(entry))


def test_no_snapshot_is_taken_for_slew_however_long_the_minter_was_idle() -> None:
    """Idle for two days before the snapshot; put back a minute after it was taken."""
    seen = replace(earlier(2 * DAY, replace(NOW, uptime=3 * DAY)), wall=NOW.wall - 2 * DAY - MINUTE)
    now = replace(NOW, uptime=3 * DAY)
    entry = used(seen.wall, seen)
    request = Request(1, now, FIXED, LIMITS.wait)
    made = reserve(entry, holder(entry, seen.wall), witness_of(entry), request, LIMITS)
    assert isinstance(made, Postponement)
    assert made.commitment is not None


@pytest.mark.parametrize(
    ("drift", "elapsed", "steady"),
    [
        (0, 0, True),
        (0, DAY, True),
        (MILLISECOND, SECOND, True),
        (-MILLISECOND, SECOND, True),
        (21 * MILLISECOND, SECOND, False),
        (-21 * MILLISECOND, SECOND, False),
        (SECOND, DAY, False),
        (0, -SECOND, True),
        (SECOND, -SECOND, False),
    ],
)
def test_steady_is_a_wall_clock_that_went_as_the_uptime_did(
    drift: int, elapsed: int, *, steady: bool
) -> None:
    now = replace(NOW, wall=NOW.wall + elapsed + drift, uptime=NOW.uptime + elapsed)
    assert is_steady(NOW, now) is steady


def test_a_wait_longer_than_the_callers_is_refused_with_when_to_come_again() -> None:
    request = Request(11, NOW, FIXED, 9 * SECOND)
    with pytest.raises(BusyError) as refused:
        reserve(FRESH, None, None, request, LIMITS)
    assert refused.value.retry_after == 10
    patient = replace(request, wait=10 * SECOND)
    assert isinstance(reserve(FRESH, None, None, patient, LIMITS), Postponement)


def test_confirmation_goes_on_after_now_with_a_generation_that_nobody_saw() -> None:
    entry = used(NOW.wall - DAY, earlier(DAY))
    assert confirm(entry, None, NOW, LIMITS) == Commitment(NOW.wall + LIMITS.reach, 8, NOW)
    assert confirm(entry, Witness(LEDGER, 50, 1), NOW, LIMITS).generation == 51
    assert confirm(entry, Witness("ledger-2", 50, 1), NOW, LIMITS).generation == 8
    assert confirm(FRESH, None, NOW, LIMITS) == Commitment(NOW.wall + LIMITS.reach, 1, NOW)


def test_confirmation_never_moves_the_mark_back() -> None:
    entry = used(NOW.wall + DAY, NOW)
    assert confirm(entry, None, NOW, LIMITS).mark == entry.mark


@pytest.mark.parametrize("trouble", ["ahead", "restored"])
def test_after_a_confirmation_labels_are_given_again(trouble: str) -> None:
    seen = earlier(0, replace(NOW, wall=NOW.wall - DAY)) if trouble == "ahead" else NOW
    entry = used(seen.wall, seen)
    witness = Witness(LEDGER, entry.generation + (trouble == "restored"), NOW.wall)
    with pytest.raises((ClockAheadError, LedgerRestoredError)):
        served(entry, witness=witness)
    word = confirm(entry, witness, NOW, LIMITS)
    confirmed = used(word.mark, word.reading, word.generation)
    later = replace(NOW, wall=NOW.wall + SECOND, uptime=NOW.uptime + SECOND)
    made = served(confirmed, witness=witness_of(confirmed), now=later)
    assert made.instants[0] > NOW.wall


def test_release_gives_back_what_is_left_if_nobody_came_after() -> None:
    entry = used(NOW.wall + SECOND, earlier(SECOND))
    own = holder(entry, NOW.wall)
    assert release(entry, own, None, NOW) == Commitment(NOW.wall, 8, NOW)


@pytest.mark.parametrize(
    ("generation", "last"),
    [(8, NOW.wall), (7, NOW.wall + SECOND)],
    ids=["another reserved after it", "nothing is left"],
)
def test_release_writes_nothing_where_nothing_can_be_given_back(generation: int, last: int) -> None:
    entry = used(NOW.wall + SECOND, earlier(SECOND))
    own = holder(entry, last)
    assert release(replace(entry, generation=generation), own, None, NOW) is None


def test_release_to_an_old_copy_of_the_ledger_is_refused() -> None:
    """Or the machine would remember the copy, and take it for the newest."""
    entry = used(NOW.wall + SECOND, earlier(SECOND))
    with pytest.raises(LedgerRestoredError):
        release(replace(entry, generation=6), holder(entry, NOW.wall), None, NOW)


def test_release_after_a_clock_went_ahead_does_not_vouch_for_it() -> None:
    """A snapshot put back while its minter is busy, and the minter restarted at once."""
    seen = earlier(SECOND, replace(NOW, wall=NOW.wall - MINUTE))
    entry = used(seen.wall + SECOND, seen)
    written = release(entry, holder(entry, seen.wall), None, NOW)
    after = entry
    if written is not None:
        after = used(written.mark, written.reading, written.generation)
    assert goes_on_after_now(after, witness=witness_of(after))
