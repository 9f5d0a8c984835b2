"""Coordination of the minters of one machine: a folder with one file a prefix.

A minter holds a lock on the file of its prefix. The kernel releases the lock when the process ends,
however it ends; the file stays, as the machine's record of the prefix.

A file belongs to the user that minted under the prefix first, and other users may neither mint
under it, nor read, change or lock the file. Nor can they remove it: the folder is one in which only
the owner of a file may (the sticky bit), and it belongs to root, because the owner of a folder may
remove every file in it. A folder that belongs to this user serves this user alone.
"""

from __future__ import annotations

import errno
import fcntl
import os
import pwd
import socket
import stat
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final
from weakref import finalize

import msgspec

from ibi.errors import LedgerUnavailableError, PrefixHeldError
from ibi.minting.ports import PrefixClaim, Witness

FOLDER: Final = "IBI_MACHINE_FOLDER"
"""The variable that names another folder: one of root for all users, or one of this user's own."""

_NOTE_SIZE: Final = 4096
"""The size of a note, in bytes."""
_PAUSE: Final = 0.01
"""Seconds between two attempts to lock a guard."""
_ATTEMPTS: Final = 500
_ROOT: Final = 0
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH
_USUAL: Final = Path("/var/tmp" if Path("/var/tmp").is_dir() else tempfile.gettempdir())  # noqa: S108
_BEGINNING: Final = "ibi."
"""How the names of our files begin in a folder that other programs use too."""
_FORMER: Final = "ibi"
"""The folder in the default one in which earlier versions had files that all users could write."""
_PLACE: Final = 500
"""How many characters of a ledger's place are noted, so that a note never exceeds its size."""


class _Note(msgspec.Struct, frozen=True):
    """The content of the file of a prefix."""

    prefix: str
    ledger: str
    place: str
    host: str
    pid: int
    generation: int = 0
    mark: int = 0


class MachineFolder:
    """The folder that the minters of this machine share."""

    def __init__(self, folder: Path | None = None) -> None:
        """Take a folder; the default one survives a restart of the machine."""
        named = folder or (Path(os.environ[FOLDER]) if os.environ.get(FOLDER) else None)
        self._folder = named or _USUAL
        self._beginning = "" if named else _BEGINNING

    def claim(self, prefixes: Sequence[str], ledger: str, place: str) -> PrefixClaim:
        """Claim prefixes for a ledger; PrefixHeldError while another ledger has one of them."""
        held = _Claim()
        try:
            self._make()
            for prefix in prefixes:
                shown = place[:_PLACE].encode(errors="replace").decode()
                note = _Note(prefix, ledger, shown, socket.gethostname(), os.getpid())
                held.files.append(_File(self._path(prefix), note))
        except OSError as failure:
            held.release()
            reason = f"{self._folder} cannot be used: {failure.strerror} (set {FOLDER})"
            raise LedgerUnavailableError(place, reason) from None
        except PrefixHeldError:
            held.release()
            raise
        return held

    def _path(self, prefix: str) -> Path:
        name = prefix.replace("/", "_")
        path = self._folder / f"{self._beginning}{name}"
        if self._beginning:
            # Under both names it is one file, with one lock, for minters of both versions.
            former = self._folder / _FORMER / name
            with suppress(OSError):
                status = former.lstat()
                if stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid():
                    os.link(former, path)
        return path

    def _make(self) -> None:
        if not self._folder.is_dir():
            self._folder.mkdir(parents=True, exist_ok=True)
            self._folder.chmod(0o1777 if os.geteuid() == _ROOT else 0o700)
        status = self._folder.stat()
        owner = status.st_uid
        if owner not in {_ROOT, os.geteuid()}:
            reason = f"it belongs to the user {_user(owner)}, who could remove files of others"
            raise OSError(errno.EPERM, reason)
        if status.st_mode & _OTHERS_WRITE and not status.st_mode & stat.S_ISVTX:
            if owner != os.geteuid():
                raise OSError(errno.EPERM, "its users could remove files of each other")
            self._folder.chmod(stat.S_IMODE(status.st_mode) | stat.S_ISVTX)


