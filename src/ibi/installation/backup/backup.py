"""Backups of an archive, a resolver, or both, whether they run or not."""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Final

import msgspec

from ibi.archive.settings import ARCHIVE_FILE, read_archive
from ibi.archive.wiring.stores import bulk_files_of
from ibi.errors import InstanceHeldError, RequestError, shown
from ibi.foundation.pages.identity import read_logo
from ibi.foundation.system.disk import disk_errors
from ibi.foundation.system.private_files import close_writable
from ibi.foundation.system.safe_open import rename_durably
from ibi.installation.backup.archive_snapshot import (
    CATALOGUE,
    RESERVED,
    ArchiveBackup,
    Progress,
    catalogued,
    replaced_in,
)
from ibi.installation.backup.draft_files import (
    back_up_drafts,
    draft_files_in,
    drop_published,
)
from ibi.installation.backup.files import BackupTree
from ibi.installation.backup.record import (
    FORMAT,
    PARTIAL,
    SUMS,
    BackupRecord,
    PartRecord,
    backups_in,
    digest_of,
    keep_record,
    partial_in,
    sum_line,
)
from ibi.installation.backup.tables import dump, path_of
from ibi.installation.settings import ProgramName
from ibi.resolver.settings import RESOLVER_FILE, read_resolver

SETTINGS: Final[dict[ProgramName, str]] = {"archive": ARCHIVE_FILE, "resolver": RESOLVER_FILE}
TOKEN: Final = "token"  # noqa: S105  # the name of a file
LOGO: Final = "logo"
"""The name of the logo in a backup, wherever the settings say that it is."""
MINTER: Final = "minter"
"""The part of a backup that is only the ledger of a minter."""
_LOCK: Final = "lock"


@dataclass(frozen=True, slots=True)
class BackedUp:
    """A complete backup."""

    folder: Path
    record: BackupRecord
    copied: int
    """How many files of items no earlier backup had."""
    warnings: tuple[str, ...] = ()
    """What the settings name and the backup does not have, and why."""


def back_up(
    folders: Mapping[ProgramName, Path],
    target: Path,
    *,
    ledger: str = "",
    quick: bool = False,
    progress: Progress = lambda *_: None,
) -> BackedUp:
    """Make a new backup of the instances in folders, and of a ledger that is in none of them.

    Earlier backups stay unchanged.
    """
    taken = time.time_ns()
    with _held(target):
        left = partial_in(target)
        earlier = [*backups_in(target)[:1], *left]
        folder = _new(target, taken)
        trees = {
            part: BackupTree(folder / part, [each / part for each in earlier], quick=quick)
            for part in (*folders, *([MINTER] if ledger else ()))
        }
        parts: dict[str, PartRecord] = {}
        copied = 0
        warnings: list[str] = []
        for part, place in folders.items():
            warnings += _keep_settings(part, place, trees[part])
            if part == "archive":
                parts[part], copied = _archive(place, trees[part], progress)
            else:
                progress("Reading tables", 0, 0)
                parts[part] = _resolver(place, trees[part])
        if ledger:
            stored = dump(ledger, "ledger", trees[MINTER].root / "ledger")
            parts[MINTER] = PartRecord({"ledger": stored})
        program = f"ibi {metadata.version('ibi')}"
        progress("Listing checksums", 0, 0)
        sums = _list_sums(folder, trees, parts)
        record = BackupRecord(FORMAT, program, taken, parts, sums)
        progress("Writing to the disk", 0, 0)
        for tree in trees.values():
            tree.sync()
        keep_record(folder, record)
        whole = folder.with_suffix("")
        rename_durably(folder, whole)
        for each in left:
            shutil.rmtree(each, ignore_errors=True)
    return BackedUp(whole, record, copied, tuple(warnings))


@contextmanager
def _held(target: Path) -> Iterator[None]:
    """Make the folder of backups, for its owner only, and lock it."""
    with disk_errors(str(target)):
        target.mkdir(mode=0o700, parents=True, exist_ok=True)
        close_writable(target, (_LOCK,))
        descriptor = os.open(target / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            msg = f"Another backup is being made in {target}: wait for its end."
            raise InstanceHeldError(msg) from None
        yield
    finally:
        os.close(descriptor)


def _new(target: Path, taken: int) -> Path:
    """Make the folder of a new backup, named after its time."""
    moment = taken // 1_000_000_000
    while True:
        name = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(moment))
        folder = target / f"{name}{PARTIAL}"
        with disk_errors(str(target)):
            if not (target / name).exists() and not folder.exists():
                folder.mkdir(mode=0o700)
                return folder
        moment += 1  # two backups in one second


def _keep_settings(part: ProgramName, place: Path, tree: BackupTree) -> Iterator[str]:
    """Back up settings, token and logo; yield why there is no logo, if the settings name one.

    Pages would not have it either, so the backup goes on.
    """
    for name in (SETTINGS[part], TOKEN):
        if (place / name).exists():
            with disk_errors(str(place)):
                text = (place / name).read_bytes()
            tree.write_text(name, text)
    settings = read_archive(place) if part == "archive" else read_resolver(place)
    if settings.logo:
        try:
            tree.write_text(LOGO, read_logo(settings).content)
        except FileNotFoundError:
            yield f"{part}: logo = {shown(settings.logo)} is not there. It is not in the backup."
        except RequestError as fault:
            yield f"{part}: {fault} It is not in the backup."


def _archive(place: Path, tree: BackupTree, progress: Progress) -> tuple[PartRecord, int]:
    settings = read_archive(place)
    catalogue = settings.place(settings.catalogue)
    back_up_drafts(settings.folder / "incoming", tree)
    backup = ArchiveBackup(catalogue, bulk_files_of(settings), tree, progress)
    record = backup.make()
    drop_published(tree, tree.root / CATALOGUE)
    # After the catalogue, so that every label in the catalogue is in the ledger.
    ledger = dump(settings.place(settings.ledger), "ledger", tree.root / "ledger")
    stores = {**record.stores, "ledger": ledger}
    return msgspec.structs.replace(record, stores=stores), backup.copied


def _resolver(place: Path, tree: BackupTree) -> PartRecord:
    registry = dump(read_resolver(place).place, "registry", tree.root / "registry")
    return PartRecord({"registry": registry})


def _list_sums(
    folder: Path, trees: Mapping[str, BackupTree], parts: Mapping[str, PartRecord]
) -> str:
    """Write the list of checksums, and return the checksum of the list."""
    with disk_errors(str(folder)), (folder / SUMS).open("wb") as file:
        for part, tree in trees.items():
            for key, digest in _sums(part, tree, parts[part]):
                file.write(sum_line(digest, f"{part}/{key}"))
        file.flush()
        os.fsync(file.fileno())
    return digest_of(folder / SUMS)


def _sums(part: str, tree: BackupTree, record: PartRecord) -> Iterator[tuple[str, str]]:
    for name in (*SETTINGS.values(), TOKEN, LOGO, RESERVED):
        if (tree.root / name).exists():
            yield name, digest_of(tree.root / name)
    for store, stored in record.stores.items():
        for table, known in stored.tables.items():
            yield path_of(Path(store), table).as_posix(), known.sha256
    if part == "archive":
        lacking = set(record.lacking)
        yield from ((key, digest) for key, digest, _ in catalogued(tree.root) if key not in lacking)
        yield from replaced_in(tree)
        yield from draft_files_in(tree)
