"""The minter on a real ledger, with a fake clock where a test must set it."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from ibi.errors import (
    BusyError,
    ClockAheadError,
    ClockBehindError,
    LedgerRestoredError,
    MinterClosedError,
    MintingRequestError,
    PrefixHeldError,
)
from ibi.foundation.sql.sqlite import Sqlite
from ibi.foundation.system.clock import SystemClock
from ibi.minting.minter import SEATS, Minter
from ibi.minting.rules.granularity import MOST_AT_ONCE
from ibi.minting.rules.reservation import ReservationLimits
from ibi.minting.rules.subsystem import Subsystem
from ibi.minting.storage.ledger import SqlLedger
from ibi.minting.storage.machine_folder import MachineFolder
from ibi.model.clock import Clock
from tests.support.doubles.minting_machine import SECOND, START, FakeClock

BOTH = Subsystem("mtc-m19.sid.inpe.br", ip="150.163.34.243")
DAY = 86_400 * SECOND


class Shop:
    """Opens minters on the ledgers of one machine."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        """Begin with nothing and a fake clock."""
        self.folder = folder
        self.clock = FakeClock()
        self.steps: list[float] = []
        self._stack = stack

    def open(  # noqa: PLR0913  # what a minter is made of
        self,
        granularity: str = "auto",
        *,
        subsystem: Subsystem = BOTH,
        clock: Clock | None = None,
        ledger: str = "ledger.sqlite",
        limits: ReservationLimits | None = None,
        seats: int = SEATS,
    ) -> Minter:
        """Open a minter, to be closed after the test."""
        minter = Minter(
            subsystem,
            SqlLedger(Sqlite(self.folder / ledger)),
            clock or self.clock,
            MachineFolder(self.folder / "machine"),
            granularity=granularity,
            limits=limits,
            seats=seats,
            observe=self.steps.append,
        )
        self._stack.callback(minter.close)
        return minter


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    with ExitStack() as stack:
        yield Shop(tmp_path, stack)


def is_crowded(minter: Minter, waiting: int) -> None:
    """Return when so many wait; a test that hangs here has found something."""
    while minter.health().waiting != waiting:
        time.sleep(0.001)


class Gate(FakeClock):
    """A clock at which whoever sleeps is held until the gate opens."""

    def __init__(self) -> None:
        """Begin with an open gate."""
        super().__init__()
        self.opened = threading.Event()
        self.opened.set()
        self.held = threading.Event()

    def sleep(self, nanoseconds: int) -> None:
        """Wait at the gate, then for so long."""
        self.held.set()
        self.opened.wait()
        super().sleep(nanoseconds)


def in_thread(work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


# --- labels ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("granularity", ["auto", "60", "1", "0.001", "0.000000001"])
def test_labels_grow_and_none_is_younger_than_the_clock(shop: Shop, granularity: str) -> None:
    minter = shop.open(granularity)
    last = 0
    for span in [0, 0, 0, 5000, SECOND // 3, 0, 70 * SECOND, 0, 0]:
        shop.clock.sleep(span)
        minted = minter.mint()
        assert last < minted.nanoseconds <= shop.clock.wall()
        last = minted.nanoseconds


def test_labels_are_short_when_traffic_is_light(shop: Shop) -> None:
    minter = shop.open("0.000000001")
    minter.mint()
    shop.clock.sleep(300 * SECOND)
    minted = minter.mint()
    assert minted.nanoseconds % (60 * SECOND) == 0


def test_a_batch_is_one_durable_step(shop: Shop) -> None:
    minter = shop.open()
    labels = minter.mint_many(5000)
    assert len({minted.rep for minted in labels}) == len({minted.ibip for minted in labels}) == 5000
    assert len(shop.steps) == 1
    assert minter.health().given == 5000


def test_a_busy_minter_does_not_ask_the_ledger_for_every_label(shop: Shop) -> None:
    minter = shop.open("0.000000001")
    for _ in range(1000):
        shop.clock.sleep(1000)
        minter.mint()
    assert len(shop.steps) < 5


def test_a_batch_at_a_coarse_granularity_waits_for_its_last_label(shop: Shop) -> None:
    minter = shop.open("1")
    labels = minter.mint_many(5)
    assert [minted.nanoseconds // SECOND for minted in labels] == [
        START // SECOND + step for step in range(5)
    ]
    assert labels[-1].nanoseconds <= shop.clock.wall()


@pytest.mark.parametrize("count", [0, -1, -(10**30), MOST_AT_ONCE + 1, 10**30])
def test_a_number_of_labels_that_nobody_can_want_is_refused(shop: Shop, count: int) -> None:
    minter = shop.open()
    minter.mint_many(2)
    for ask in (minter.mint_many, minter.instants, minter.attempt):
        with pytest.raises(MintingRequestError) as refused:
            ask(count)
        assert str(refused.value) == f"{count} is not a number of labels: expected 1 to 1000000."
    assert minter.health().given == 2


def test_an_attempt_gives_only_what_needs_neither_waiting_nor_the_ledger(shop: Shop) -> None:
    minter = shop.open("0.001")
    assert minter.attempt(1) is None  # it holds nothing yet
    for _ in range(2):
        minter.mint()
    shop.clock.sleep(20_000_000)
    steps = len(shop.steps)
    given = minter.attempt(2)
    assert given is not None
    assert len(given) == 2
    assert given[-1].nanoseconds <= shop.clock.wall()
    assert minter.attempt(100) is None
    assert len(shop.steps) == steps


# --- waiting --------------------------------------------------------------------------------------


def test_a_wait_that_is_too_long_is_refused_and_takes_nothing(shop: Shop) -> None:
    minter = shop.open("60")
    first = minter.mint()
    before = minter.health(), shop.clock.true
    with pytest.raises(BusyError) as refused:
        minter.mint(timeout=5)
    assert 5 < refused.value.retry_after <= 60
    with pytest.raises(BusyError):
        minter.mint_many(2, timeout=5)
    assert (minter.health(), shop.clock.true) == before
    assert minter.mint().nanoseconds == first.nanoseconds + 60 * SECOND


def test_a_batch_that_takes_longer_than_anyone_waits_is_refused_at_once(shop: Shop) -> None:
    minter = shop.open("1")
    with pytest.raises(
        MintingRequestError, match="take 999 seconds, and no caller may wait longer"
    ):
        minter.mint_many(1000)
    assert minter.health().given == 0


@pytest.mark.parametrize("granularity", ["auto", "1", "0.000000001"])
@pytest.mark.parametrize("timeout", [0, -1, -0.5, float("nan")])
def test_who_does_not_wait_is_served_if_there_is_no_need_to(
    shop: Shop, granularity: str, timeout: float
) -> None:
    minter = shop.open(granularity, clock=SystemClock())
    assert minter.mint(timeout).rep is not None


def test_nobody_waits_longer_than_the_limit_whatever_he_says(shop: Shop) -> None:
    minter = shop.open("60", limits=ReservationLimits(wait=10 * SECOND))
    minter.mint()
    with pytest.raises(BusyError):
        minter.mint(float("inf"))


def test_callers_are_served_in_the_order_in_which_they_came(shop: Shop) -> None:
    clock = Gate()
    minter = shop.open("1", clock=clock)
    minter.mint()
    clock.opened.clear()
    served: dict[int, int] = {}
    threads = [in_thread(lambda: served.update({0: minter.mint().nanoseconds}))]
    clock.held.wait()
    for caller in range(1, 30):

        def work(caller: int = caller) -> None:
            served[caller] = minter.mint().nanoseconds

        threads.append(in_thread(work))
        is_crowded(minter, caller)
    clock.opened.set()
    for thread in threads:
        thread.join()
    assert sorted(served, key=served.__getitem__) == list(range(30))


def test_the_room_is_bounded_and_says_how_many_wait(shop: Shop) -> None:
    clock = Gate()
    minter = shop.open("1", clock=clock, seats=2)
    minter.mint()
    clock.opened.clear()
    threads = [in_thread(minter.mint)]
    clock.held.wait()
    for waiting in (1, 2):
        threads.append(in_thread(minter.mint))
        is_crowded(minter, waiting)
    with pytest.raises(BusyError) as refused:
        minter.mint()
    assert refused.value.waiting == 3
    assert refused.value.retry_after >= 3
    assert minter.attempt(1) is None
    clock.opened.set()
    for thread in threads:
        thread.join()
    assert minter.health().waiting == 0
    assert minter.health().given == 4
    minter.mint()


def test_who_gives_up_leaves_no_hole_and_keeps_nobody(shop: Shop) -> None:
    clock = Gate()
    minter = shop.open("1", clock=clock)
    minter.mint()
    clock.opened.clear()
    given: list[int] = []
    first = in_thread(lambda: given.append(minter.mint().nanoseconds))
    clock.held.wait()
    with pytest.raises(BusyError):
        minter.mint(timeout=0.02)
    last = in_thread(lambda: given.append(minter.mint().nanoseconds))
    is_crowded(minter, 1)
    clock.opened.set()
    first.join()
    last.join()
    assert given[1] - given[0] == SECOND


def test_threads_share_a_minter_and_get_different_labels(shop: Shop) -> None:
    minter = shop.open(clock=SystemClock())
    labels: list[str | None] = []

    def work() -> None:
        for _ in range(50):
            labels.append(minter.mint().rep)
            labels.extend(minted.rep for minted in minter.mint_many(150))

    threads = [in_thread(work) for _ in range(8)]
    for thread in threads:
        thread.join()
    assert len(labels) == len(set(labels)) == 8 * 50 * 151


def test_minters_on_one_ledger_give_different_labels(shop: Shop) -> None:
    minters = [shop.open(clock=SystemClock()) for _ in range(3)]
    labels: list[str | None] = []

    def work(minter: Minter) -> None:
        labels.extend(minter.mint().rep for _ in range(30))

    threads = [in_thread(partial(work, minter)) for minter in minters]
    for thread in threads:
        thread.join()
    assert len(labels) == len(set(labels)) == 90


# --- granularity ----------------------------------------------------------------------------------


def test_the_granularity_may_be_changed_while_it_runs(shop: Shop) -> None:
    minter = shop.open("60")
    given = [minter.mint().nanoseconds]
    for text, step in (("0.001", SECOND // 1000), ("1", SECOND), ("60", 60 * SECOND)):
        minter.set_granularity(text)
        assert str(minter.granularity) == text
        given += [minter.mint().nanoseconds for _ in range(3)]
        assert all(instant % step == 0 for instant in given[-3:])
    assert given == sorted(set(given))
    minter.set_granularity("auto")
    assert not minter.granularity.fixed


def test_auto_serves_a_crowd_without_waiting_and_is_coarse_again_afterwards(shop: Shop) -> None:
    minter = shop.open("auto")
    minter.mint()
    before = shop.clock.true
    for _ in range(100):
        minter.mint()
    assert shop.clock.true - before < SECOND
    assert minter.granularity.nanoseconds < SECOND
    for _ in range(20):
        shop.clock.sleep(11 * SECOND)
        minter.mint()
    assert minter.granularity.nanoseconds == SECOND


# --- clocks ---------------------------------------------------------------------------------------


def test_a_clock_set_back_a_little_is_waited_for(shop: Shop) -> None:
    minter = shop.open("1")
    before = minter.mint().nanoseconds
    shop.clock.error = -3 * SECOND
    assert minter.mint().nanoseconds == before + SECOND
    assert shop.clock.true >= START + 3 * SECOND


def test_a_clock_set_back_far_is_refused_until_it_is_right(shop: Shop) -> None:
    minter = shop.open()
    minter.mint()
    shop.clock.error = -DAY
    for ask in (minter.mint, minter.check):
        with pytest.raises(ClockBehindError, match="The clock is 23 hours behind the last label"):
            ask()
    health = minter.health()
    assert isinstance(health.trouble, ClockBehindError)
    assert health.clock_distance > DAY - 2 * SECOND
    assert health.given == 1
    shop.clock.error = 0
    minter.mint()
    assert minter.health().trouble is None


def test_a_clock_that_jumped_ahead_and_back_did_no_harm(shop: Shop) -> None:
    minter = shop.open()
    minter.mint()
    shop.clock.error = DAY
    with pytest.raises(ClockAheadError):
        minter.mint()
    shop.clock.error = 0
    assert minter.mint().nanoseconds < START + DAY


# --- ledgers --------------------------------------------------------------------------------------


def test_an_old_copy_of_the_ledger_is_refused_until_an_operator_confirms_it(
    shop: Shop, tmp_path: Path
) -> None:
    with shop.open() as minter:
        minter.mint()
    copy = (tmp_path / "ledger.sqlite").read_bytes()
    with shop.open() as minter:
        given = {minter.mint().rep for _ in range(5)}
    (tmp_path / "ledger.sqlite").write_bytes(copy)
    again = shop.open()
    with pytest.raises(LedgerRestoredError, match="is an old copy"):
        again.mint()
    again.confirm()
    assert not given & {again.mint().rep for _ in range(5)}


def test_a_ledger_of_its_own_under_the_same_prefix_is_refused(shop: Shop) -> None:
    shop.open()
    with pytest.raises(PrefixHeldError, match=r"ledger\.sqlite"):
        shop.open(ledger="another.sqlite")
    shop.open(ledger="another.sqlite", subsystem=Subsystem("mtc-m20.sid.inpe.br")).mint()


def test_a_new_ledger_in_the_place_of_a_lost_one_gives_nothing_twice(
    shop: Shop, tmp_path: Path
) -> None:
    with shop.open("1") as minter:
        given = {minter.mint().rep for _ in range(5)}
    for file in tmp_path.glob("ledger.sqlite*"):
        file.unlink()
    shop.clock.error = -3 * SECOND
    again = shop.open("1")
    assert not given & {again.mint().rep for _ in range(5)}


# --- the end --------------------------------------------------------------------------------------


def test_a_closed_minter_gives_nothing(shop: Shop) -> None:
    minter = shop.open()
    for _ in range(3):
        minter.mint()
    minter.close()
    minter.close()
    for ask in (minter.mint, lambda: minter.mint_many(2), minter.check, minter.confirm):
        with pytest.raises(MinterClosedError, match=r"^This minter was closed\.$"):
            ask()
    assert minter.attempt(1) is None


def test_closing_gives_back_what_was_reserved_ahead(shop: Shop) -> None:
    with shop.open("0.001") as minter:
        last = [minter.mint().nanoseconds for _ in range(3)][-1]
        assert minter.health().mark is not None
        assert (minter.health().mark or 0) > last + SECOND // 2
    again = shop.open("0.001")
    assert again.mint().nanoseconds == last + SECOND // 1000


def test_after_a_crash_nothing_is_given_twice_and_the_wait_is_short(shop: Shop) -> None:
    minter = shop.open("0.001")
    given = {minter.mint().rep for _ in range(10)}
    again = shop.open("0.001")  # the first one is as good as dead
    before = shop.clock.true
    assert not given & {again.mint().rep for _ in range(10)}
    assert shop.clock.true - before < 2 * SECOND


def test_closing_lets_another_ledger_have_the_prefixes(shop: Shop) -> None:
    first = shop.open()
    with pytest.raises(PrefixHeldError):
        shop.open(ledger="another.sqlite")
    first.close()
    assert shop.open(ledger="another.sqlite").mint().rep


def test_who_waits_while_it_is_closed_is_told(shop: Shop) -> None:
    clock = Gate()
    minter = shop.open("1", clock=clock)
    minter.mint()
    clock.opened.clear()
    told: list[object] = []

    def work() -> None:
        try:
            told.append(minter.mint().nanoseconds)
        except MinterClosedError as error:
            told.append(type(error))

    threads = [in_thread(work)]
    clock.held.wait()
    threads.append(in_thread(work))
    is_crowded(minter, 1)
    minter.close()
    clock.opened.set()
    for thread in threads:
        thread.join()
    # The first had its instant, and waited for it to come.
    assert told == [START // SECOND * SECOND + SECOND, MinterClosedError]


# --- health ---------------------------------------------------------------------------------------


def test_health_says_how_it_fares(shop: Shop) -> None:
    minter = shop.open("0.001")
    new = minter.health()
    assert (new.given, new.waiting, new.mark, new.clock_distance) == (0, 0, None, 0)
    assert (new.trouble, str(new.granularity)) == (None, "0.001")
    given = minter.mint_many(3)[-1].nanoseconds
    shop.clock.sleep(SECOND)
    health = minter.health()
    assert (health.given, health.mark) == (3, given)
    assert health.clock_distance == given - shop.clock.wall()


def test_a_check_gives_nothing_and_writes_nothing(shop: Shop) -> None:
    minter = shop.open("1")
    minter.check()
    steps = len(shop.steps)
    assert minter.health().given == 0
    assert minter.mint().nanoseconds == START // SECOND * SECOND
    minter.check()
    assert len(shop.steps) == steps + 1


# --- forks ----------------------------------------------------------------------------------------

FORK = """
import ctypes, json, os, sys
from pathlib import Path
from ibi.foundation.system.clock import SystemClock
from ibi.minting.storage.machine_folder import MachineFolder
from ibi.minting.storage.ledger import SqlLedger
from ibi.foundation.sql.sqlite import Sqlite
from ibi.minting.minter import Minter
from ibi.minting.rules.subsystem import Subsystem

