"""Ways in which an old copy of the ledger gets into use while somebody holds instants after it."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from ibi.errors import LedgerRestoredError, LedgerUnavailableError
from ibi.foundation.sql.sqlite import Sqlite
from ibi.foundation.system.clock import SystemClock
from ibi.minting.minter import Minter
from ibi.minting.ports import Witness
from ibi.minting.rules.label_generator import Minted
from ibi.minting.storage.ledger import SqlLedger
from ibi.minting.storage.machine_folder import MachineFolder
from tests.faults.worker import SUBSYSTEM

Opened = Callable[[str], Minter]


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    """Opens the one ledger of a test, with a granularity."""

    def open_it(granularity: str) -> Minter:
        ledger = SqlLedger(Sqlite(tmp_path / "ledger.db"))
        machine = MachineFolder(tmp_path / "machine")
        return Minter(SUBSYSTEM, ledger, SystemClock(), machine, granularity=granularity)

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
    tmp_path: Path, opened: Opened
) -> None:
    running = opened("0.001")
    running.mint_many(5)
    copy = backup(tmp_path)
    time.sleep(1.2)
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
    tmp_path: Path, opened: Opened
) -> None:
    minters = [opened("1") for _ in range(4)]
    minters[0].mint()
    copy = backup(tmp_path)
    with ThreadPoolExecutor() as threads:
        waiting = [threads.submit(minter.mint) for minter in minters]
        time.sleep(0.3)
        restore(tmp_path, copy)
        other = opened("1")
        other.confirm()
        given: list[Minted] = [other.mint() for _ in range(3)]
        for future in waiting:
            with suppress(LedgerUnavailableError):  # who came again found the file replaced
                given.append(future.result())
    assert len(set(given)) == len(given)


def test_a_process_was_stopped_between_its_commit_and_its_note(
    tmp_path: Path, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, quick = opened("0.001"), opened("0.001")
    slow.mint()
    quick.mint()
    claim = slow._allocator._claim  # noqa: SLF001  # the only place to stop it at
    late: list[Witness] = []
    wait_for_fraction(0.9, 0.95)
    with monkeypatch.context() as stopped:
        stopped.setattr(claim, "note", late.append)
        slow.mint()
    copy = backup(tmp_path)
    wait_for_fraction(0.1, 0.5)
    given = quick.mint()  # a whole second, of which the copy knows nothing
    claim.note(late[-1])
    for minter in (slow, quick):  # killed: without the orderly end of `close`
        minter.ledger.close()
        minter._allocator._claim.release()  # noqa: SLF001
    restore(tmp_path, copy)
    with suppress(LedgerRestoredError):
        assert opened("0.001").mint() != given


def wait_for_fraction(low: float, high: float) -> None:
    """Wait for a part of a second, so that a label of a whole second is or is not at hand."""
    while not low < time.time() % 1 < high:
        time.sleep(0.002)
