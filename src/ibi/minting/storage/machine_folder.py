"""Coordination of the minters of one machine: a folder with one file a prefix.

A minter holds a lock on the file of its prefix. The kernel releases the lock when the process ends,
however it ends; the file stays, as the machine's record of the prefix.
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
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
"""The variable that names another folder, for users that may not write to the default one."""

_NOTE_SIZE: Final = 4096
"""The size of a note, in bytes."""
_PAUSE: Final = 0.01
"""Seconds between two attempts to lock a guard."""
_ATTEMPTS: Final = 500
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
        usual = Path("/var/tmp") if Path("/var/tmp").is_dir() else Path(tempfile.gettempdir())  # noqa: S108
        self._folder = folder or Path(os.environ.get(FOLDER) or usual / "ibi")

    def claim(self, prefixes: Sequence[str], ledger: str, place: str) -> PrefixClaim:
        """Claim prefixes for a ledger; PrefixHeldError while another ledger has one of them."""
        held = _Claim()
        try:
            self._make()
            for prefix in prefixes:
                shown = place[:_PLACE].encode(errors="replace").decode()
                note = _Note(prefix, ledger, shown, socket.gethostname(), os.getpid())
                held.files.append(_File(self._folder / prefix.replace("/", "_"), note))
        except OSError as failure:
            held.release()
            reason = f"{self._folder} cannot be used: {failure.strerror} (set {FOLDER})"
            raise LedgerUnavailableError(place, reason) from None
        except PrefixHeldError:
            held.release()
            raise
        return held

    def _make(self) -> None:
        if not self._folder.is_dir():
            self._folder.mkdir(parents=True, exist_ok=True)
            with suppress(PermissionError):
                self._folder.chmod(0o1777)  # for all users, like its parent folder


class _File:
    """The file of one prefix, locked."""

    def __init__(self, path: Path, note: _Note) -> None:
        self._path = path
        self._note = note
        self._claim()

    def _claim(self) -> None:
        # A guard, held only briefly, keeps two new minters from both finding the file unused.
        guard = _open(Path(f"{self._path}.guard"))
        try:
            _lock_guard(guard)
            self._descriptor = _open(self._path)
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


def _open(path: Path) -> int:
    """Open or create a file that all users may write, because they may share a ledger."""
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
    with suppress(FileNotFoundError):
        # Without O_CREAT: in a folder like /tmp the kernel may refuse it for files of other users.
        return os.open(path, flags)
    descriptor = os.open(path, flags | os.O_CREAT, 0o666)
    with suppress(PermissionError):
        os.fchmod(descriptor, 0o666)
    return descriptor


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
