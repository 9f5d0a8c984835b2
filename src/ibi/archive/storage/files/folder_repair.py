"""What an audit needs of a tree of files: what lies in it, and to put right what is damaged."""

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
    """Mends the items of a tree; what is half done when it is killed is removed at the start."""

    def __init__(self, name: str, col: Path, staging: Staging) -> None:
        """Mend what lies in `col` by files that came into a staging area of the same disk."""
        self._name = name
        self._col = col
        self._staging = staging

    def keys(self, place: str = "") -> Iterator[str]:
        """Return where each file lies, in the whole tree or at a place: `<place>/doc/<path>`.

        What is no text has backslashes in it, as no file of an item has.
        """
        if not self._col.is_dir():
            raise StorageError(self._name, "its folder 'col' is not there")
        for folder, folders, files in os.walk(self._col / place, onerror=self._vanished):
            folders.sort()
            links = [name for name in folders if (Path(folder) / name).is_symlink()]
            for name in sorted([*files, *links]):
                yield _readable((Path(folder) / name).relative_to(self._col).as_posix())

    def _vanished(self, failure: OSError) -> None:
        """Pass over a folder that somebody has just removed."""
        if not isinstance(failure, (FileNotFoundError, NotADirectoryError)):
            raise storage_error(self._name, failure) from failure

    def mend(self, place: str, file: File, deposit: str) -> None:
        """Put a whole file of a deposit in the place of a damaged one; that is not kept."""
        source = self._staging.files_of(deposit) / file.path
        *folders, name = file.path.split("/")
        within = [*place.split("/"), "doc", *folders]
        with disk_errors(self._name), folder_beneath(self._col, within, make=True) as folder:
            opened = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                # As the catalogue has it: by that a reader is told what the file is.
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
    """Return a name that can be kept and shown, whatever bytes a disk has in it."""
    return os.fsencode(key).decode("utf-8", "backslashreplace")
