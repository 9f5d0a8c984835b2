"""The entries of the manifests of a bag, in a table on the disk: there may be millions."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import apsw

from ibi.archive.rules import bagit
from ibi.errors import BagError

_TABLE: Final = """
CREATE TABLE payload (
    path TEXT PRIMARY KEY,
    folded TEXT NOT NULL UNIQUE,
    sha256 TEXT NOT NULL,
    sha512 TEXT NOT NULL DEFAULT '',
    size INTEGER NOT NULL DEFAULT -1,
    claimed INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID
"""


@dataclass(frozen=True, slots=True)
class Listed:
    """A file as the manifests list it; its size is -1 before the file itself is found."""

    sha256: str
    sha512: str
    size: int


class BagIndex:
    """The files of one payload; not safe for several threads."""

    def __init__(self) -> None:
        """Create an empty temporary table, which `close` removes."""
        self._connection = apsw.Connection("")  # without a name: a private temporary file
        self._connection.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")
        self._connection.execute("PRAGMA temp_store = FILE; PRAGMA cache_size = -16000; BEGIN")
        self._connection.execute(_TABLE)

    def list_first(self, checksum: str, path: str) -> None:
        """Add a line of the first manifest; raise BagError if a path differs only in case."""
        folded = unicodedata.normalize("NFC", unicodedata.normalize("NFD", path).casefold())
        insert = "INSERT INTO payload (path, folded, sha256) VALUES (?, ?, ?)"
        try:
            self._connection.execute(insert, (path, folded, checksum))
        except apsw.ConstraintError:
            raise BagError(
                f"{bagit.named(path)} is listed twice, or differs only in case"
            ) from None

    def list_second(self, checksum: str, path: str) -> None:
        """Add a line of the second manifest, which must list the same files."""
        update = "UPDATE payload SET sha512 = ? WHERE path = ? AND sha512 = ''"
        self._connection.execute(update, (checksum, path))
        if self._connection.changes() != 1:
            raise BagError(f"{bagit.named(path)} is not in both manifests, or twice in one")

    def find(self, path: str) -> Listed | None:
        """Return a listed file; None if there is none."""
        select = "SELECT sha256, sha512, size FROM payload WHERE path = ?"
        for row in self._connection.execute(select, (path,)):
            return Listed(*row)
        return None

    def see(self, path: str, size: int) -> None:
        """Record that a file was found with the right checksums."""
        self._connection.execute("UPDATE payload SET size = ? WHERE path = ?", (size, path))

    def claim(self, path: str) -> bool:
        """Record that a file belongs to an item; return False if it belongs to another one."""
        update = "UPDATE payload SET claimed = 1 WHERE path = ? AND claimed = 0"
        self._connection.execute(update, (path,))
        return self._connection.changes() == 1

    def unlisted_in_second(self) -> str:
        """Return a file that only the first manifest lists; empty if there is none."""
        return self._first("SELECT path FROM payload WHERE sha512 = ''")

    def unseen(self) -> str:
        """Return a file that is listed but was not found; empty if there is none."""
        return self._first("SELECT path FROM payload WHERE size < 0")

    def unclaimed(self) -> str:
        """Return a file that belongs to no item; empty if there is none."""
        return self._first("SELECT path FROM payload WHERE claimed = 0")

    def _first(self, select: str) -> str:
        rows: Iterable[tuple[str]] = self._connection.execute(f"{select} LIMIT 1")
        return next((path for (path,) in rows), "")

    def paths_like(self, ending: str) -> Iterator[str]:
        """Yield the paths with an ending, in order; the table may be changed meanwhile."""
        after = ""
        select = (
            "SELECT path FROM payload WHERE path > ? AND substr(path, -?) = ? "
            "ORDER BY path LIMIT 1000"
        )
        while page := list(self._connection.execute(select, (after, len(ending), ending))):
            yield from (path for (path,) in page)
            [after] = page[-1]

    def total(self) -> tuple[int, int]:
        """Return the number of bytes and of files."""
        rows = self._connection.execute("SELECT coalesce(sum(size), 0), count(*) FROM payload")
        [(size, count)] = rows
        return int(size), int(count)

    def close(self) -> None:
        """Remove the table."""
        self._connection.close()
