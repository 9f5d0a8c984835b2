"""Pictures of files in SQL; they are removed with the texts of files, by the same transactions."""

from __future__ import annotations

from ibi.archive.ports.full_text import Waiting
from ibi.archive.storage.catalogue.full_text import is_current
from ibi.foundation.sql.database import Execute
from ibi.foundation.sql.store import SqlHandle


class SqlPictures:
    """Pictures, each of the content of a file of an item."""

    def __init__(self, handle: SqlHandle) -> None:
        self._database = handle.database
        self._write = handle.write
        self._read = handle.read

    def tried(self, item: int) -> frozenset[str]:
        """Return the SHA-256 of each file of an item of which a picture was made, or tried."""
        rows = self._read("SELECT sha256 FROM archive_picture WHERE item = $1", item)
        return frozenset(str(sha256) for (sha256,) in rows)

    def keep(self, waiting: Waiting, sha256: str, image: bytes) -> bool:
        """Store a picture, empty if there can be none; return False if the item was changed."""

        def work(execute: Execute) -> bool:
            if not is_current(execute, self._database, waiting):
                return False
            execute(
                "INSERT INTO archive_picture (item, sha256, image) VALUES ($1, $2, $3) "
                "ON CONFLICT (item, sha256) DO NOTHING",
                waiting.item,
                sha256,
                image,
            )
            return True

        return self._write(work)

    def made(self, item: int) -> frozenset[str]:
        """Return the SHA-256 of each file of an item that has a picture."""
        rows = self._read(
            "SELECT sha256 FROM archive_picture WHERE item = $1 AND length(image) > 0", item
        )
        return frozenset(str(sha256) for (sha256,) in rows)

    def find(self, item: int, sha256: str) -> bytes:
        """Return the picture of a file; empty if there is none."""
        rows = self._read(
            "SELECT image FROM archive_picture WHERE item = $1 AND sha256 = $2", item, sha256
        )
        return bytes(rows[0][0]) if rows else b""
