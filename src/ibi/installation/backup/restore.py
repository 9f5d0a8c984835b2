"""Restores an archive, a resolver, or both, from a backup into a new place."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Literal

import msgspec

from ibi.archive.ports.catalogue import HistoryEntry, ManifestItem
from ibi.archive.ports.restoration import RESTORED, UNRECONCILED, Restoration, moment_of
from ibi.archive.rules.manifest import manifest
from ibi.archive.settings import ArchiveSettings, read_archive
from ibi.archive.storage.catalogue.catalogue import sql_catalogue
from ibi.errors import DamagedBackupError, LedgerUnavailableError, RequestError, StorageError, shown
from ibi.foundation.settings_file import POSTGRESQL, written
from ibi.foundation.sql.database import Database
from ibi.foundation.sql.database_url import open_database
from ibi.foundation.system.clock import SystemClock
from ibi.foundation.system.disk import disk_errors
from ibi.foundation.system.instance_lock import keep_token, token_of
from ibi.foundation.system.private_files import make_private
from ibi.foundation.system.safe_open import rename_durably
from ibi.installation.backup.archive_snapshot import (
    CATALOGUE,
    RESERVED,
    Progress,
    is_replaced,
    table_in,
)
from ibi.installation.backup.backup import MINTER, SETTINGS
from ibi.installation.backup.contents import items_of
from ibi.installation.backup.draft_files import restore_drafts
from ibi.installation.backup.files import BackupTree
from ibi.installation.backup.logo import logo_place, restore_logo
from ibi.installation.backup.record import (
    BackupRecord,
    PartRecord,
    read_record,
    read_sums,
    refuse_future,
)
from ibi.installation.backup.tables import (
    Store,
    StoreFiles,
    load,
    migrations_of,
    read_rows,
    version_of,
)
from ibi.installation.backup.verification import faults_of
from ibi.installation.host_probe import rows_of
from ibi.installation.settings import ProgramName
from ibi.minting.rules.reservation import ReservationLimits, confirm
from ibi.minting.storage.ledger import SqlLedger
from ibi.model.clock import ClockReading
from ibi.model.item import File, State
from ibi.resolver.settings import ResolverSettings, read_resolver

_PARTS: Final[tuple[ProgramName, ...]] = ("resolver", "archive")


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreRequest:
    """Where databases are to be restored; empty for a file in the folder."""

    catalogue: str = ""
    ledger: str = ""
    database: str = ""
    """The database of a resolver."""
    checksum: str = ""
    """The checksum of the backup, if it was kept elsewhere."""
    without_damaged: bool = False
    """Whether files of items that are damaged are left out, instead of refusing the backup."""


@dataclass(slots=True)
class Restored:
    """The result of a restore."""

    folders: dict[ProgramName, Path] = field(default_factory=dict)
    items: int = 0
    files: int = 0
    minting_after: int = 0
    """The instant after which labels are issued, in nanoseconds of POSIX time."""
    originals: int = 0
    """How many Originals may have been transferred since the backup."""
    transferring: list[str] = field(default_factory=list)
    """Labels of items that were being transferred."""
    faults: list[str] = field(default_factory=list)
    """Files of the backup that are damaged or missing."""

    def note_fault(self, key: str) -> None:
        """Add a file that could not be restored, unless the verification named it."""
        if key not in self.faults:
            self.faults.append(key)


def restore(
    backup: Path, folder: Path, wanted: RestoreRequest, progress: Progress = lambda *_: None
) -> Restored:
    """Restore a backup into a folder that is new or empty.

    The settings are written last: a folder without settings is not an instance.
    """
    record = read_record(backup)
    if MINTER in record.parts:
        raise RequestError("This is the backup of a ledger alone: restore it with --ledger.")
    refuse_future(record, SystemClock().wall())
    _check_empty(folder)
    borne = _refuse_damaged(backup, wanted, progress)
    places: dict[ProgramName, Path] = {
        part: folder / part if len(record.parts) > 1 else folder
        for part in _PARTS
        if part in record.parts
    }
    restored = Restored(places, faults=borne)
    archive = resolver = None
    if "archive" in places:
        archive = _archive_settings(backup / "archive", places["archive"], wanted)
        _check_database(archive.place(archive.catalogue), "catalogue")
        _check_database(archive.place(archive.ledger), "ledger")
    if "resolver" in places:
        resolver = _resolver_settings(backup / "resolver", places["resolver"], wanted)
        _check_database(resolver.place, "registry")
    _make_folder(folder)
    progress("Restoring tables", 0, 0)
    if resolver is not None:
        _make_folder(resolver.folder)
        # Acknowledgments that were pending then have been sent since, and must not be sent twice.
        registry = _without("resolver_acknowledgment", record.parts["resolver"].stores["registry"])
        _load(resolver.place, "registry", backup / "resolver" / "registry", registry)
        _complete("resolver", backup, resolver)
    if archive is not None:
        _make_folder(archive.folder)
        _restore_archive(backup, record, archive, restored, progress)
        _complete("archive", backup, archive)
    return restored


def restore_minter(
    backup: Path, wanted: RestoreRequest, progress: Progress = lambda *_: None
) -> int:
    """Restore a ledger that was backed up alone; return the instant after which it mints."""
    record, place = read_record(backup), wanted.ledger
    if MINTER not in record.parts:
        raise RequestError("This is not the backup of a ledger alone: restore it with --data.")
    refuse_future(record, SystemClock().wall())
    _check_database(place, "ledger")
    _refuse_damaged(backup, wanted, progress)
    stored = record.parts[MINTER].stores["ledger"]
    return _restore_ledger(place, backup / MINTER / "ledger", stored)


def prefixes_in(backup: Path) -> list[str]:
    """Return the prefixes under which the archive or minter of a backup mints."""
    parts = read_record(backup).parts
    folders = [backup / part / "ledger" for part in parts if "ledger" in parts[part].stores]
    rows = (row for folder in folders for row in read_rows(folder, "ibi_prefix"))
    return sorted(str(row.get("prefix", "")) for row in rows)


def _refuse_damaged(backup: Path, wanted: RestoreRequest, progress: Progress) -> list[str]:
    """Raise DamagedBackupError if a backup is not what `ibi backup` wrote.

    Returns the files of an archive that are damaged nevertheless: those that the archive itself had
    lost, and all of them if the request is to leave them out.
    """
    borne = {"lacking", "file"} if wanted.without_damaged else {"lacking"}
    found = list(faults_of(backup, progress, wanted.checksum))
    faults = tuple(str(each) for each in found if each.kind not in borne)
    if faults:
        raise DamagedBackupError(str(backup), faults)
    return [each.path.removeprefix("archive/") for each in found]


def _check_empty(folder: Path) -> None:
    with disk_errors(str(folder)):
        if folder.exists() and any(folder.iterdir()):
            msg = f"{shown(str(folder))} is not empty: restore into a new folder."
            raise RequestError(msg)


def _check_database(place: str, store: Store) -> None:
    """Raise if a database has tables of this kind already, even empty ones."""
    select, _ = version_of(store)
    try:
        rows_of(place, select)
    except OSError:
        return
    msg = f"There is a {store} at {_shown(place)} already: name a database that has none."
    raise RequestError(msg)


def _shown(place: str) -> str:
    from ibi.foundation.sql.postgres import without_password

    return without_password(place) if place.startswith(POSTGRESQL) else shown(place)


def _without(table: str, stored: StoreFiles) -> StoreFiles:
    tables = {name: file for name, file in stored.tables.items() if name != table}
    return msgspec.structs.replace(stored, tables=tables)


def _make_folder(folder: Path) -> None:
    with disk_errors(str(folder)):
        make_private(folder)


def _archive_settings(source: Path, folder: Path, wanted: RestoreRequest) -> ArchiveSettings:
    usual = ArchiveSettings(folder=folder, name="", address="", host="", port=1)
    return replace(
        read_archive(source),
        folder=folder.absolute(),
        catalogue=wanted.catalogue or usual.catalogue,
        ledger=wanted.ledger or usual.ledger,
        storage=usual.storage,
        storage_endpoint=usual.storage_endpoint,
        storage_region=usual.storage_region,
        logo=logo_place(source, read_archive(source).logo),
    )


def _resolver_settings(source: Path, folder: Path, wanted: RestoreRequest) -> ResolverSettings:
    database = wanted.database or ResolverSettings(folder=folder, name="", address="").database
    settings = replace(read_resolver(source), folder=folder.absolute(), database=database)
    return replace(settings, logo=logo_place(source, settings.logo))


def _complete(
    part: ProgramName, backup: Path, settings: ArchiveSettings | ResolverSettings
) -> None:
    """Write token and settings; the settings file is copied if nothing in it changed."""
    source = backup / part
    restore_logo(backup, part, settings.folder, settings.logo)
    if secret := token_of(source):
        keep_token(settings.folder, secret)
    before = read_archive(source) if part == "archive" else read_resolver(source)
    is_same = replace(before, folder=settings.folder) == settings
    text = (source / SETTINGS[part]).read_text(encoding="utf-8") if is_same else written(settings)
    tree, name = BackupTree(settings.folder), SETTINGS[part]
    tree.write_text(f"{name}.new", text.encode())
    tree.sync()
    rename_durably(settings.folder / f"{name}.new", settings.folder / name)


@contextmanager
def _opened(place: str) -> Iterator[Database]:
    try:
        with closing(open_database(place)) as database:
            yield database
    except LedgerUnavailableError as failure:
        raise StorageError(failure.ledger, failure.reason) from failure


def _load(
    place: str, store: Literal["catalogue", "registry"], folder: Path, stored: StoreFiles
) -> None:
    """Make the tables in the version of the backup, fill them, and upgrade them to the newest."""
    from ibi.foundation.sql.upgrade import upgrade

    if stored.version > version_of(store)[1]:
        raise StorageError(str(folder), "a newer ibi made it")
    migrations, postgresql = migrations_of(store), place.startswith(POSTGRESQL)
    upgrade(place, migrations, postgresql=postgresql, version=stored.version)
    with _opened(place) as database:
        load(database, store, folder, stored)
    upgrade(place, migrations, postgresql=postgresql)


def _restore_archive(
    backup: Path,
    record: BackupRecord,
    settings: ArchiveSettings,
    restored: Restored,
    progress: Progress,
) -> None:
    source, part = BackupTree(backup / "archive"), record.parts["archive"]
    place = settings.place(settings.catalogue)
    _load(place, "catalogue", source.root / CATALOGUE, part.stores[CATALOGUE])
    _restore_files(source, BackupTree(settings.root), part, restored, progress)
    restored.faults += restore_drafts(source, BackupTree(settings.folder))
    with _opened(place) as database:
        catalogue = sql_catalogue(database, quick=True)
        detail = msgspec.json.encode({"taken": record.taken}).decode()
        id_, now = uuid.uuid4().hex, SystemClock.wall()
        catalogue.history.note(HistoryEntry(0, id_, now, "restore", "restore", "", detail))
        catalogue.settings.drop(RESTORED)  # of an earlier restore
        restoration = Restoration(moment_of(record.taken), settings.address)
        catalogue.settings.keep(RESTORED, restoration.text)
        if restored.originals:
            # An archive that was backed up before it was reconciled keeps the earlier time.
            catalogue.settings.keep(UNRECONCILED, moment_of(record.taken))
    place, stored = settings.place(settings.ledger), part.stores["ledger"]
    restored.minting_after = _restore_ledger(place, source.root / "ledger", stored)


def _restore_files(
    source: BackupTree,
    target: BackupTree,
    part: PartRecord,
    restored: Restored,
    progress: Progress,
) -> None:
    done = 0

    def report(count: int) -> None:
        nonlocal done
        done += count
        progress("Restoring files", done, part.size)

    source.report = report
    for kept in items_of(table_in(source.root / CATALOGUE)):
        _note_item(kept, restored)
        key = f"col/{kept.item.forms.label.spelling}"
        for file in kept.files:
            place = f"{key}/doc/{file.path}"
            if _written(source, target, place, file):
                restored.files += 1
            else:
                restored.note_fault(place)
        text = manifest(kept.item, kept.files, kept.number, kept.version)
        target.write_text(f"{key}/ibi.json", text)
    for key, digest in _listed_besides(source):
        path = source.path(key)
        file = File(key, 0, digest, "", path.stat().st_mtime_ns if path.exists() else 0)
        if not _written(source, target, key, file):
            restored.note_fault(key)
    progress("Writing to the disk", 0, 0)
    target.sync()


def _listed_besides(source: BackupTree) -> Iterator[tuple[str, str]]:
    """Yield replaced files and reserved labels, which only the list of checksums names."""
    for name, digest in read_sums(source.root.parent):
        part, _, key = name.partition("/")
        if part != source.root.name:
            continue
        if key == RESERVED or (key.startswith("col/") and is_replaced(source, key)):
            yield key, digest


def _note_item(kept: ManifestItem, restored: Restored) -> None:
    item = kept.item
    restored.items += 1
    if item.transfer is not None:
        restored.transferring.append(item.forms.label.spelling)
    # Also what is marked as not transferable: it may have been transferred since, without the mark.
    restored.originals += item.kind == "data" and item.state is State.ORIGINAL


def _written(source: BackupTree, target: BackupTree, key: str, file: File) -> bool:
    """Copy a file; return False if it is not there, or differs from its checksums."""
    try:
        pieces = source.pieces(key)
    except FileNotFoundError:
        return False
    return target.write(key, pieces, file)


@contextmanager
def _row_errors(folder: Path) -> Iterator[None]:
    """Convert errors of rows that no ledger has into StorageError."""
    try:
        yield
    except (TypeError, ValueError, OverflowError) as fault:
        raise StorageError(str(folder), "it has rows that no ledger of ours has") from fault


def _restore_ledger(place: str, folder: Path, stored: StoreFiles) -> int:
    """Restore the ledger under a new identity, and let it continue after now.

    Labels that the original issued after the backup lie before now, if the clock is right. With a
    new identity it is not mistaken for the original: neither by a machine that has a later record
    of the original, nor by one on which the original still runs.
    """
    clock = SystemClock()
    with _opened(place) as database, _row_errors(folder):
        ledger = SqlLedger(database)
        load(database, "ledger", folder, _without("ibi_ledger", stored))
        now = ClockReading(clock.wall(), clock.uptime(), clock.boot())
        marks = [now.wall]
        for (prefix,) in database.read("SELECT prefix FROM ibi_prefix"):
            entry = ledger.settle(
                [prefix], now.boot, lambda entry: confirm(entry, None, now, ReservationLimits())
            )
            marks.append(entry.mark or 0)
    return max(marks)
