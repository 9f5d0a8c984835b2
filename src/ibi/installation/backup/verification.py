"""The verification of a backup, to its last byte.

A backup may have been damaged, or changed by an attacker who can write to its folder. So everything
in the folder must be listed and as listed, and be a regular file: a link would copy a file of the
host into the restored archive. What is listed must be what `ibi backup` writes, nothing else.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Final, Literal

from ibi.archive.settings import read_archive
from ibi.errors import IbiError, StorageError
from ibi.foundation.system.disk import disk_errors
from ibi.installation.backup.archive_snapshot import (
    CATALOGUE,
    RESERVED,
    Progress,
    catalogued,
    is_replaced,
    table_in,
)
from ibi.installation.backup.backup import LOGO, SETTINGS, TOKEN
from ibi.installation.backup.contents import disagreements
from ibi.installation.backup.draft_files import DRAFTS, DraftFileKeys
from ibi.installation.backup.files import BackupTree
from ibi.installation.backup.logo import logo_in
from ibi.installation.backup.record import (
    RECORD,
    SUMS,
    BackupRecord,
    PartRecord,
    digest_of,
    read_record,
    read_sums,
)
from ibi.installation.backup.tables import CHANGED, is_as_written, path_of, read_rows
from ibi.model.item import File
from ibi.resolver.settings import read_resolver

_GONE: Final = "it is not there"
_UNLISTED: Final = f"it is not in {SUMS}"
_FOREIGN: Final = "no backup has such a file"
_BESIDES: Final = ("archive/col/", f"archive/{DRAFTS}/")
"""Beginnings of names that the catalogue may not have."""
_LACKING: Final = "it was damaged when it was backed up"


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of a backup, with the path of its file in the backup."""

    path: str
    reason: str
    kind: Literal["backup", "file", "lacking"] = "backup"
    """`file` if it concerns single items or the logo, `lacking` if the archive had the damage."""

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


def faults_of(
    folder: Path, progress: Progress = lambda *_: None, checksum: str = ""
) -> Iterator[Fault]:
    """Yield the faults of a backup; nothing if it is intact.

    `checksum` is that of its record, if it was kept elsewhere: then it must be the same backup.
    Raises StorageError if its record says that it is incomplete.
    """
    # Before anything is read: reading a pipe would never end, and a link leads elsewhere.
    strange = [Fault(path, reason) for path, reason, _ in _entries(folder) if reason]
    if strange:
        yield from strange
        return
    record = read_record(folder)
    if checksum and record.own_checksum() != checksum.lower():
        yield Fault(RECORD, "it is not the record with that checksum")
    # Faults that were reported: a table is in the record, and again in the list of checksums.
    reported: set[Fault] = set()
    for part, known in record.parts.items():
        progress("Checking tables", 0, 0)
        for fault in _table_faults(part, folder / part, known):
            reported.add(fault)
            yield fault
    if not reported and "archive" in record.parts:
        for fault in _catalogue_faults(folder):
            reported |= {fault} if fault.kind == "backup" else set()
            yield fault
    for fault in _file_faults(folder, record, progress, is_readable=not reported):
        if fault not in reported:
            yield fault
    for part, known in record.parts.items():
        yield from _logo_faults(folder, part)
        yield from (Fault(f"{part}/{key}", _LACKING, "lacking") for key in known.lacking)


def _logo_faults(folder: Path, part: str) -> Iterator[Fault]:
    """Yield a fault if there is a logo that settings do not name, or that no page may show."""
    place = folder / part / LOGO
    if not place.exists():
        return
    with suppress(IbiError):  # of settings, which nothing can be restored from
        settings = (read_archive if part == "archive" else read_resolver)(folder / part)
        if not settings.logo:
            yield Fault(f"{part}/{LOGO}", _FOREIGN)
    if not logo_in(folder, part):
        yield Fault(f"{part}/{LOGO}", "it is no logo", "file")


def _catalogue_faults(folder: Path) -> Iterator[Fault]:
    place = f"archive/{CATALOGUE}"
    try:
        for text in disagreements(table_in(folder / place)):
            yield Fault(place, text, "file")
    except StorageError as unread:
        yield Fault(place, unread.reason)


def _entries(folder: Path) -> Iterator[tuple[str, str, int]]:
    """Yield the paths of all files, what is wrong if one is not a regular file, and sizes."""
    pending = [folder]
    with disk_errors(str(folder)):
        while pending:
            with os.scandir(pending.pop()) as entries:
                for entry in entries:
                    path = Path(entry.path)
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(path)
                        continue
                    is_file = entry.is_file(follow_symlinks=False)
                    reason = "it is a link" if entry.is_symlink() else "it is not a regular file"
                    size = entry.stat(follow_symlinks=False).st_size
                    yield path.relative_to(folder).as_posix(), "" if is_file else reason, size


def _table_faults(part: str, folder: Path, known: PartRecord) -> Iterator[Fault]:
    for store, stored in known.stores.items():
        for table, file in stored.tables.items():
            name = f"{part}/{path_of(Path(store), table).as_posix()}"
            try:
                rows = sum(1 for _ in read_rows(folder / store, table))
                is_whole = is_as_written(folder / store, table, file)
            except StorageError as fault:
                yield Fault(name, fault.reason)
            else:
                if rows != file.rows:
                    yield Fault(name, f"it has {rows} rows instead of {file.rows}")
                if not is_whole:
                    yield Fault(name, CHANGED)


