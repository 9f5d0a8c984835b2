"""Listing and repair of the files of a folder store, for an audit."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path

from ibi.archive.rules.fixity import MANIFEST
from ibi.archive.storage.files.staging import Staging
from ibi.errors import StorageError
from ibi.foundation.system.disk import disk_errors, write_durably
from ibi.foundation.system.safe_open import folder_beneath, fsync_folder, storage_error
from ibi.model.item import File


class FolderRepair:
    """Repairs items of a folder; leftovers of a killed process are removed at the next start."""

    def __init__(self, name: str, col: Path, staging: Staging) -> None:
        """Repair the items in `col` with files of a staging area on the same disk."""
        self._name = name
        self._col = col
        self._staging = staging

    def keys(self, place: str = "") -> Iterator[str]:
        """Yield the key of each file of a place or of the whole tree, as `<place>/doc/<path>`.

        Names that are not UTF-8 have backslashes, which no file of an item has.
        """
        if not self._col.is_dir():
            raise StorageError(self._name, "its folder 'col' is not there")
        for folder, folders, files in os.walk(self._col / place, onerror=self._vanished):
            folders.sort()
            links = [name for name in folders if (Path(folder) / name).is_symlink()]
            for name in sorted([*files, *links]):
                yield _readable((Path(folder) / name).relative_to(self._col).as_posix())

    def _vanished(self, failure: OSError) -> None:
        """Ignore a folder that was removed meanwhile; raise any other failure."""
        if not isinstance(failure, (FileNotFoundError, NotADirectoryError)):
            raise storage_error(self._name, failure) from failure

    def mend(self, place: str, file: File, deposit: str) -> None:
        """Replace a damaged file, which is not kept, by a complete file of a deposit."""
        source = self._staging.files_of(deposit) / file.path
        *folders, name = file.path.split("/")
        within = [*place.split("/"), "doc", *folders]
        with disk_errors(self._name), folder_beneath(self._col, within, make=True) as folder:
            opened = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                # The time that the catalogue has: responses to readers are made with it.
                os.utime(opened, ns=(file.modified, file.modified))
                os.fsync(opened)
            finally:
                os.close(opened)
            os.rename(source, name, dst_dir_fd=folder)
            os.fsync(folder)

    def mend_manifest(self, place: str, text: bytes) -> None:
        """Replace the damaged manifest of an item."""
        prepared = self._staging.root / f"change-{uuid.uuid4().hex}"
        with (
            disk_errors(self._name),
            folder_beneath(self._col, place.split("/"), make=True) as folder,
        ):
            prepared.mkdir()
            try:
                write_durably(prepared / MANIFEST, text)
                os.rename(prepared / MANIFEST, MANIFEST, dst_dir_fd=folder)
                os.fsync(folder)
            finally:
                shutil.rmtree(prepared)
        fsync_folder(self._staging.root)


def _readable(key: str) -> str:
    """Return a key as text that can be stored and shown, whatever bytes it has on the disk."""
    return os.fsencode(key).decode("utf-8", "backslashreplace")
