"""Where the minters of one machine meet: who is let in, and what is remembered."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ibi.errors import LedgerUnavailableError, PrefixHeldError
from ibi.minting.ports import Witness
from ibi.minting.storage.machine_folder import FOLDER, MachineFolder

REP, OPAQUE = "sid.inpe.br/mtc-m19", "8JMKD3MGP8W"
BOTH = (REP, OPAQUE)
HOLD = """
import sys
from pathlib import Path
from ibi.minting.storage.machine_folder import MachineFolder
claim = MachineFolder(Path(sys.argv[1])).claim(sys.argv[4:], sys.argv[2], sys.argv[3])
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def machine(tmp_path: Path) -> MachineFolder:
    return MachineFolder(tmp_path / "machine")


@contextmanager
def another_process(folder: Path, ledger: str, *prefixes: str) -> Iterator[subprocess.Popen[str]]:
    """Hold prefixes in a process of its own."""
    with subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", HOLD, str(folder), ledger, f"/place/of/{ledger}", *prefixes],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "held\n"
            yield process
        finally:
            process.kill()


def is_free(machine: MachineFolder, prefix: str, ledger: str = "newcomer") -> bool:
    try:
        machine.claim([prefix], ledger, "/place").release()
    except PrefixHeldError:
        return False
    return True


def test_another_ledger_is_refused_and_told_who_is_there(machine: MachineFolder) -> None:
    claim = machine.claim(BOTH, "ledger-1", "/var/lib/one.sqlite")
    with pytest.raises(PrefixHeldError) as refused:
        machine.claim([REP], "ledger-2", "/var/lib/two.sqlite")
    who = f"process {os.getpid()} on {socket.gethostname()} with the ledger /var/lib/one.sqlite"
    assert refused.value.holder == who
    assert refused.value.prefix == REP
    assert who in str(refused.value)
    claim.release()


@pytest.mark.parametrize("prefixes", [(REP,), (OPAQUE,), (OPAQUE, REP), ("x.y/z", OPAQUE)])
def test_one_prefix_in_common_is_enough_to_be_refused(
    machine: MachineFolder, prefixes: tuple[str, ...]
) -> None:
    claim = machine.claim(BOTH, "ledger-1", "/one")
    with pytest.raises(PrefixHeldError):
        machine.claim(prefixes, "ledger-2", "/two")
    claim.release()
    # Who was refused holds nothing.
    assert all(is_free(machine, prefix) for prefix in prefixes)


def test_other_prefixes_are_free(machine: MachineFolder) -> None:
    claim = machine.claim([REP], "ledger-1", "/one")
    assert is_free(machine, OPAQUE)
    assert is_free(machine, f"{REP}.8080")
    claim.release()


def test_the_same_ledger_shares_and_the_last_to_leave_frees(machine: MachineFolder) -> None:
    one = machine.claim(BOTH, "ledger-1", "/one")
    two = machine.claim(BOTH, "ledger-1", "/one")
    assert not is_free(machine, REP)
    one.release()
    assert not is_free(machine, REP)
    two.release()
    assert is_free(machine, REP)


def test_release_frees_at_once_and_may_be_repeated(machine: MachineFolder) -> None:
    claim = machine.claim(BOTH, "ledger-1", "/one")
    claim.release()
    claim.release()
    assert is_free(machine, REP)
    assert is_free(machine, OPAQUE)


def test_another_process_is_met_and_its_death_frees(tmp_path: Path) -> None:
    machine = MachineFolder(tmp_path)
    with another_process(tmp_path, "ledger-1", *BOTH) as holder:
        with pytest.raises(PrefixHeldError) as refused:
            machine.claim([OPAQUE], "ledger-2", "/two")
        assert refused.value.holder.startswith(f"process {holder.pid} on {socket.gethostname()} ")
        assert refused.value.holder.endswith("/place/of/ledger-1")
        machine.claim([OPAQUE], "ledger-1", "/place/of/ledger-1").release()
        os.kill(holder.pid, signal.SIGKILL)
        holder.wait()
        assert is_free(machine, OPAQUE)
        assert is_free(machine, REP)


def test_a_stopped_process_goes_on_holding(tmp_path: Path) -> None:
    with another_process(tmp_path, "ledger-1", REP) as holder:
        os.kill(holder.pid, signal.SIGSTOP)
        assert not is_free(MachineFolder(tmp_path), REP)


