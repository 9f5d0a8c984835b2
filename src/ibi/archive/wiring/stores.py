"""Opens the file store and the catalogue of an archive by its settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ibi.archive.settings import ArchiveSettings
from ibi.archive.storage.migrations import ARCHIVE_MIGRATIONS
from ibi.errors import LedgerUnavailableError, StorageError
from ibi.foundation.settings_file import POSTGRESQL
from ibi.foundation.sql.database_url import open_newest
from ibi.foundation.sql.sqlite import SqliteReader

if TYPE_CHECKING:
    from ibi.archive.ports.catalogue import Catalogue
    from ibi.archive.ports.file_store import BulkFiles
    from ibi.archive.storage.files.switchable_store import Store, SwitchableStore


def open_store(settings: ArchiveSettings) -> SwitchableStore:
    """Open the store of an archive; raise StorageError if it cannot be used."""
    from ibi.archive.storage.files.switchable_store import SwitchableStore

    return SwitchableStore(settings.folder / "incoming", store_of(settings))


def store_of(settings: ArchiveSettings) -> Store:
    """Open a store in a folder or an object store."""
    if settings.is_in_objects:
        from ibi.archive.storage.object_store.bucket import Objects
        from ibi.archive.storage.object_store.store import ObjectStore
        from ibi.archive.web.delivery.media_types import stored_headers

        return ObjectStore(
            Objects(settings.storage, settings.storage_endpoint, settings.storage_region),
            settings.folder / "incoming",
            keep_replaced=settings.keep_replaced,
            presigned=settings.storage_delivery == "presigned",
            headers=stored_headers,
        )
    from ibi.archive.storage.files.folder_store import FolderStore

    return FolderStore(settings.root, keep_replaced=settings.keep_replaced)


def bulk_files_of(settings: ArchiveSettings) -> BulkFiles:
    """Return the files of a folder or an object store, by key."""
    if settings.is_in_objects:
        from ibi.archive.storage.object_store.bucket import Objects
        from ibi.archive.storage.object_store.store import ObjectFiles
        from ibi.archive.web.delivery.media_types import stored_headers

        objects = Objects(settings.storage, settings.storage_endpoint, settings.storage_region)
        return ObjectFiles(objects, stored_headers)
    from ibi.archive.storage.files.folder_listing import FolderFiles

    return FolderFiles(settings.root)


def open_catalogue(settings: ArchiveSettings) -> Catalogue:
    """Open the catalogue of an archive, and upgrade its tables."""
    from ibi.archive.storage.catalogue.catalogue import sql_catalogue

    place = settings.place(settings.catalogue)
    database = open_newest(place, ARCHIVE_MIGRATIONS)
    return sql_catalogue(database, quick=not place.startswith(POSTGRESQL))


def read_catalogue(settings: ArchiveSettings) -> Catalogue:
    """Open the catalogue of an archive only for reading; another process is the writer."""
    from ibi.archive.storage.catalogue.catalogue import sql_catalogue

    place = settings.place(settings.catalogue)
    try:
        if place.startswith(POSTGRESQL):
            from ibi.foundation.sql.postgres import Postgres

            return sql_catalogue(Postgres(place, read_only=True), quick=False)
        return sql_catalogue(SqliteReader(place), quick=True)
    except LedgerUnavailableError as failure:
        raise StorageError(failure.ledger, failure.reason) from failure
