"""Files on their way in: of each open deposit a folder, of each file what has come so far.

<deposit>/parts/<digest of the path>   what has come of a file
         /files/<path>                 files that are whole
         /facts/<digest>.json          what is known of each
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO, Final

import msgspec

from ibi.adapters.beneath import fsync_folder
from ibi.errors import (
    ChecksumError,
    FileNameError,
    StateError,
    StorageError,
    StorageFullError,
    UnknownError,
)
from ibi.model.item import File
from ibi.ports import Staged

_FULL: Final = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_BAD_NAME: Final = {
    errno.ENAMETOOLONG: "it is too long",
    errno.ENOTDIR: "a file lies where it needs a folder",
    errno.EISDIR: "a folder of that name is there",
    errno.EILSEQ: "the file system refuses it",
}
_PIECE: Final = 1 << 20


@contextmanager
def disk_errors(place: str, path: str = "") -> Iterator[None]:
    """Say what a disk does wrong in the words of this program."""
    try:
        yield
    except OSError as failure:
        if path and failure.errno in _BAD_NAME:
            raise FileNameError(path, _BAD_NAME[failure.errno]) from failure
        reason = (failure.strerror or str(failure)).lower()
        if failure.errno in _FULL:
            raise StorageFullError(place, reason) from failure
        raise StorageError(place, reason) from failure


@dataclass(eq=False, slots=True)
class _Sums:
    """Checksums of what has come of a file."""

    size: int = 0
    sha256: Any = field(default_factory=hashlib.sha256)
    sha512: Any = field(default_factory=hashlib.sha512)

    def update(self, data: bytes) -> None:
        self.size += len(data)
        self.sha256.update(data)
        self.sha512.update(data)


class Staging:
    """The folder of all open deposits."""

    def __init__(self, incoming: Path) -> None:
        """Use a folder; what lies there from an earlier run can be gone on with."""
        self._root = incoming
        self._lock = Lock()
        self._busy: set[tuple[str, str]] = set()
        self._sums: dict[tuple[str, str], _Sums] = {}
        """Of files that came in part; those of an earlier run are read again."""

    def _folder(self, deposit: str) -> Path:
        if not deposit.isalnum():  # it comes from outside, and names a folder
            raise UnknownError("deposit", deposit)
        return self._root / deposit

    def files_of(self, deposit: str) -> Path:
        """Return the folder of the whole files of a deposit."""
        return self._folder(deposit) / "files"

    def _part(self, deposit: str, path: str) -> Path:
        return self._folder(deposit) / "parts" / _digest(path)

    def _facts(self, deposit: str, path: str) -> Path:
        return self._folder(deposit) / "facts" / f"{_digest(path)}.json"

    @contextmanager
    def receive(self, deposit: str, path: str, offset: int) -> Iterator[_Reception]:
        """Take bytes of a file from an offset on; 0 begins it anew."""
        key = (deposit, path)
        part = self._part(deposit, path)
        with self._lock:
            if key in self._busy:
                msg = f"{path!r} is being received already."
                raise StateError(msg)
            self._busy.add(key)
        try:
            with disk_errors(str(self._root), path):
                for name in ("files", "parts", "facts"):
                    (self._folder(deposit) / name).mkdir(parents=True, exist_ok=True)
                here = part.stat().st_size if part.exists() else 0
                if offset not in {0, here}:
                    msg = f"Of {path!r} there are {here} bytes here: go on from there."
                    raise StateError(msg)
                sums = self._sums.pop(key, None) if offset else _Sums()
                if sums is None or sums.size != offset:
                    sums = _sums_of(part)
                with part.open("r+b" if offset else "wb") as file:
                    file.seek(offset)
                    try:
                        yield _Reception(self, deposit, path, file, sums)
                    finally:
                        if part.exists():
                            file.flush()
                            self._sums[key] = sums
        finally:
            with self._lock:
                self._busy.discard(key)

    def settle(
        self,
        deposit: str,
        path: str,
        sums: _Sums,
        media_type: str,
        checksum: tuple[str, str] | None,
    ) -> File:
        """Make a file whole: its part is durable and closed to further bytes."""
        part = self._part(deposit, path)
        if checksum is not None:
            name, expected = checksum
            found = getattr(sums, name).hexdigest()
            if found != expected:
                part.unlink()
                raise ChecksumError(path, expected, found)
        target = self.files_of(deposit) / path
        target.parent.mkdir(parents=True, exist_ok=True)
        # Its own time, not that of the sender, whose clock nobody knows.
        file = File(
            path,
            sums.size,
            sums.sha256.hexdigest(),
            sums.sha512.hexdigest(),
            part.stat().st_mtime_ns,
            media_type,
        )
        # The facts first: a file without them would go into the item unseen.
        facts = self._facts(deposit, path)
        facts.write_bytes(msgspec.json.encode(file))
        _fsync_file(facts)
        fsync_folder(facts.parent)
        part.rename(target)
        _fsync_up(target.parent, self._folder(deposit))
        self._sums.pop((deposit, path), None)
        return file

    def staged(self, deposit: str) -> list[Staged]:
        """Return the files of an open deposit, in the order of their paths."""
        with disk_errors(str(self._root)):
            facts = self._folder(deposit) / "facts"
            whole = [_file(path) for path in facts.glob("*.json")] if facts.exists() else []
            found = {
                file.path: Staged(file.path, file.size, file)
                for file in whole
                if (self.files_of(deposit) / file.path).is_file()
            }
            for (owner, path), sums in list(self._sums.items()):
                if owner == deposit and self._part(deposit, path).exists():
                    found[path] = Staged(path, sums.size, None)
            return [found[path] for path in sorted(found)]

    def staged_file(self, deposit: str, path: str) -> Staged | None:
        """Return one of them."""
        with disk_errors(str(self._root), path):
            part = self._part(deposit, path)
            if part.exists():
                return Staged(path, part.stat().st_size, None)
            facts = self._facts(deposit, path)
            if facts.exists() and (self.files_of(deposit) / path).is_file():
                file = _file(facts)
                return Staged(path, file.size, file)
            return None

    def unfinished(self, deposit: str) -> bool:
        """Tell whether something of a file has come, and not all."""
        with disk_errors(str(self._root)):
            parts = self._folder(deposit) / "parts"
            return parts.exists() and any(parts.iterdir())

    def unstage(self, deposit: str, path: str) -> bool:
        """Remove a file of an open deposit; False if it is not there."""
        found = self.staged_file(deposit, path)
        with disk_errors(str(self._root), path):
            self._part(deposit, path).unlink(missing_ok=True)
            with suppress(NotADirectoryError):
                (self.files_of(deposit) / path).unlink(missing_ok=True)
            self._facts(deposit, path).unlink(missing_ok=True)
            self._sums.pop((deposit, path), None)
        return found is not None

    def open_staged(self, deposit: str, path: str) -> int:
        """Open a whole file of an open deposit for reading."""
        staged = self.staged_file(deposit, path)
        if staged is None or staged.file is None:
            raise UnknownError("whole file", path)
        with disk_errors(str(self._root), path):
            return os.open(self.files_of(deposit) / path, os.O_RDONLY | os.O_NOFOLLOW)

    def discard(self, deposit: str) -> None:
        """Remove everything of a deposit."""
        with disk_errors(str(self._root)):
            folder = self._folder(deposit)
            if folder.exists():
                shutil.rmtree(folder)
            for key in [key for key in self._sums if key[0] == deposit]:
                del self._sums[key]

    def deposits(self) -> list[str]:
        """Return the deposits of which something is here."""
        with disk_errors(str(self._root)):
            return [path.name for path in self._root.iterdir() if path.name.isalnum()]


@dataclass(eq=False, slots=True)
class _Reception:
    """Takes the bytes of one file."""

    _staging: Staging
    _deposit: str
    _path: str
    _file: BinaryIO
    _sums: _Sums

    def write(self, data: bytes) -> None:
        """Take some."""
        with disk_errors(self._path, self._path):
            self._file.write(data)
        self._sums.update(data)

    def finish(self, media_type: str = "", checksum: tuple[str, str] | None = None) -> File:
        """Make the file whole and durable; ChecksumError, and it is gone, if it is not as said."""
        with disk_errors(self._path, self._path):
            self._file.flush()
            os.fsync(self._file.fileno())
            return self._staging.settle(self._deposit, self._path, self._sums, media_type, checksum)


def _digest(path: str) -> str:
    return hashlib.sha256(path.encode()).hexdigest()[:40]


def _sums_of(part: Path) -> _Sums:
    sums = _Sums()
    with part.open("rb") as file:
        while piece := file.read(_PIECE):
            sums.update(piece)
    return sums


def _file(facts: Path) -> File:
    return msgspec.json.decode(facts.read_bytes(), type=File)


def _fsync_file(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _fsync_up(folder: Path, root: Path) -> None:
    while folder != root.parent:
        fsync_folder(folder)
        folder = folder.parent
