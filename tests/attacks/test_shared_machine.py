"""Other users of a machine: none removes, changes, locks or forges the claim of a prefix.

Without it, two users would mint the same labels; and a mark that is set forward stops a minter,
one that is set back lets an old copy of a ledger give labels twice.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from ibi.errors import LedgerUnavailableError, PrefixHeldError
from ibi.minting.ports import Witness
from ibi.minting.storage import machine_folder
from ibi.minting.storage.machine_folder import MachineFolder
from tests.support.processes.other_user import NEEDS_ROOT, as_user
from tests.support.servers.attacked import FULL

pytestmark = NEEDS_ROOT

OWNER: Final = 61_001
OTHER: Final = 61_002
PREFIX: Final = "localhost/archive.8801"
FILE: Final = "localhost_archive.8801"
MARK: Final = Witness("the-owners", 7, 1_700_000_000_000_000_000)
ROUNDS: Final = 100 if FULL else 1


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder as /var/tmp is: of root, and for all users."""
    folder = Path(tempfile.mkdtemp(dir="/var/tmp"))  # which all users can enter
    folder.chmod(0o1777)
    yield folder
    shutil.rmtree(folder)


def mint(folder: Path) -> Callable[[], None]:
    """Claim the prefix, as a minter that gives a label out."""

    def act() -> None:
        claim = MachineFolder(folder).claim([PREFIX], MARK.ledger, "/home/owner/ledger")
        claim.note(MARK)
        claim.release()

    return act


def remembered(folder: Path) -> Witness | None:
    """Return what the owner of the prefix finds on record."""

    def act() -> Witness | None:
        claim = MachineFolder(folder).claim([PREFIX], MARK.ledger, "/home/owner/ledger")
        try:
            return claim.witness()
        finally:
            claim.release()

    found: Witness | None = as_user(OWNER, act)
    return found


def attacks(folder: Path) -> dict[str, Callable[[], object]]:
    """Return what another user may try with the files of the owner."""
    path, guard = folder / FILE, folder / f"{FILE}.guard"

    def lock(victim: Path) -> None:
        with victim.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def replace(own: Path) -> None:
        own.touch()
        try:
            own.rename(path)
        finally:
            own.unlink(missing_ok=True)

    return {
        "claim": lambda: MachineFolder(folder).claim([PREFIX], "a-rogue", "/home/rogue"),
        "claim by its name": lambda: MachineFolder(folder).claim([PREFIX], MARK.ledger, "/"),
        "read": path.read_bytes,
        "write": lambda: path.write_bytes(b"{}"),
        "truncate": lambda: os.truncate(path, 0),
        "remove": path.unlink,
        "move": lambda: path.rename(folder / "elsewhere"),
        "replace": lambda: replace(folder / f"mine{os.getpid()}"),
        "open to all": lambda: path.chmod(0o666),
        "lock": lambda: lock(path),
        "lock the guard": lambda: lock(guard),
        "remove the guard": guard.unlink,
        "close the folder": lambda: folder.chmod(0o777),
    }


def test_no_other_user_changes_a_claim(shared: Path) -> None:
    as_user(OWNER, mint(shared))
    for _ in range(ROUNDS):
        for name, attack in attacks(shared).items():
            with pytest.raises((PermissionError, PrefixHeldError)):
                as_user(OTHER, attack)
            assert (shared / FILE).stat().st_uid == OWNER, name
    assert remembered(shared) == MARK


def test_another_user_is_told_who_has_the_prefix(shared: Path) -> None:
    as_user(OWNER, mint(shared))
    with pytest.raises(PrefixHeldError, match=f"the user {OWNER} of this machine, by {shared}"):
        as_user(OTHER, attacks(shared)["claim"])
    # Not even root mints beside it, by accident.
    with pytest.raises(PrefixHeldError, match=f"the user {OWNER}"):
        MachineFolder(shared).claim([PREFIX], MARK.ledger, "/root")


def test_a_planted_file_claims_for_its_owner_alone(shared: Path) -> None:
    precious = shared / "precious"
    as_user(OWNER, precious.touch)
    for path in (shared / FILE, shared / f"{FILE}.guard"):
        for plant in (path.touch, partial(path.symlink_to, precious), partial(os.mkfifo, path)):
            as_user(OTHER, plant)
            with pytest.raises(PrefixHeldError, match=f"the user {OTHER}"):
                as_user(OWNER, mint(shared))
            path.unlink()
            # The attempt left nothing that would keep the other user out.
            assert [each.name for each in shared.iterdir()] == ["precious"]
    assert precious.read_bytes() == b""


@pytest.mark.parametrize(("owner", "mode"), [(OTHER, 0o1777), (0, 0o777)])
def test_a_folder_in_which_others_could_remove_claims_is_refused(
    shared: Path, owner: int, mode: int
) -> None:
    os.chown(shared, owner, owner)
    shared.chmod(mode)
    with pytest.raises(LedgerUnavailableError, match=r"could remove files of"):
        as_user(OWNER, mint(shared))


def test_the_other_users_bite(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin: in a folder without the sticky bit, another user takes the prefix over."""
    monkeypatch.setattr(MachineFolder, "_make", lambda _: None)
    shared.chmod(0o777)
    as_user(OWNER, mint(shared))
    for name in ("remove", "remove the guard"):
        as_user(OTHER, attacks(shared)[name])

    def take_over() -> None:
        MachineFolder(shared).claim([PREFIX], "a-rogue", "/home/rogue").release()

    as_user(OTHER, take_over)
    with pytest.raises(PrefixHeldError):
        remembered(shared)


def test_the_owners_bite(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin: a file that all users may write, as earlier versions made it, is forged."""

    def open_to_all(path: Path, _: str) -> int:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        with suppress(PermissionError):
            os.fchmod(descriptor, 0o666)
        return descriptor

    monkeypatch.setattr(machine_folder, "_open", open_to_all)
    as_user(OWNER, mint(shared))
    try:
        as_user(OTHER, lambda: os.truncate(shared / FILE, 0))
    except PermissionError as refused:
        assert refused.errno == errno.EACCES  # noqa: PT017  # by fs.protected_regular
    assert remembered(shared) is None