def test_a_new_machine_remembers_nothing(machine: MachineFolder) -> None:
    claim = machine.claim(BOTH, "ledger-1", "/one")
    assert claim.witness() is None
    claim.release()


def test_what_was_noted_is_remembered_after_release(machine: MachineFolder) -> None:
    claim = machine.claim(BOTH, "ledger-1", "/one")
    claim.note(Witness("ledger-1", 7, 1_700_000_000_000_000_000))
    claim.note(Witness("ledger-1", 8, 2**63 - 1))
    claim.release()
    again = machine.claim([REP], "ledger-1", "/one")
    assert again.witness() == Witness("ledger-1", 8, 2**63 - 1)
    again.release()


def test_what_was_noted_is_seen_by_those_who_come_meanwhile(machine: MachineFolder) -> None:
    one = machine.claim(BOTH, "ledger-1", "/one")
    one.note(Witness("ledger-1", 7, 99))
    two = machine.claim(BOTH, "ledger-1", "/one")
    assert two.witness() == Witness("ledger-1", 7, 99)
    one.release()
    two.release()


def test_the_witness_of_another_ledger_is_handed_on(machine: MachineFolder) -> None:
    old = machine.claim(BOTH, "ledger-1", "/one")
    old.note(Witness("ledger-1", 7, 99))
    old.release()
    new = machine.claim(BOTH, "ledger-2", "/two")
    assert new.witness() == Witness("ledger-1", 7, 99)
    new.release()
    # It crashed before its first label: the mark of the old one still counts, its number not.
    again = machine.claim(BOTH, "ledger-2", "/two")
    assert again.witness() == Witness("ledger-2", 0, 99)
    again.release()


def test_of_two_prefixes_the_later_mark_counts(machine: MachineFolder) -> None:
    for prefix, mark in ((REP, 50), (OPAQUE, 70)):
        claim = machine.claim([prefix], f"ledger-{mark}", "/one")
        claim.note(Witness(f"ledger-{mark}", 1, mark))
        claim.release()
    claim = machine.claim(BOTH, "ledger-3", "/three")
    assert claim.witness() == Witness("ledger-70", 1, 70)
    claim.release()


@pytest.mark.parametrize(
    "garbage",
    [b"", b"\x00" * 4096, b"{", b'{"prefix": 1}', b"\xff\xfe", b"x" * 10_000, b"[]", b'"text"'],
)
def test_garbage_in_a_file_is_no_memory_and_no_obstacle(tmp_path: Path, garbage: bytes) -> None:
    machine = MachineFolder(tmp_path)
    machine.claim([OPAQUE], "ledger-1", "/one").release()
    (tmp_path / OPAQUE).write_bytes(garbage)
    claim = machine.claim([OPAQUE], "ledger-2", "/two")
    assert claim.witness() is None
    claim.note(Witness("ledger-2", 1, 5))
    assert not is_free(machine, OPAQUE)
    claim.release()
    again = machine.claim([OPAQUE], "ledger-2", "/two")
    assert again.witness() == Witness("ledger-2", 1, 5)
    again.release()


@pytest.mark.parametrize("garbage", [b"", b"\x00" * 4096, b"{"])
def test_a_holder_whose_file_was_spoilt_still_holds(tmp_path: Path, garbage: bytes) -> None:
    machine = MachineFolder(tmp_path)
    claim = machine.claim([OPAQUE], "ledger-1", "/one")
    (tmp_path / OPAQUE).write_bytes(garbage)
    assert not is_free(machine, OPAQUE)
    claim.release()


@pytest.mark.parametrize("place", ["a" * 5000, "\U0001f600" * 5000, "\x01" * 5000, "/\udcff/x"])
def test_a_strange_place_is_no_way_around(machine: MachineFolder, place: str) -> None:
    claim = machine.claim([OPAQUE], "ledger-1", place)
    assert not is_free(machine, OPAQUE)
    machine.claim([OPAQUE], "ledger-1", place).release()
    claim.release()


