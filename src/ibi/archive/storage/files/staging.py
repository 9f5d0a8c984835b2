"""Received files of open deposits, in one folder for each deposit.

<deposit>/parts/<digest of the path>   the received bytes of an incomplete file
         /names/<digest>               its path
         /replacing/<digest>           the received bytes of what is to replace a complete file
         /files/<path>                 complete files
         /facts/<digest>.json          the description of each
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from threading import Lock
from typing import BinaryIO

import msgspec

from ibi.archive.ports.file_store import Staged
from ibi.errors import (
    ChecksumError,
    FileNameError,
    InProgressError,
    Sentence,
    StateError,
    UnknownError,
    shown,
)
from ibi.foundation.system.disk import (
    A_FILE_IS_THERE,
    A_FOLDER_IS_THERE,
    Checksums,
    checksums_of,
    disk_errors,
    fsync_up,
    prune,
    replace_durably,
)
from ibi.foundation.system.safe_open import fsync_folder
from ibi.model.item import File


class UnpackingNotes:
    """The paths that an unpacking may have written, in a file of one path a line.

    No path has a line end in it.
    """

    def __init__(self, folder: Path) -> None:
        """Use the folder of a deposit."""
        self._file = folder / "unpacking"

    def add(self, path: str) -> None:
        """Add a file that is about to be written."""
        with self._file.open("a", encoding="utf-8") as notes:
            notes.write(f"{path}\n")

    def paths(self) -> list[str]:
        """Return the recorded paths."""
        text = self._file.read_text(encoding="utf-8") if self._file.exists() else ""
        return [path for path in text.split("\n") if path]

    def keep_only(self, path: str) -> None:
        """Remove all other paths atomically: their files are to stay."""
        replace_durably(self._file, f"{path}\n".encode())

    def forget(self) -> None:
        """Remove all paths."""
        self._file.unlink(missing_ok=True)


class Staging:
    """The staging area of all open deposits, in one folder."""

    def __init__(self, incoming: Path) -> None:
        """Use a folder; deposits of an earlier process can be continued."""
        self.root = incoming
        self.place = str(incoming)
        self._lock = Lock()
        self._busy: set[tuple[str, str]] = set()
        self._sealed: set[str] = set()
        self._sums: dict[tuple[str, str], Checksums] = {}
        """Checksums of incomplete files; those of an earlier process are computed again."""

    def _folder(self, deposit: str) -> Path:
        if not deposit.isalnum():  # it comes from a client, and names a folder
            raise UnknownError("deposit", deposit)
        return self.root / deposit

    def files_of(self, deposit: str) -> Path:
        """Return the folder of the complete files of a deposit."""
        return self._folder(deposit) / "files"

    def _part(self, deposit: str, path: str) -> Path:
        return self._folder(deposit) / "parts" / _digest(path)

    def _replacement(self, deposit: str, path: str) -> Path:
        return self._folder(deposit) / "replacing" / _digest(path)

    def _name(self, deposit: str, path: str) -> Path:
        return self._folder(deposit) / "names" / _digest(path)

    def _record_name(self, deposit: str, path: str) -> None:
        """Write the path of an incomplete file, unless it is there: a kill would empty it."""
        name = self._name(deposit, path)
        if not name.exists() or name.read_text(encoding="utf-8", errors="replace") != path:
            name.write_text(path, encoding="utf-8")

    def _facts(self, deposit: str, path: str) -> Path:
        return self._folder(deposit) / "facts" / f"{_digest(path)}.json"

    @contextmanager
    def busy(self, deposit: str, path: str = "") -> Iterator[None]:
        """Lock a file of a deposit against other changes, and the deposit against sealing."""
        key = (deposit, path)
        with self._lock:
            if deposit in self._sealed:
                raise InProgressError(Sentence("This deposit is being completed."))
            if key in self._busy:
                if not path:
                    raise InProgressError(Sentence("This deposit is at work already."))
                msg = Sentence("%(path)s is being received already.", path=shown(path))
                raise InProgressError(msg)
            self._busy.add(key)
        try:
            yield
        finally:
            with self._lock:
                self._busy.discard(key)

    @contextmanager
    def sealed(self, deposit: str) -> Iterator[None]:
        """Lock all files of a deposit; raise InProgressError if one is being changed."""
        with self._lock:
            if deposit in self._sealed or any(owner == deposit for owner, _ in self._busy):
                raise InProgressError(
                    Sentence("A file of this deposit is on its way: wait for its end.")
                )
            self._sealed.add(deposit)
        try:
            yield
        finally:
            with self._lock:
                self._sealed.discard(deposit)

    @contextmanager
    def receive(self, deposit: str, path: str, offset: int) -> Iterator[_Reception]:
        """Receive bytes of a file from an offset on; offset 0 begins it anew.

        Bytes that are to replace a complete file are removed if they break off. Their client may
        have given up, and have sent the file by another request, which was answered before.
        """
        key = (deposit, path)
        part = self._part(deposit, path)
        with self.busy(deposit, path), disk_errors(self.place, path):
            self._check_place(deposit, path)
            for name in ("files", "parts", "facts", "names", "replacing"):
                (self._folder(deposit) / name).mkdir(parents=True, exist_ok=True)
            here = part.stat().st_size if part.exists() else 0
            if offset not in {0, here}:
                msg = Sentence(
                    "Of %(path)s there are %(here)s bytes here: go on from there.",
                    path=shown(path),
                    here=here,
                )
                raise StateError(msg)
            replaces = not offset and (self.files_of(deposit) / path).is_file()
            if not replaces:
                self._record_name(deposit, path)
            sums = self._sums.pop(key, None) if offset else Checksums()
            if sums is None or sums.size != offset:
                sums = checksums_of(part)
            place = self._replacement(deposit, path) if replaces else part
            with place.open("r+b" if offset else "wb") as file:
                file.seek(offset)
                try:
                    yield _Reception(self, _Received(deposit, path, place, sums), file)
                finally:
                    if replaces and place.exists():
                        place.unlink()
                    elif part.exists():
                        file.flush()
                        self._sums[key] = sums

    def _check_place(self, deposit: str, path: str) -> None:
        files = self.files_of(deposit)
        if (files / path).is_dir():
            raise FileNameError(path, A_FOLDER_IS_THERE)
        if any((files / parent).is_file() for parent in PurePosixPath(path).parents):
            raise FileNameError(path, A_FILE_IS_THERE)

    def make_part(self, received: _Received) -> Path:
        """Make an incomplete file of received bytes, whatever complete file it is to replace."""
        part = self._part(received.deposit, received.path)
        if received.place != part:
            self._record_name(received.deposit, received.path)
            received.place.rename(part)
            fsync_folder(part.parent)
        return part

    def settle(
        self, received: _Received, media_type: str, checksum: tuple[str, str] | None
    ) -> File:
        """Complete a file, whose received bytes are durable and closed."""
        deposit, path, sums = received.deposit, received.path, received.sums
        if checksum is not None:
            name, expected = checksum
            found = getattr(sums, name).hexdigest()
            if found != expected:
                received.place.unlink()
                raise ChecksumError(path, expected, found)
        self._check_place(deposit, path)
        # From here on the old file does not count any more: it is about to be removed.
        part = self.make_part(received)
        target = self.files_of(deposit) / path
        # The time of this machine: the clock of the sender is not trusted.
        file = File(
            path,
            sums.size,
            sums.sha256.hexdigest(),
            sums.sha512.hexdigest(),
            part.stat().st_mtime_ns,
            media_type,
        )
        # The old file is removed first: a file must never have the facts of another one.
        if target.exists():
            target.unlink()
            fsync_folder(target.parent)
        # Then the facts: a file without them would get into the item unnoticed.
        replace_durably(self._facts(deposit, path), msgspec.json.encode(file))
        with self._lock:  # no other thread prunes the folder in between
            target.parent.mkdir(parents=True, exist_ok=True)
            part.rename(target)
        fsync_up(target.parent, self.root)
        self._name(deposit, path).unlink(missing_ok=True)
        self._sums.pop((deposit, path), None)
        return file

    def staged(self, deposit: str) -> list[Staged]:
        """Return the files of an open deposit, in the order of their paths."""
        with disk_errors(self.place):
            facts = self._folder(deposit) / "facts"
            whole = [_file(path) for path in facts.glob("*.json")] if facts.exists() else []
            found = {
                file.path: Staged(file.path, file.size, file)
                for file in whole
                if file is not None and (self.files_of(deposit) / file.path).is_file()
            }
            found |= {path: Staged(path, size, None) for path, size in self._parts(deposit)}
            return [found[path] for path in sorted(found)]

    def _parts(self, deposit: str) -> Iterator[tuple[str, int]]:
        """Yield the paths of incomplete files, each with the number of received bytes."""
        names = self._folder(deposit) / "names"
        for name in names.iterdir() if names.exists() else ():
            with suppress(FileNotFoundError):  # it was completed meanwhile
                path = name.read_text(encoding="utf-8")
                yield path, self._part(deposit, path).stat().st_size

    def staged_file(self, deposit: str, path: str) -> Staged | None:
        """Return one file of an open deposit; None if there is none."""
        with disk_errors(self.place, path):
            with suppress(FileNotFoundError):
                return Staged(path, self._part(deposit, path).stat().st_size, None)
            file = _file(self._facts(deposit, path))
            if file is not None and (self.files_of(deposit) / path).is_file():
                return Staged(path, file.size, file)
            return None

    def unfinished(self, deposit: str) -> bool:
        """Return whether a file of the deposit is incomplete."""
        with disk_errors(self.place):
            parts = self._folder(deposit) / "parts"
            return parts.exists() and any(parts.iterdir())

    def unstage(self, deposit: str, path: str) -> bool:
        """Remove a file of an open deposit; return False if there is none."""
        with self.busy(deposit, path), disk_errors(self.place, path):
            found = self.staged_file(deposit, path)
            file = self.files_of(deposit) / path
            if file.is_file():
                file.unlink()
            with self._lock:
                prune(self.files_of(deposit), path)
            for rest in (self._facts, self._part, self._name, self._replacement):
                rest(deposit, path).unlink(missing_ok=True)
            self._sums.pop((deposit, path), None)
        return found is not None

    def note_unpacking(self, deposit: str, path: str) -> None:
        """Record that an unpacking is about to write a file."""
        with disk_errors(self.place, path):
            UnpackingNotes(self._folder(deposit)).add(path)

    def unpacking(self, deposit: str) -> list[str]:
        """Return the files that an unfinished unpacking may have written."""
        with disk_errors(self.place):
            return UnpackingNotes(self._folder(deposit)).paths()

    def end_unpacking(self, deposit: str, source: str = "") -> None:
        """Remove the record of an unpacking, and its source file if one is named."""
        with disk_errors(self.place):
            notes = UnpackingNotes(self._folder(deposit))
            if source:
                notes.keep_only(source)
                self.unstage(deposit, source)
            notes.forget()

    def open_staged(self, deposit: str, path: str) -> int:
        """Open a complete file of an open deposit for reading; return its descriptor."""
        staged = self.staged_file(deposit, path)
        if staged is None or staged.file is None:
            raise UnknownError("whole file", path)
        with disk_errors(self.place, path):
            try:
                return os.open(self.files_of(deposit) / path, os.O_RDONLY | os.O_NOFOLLOW)
            except FileNotFoundError:  # it was removed meanwhile
                raise UnknownError("whole file", path) from None

    def discard(self, deposit: str) -> None:
        """Remove all files of a deposit."""
        with disk_errors(self.place):
            folder = self._folder(deposit)
            if folder.exists():
                shutil.rmtree(folder)
            for key in [key for key in self._sums if key[0] == deposit]:
                del self._sums[key]

    def deposits(self) -> list[str]:
        """Return the ids of the deposits that have files here."""
        with disk_errors(self.place):
            return [path.name for path in self.root.iterdir() if path.name.isalnum()]


@dataclass(frozen=True, slots=True)
class _Received:
    """The received bytes of one file."""

    deposit: str
    path: str
    place: Path
    """Where they are on the disk."""
    sums: Checksums


@dataclass(eq=False, slots=True)
class _Reception:
    """Receives the bytes of one file."""

    _staging: Staging
    _received: _Received
    _file: BinaryIO

    def write(self, data: bytes) -> None:
        """Append bytes."""
        with disk_errors(self._staging.place, self._received.path):
            self._file.write(data)
        self._received.sums.update(data)

    def suspend(self) -> None:
        """Keep the received bytes, whose rest will follow."""
        with disk_errors(self._staging.place, self._received.path):
            self._staging.make_part(self._received)

    def finish(self, media_type: str = "", checksum: tuple[str, str] | None = None) -> File:
        """Complete the file and make it durable.

        Raises ChecksumError, and removes the received bytes, if their checksum differs.
        """
        with disk_errors(self._staging.place, self._received.path):
            self._file.flush()
            os.fsync(self._file.fileno())
            return self._staging.settle(self._received, media_type, checksum)


def _digest(path: str) -> str:
    return hashlib.sha256(path.encode()).hexdigest()[:40]


def _file(facts: Path) -> File | None:
    """Read the facts of a complete file; return None if it was removed meanwhile."""
    try:
        return msgspec.json.decode(facts.read_bytes(), type=File)
    except FileNotFoundError:
        return None
