"""The verification of a backup, to its last byte."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ibi.errors import StorageError
from ibi.foundation.system.disk import checksums_of, disk_errors
from ibi.installation.backup.archive_snapshot import CATALOGUE, Progress, catalogued, table_in
from ibi.installation.backup.contents import disagreements
from ibi.installation.backup.files import BackupTree
from ibi.installation.backup.record import (
    SUMS,
    BackupRecord,
    PartRecord,
    digest_of,
    read_record,
    read_sums,
)
from ibi.installation.backup.tables import CHANGED, is_as_written, path_of, read_rows
from ibi.model.item import File

_GONE: Final = "it is not there"


def faults_of(folder: Path, progress: Progress = lambda *_: None) -> Iterator[str]:
    """Yield the faults of a backup, each with the path of its file; nothing if it is intact.

    Raises StorageError if its record says that it is incomplete.
    """
    record = read_record(folder)
    # Faults that were reported: a table is in the record, and again in the list of checksums.
    reported: set[str] = set()
    for part, known in record.parts.items():
        for fault in _table_faults(folder / part, known):
            reported.add(f"{part}/{fault}")
            yield f"{part}/{fault}"
    try:
        if not reported and "archive" in record.parts:
            yield from disagreements(table_in(folder / "archive" / CATALOGUE))
    except StorageError as unread:
        reported.add(unread.reason)
        yield str(unread)
    for fault in _file_faults(folder, record, progress, is_readable=not reported):
        if fault not in reported:
            yield fault
    for part, known in record.parts.items():
        yield from (f"{part}/{key}: it was damaged when it was backed up" for key in known.lacking)


def _table_faults(folder: Path, known: PartRecord) -> Iterator[str]:
    for store, stored in known.stores.items():
        for table, file in stored.tables.items():
            name = path_of(Path(store), table).as_posix()
            try:
                rows = sum(1 for _ in read_rows(folder / store, table))
                is_whole = is_as_written(folder / store, table, file)
            except StorageError as fault:
                yield f"{name}: {fault.reason}"
            else:
                if rows != file.rows:
                    yield f"{name}: it has {rows} rows instead of {file.rows}"
                if not is_whole:
                    yield f"{name}: {CHANGED}"


def _file_faults(
    folder: Path, record: BackupRecord, progress: Progress, *, is_readable: bool
) -> Iterator[str]:
    tree = BackupTree(folder)
    try:
        if digest_of(folder / SUMS) != record.sums:
            yield f"{SUMS}: it is not as it was written"
        named = _named(folder, record) if is_readable else iter(())
        expected = next(named, None)
        total = sum(1 for _ in read_sums(folder))
        for number, (name, digest) in enumerate(read_sums(folder), 1):
            file = None
            if expected is not None and expected[0] == name:
                _, known, file = expected
                if known != digest:
                    yield f"{name}: {SUMS} and the catalogue differ"
                expected = next(named, None)
            if fault := _fault(tree, name, digest, file):
                yield f"{name}: {fault}"
            progress(number, total)
        if expected is not None:
            yield f"{expected[0]}: it is not in {SUMS}"
    except StorageError as fault:
        yield str(fault)


def _named(folder: Path, record: BackupRecord) -> Iterator[tuple[str, str, File | None]]:
    """Yield what the catalogue names, in the order of the list of checksums."""
    if "archive" in record.parts:
        lacking = set(record.parts["archive"].lacking)
        for key, digest, file in catalogued(folder / "archive"):
            if key not in lacking:
                yield f"archive/{key}", digest, file


def _fault(tree: BackupTree, name: str, digest: str, file: File | None) -> str:
    """Return the fault of a file, by all checksums that are known; empty if there is none."""
    path = tree.path(name)
    with disk_errors(str(path)):
        if not path.is_file():
            return _GONE
        sums = checksums_of(path)
    if sums.sha256.hexdigest() != digest:
        return CHANGED
    if file is not None and (sums.size, sums.sha512.hexdigest()) != (file.size, file.sha512):
        return CHANGED
    return ""