def test_a_folder_that_cannot_be_used_is_named_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(LedgerUnavailableError) as refused:
        MachineFolder(tmp_path / "file" / "machine").claim(BOTH, "ledger-1", "/one")
    assert str(tmp_path / "file" / "machine") in refused.value.reason
    assert f"(set {FOLDER})" in str(refused.value)


def test_a_link_in_the_place_of_a_file_is_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    (tmp_path / "machine").mkdir()
    (tmp_path / "machine" / OPAQUE).symlink_to(victim)
    with pytest.raises(LedgerUnavailableError):
        MachineFolder(tmp_path / "machine").claim([OPAQUE], "ledger-1", "/one")
    assert victim.read_bytes() == b"precious"


def test_the_folder_is_the_one_that_the_environment_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FOLDER, str(tmp_path / "named"))
    MachineFolder().claim([OPAQUE], "ledger-1", "/one").release()
    assert (tmp_path / "named" / OPAQUE).is_file()


def test_a_new_folder_of_root_is_for_all_users_and_files_are_for_their_owner_alone(
    tmp_path: Path,
) -> None:
    MachineFolder(tmp_path / "new").claim([OPAQUE], "ledger-1", "/one").release()
    expected = 0o1777 if os.geteuid() == 0 else 0o700
    assert (tmp_path / "new").stat().st_mode & 0o7777 == expected
    for name in (OPAQUE, f"{OPAQUE}.guard"):
        assert (tmp_path / "new" / name).stat().st_mode & 0o777 == 0o600


def test_files_that_an_earlier_version_made_for_all_are_closed(tmp_path: Path) -> None:
    machine = MachineFolder(tmp_path)
    machine.claim([OPAQUE], "ledger-1", "/one").release()
    (tmp_path / OPAQUE).chmod(0o666)
    machine.claim([OPAQUE], "ledger-1", "/one").release()
    assert (tmp_path / OPAQUE).stat().st_mode & 0o777 == 0o600


def test_the_record_of_an_earlier_version_is_taken_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(FOLDER)
    monkeypatch.setattr("ibi.minting.storage.machine_folder._USUAL", tmp_path)
    former = MachineFolder(tmp_path / "ibi").claim([REP], "ledger-1", "/one")
    former.note(Witness("ledger-1", 7, 99))
    # It still runs: both find each other.
    with pytest.raises(PrefixHeldError, match="/one"):
        MachineFolder().claim([REP], "ledger-2", "/two")
    former.release()
    claim = MachineFolder().claim([REP], "ledger-1", "/one")
    assert claim.witness() == Witness("ledger-1", 7, 99)
    claim.release()
    assert (tmp_path / "ibi.sid.inpe.br_mtc-m19").is_file()


def test_a_file_that_somebody_tidied_up_is_claimed_anew(tmp_path: Path) -> None:
    folder = MachineFolder(tmp_path / "machine")
    claim = folder.claim([REP], "ledger-1", "/one")
    claim.note(Witness("ledger-1", 7, 8))
    shutil.rmtree(tmp_path / "machine")
    (tmp_path / "machine").mkdir()
    assert claim.witness() is None
    with pytest.raises(PrefixHeldError, match="/one"):
        folder.claim([REP], "ledger-2", "/two")
    claim.release()


def test_who_lost_the_file_to_another_ledger_is_told(tmp_path: Path) -> None:
    folder = MachineFolder(tmp_path / "machine")
    claim = folder.claim([REP], "ledger-1", "/one")
    shutil.rmtree(tmp_path / "machine")
    other = folder.claim([REP], "ledger-2", "/two")
    with pytest.raises(PrefixHeldError, match="/two"):
        claim.witness()
    other.release()


def test_who_came_and_minted_nothing_left_no_past(tmp_path: Path) -> None:
    folder = MachineFolder(tmp_path / "machine")
    folder.claim([REP], "ledger-1", "/one").release()
    assert folder.claim([REP], "ledger-1", "/one").witness() is None


def test_a_guard_that_is_never_given_back_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ibi.minting.storage.machine_folder._ATTEMPTS", 3)
    folder = MachineFolder(tmp_path)
    folder.claim([OPAQUE], "ledger-1", "/one").release()
    with (tmp_path / f"{OPAQUE}.guard").open() as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        with pytest.raises(LedgerUnavailableError, match="guard is locked"):
            folder.claim([OPAQUE], "ledger-1", "/one")
