"""A writer of bags, which writes the files first and `bagit.txt` last.

An interrupted export is resumed: a file that exists with the right checksums stays, and a partial
one is continued. Without `bagit.txt` no program takes the folder for a bag, and when it is written,
everything else is on the disk.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from ibi.archive.rules import bagit
from ibi.errors import ArchiveRequestError, ChecksumError, shown
from ibi.foundation.system.disk import (
    Checksums,
    checksums_of,
    disk_errors,
    prune,
    replace_durably,
    write_durably,
)
from ibi.foundation.system.safe_open import fsync_folder
from ibi.model.item import File

MARKER: Final = "export.json"
"""The file that describes an unfinished export."""
_PART: Final = ".part"
_OPEN: Final = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC

Read = Callable[[int], AbstractContextManager[Iterator[bytes]]]
"""Returns the bytes of a file from an offset on."""


class BagWriter:
    """Writes a bag into a folder; several threads may write files at once."""

    def __init__(self, folder: Path, purpose: object) -> None:
        """Begin an export, or resume one of the same purpose."""
        self.folder = folder
        self._lock = threading.Lock()
        self._places: set[str] = set()
        self._version = bagit.NEW
        self.size = self.count = 0
        """Bytes and files of the payload so far."""
        with disk_errors(str(folder)):
            self.resumed = self._begun(msgspec.json.encode(purpose))
            (folder / bagit.PAYLOAD).mkdir(exist_ok=True)
            self._lines = {
                name: (folder / f"{bagit.manifest_file(name)}{_PART}").open("w", encoding="utf-8")
                for name in bagit.ALGORITHMS
            }

    def _begun(self, purpose: bytes) -> bool:
        """Return whether an export is resumed; raise if the folder has other content."""
        folder, marker = self.folder, self.folder / MARKER
        folder.mkdir(parents=True, exist_ok=True)
        if marker.is_file():
            if marker.read_bytes() != purpose:
                msg = f"{shown(str(folder))} is another export that was interrupted: finish that."
                raise ArchiveRequestError(msg)
            (folder / bagit.DECLARATION_FILE).unlink(missing_ok=True)
            return True
        if any(folder.iterdir()):
            msg = f"{shown(str(folder))} is not empty: name a new folder."
            raise ArchiveRequestError(msg)
        replace_durably(marker, purpose)
        return False

    def enlist(self, place: str, files: Mapping[str, tuple[str, str, int]]) -> None:
        """Add the written files of a place to the manifests, with their sums and sizes."""
        with self._lock:
            self._places.add(place)
            for path, (sha256, sha512, size) in files.items():
                self._version = min(self._version, bagit.version_with(path))
                for name, checksum in zip(bagit.ALGORITHMS, (sha256, sha512), strict=True):
                    self._lines[name].write(bagit.line(checksum, path))
                self.size += size
                self.count += 1

    def has(self, place: str) -> bool:
        """Return whether the files of a place are part of the bag."""
        return place in self._places

    def fetch(self, path: str, file: File, read: Read) -> None:
        """Write a file of the payload; raise ChecksumError if it is not as described."""
        with disk_errors(str(self.folder), path):
            target = self._target(path)
            with os.fdopen(os.open(target, _OPEN, 0o600), "r+b") as out:
                size = os.fstat(out.fileno()).st_size
                sums = checksums_of(target) if 0 < size <= file.size else Checksums()
                if size and sums.size == file.size and _differs(sums, file):
                    sums = Checksums()
                if sums.size < file.size:
                    _append(out, sums, read, file.size)
                out.truncate(sums.size)
        if _differs(sums, file):
            target.unlink()
            raise ChecksumError(path, file.sha256, sums.sha256.hexdigest())

    def write(self, path: str, content: bytes) -> tuple[str, str, int]:
        """Write a small file of the payload; return its checksums and size."""
        with disk_errors(str(self.folder), path):
            self._target(path).write_bytes(content)
        sums = Checksums()
        sums.update(content)
        return sums.sha256.hexdigest(), sums.sha512.hexdigest(), sums.size

    def _target(self, path: str) -> Path:
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.is_symlink() or target.is_dir():
            msg = f"{shown(str(target))} is not a file: another program writes here."
            raise ArchiveRequestError(msg)
        return target

    def tidy(self, place: str, paths: set[str]) -> None:
        """Remove files that an earlier run wrote and that no longer belong to an item."""
        if not self.resumed:
            return
        with disk_errors(str(self.folder)):
            doc = self.folder / f"{bagit.ITEMS}{place}{bagit.DOC}"
            for found in list(doc.rglob("*")):
                path = found.relative_to(doc).as_posix()
                if not found.is_dir() and path not in paths:
                    found.unlink()
                    prune(doc, path)

    def _drop_others(self) -> None:
        """Remove items that an earlier run wrote and that are no longer to be exported."""
        root = self.folder / bagit.ITEMS
        for found in list(root.rglob(bagit.MANIFEST)) if self.resumed else ():
            path = found.relative_to(self.folder).as_posix()
            known = bagit.divided(path)
            if known is None or known[1] or known[0].spelling in self._places:
                continue
            place = known[0].spelling
            self.tidy(place, set())
            found.unlink()
            prune(root, f"{place}{bagit.DOC}{bagit.MANIFEST}")
            prune(root, f"{place}/{bagit.MANIFEST}")

    def finish(self, info: list[tuple[str, str]], tags: Mapping[str, bytes]) -> None:
        """Complete the bag, and make it durable."""
        with disk_errors(str(self.folder)):
            self._drop_others()
            for lines in self._lines.values():
                lines.close()
            # One sync for all: one for each of a hundred thousand files would take far longer.
            os.sync()
            pairs = [*info, ("Payload-Oxum", bagit.oxum(self.size, self.count))]
            written = {**tags, bagit.INFO_FILE: bagit.info(pairs).encode()}
            for name, content in written.items():
                write_durably(self.folder / name, content)
            for name in bagit.ALGORITHMS:
                manifest = self.folder / bagit.manifest_file(name)
                manifest.with_name(f"{manifest.name}{_PART}").replace(manifest)
            self._write_tag_manifests(list(written))
            fsync_folder(self.folder)
            declared = bagit.declaration(self._version).encode()
            replace_durably(self.folder / bagit.DECLARATION_FILE, declared)
            (self.folder / MARKER).unlink()
            fsync_folder(self.folder)

    def _write_tag_manifests(self, names: list[str]) -> None:
        declared = Checksums()
        declared.update(bagit.declaration(self._version).encode())
        sums = {bagit.DECLARATION_FILE: declared}
        for name in (*names, *map(bagit.manifest_file, bagit.ALGORITHMS)):
            sums[name] = checksums_of(self.folder / name)
        for algorithm in bagit.ALGORITHMS:
            lines = (bagit.line(getattr(sums[n], algorithm).hexdigest(), n) for n in sorted(sums))
            path = self.folder / bagit.manifest_file(algorithm, tags=True)
            write_durably(path, "".join(lines).encode())

    def close(self) -> None:
        """Close the manifests; an unfinished bag can be resumed."""
        for lines in self._lines.values():
            with suppress(OSError):
                lines.close()


def _differs(sums: Checksums, file: File) -> bool:
    found = (sums.size, sums.sha256.hexdigest(), sums.sha512.hexdigest())
    return found != (file.size, file.sha256, file.sha512)


def _append(out: BinaryIO, sums: Checksums, read: Read, whole: int) -> None:
    """Append to a file from where its checksums end; read no more than its whole size."""
    out.seek(sums.size)
    with read(sums.size) as pieces:
        for piece in pieces:
            out.write(piece)
            sums.update(piece)
            if sums.size > whole:
                return
