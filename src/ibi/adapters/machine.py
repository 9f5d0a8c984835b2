"""Where the minters of one machine meet: a folder with one file a prefix.

Whoever mints under a prefix holds a lock on its file. Locks of the kernel die with their process,
whatever kills it; the file stays, and is what the machine remembers of the prefix.
"""

from __future__ import annotations

import fcntl
import os
import socket
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from ibi.errors import LedgerUnavailableError, PrefixHeldError
from ibi.ports import Claim, Witness

FOLDER: Final = "IBI_MACHINE_FOLDER"
"""The variable that names another folder, for those who may not write to the usual one."""

_LONGEST: Final = 4096
_PLACE: Final = 500
"""How much of a ledger's place is noted: whatever its characters, the note is no longer."""


class _Note(msgspec.Struct, frozen=True):
    """What stands in the file of a prefix."""

    prefix: str
    ledger: str
    place: str
    host: str
    pid: int
    generation: int = 0
    mark: int = 0


class MachineFolder:
    """The folder of this machine."""

    def __init__(self, folder: Path | None = None) -> None:
        """Take a folder; the usual one outlives a restart of the machine."""
        usual = Path("/var/tmp") if Path("/var/tmp").is_dir() else Path(tempfile.gettempdir())  # noqa: S108
        self._folder = folder or Path(os.environ.get(FOLDER) or usual / "ibi")

    def claim(self, prefixes: Sequence[str], ledger: str, place: str) -> Claim:
        """Hold prefixes for a ledger; PrefixHeldError while another ledger holds one."""
        held = _Held()
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
                self._folder.chmod(0o1777)  # for all users, like the folder it lies in


class _File:
    """The file of one prefix, locked."""

    def __init__(self, path: Path, note: _Note) -> None:
        self._note = note
        self._is_new = True
        flags = os.O_CREAT | os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | os.O_CLOEXEC
        # A guard, held for a moment only, keeps two newcomers from reading each other's silence.
        guard = os.open(f"{path}.guard", flags, 0o644)
        try:
            _lock(guard, "LOCK_EX")
            self._descriptor = os.open(path, flags, 0o644)
            try:
                self.before = self._read()
                self._enter()
            except BaseException:
                os.close(self._descriptor)
                raise
        finally:
            os.close(guard)

    def _enter(self) -> None:
        if _lock(self._descriptor, "LOCK_EX", wait=False):
            # Nobody else is here. Another ledger's mark counts until ours has one beyond it.
            mine = self.before is not None and self.before.ledger == self._note.ledger
            self._note = msgspec.structs.replace(
                self._note,
                generation=self.before.generation if mine and self.before else 0,
                mark=self.before.mark if self.before else 0,
            )
            self._write(self._note)
        elif self.before is None:
            # Whoever holds it writes it anew at its next durable step.
            raise PrefixHeldError(self._note.prefix, "another process, whose note cannot be read")
        elif self.before.ledger != self._note.ledger:
            holder = self.before
            who = f"process {holder.pid} on {holder.host} with the ledger {holder.place}"
            raise PrefixHeldError(self._note.prefix, who)
        _lock(self._descriptor, "LOCK_SH")

    def remembered(self) -> _Note | None:
        """Return what stands there; until we have a label of our own, what stood there before."""
        if self._is_new and self.before is not None and self.before.ledger != self._note.ledger:
            return self.before
        return self._read() if self.before is not None or not self._is_new else None

    def note(self, witness: Witness) -> None:
        self._is_new = False
        standing = self._read()
        if standing is not None and standing.generation > witness.generation:
            return  # a neighbour was quicker
        self._note = msgspec.structs.replace(
            self._note, generation=witness.generation, mark=witness.mark
        )
        self._write(self._note)

    def _read(self) -> _Note | None:
        with suppress(msgspec.MsgspecError, OSError):
            return msgspec.json.decode(os.pread(self._descriptor, _LONGEST, 0).strip(), type=_Note)
        return None

    def _write(self, note: _Note) -> None:
        # One write of one length: a reader never sees half of a new note and half of an old one.
        text = msgspec.json.encode(note)
        os.pwrite(self._descriptor, text.ljust(_LONGEST)[:_LONGEST], 0)

    def close(self) -> None:
        os.close(self._descriptor)


class _Held:
    """Prefixes that this process holds."""

    def __init__(self) -> None:
        self.files: list[_File] = []

    def witness(self) -> Witness | None:
        """Return the greatest of what is remembered of the prefixes."""
        notes = [note for file in self.files if (note := file.remembered()) is not None]
        if not notes:
            return None
        latest = max(notes, key=lambda note: note.mark)
        return Witness(latest.ledger, latest.generation, latest.mark)

    def note(self, witness: Witness) -> None:
        """Remember it, if the disk lets us: the ledger is what counts."""
        for file in self.files:
            with suppress(OSError):
                file.note(witness)

    def release(self) -> None:
        """Close the files, and with them the locks."""
        while self.files:
            self.files.pop().close()


def _lock(descriptor: int, kind: str, *, wait: bool = True) -> bool:
    try:
        fcntl.flock(descriptor, getattr(fcntl, kind) | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    return True