def _file_faults(
    folder: Path, record: BackupRecord, progress: Progress, *, is_readable: bool
) -> Iterator[Fault]:
    try:
        if digest_of(folder / SUMS) != record.sums:
            yield Fault(SUMS, "it is not as it was written")
            return
        if not is_readable:
            yield from _damaged_files(folder, progress)
            return
        listed = _Listing(folder, record, _counting_tree(folder, progress))
        yield from listed.faults()
        yield from _unlisted(folder, listed.count)
    except StorageError as fault:
        yield Fault(SUMS, fault.reason)


def _damaged_files(folder: Path, progress: Progress) -> Iterator[Fault]:
    """Yield files that differ from the list, of a backup whose catalogue cannot be read."""
    tree = _counting_tree(folder, progress)
    for name, digest in read_sums(folder):
        if reason := _fault(tree, name, digest, None):
            yield Fault(name, reason)


def _counting_tree(folder: Path, progress: Progress) -> BackupTree:
    """Return the files of a backup, which reports the bytes that are read."""
    tree, done = BackupTree(folder), 0
    total = sum(size for path, _, size in _entries(folder) if path not in {RECORD, SUMS})

    def report(count: int) -> None:
        nonlocal done
        done += count
        progress("Checking files", done, total)

    tree.report = report
    return tree


class _Listing:
    """The list of checksums, compared with what a backup with this record must contain."""

    def __init__(self, folder: Path, record: BackupRecord, tree: BackupTree) -> None:
        self._folder = folder
        self._record = record
        self._tree = tree
        self._last = PurePosixPath()
        self._drafts = DraftFileKeys(folder / "archive" / CATALOGUE)
        self.count = 0
        """How many different files are listed."""

    def faults(self) -> Iterator[Fault]:
        """Compare the list line by line, in the order in which `ibi backup` writes it."""
        expected = chain.from_iterable(map(self._expected, self._record.parts))
        awaited = next(expected, None)
        for name, digest in read_sums(self._folder):
            is_replaced_file = (awaited is None or awaited[0] != name) and self._is_replaced(name)
            # Settings, token, logo and reserved labels need not exist. Replaced files come before
            # those of the next part.
            while not is_replaced_file and awaited and awaited[0] != name and not awaited[1]:
                awaited = next(expected, None)
            kind, file = _kind(name), None
            if awaited is not None and awaited[0] == name:
                _, known, file = awaited
                awaited = next(expected, None)
                if known not in {"", digest}:
                    yield Fault(name, f"{SUMS} and the catalogue differ")
            elif not is_replaced_file:
                yield Fault(name, _FOREIGN)
                return  # from here on the list cannot be compared line by line
            self.count += 1
            if reason := _fault(self._tree, name, digest, file):
                yield Fault(name, reason, kind)
        if awaited is not None and awaited[1]:
            yield Fault(awaited[0], _UNLISTED)

    def _expected(self, part: str) -> Iterator[tuple[str, str, File | None]]:
        """Yield what the record and the catalogue name, in the order of the list."""
        known = self._record.parts[part]
        for name in (*SETTINGS.values(), TOKEN, LOGO, RESERVED):
            yield f"{part}/{name}", "", None
        for store, stored in known.stores.items():
            for table, written in stored.tables.items():
                yield f"{part}/{path_of(Path(store), table).as_posix()}", written.sha256, None
        if part == "archive":
            lacking = set(known.lacking)
            for key, digest, file in catalogued(self._folder / part):
                if key not in lacking:
                    yield f"{part}/{key}", digest, file

    def _is_replaced(self, name: str) -> bool:
        """Return whether a name is that of a replaced file, or of a draft, after the last one."""
        path = PurePosixPath(name)
        if path <= self._last or not name.startswith(_BESIDES):
            return False
        self._last = path
        if name.startswith(_BESIDES[1]):
            return self._drafts.has(name.removeprefix("archive/"))
        tree = BackupTree(self._folder / "archive")
        return is_replaced(tree, name.removeprefix("archive/"))


def _kind(name: str) -> Literal["backup", "file"]:
    is_of_items = name.startswith(_BESIDES)
    # Nothing else depends on a logo: an archive without it shows the mark of IBI.
    return "file" if is_of_items or name.partition("/")[2] == LOGO else "backup"


def _unlisted(folder: Path, listed: int) -> Iterator[Fault]:
    """Yield the files that the list does not name.

    All names in the list differ, so their number tells whether there are others.
    """
    own = {RECORD, SUMS}
    found = sum(1 for path, *_ in _entries(folder) if path not in own)
    if found <= listed:
        return
    names = {name for name, _ in read_sums(folder)} | own
    yield from (Fault(path, _UNLISTED) for path, *_ in _entries(folder) if path not in names)


def _fault(tree: BackupTree, name: str, digest: str, file: File | None) -> str:
    """Return the fault of a file, by all checksums that are known; empty if there is none."""
    sums = tree.checksums(name)
    if sums is None:
        return _GONE
    if sums.sha256.hexdigest() != digest:
        return CHANGED
    if file is not None and (sums.size, sums.sha512.hexdigest()) != (file.size, file.sha512):
        return CHANGED
    return ""
