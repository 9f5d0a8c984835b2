"""Where the files of an archive lie, opened as the settings say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ibi.settings import ArchiveSettings

if TYPE_CHECKING:
    from ibi.adapters.movable_store import MovableStore, Store
    from ibi.ports.shelf import Shelf


def open_store(settings: ArchiveSettings) -> MovableStore:
    """Open the store of an archive; StorageError if it cannot be used."""
    from ibi.adapters.movable_store import MovableStore

    return MovableStore(settings.folder / "incoming", store_of(settings))


def store_of(settings: ArchiveSettings) -> Store:
    """Open a folder or an object store."""
    if settings.is_in_objects:
        from ibi.adapters.object_store import ObjectStore
        from ibi.adapters.objects import Objects
        from ibi.web.stored_headers import stored_headers

        return ObjectStore(
            Objects(settings.storage, settings.storage_endpoint, settings.storage_region),
            settings.folder / "incoming",
            keep_replaced=settings.keep_replaced,
            presigned=settings.storage_delivery == "presigned",
            headers=stored_headers,
        )
    from ibi.adapters.file_tree import FileTree

    return FileTree(settings.root, keep_replaced=settings.keep_replaced)


def shelf_of(settings: ArchiveSettings) -> Shelf:
    """Return what lies in a folder or an object store, key by key."""
    if settings.is_in_objects:
        from ibi.adapters.object_shelf import ObjectShelf
        from ibi.adapters.objects import Objects
        from ibi.web.stored_headers import stored_headers

        objects = Objects(settings.storage, settings.storage_endpoint, settings.storage_region)
        return ObjectShelf(objects, stored_headers)
    from ibi.adapters.folder_shelf import FolderShelf

    return FolderShelf(settings.root)
