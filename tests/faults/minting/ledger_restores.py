"""RESTORE: an old copy of the ledger is put back.

What is noticed: the entry was written less often than this minter saw, or than the machine's
folder remembers. Then nothing is given out until the newest ledger is back or an operator confirms;
what a running minter has left of its stretch, a second by default, it still gives out: it knows
that nobody else has that.

What cannot be noticed:
- An old copy when the machine's folder is lost too, or on another machine. Then labels start after
  now, and with a right clock that is after all that were ever given.
- Bytes copied over the files of a database that is in use, which SQLite forbids. SQLite goes on
  with what it has in memory, so the minter goes on after its own last label; what it commits is
  lost at the end of the process, and the next one is refused by the machine's folder.
- An old copy that other minters wrote more often than we saw. They have begun after now, and we go
  on after them.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final

from ibi.minting.rules.reservation import ReservationLimits
from tests.faults.figures import Figures, Violation
from tests.faults.minting.worker import FINE
from tests.faults.minting.worker_pool import Crowd, Hand
from tests.faults.sites import PostgresSite, Say, Site, SqliteSite, copy_files

LIMITS: Final = ReservationLimits(stretch=100_000_000)
STRETCH: Final = 0.15
"""Seconds after which no minter has anything left of a stretch."""

IN_A_ROW: Final = 30
"""Refusals without a label in between: then the stretch is at an end, on a slow machine too."""

NOTICED: Final = ("LedgerRestoredError", "LedgerUnavailableError")

Case = Callable[[Crowd], None]


def restore(site: Site, size: int, seed: int, say: Say, cases: tuple[Case, ...] = ()) -> Figures:
    """Put old copies back in every way, again and again; all labels of all cases are compared."""
    cases = cases or (SQLITE if isinstance(site, SqliteSite) else POSTGRES)
    with Crowd(site, seed, limits=LIMITS, granularities=FINE, rest=0.002) as crowd:
        for number in range(1, size + 1):
            for case in cases:
                case(crowd)
                for hand in list(crowd.hands):
                    crowd.kill(hand)
            done = number * len(cases)
            say(f"{done} of {size * len(cases)} restored, {crowd.figures.labels:,} labels")
    names = ", ".join(case.__name__.strip("_").replace("_", " ") for case in cases)
    crowd.figures.notes = f"{size} times each: {names}"
    return crowd.figures


def _busy(crowd: Crowd) -> Hand:
    """Start a minter, and let it get into its stretch."""
    hand = crowd.start()
    crowd.pump_until(lambda: hand.given > 3, "labels")
    crowd.pump(crowd.chance.uniform(0.05, STRETCH))
    return hand


def _check_refused(crowd: Crowd, hand: Hand) -> None:
    """See that nothing is given out once its stretch is at an end, and why."""
    given, before = -1, 0

    def is_refused() -> bool:
        nonlocal given, before
        refused = hand.refusals["LedgerRestoredError"]
        if hand.given > given:
            given, before = hand.given, refused
        return refused - before >= IN_A_ROW

    crowd.pump_until(is_refused, "an end of labels, because the ledger was restored,")


def _confirm(crowd: Crowd, hand: Hand) -> None:
    crowd.site.control.confirms = True
    crowd.pump_until(lambda: hand.confirmed, "a confirmation")
    _check_goes_on(crowd, hand)


def _check_goes_on(crowd: Crowd, hand: Hand) -> None:
    given = hand.given
    crowd.pump_until(lambda: hand.given > given + 3, "a label on the ledger that is right again")


def _here(crowd: Crowd) -> SqliteSite:
    assert isinstance(crowd.site, SqliteSite)
    return crowd.site


def _copy(crowd: Crowd, name: str) -> Path:
    folder = _here(crowd).folder / name
    shutil.rmtree(folder, ignore_errors=True)
    copy_files(_here(crowd).files, folder)
    return folder


def _put(crowd: Crowd, folder: Path) -> None:
    """Put a copy in the place of files that nobody uses."""
    for path in (*_here(crowd).files, Path(f"{crowd.site.ledger}-shm")):
        path.unlink(missing_ok=True)
    for path in folder.iterdir():
        shutil.copyfile(path, _here(crowd).folder / path.name)


def _in_place(crowd: Crowd) -> None:
    """By SQLite's own means, while a minter runs."""
    hand = _busy(crowd)
    old = _copy(crowd, "old")
    crowd.pump(STRETCH)
    with (
        closing(sqlite3.connect(old / Path(crowd.site.ledger).name)) as source,
        closing(sqlite3.connect(crowd.site.ledger, timeout=30)) as target,
    ):
        source.backup(target)
    _check_refused(crowd, hand)
    _confirm(crowd, hand)


