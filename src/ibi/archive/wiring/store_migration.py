"""The move of the files of a running archive to another store."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ibi.archive.recovery.store_migration import MARK, Destination, StoreMigration, nothing_moved
from ibi.archive.settings import ARCHIVE_FILE, ArchiveSettings
from ibi.archive.wiring.stores import bulk_files_of, store_of
from ibi.errors import ArchiveRequestError, StateError, shown

if TYPE_CHECKING:
    from ibi.archive.tasks import TaskProgress
    from ibi.archive.wiring.instance import Instance


class StoreMove:
    """Moves the files of one archive."""

    kind = "move-store"

    def __init__(self, instance: Instance) -> None:
        """Move the files of a running archive."""
        self._instance = instance

    def present(self) -> dict[str, str]:
        """Return where the files are."""
        settings = self._instance.settings
        return {
            "storage": settings.storage or str(settings.folder),
            "endpoint": settings.storage_endpoint,
            "region": settings.storage_region,
            "delivery": settings.storage_delivery if settings.is_in_objects else "",
        }

    def wanted(self, storage: str, endpoint: str, region: str) -> ArchiveSettings:
        """Return the settings after a move; raise if the new location cannot be used."""
        found = self._after(storage, endpoint, region)
        if self._is_done(found):
            msg = f"The files are in {shown(storage or str(found.folder))} already."
            raise StateError(msg)
        _check_folder(found)
        return found

    def _after(self, storage: str, endpoint: str, region: str) -> ArchiveSettings:
        from ibi.archive.settings import moved

        return moved(self._instance.settings, storage, endpoint, region)

    def _is_done(self, after: ArchiveSettings) -> bool:
        return _place(after) == _place(self._instance.settings)

    def work(self, progress: TaskProgress) -> None:
        """Move the files, as the work of a task."""
        before = self._instance.settings
        after = self._after(**progress.request)
        if self._is_done(after):
            # The process ended before it could report that, or the move was requested twice.
            progress.report(result={**nothing_moved(_place(after)[0]), **progress.result})
            return
        _check_folder(after)
        store = store_of(after)
        target = bulk_files_of(after)

        def enter() -> None:
            _keep(after)
            self._instance.on_move()
            self._instance.settings = after
            self._instance.store.exchange(store)

        StoreMigration(
            self._instance.archive,
            self._instance.store,
            bulk_files_of(before),
            Destination(target, lambda: (place for place, _ in store.manifests()), enter),
            str(self._instance.service().label),
            progress,
        ).run()


def _place(settings: ArchiveSettings) -> tuple[str, str]:
    """Return the storage and the endpoint, which identify a store."""
    if settings.is_in_objects:
        return settings.storage.rstrip("/"), settings.storage_endpoint.rstrip("/")
    return str(settings.root.resolve()), ""


def _check_folder(settings: ArchiveSettings) -> None:
    """Raise unless the new folder exists and is empty, so that a typing error moves nothing."""
    root = settings.root
    if settings.is_in_objects:
        return
    if not root.is_dir():
        msg = f"There is no folder {shown(str(root))}: make it first, empty."
        raise ArchiveRequestError(msg)
    # Empty folders are allowed: a move that was killed early leaves some.
    if (
        root != settings.folder
        and not (root / MARK).exists()
        and any(not each.is_dir() for each in root.rglob("*"))
    ):
        msg = f"The folder {shown(str(root))} is not empty."
        raise StateError(msg)


def _keep(settings: ArchiveSettings) -> None:
    """Write the location of the files into the settings, atomically and durably."""
    from ibi.archive.settings import rewritten
    from ibi.foundation.system.disk import disk_errors
    from ibi.foundation.system.safe_open import rename_durably

    path = settings.folder / ARCHIVE_FILE
    new = path.with_suffix(".new")
    with disk_errors(str(path)):
        text = rewritten(path.read_text(encoding="utf-8"), settings)
        # Readable by its owner alone: it may contain the password of a database.
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(descriptor)
        rename_durably(new, path)
