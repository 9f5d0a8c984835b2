"""The record of a backup: `backup.json`, written last, and the list of its checksums.

<target>/20261115T223005Z/backup.json         a backup is complete if this exists
                         /SHA256SUMS          as `sha256sum --check` reads it
                         /archive/archive.toml, token, logo
                         /archive/catalogue/<table>.jsonl
                         /archive/ledger/<table>.jsonl
                         /archive/col/<label>/...          as in an archive
                         /resolver/resolver.toml, token, logo, registry/<table>.jsonl
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from ibi.errors import RequestError, StorageError, shown
from ibi.foundation.system.disk import disk_errors, replace_durably
from ibi.foundation.system.safe_open import open_beneath
from ibi.installation.backup.tables import Store, StoreFiles, check_tables
from ibi.model.clock import SECOND

FORMAT: Final = 1
RECORD: Final = "backup.json"
SUMS: Final = "SHA256SUMS"
_STORES: Final[dict[str, set[Store]]] = {
    "archive": {"catalogue", "ledger"},
    "resolver": {"registry"},
    "minter": {"ledger"},
}
"""The databases of each part of a backup."""
_SORTED: Final = msgspec.json.Encoder(order="sorted").encode
PARTIAL: Final = ".partial"
"""The suffix of the folder of a backup that is being made."""


class PartRecord(msgspec.Struct, frozen=True):
    """The record of one instance in a backup."""

    stores: dict[str, StoreFiles]
    items: int = 0
    files: int = 0
    size: int = 0
    """Bytes of all files of items."""
    lacking: tuple[str, ...] = ()
    """Files that were damaged or missing when the backup was made."""


class BackupRecord(msgspec.Struct, frozen=True):
    """The record of a backup."""

    format: int
    program: str
    taken: int
    """Nanoseconds of POSIX time at which it was begun."""
    parts: dict[str, PartRecord]
    sums: str
    """The checksum of the list of checksums."""
    checksum: str = ""
    """The checksum of this record itself; earlier versions wrote none."""

    def own_checksum(self) -> str:
        """Return the checksum of all other fields."""
        return hashlib.sha256(_SORTED(msgspec.structs.replace(self, checksum=""))).hexdigest()


def read_record(folder: Path) -> BackupRecord:
    """Read the record of a backup; StorageError if the backup is incomplete, or too new."""
    path = folder / RECORD
    with disk_errors(str(folder)):
        try:
            # Not a link, nor a pipe: reading one would never end.
            with os.fdopen(open_beneath(folder, [RECORD]), "rb") as file:
                record = msgspec.json.decode(file.read(), type=BackupRecord)
        except FileNotFoundError:
            raise StorageError(str(folder), "it is not a backup, or an incomplete one") from None
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raise StorageError(str(path), "it is damaged") from None
    if record.format > FORMAT:
        raise StorageError(str(folder), "a newer ibi made it")
    if record.checksum not in {"", record.own_checksum()}:
        raise StorageError(str(path), "it is damaged")
    for part, known in record.parts.items():
        if part not in _STORES or known.stores.keys() != _STORES[part]:
            raise StorageError(str(path), "it has a part that no backup of ours has")
        for store in _STORES[part]:
            check_tables(path, store, known.stores[store])
    return record


def refuse_future(record: BackupRecord, now: int) -> None:
    """Raise RequestError if a backup was made after `now`, in nanoseconds of POSIX time.

    A restored minter continues after now. If the clock of the original was ahead, or the one here
    is behind, it would give out labels that the original gave out after the backup.
    """
    ahead = -(-(record.taken - now) // SECOND)
    if ahead > 0 and any("ledger" in part.stores for part in record.parts.values()):
        msg = (
            f"The backup says that it was made {ahead} s from now: the clock of that machine was "
            "ahead, or the clock here is behind. Labels would be given out twice. Set the clock "
            "here right; if it is right, wait until that time is past, and for as long again as "
            "the original went on after the backup."
        )
        raise RequestError(msg)


def keep_record(folder: Path, record: BackupRecord) -> None:
    """Write the record, which makes the backup complete."""
    record = msgspec.structs.replace(record, checksum=record.own_checksum())
    with disk_errors(str(folder)):
        replace_durably(folder / RECORD, msgspec.json.format(msgspec.json.encode(record)) + b"\n")


def backups_in(target: Path) -> list[Path]:
    """Return the complete backups in a folder, the newest first."""
    with disk_errors(str(target)):
        found = [path.parent for path in target.glob(f"*/{RECORD}")]
    own = (path for path in found if path.suffix != PARTIAL and not path.is_symlink())
    return sorted(own, reverse=True)


def partial_in(target: Path) -> list[Path]:
    """Return the remains of interrupted backups."""
    with disk_errors(str(target)):
        return sorted(target.glob(f"*{PARTIAL}"), reverse=True)


def backup_at(source: Path) -> Path:
    """Return the backup in a folder: the folder itself, or the newest in it."""
    if (source / RECORD).exists():
        return source
    found = backups_in(source) if source.is_dir() else []
    if not found:
        msg = f"There is no backup in {shown(str(source))}, or none that is complete."
        raise RequestError(msg)
    return found[0]


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with disk_errors(str(path)), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sum_line(digest: str, path: str) -> bytes:
    """Return a line of the list of checksums."""
    return f"{digest}  {path}\n".encode()


def read_sums(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the paths in the list of checksums, with their checksums."""
    path = folder / SUMS
    with disk_errors(str(path)), path.open(encoding="utf-8") as file:
        try:
            for line in file:
                digest, _, name = line.rstrip("\n").partition("  ")
                yield name, digest
        except UnicodeDecodeError:
            raise StorageError(str(path), "it is not UTF-8") from None
