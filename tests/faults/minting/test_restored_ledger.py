"""An old copy of the ledger is restored while a minter holds later instants."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Event, Lock

import pytest

from ibi.errors import LedgerRestoredError, LedgerUnavailableError
from ibi.foundation.sql.sqlite import Sqlite
from ibi.minting.minter import Minter
from ibi.minting.ports import Witness
from ibi.minting.rules.label_generator import Minted
from ibi.minting.storage.ledger import SqlLedger
from ibi.minting.storage.machine_folder import MachineFolder
from tests.faults.minting.worker import SUBSYSTEM
from tests.support.doubles.minting_machine import SECOND, FakeClock
from tests.support.waiting import wait_until

Opened = Callable[[str], Minter]


class StoppableClock(FakeClock):
    """A clock that can be stopped; no sleep ends until it runs again."""

    def __init__(self) -> None:
        super().__init__(1_700_000_000 * SECOND)
        self.goes = Event()
        self.goes.set()
        self.sleeping = 0
        """How many began to sleep while it was stopped."""
        self._alone = Lock()

    def sleep(self, nanoseconds: int) -> None:
        """Let time pass, once it does."""
        with self._alone:
            self.sleeping += not self.goes.is_set()
        self.goes.wait()
        with self._alone:
            super().sleep(nanoseconds)

    def go_to(self, tenths: int) -> None:
        """Go on to the next moment that is so many tenths after a whole second."""
        self.sleep((tenths * SECOND // 10 - self.true) % SECOND)


@pytest.fixture
def clock() -> StoppableClock:
    return StoppableClock()


@pytest.fixture
def opened(tmp_path: Path, clock: StoppableClock) -> Opened:
    """Opens the one ledger of a test, with a granularity."""

    def open_it(granularity: str) -> Minter:
        ledger = SqlLedger(Sqlite(tmp_path / "ledger.db"))
        machine = MachineFolder(tmp_path / "machine")
        return Minter(SUBSYSTEM, ledger, clock, machine, granularity=granularity)

    return open_it


def backup(folder: Path) -> Path:
    copy = folder / "old"
    copy.mkdir()
    for path in folder.glob("ledger.db*"):
        if not path.name.endswith("-shm"):
            shutil.copyfile(path, copy / path.name)
    return copy


def restore(folder: Path, copy: Path) -> None:
    for path in folder.glob("ledger.db*"):
        path.unlink()
    for path in copy.iterdir():
        path.rename(folder / path.name)


def test_it_is_confirmed_while_a_minter_is_within_its_stretch(
    tmp_path: Path, opened: Opened, clock: StoppableClock
) -> None:
    running = opened("0.001")
    running.mint_many(5)
    copy = backup(tmp_path)
    clock.sleep(12 * SECOND // 10)
    given = running.mint_many(20) + [running.mint() for _ in range(5)]  # a second is reserved
    restore(tmp_path, copy)
    other = opened("0.001")
    other.confirm()
    for _ in range(50):
        with suppress(LedgerUnavailableError):  # its stretch is over, and its file replaced
            given.append(running.mint())
        given.append(other.mint())
    assert len(set(given)) == len(given)


def test_it_is_confirmed_while_callers_wait_for_their_instants(
    tmp_path: Path, opened: Opened, clock: StoppableClock
) -> None:
    minters = [opened("1") for _ in range(4)]
    minters[0].mint()
    copy = backup(tmp_path)
    clock.goes.clear()
    with ThreadPoolExecutor() as threads:
        waiting = [threads.submit(minter.mint) for minter in minters]
        wait_until(lambda: clock.sleeping == len(minters))
        restore(tmp_path, copy)
        clock.goes.set()
        other = opened("1")
        other.confirm()
        given: list[Minted] = [other.mint() for _ in range(3)]
        for future in waiting:
            with suppress(LedgerUnavailableError):  # its retry found the file replaced
                given.append(future.result())
    assert len(set(given)) == len(given)


def test_a_process_was_stopped_between_its_commit_and_its_note(
    tmp_path: Path, opened: Opened, clock: StoppableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, quick = opened("0.001"), opened("0.001")
    slow.mint()
    quick.mint()
    claim = slow._allocator._claim  # noqa: SLF001  # the only place to stop it at
    late: list[Witness] = []
    clock.go_to(9)
    with monkeypatch.context() as stopped:
        stopped.setattr(claim, "note", late.append)
        slow.mint()
    copy = backup(tmp_path)
    clock.go_to(1)
    given = quick.mint()  # a whole second, of which the copy knows nothing
    claim.note(late[-1])
    for minter in (slow, quick):  # killed: without the orderly end of `close`
        minter.ledger.close()
        minter._allocator._claim.release()  # noqa: SLF001
    restore(tmp_path, copy)
    with suppress(LedgerRestoredError):
        assert opened("0.001").mint() != given