class _File:
    """The file of one prefix, locked."""

    def __init__(self, path: Path, note: _Note) -> None:
        self._path = path
        self._note = note
        self._claim()

    def _claim(self) -> None:
        if _is_of_another_user(self._path):
            # Before a guard is made: as a file of this user it would keep the owner out.
            raise _held_by_another_user(self._path, self._note.prefix)
        # A guard, held only briefly, keeps two new minters from both finding the file unused.
        guard = _open(Path(f"{self._path}.guard"), self._note.prefix)
        try:
            _lock_guard(guard)
            self._descriptor = _open(self._path, self._note.prefix)
            try:
                self._before = self._read()
                self._enter()
            except BaseException:
                os.close(self._descriptor)
                raise
        finally:
            os.close(guard)
        # The prefix of a minter that is never closed is released with the object.
        self.close = finalize(self, os.close, self._descriptor)

    def _enter(self) -> None:
        before = self._before
        if _lock(self._descriptor, fcntl.LOCK_EX):
            # No other process is here. Another ledger's mark counts until ours is beyond it.
            mine = before is not None and before.ledger == self._note.ledger
            self._note = msgspec.structs.replace(
                self._note,
                generation=before.generation if mine and before else 0,
                mark=before.mark if before else 0,
            )
            self._write(self._note)
        elif before is None:
            # The process that holds it writes the note anew at its next durable step.
            raise PrefixHeldError(self._note.prefix, "another process, whose note cannot be read")
        elif before.ledger != self._note.ledger:
            holder = f"process {before.pid} on {before.host} with the ledger {before.place}"
            raise PrefixHeldError(self._note.prefix, holder)
        fcntl.flock(self._descriptor, fcntl.LOCK_SH)

    def remembered(self) -> _Note | None:
        """Return the note in the file; until our ledger has a label, the note from before."""
        self._renew()
        standing = self._read()
        if standing is not None and standing.ledger == self._note.ledger and standing.generation:
            return standing
        return self._before

    def _renew(self) -> None:
        """Claim the prefix again if the file was removed, as clean-up jobs do in such folders."""
        try:
            status = self._path.stat()
        except FileNotFoundError:
            status = None
        if status is None or not os.path.samestat(status, os.fstat(self._descriptor)):
            self.close()
            self._claim()

    def note(self, witness: Witness) -> None:
        fcntl.lockf(self._descriptor, fcntl.LOCK_EX)
        try:
            standing = self._read()
            if standing is not None and standing.generation > witness.generation:
                return  # another process was faster
            self._note = msgspec.structs.replace(
                self._note, generation=witness.generation, mark=witness.mark
            )
            self._write(self._note)
        finally:
            fcntl.lockf(self._descriptor, fcntl.LOCK_UN)

    def _read(self) -> _Note | None:
        with suppress(msgspec.MsgspecError, OSError):
            return msgspec.json.decode(
                os.pread(self._descriptor, _NOTE_SIZE, 0).strip(), type=_Note
            )
        return None

    def _write(self, note: _Note) -> None:
        # One write of a fixed size: a reader never sees parts of two notes.
        text = msgspec.json.encode(note)
        os.pwrite(self._descriptor, text.ljust(_NOTE_SIZE)[:_NOTE_SIZE], 0)


class _Claim:
    """Prefixes that this process has claimed."""

    def __init__(self) -> None:
        self.files: list[_File] = []

    def witness(self) -> Witness | None:
        """Return the record with the greatest mark of all prefixes, None if there is none."""
        notes = [note for file in self.files if (note := file.remembered()) is not None]
        if not notes:
            return None
        latest = max(notes, key=lambda note: note.mark)
        # A note without a mark is that of a minter that issued nothing.
        return Witness(latest.ledger, latest.generation, latest.mark) if latest.mark else None

    def note(self, witness: Witness) -> None:
        """Record it, ignoring errors of the disk: the ledger is authoritative."""
        for file in self.files:
            with suppress(OSError):
                file.note(witness)

    def release(self) -> None:
        """Close the files, which releases the locks."""
        while self.files:
            self.files.pop().close()


def _open(path: Path, prefix: str) -> int:
    """Open or create a file of this user; PrefixHeldError if another user has it."""
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        try:
            # Without O_CREAT: a file of another user is opened or refused, never made anew.
            descriptor = os.open(path, flags)
        except FileNotFoundError:
            with suppress(FileExistsError):  # another process was faster
                os.close(os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o600))
            descriptor = os.open(path, flags)
    except OSError:  # also for a link, which is not followed
        if not _is_of_another_user(path):
            raise
        raise _held_by_another_user(path, prefix) from None
    status = os.fstat(descriptor)
    if status.st_uid != os.geteuid():  # root may open all files
        os.close(descriptor)
        raise _held_by_another_user(path, prefix)
    if status.st_mode & _OTHERS:  # made by an earlier version
        os.fchmod(descriptor, 0o600)
    return descriptor


def _is_of_another_user(path: Path) -> bool:
    try:
        return path.lstat().st_uid != os.geteuid()
    except OSError:
        return False


def _held_by_another_user(path: Path, prefix: str) -> PrefixHeldError:
    owner = _user(path.lstat().st_uid)
    return PrefixHeldError(prefix, f"the user {owner} of this machine, by {path}")


def _user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def _lock(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _lock_guard(guard: int) -> None:
    """Wait for a lock that is only ever held briefly."""
    for _ in range(_ATTEMPTS):
        if _lock(guard, fcntl.LOCK_EX):
            return
        time.sleep(_PAUSE)
    raise OSError(errno.EBUSY, "its guard is locked by another process")
