"""The files that harvesters fetch whole, in a folder of the archive, each run in one of its own."""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from ibi.archive.ports.public_dump import DumpIndex
from ibi.archive.storage.files.folder_listing import LocalFile
from ibi.foundation.system.disk import check_room, disk_errors, write_durably
from ibi.foundation.system.private_files import make_private
from ibi.foundation.system.safe_open import rename_durably

_INDEX: Final = "index.json"
_DUMP: Final = "metadata.jsonl.gz"
_LEVEL: Final = 6
_DECODER: Final = msgspec.json.Decoder(DumpIndex)


class _Writer:
    def __init__(self, folder: Path, run: str) -> None:
        self._folder = folder
        self._place = folder / run
        self._raw = self._create(_DUMP)
        self._file = gzip.GzipFile("", "wb", _LEVEL, self._raw, mtime=0)

    def _create(self, name: str) -> BinaryIO:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        return os.fdopen(os.open(self._place / name, flags, 0o600), "wb")

    def lines(self, content: bytes) -> None:
        with disk_errors(str(self._place)):
            check_room(self._folder)
            self._file.write(content)

    def sitemap(self, number: int, content: bytes) -> None:
        with disk_errors(str(self._place)), self._create(_sitemap(number)) as file:
            file.write(gzip.compress(content, _LEVEL, mtime=0))
            file.flush()
            os.fsync(file.fileno())

    def finish(self) -> tuple[int, str]:
        with disk_errors(str(self._place)):
            self._file.close()
            self._raw.flush()
            os.fsync(self._raw.fileno())
            self._raw.close()
            with (self._place / _DUMP).open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            return (self._place / _DUMP).stat().st_size, digest

    def publish(self, index: DumpIndex) -> None:
        written = self._place / _INDEX
        with disk_errors(str(self._place)):
            write_durably(written, msgspec.json.encode(index))
            rename_durably(written, self._folder / _INDEX)

    def close(self) -> None:
        with suppress(OSError, ValueError):  # of a run that is given up
            self._file.close()
        with suppress(OSError):
            self._raw.close()


class DumpFolder:
    """The files of the last run; a process that only reads has them too."""

    def __init__(self, folder: Path) -> None:
        """Use a folder, which `make` makes."""
        self._folder = folder

    def make(self) -> None:
        """Make the folder for its owner alone, unless it is there."""
        with disk_errors(str(self._folder)):
            make_private(self._folder)

    def index(self) -> DumpIndex | None:
        """Return what was made last; None if there is nothing, or of another version."""
        try:
            with disk_errors(str(self._folder)):
                try:
                    content = (self._folder / _INDEX).read_bytes()
                except FileNotFoundError:
                    return None
            return _DECODER.decode(content)
        except msgspec.DecodeError:
            return None

    def dump(self, index: DumpIndex) -> LocalFile | None:
        """Open the dump; None if a later run has replaced it."""
        return self._open(index.run, _DUMP)

    def sitemap(self, index: DumpIndex, number: int) -> LocalFile | None:
        """Open a sitemap; None if there is none of this number, or a later run has replaced it."""
        return self._open(index.run, _sitemap(number))

    def _open(self, run: str, name: str) -> LocalFile | None:
        place = self._folder / run / name
        with disk_errors(str(self._folder)):
            try:
                return LocalFile(os.open(place, os.O_RDONLY | os.O_CLOEXEC), name)
            except FileNotFoundError:
                return None

    @contextmanager
    def write(self, run: str) -> Iterator[_Writer]:
        """Begin a run; its files are removed unless the block publishes them."""
        self.make()
        with disk_errors(str(self._folder)):
            make_private(self._folder / run)
        writer = _Writer(self._folder, run)
        try:
            yield writer
        finally:
            writer.close()
            self._remove_others()

    def _remove_others(self) -> None:
        """Remove all runs but the published one; a reader that has a file open keeps it."""
        index = self.index()
        kept = {_INDEX, index.run if index else ""}
        for each in self._folder.iterdir():
            if each.name not in kept:
                shutil.rmtree(each, ignore_errors=True)


def _sitemap(number: int) -> str:
    return f"sitemap-{number}.xml.gz"