folder = Path(sys.argv[1])
minter = Minter(
    Subsystem("a.b.br"), SqlLedger(Sqlite(folder / "ledger")), SystemClock(),
    MachineFolder(folder / "machine"), granularity="0.00001",
)
before = [minter.mint().rep for _ in range(100)]
reading, writing = os.pipe()
if sys.argv[2] == "python":
    child = os.fork()
else:
    # As servers that embed Python do: no hook is called before.
    child = ctypes.pythonapi.fork()
    if not child:
        ctypes.pythonapi.PyOS_AfterFork_Child()
mine = [minter.mint().rep for _ in range(2000)] + [each.rep for each in minter.mint_many(2000)]
if not child:
    with os.fdopen(writing, "w") as pipe:
        json.dump(mine, pipe)
    minter.close()
    os._exit(0)
os.close(writing)
with os.fdopen(reading) as pipe:
    theirs = json.load(pipe)
os.waitpid(child, 0)
after = [minter.mint().rep for _ in range(100)]
print(json.dumps([before, mine, theirs, after]))
"""


@pytest.mark.parametrize("way", ["python", "c"])
def test_parent_and_child_of_a_fork_give_different_labels(tmp_path: Path, way: str) -> None:
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", FORK, str(tmp_path), way],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    before, mine, theirs, after = json.loads(done.stdout)
    assert (len(before), len(mine), len(theirs), len(after)) == (100, 4000, 4000, 100)
    assert len({*before, *mine, *theirs, *after}) == 8200


FORKERS = """
import os, sys, threading
from ibi import open_minter

minter = open_minter(host="a.b.br", ledger=sys.argv[1])
def fork():
    for _ in range(50):
        child = os.fork()
        if not child:
            os._exit(0)
        os.waitpid(child, 0)
threads = [threading.Thread(target=fork) for _ in range(3)]
for thread in threads:
    thread.start()
given = [minter.mint().rep for _ in range(200)]
for thread in threads:
    thread.join()
print(len(set(given)))
"""


def test_threads_may_fork_at_once_while_another_mints(tmp_path: Path) -> None:
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", FORKERS, str(tmp_path / "ledger")],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert done.stdout == "200\n"


def test_a_minter_that_nobody_closes_holds_nothing_for_ever(tmp_path: Path) -> None:
    def forgotten(ledger: str) -> None:
        Minter(
            BOTH,
            SqlLedger(Sqlite(tmp_path / ledger)),
            SystemClock(),
            MachineFolder(tmp_path / "machine"),
        ).mint()
        gc.collect()

    forgotten("one")
    forgotten("other")