def _renamed(crowd: Crowd) -> None:
    """By rename, while a minter runs; then the newest is put back the same way."""
    hand = _busy(crowd)
    old = _copy(crowd, "old")
    crowd.pump(STRETCH)
    aside = _here(crowd).folder / "aside"
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir()
    for path in _here(crowd).files:
        if path.exists():
            path.rename(aside / path.name)
    for path in old.iterdir():
        path.rename(_here(crowd).folder / path.name)
    _check_refused(crowd, hand)
    for path in (*_here(crowd).files, Path(f"{crowd.site.ledger}-shm")):
        path.unlink(missing_ok=True)
    for path in aside.iterdir():
        path.rename(_here(crowd).folder / path.name)
    _check_goes_on(crowd, hand)


def _overwritten(crowd: Crowd) -> None:
    """By copying bytes over the open files: see what cannot be noticed, above."""
    hand = _busy(crowd)
    old = _copy(crowd, "old")
    crowd.pump(STRETCH)
    for path in _here(crowd).files:
        if (old / path.name).exists():
            path.write_bytes((old / path.name).read_bytes())
    crowd.pump(2 * STRETCH)
    crowd.kill(hand, judged=False)
    hand = crowd.start()
    _check_refused(crowd, hand)
    _confirm(crowd, hand)


def _between_runs(crowd: Crowd) -> None:
    """Between two runs of a minter."""
    crowd.kill(_busy(crowd))
    old = _copy(crowd, "old")
    crowd.kill(_busy(crowd))
    _put(crowd, old)
    hand = crowd.start()
    _check_refused(crowd, hand)
    _confirm(crowd, hand)


def _with_the_memory_lost(crowd: Crowd) -> None:
    """The machine's folder is gone too: nobody can notice, and the clock is what helps."""
    crowd.kill(_busy(crowd))
    old = _copy(crowd, "old")
    crowd.kill(_busy(crowd))
    _put(crowd, old)
    shutil.rmtree(crowd.site.machine)
    hand = _busy(crowd)
    if any(hand.refusals[reason] for reason in NOTICED):
        raise Violation("there was nothing to notice it by")


SQLITE: Final[tuple[Case, ...]] = (
    _in_place,
    _renamed,
    _overwritten,
    _between_runs,
    _with_the_memory_lost,
)

KEEP: Final = """
LOCK TABLE ibi_prefix IN EXCLUSIVE MODE;
DROP TABLE IF EXISTS {name}_prefix, {name}_sighting;
CREATE TABLE {name}_prefix AS SELECT * FROM ibi_prefix;
CREATE TABLE {name}_sighting AS SELECT * FROM ibi_sighting;
"""
PUT: Final = """
LOCK TABLE ibi_prefix IN EXCLUSIVE MODE;
DELETE FROM ibi_prefix; INSERT INTO ibi_prefix SELECT * FROM {name}_prefix;
DELETE FROM ibi_sighting; INSERT INTO ibi_sighting SELECT * FROM {name}_sighting;
"""


def _there(crowd: Crowd) -> PostgresSite:
    assert isinstance(crowd.site, PostgresSite)
    return crowd.site


def _rows(crowd: Crowd) -> None:
    """The old rows are written back while a minter runs, as a restored dump does; then the new."""
    hand = _busy(crowd)
    _there(crowd).script(KEEP.format(name="old"))
    crowd.pump(STRETCH)
    _there(crowd).script(KEEP.format(name="newest") + PUT.format(name="old"))
    _check_refused(crowd, hand)
    _there(crowd).script(PUT.format(name="newest"))
    _check_goes_on(crowd, hand)


def _whole_database(crowd: Crowd) -> None:
    """An old copy of the database takes its place while a minter runs."""
    hand = _busy(crowd)
    _there(crowd).copy_database()
    crowd.pump_until(lambda: hand.refusals["LedgerUnavailableError"] > 0, "the break for the copy")
    _check_goes_on(crowd, hand)
    crowd.pump(STRETCH)
    _there(crowd).swap_in_copy()
    _check_refused(crowd, hand)
    _confirm(crowd, hand)


def _rows_between_runs(crowd: Crowd) -> None:
    crowd.kill(_busy(crowd))
    _there(crowd).script(KEEP.format(name="old"))
    crowd.kill(_busy(crowd))
    _there(crowd).script(PUT.format(name="old"))
    hand = crowd.start()
    _check_refused(crowd, hand)
    _confirm(crowd, hand)


def _rows_with_the_memory_lost(crowd: Crowd) -> None:
    crowd.kill(_busy(crowd))
    _there(crowd).script(KEEP.format(name="old"))
    crowd.kill(_busy(crowd))
    _there(crowd).script(PUT.format(name="old"))
    shutil.rmtree(crowd.site.machine)
    hand = _busy(crowd)
    if any(hand.refusals[reason] for reason in NOTICED):
        raise Violation("there was nothing to notice it by")


POSTGRES: Final[tuple[Case, ...]] = (
    _rows,
    _rows_between_runs,
    _rows_with_the_memory_lost,
)


def restore_database(site: Site, size: int, seed: int, say: Say) -> Figures:
    """The same with a whole database, which takes the server longer."""
    return restore(site, size, seed, say, (_whole_database,))
