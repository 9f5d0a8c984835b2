"""The texts of files in SQL, the items that wait for them, and the index by which they are found.

Readers find nothing here that not every reader may read: a change of an item removes its terms, and
the texts that it no longer has or that became private, in its own transaction.
"""

from __future__ import annotations

import secrets
import zlib
from collections.abc import Mapping, Sequence
from typing import Final

from ibi.archive.ports.full_text import Extracted, FileText, Waiting
from ibi.archive.rules.search.document import RULES
from ibi.archive.rules.search.full_text import full_document, has_public_files
from ibi.archive.storage.catalogue.search_rows import find_record, read_item
from ibi.archive.storage.catalogue.search_text import FILE_TERMS, text_index_of
from ibi.foundation.sql.database import Database, Execute
from ibi.foundation.sql.rows import marks
from ibi.foundation.sql.store import SqlHandle
from ibi.model.item import Item

_TABLES: Final = ("archive_text", "archive_picture")
"""Tables of what was made of the files of an item."""
_PART: Final = 1000
"""Items that begin to wait in one transaction."""
_WHOLE: Final = 2**62
"""The value of `filled` when all items that are older than the index wait or have waited."""


class SqlFullText:
    """Texts of files, stored and found."""

    def __init__(self, handle: SqlHandle) -> None:
        self._database = handle.database
        self._terms = text_index_of(handle.database, FILE_TERMS)
        self._write = handle.write
        self._read = handle.read

    def fill(self) -> bool:
        """Have some items wait that are older than the index; return False if none is left."""
        state = self._read("SELECT rules, filled FROM archive_text_state")
        return state != [(RULES, _WHOLE)] and self._write(self._fill)

    def _fill(self, execute: Execute) -> bool:
        select = f"SELECT rules, filled FROM archive_text_state{self._database.for_update}"  # noqa: S608  # ours
        [(rules, filled)] = execute(select)
        if rules != RULES:
            self._terms.empty(execute)
            filled = 0
        rows = execute(
            "SELECT id FROM archive_item WHERE kind = 'data' AND id > $1 ORDER BY id LIMIT $2",
            filled,
            _PART,
        )
        last = rows[-1][0] if rows else _WHOLE
        if rows:
            execute(
                "INSERT INTO archive_text_queue (item, turn) "
                "SELECT id, CAST($1 AS BIGINT) FROM archive_item "
                "WHERE kind = 'data' AND id > $2 AND id <= $3 "
                "ON CONFLICT (item) DO UPDATE SET turn = excluded.turn",
                _new_turn(),
                filled,
                last,
            )
        execute("UPDATE archive_text_state SET rules = $1, filled = $2", RULES, last)
        return bool(rows)

    def next(self) -> Waiting | None:
        """Return the newest item that waits; None if none does."""
        rows = self._read("SELECT item, turn FROM archive_text_queue ORDER BY item DESC LIMIT 1")
        return Waiting(*rows[0]) if rows else None

    def tried(self, item: int) -> Mapping[str, int]:
        """Return the characters of the text of each file that was tried, by its SHA-256."""
        rows = self._read("SELECT sha256, characters FROM archive_text WHERE item = $1", item)
        return {str(sha256): int(characters) for sha256, characters in rows}

    def keep(self, waiting: Waiting, sha256: str, extracted: Extracted) -> bool:
        """Store what was extracted of a file; return False if the item was changed meanwhile."""

        def work(execute: Execute) -> bool:
            if not is_current(execute, self._database, waiting):
                return False
            execute(
                "INSERT INTO archive_text (item, sha256, outcome, characters, text) "
                "VALUES ($1, $2, $3, $4, $5) ON CONFLICT (item, sha256) DO NOTHING",
                waiting.item,
                sha256,
                extracted.outcome,
                len(extracted.text),
                zlib.compress(extracted.text.encode()),
            )
            return True

        return self._write(work)

    def index(self, waiting: Waiting) -> None:
        """Index the stored texts of an item, which then waits no longer; unless it was changed."""
        item = read_item(self._read, waiting.item)
        document = None
        if item is not None and has_public_files(item):
            texts = [each.text for each in self.texts([waiting.item]).get(waiting.item, [])]
            if texts:
                document = full_document(item, find_record(self._read, item), texts)

        def work(execute: Execute) -> None:
            # Every change of the item or of its description is another turn.
            if is_current(execute, self._database, waiting):
                self._terms.remove(execute, waiting.item)
                if document is not None:
                    self._terms.put(execute, waiting.item, document)
                execute("DELETE FROM archive_text_queue WHERE item = $1", waiting.item)

        self._write(work)

    def texts(self, items: Sequence[int]) -> dict[int, list[FileText]]:
        """Return the texts of the files of items, in the order of their paths."""
        if not items:
            return {}
        rows = self._read(
            "SELECT t.item, (SELECT min(f.path) FROM archive_file f "  # noqa: S608  # numbers
            "WHERE f.item = t.item AND f.sha256 = t.sha256) AS path, t.text FROM archive_text t "
            f"WHERE t.outcome = 'text' AND t.item IN {marks(1, len(items))}",
            *items,
        )
        found: dict[int, list[FileText]] = {}
        for item, path, text in sorted(row for row in rows if row[1] is not None):
            decoded = zlib.decompress(bytes(text)).decode()
            found.setdefault(int(item), []).append(FileText(str(path), decoded))
        return found

    def count_waiting(self) -> int:
        """Return the number of items that wait."""
        [(count,)] = self._read("SELECT count(*) FROM archive_text_queue")
        return int(count)

    def empty(self) -> None:
        """Remove all texts and what was indexed of them; all items wait again from now on."""
        self._write(lambda execute: empty_full_text(execute, self._database))


def is_current(execute: Execute, database: Database, waiting: Waiting) -> bool:
    """Return whether an item was not changed since it began to wait."""
    select = f"SELECT turn FROM archive_text_queue WHERE item = $1{database.for_update}"  # noqa: S608  # ours
    return execute(select, waiting.item) == [(waiting.turn,)]


def _new_turn() -> int:
    return secrets.randbits(62)


def empty_full_text(execute: Execute, database: Database) -> None:
    """Remove all texts, what was indexed of them, and all pictures."""
    for table in ("archive_text", "archive_picture", "archive_text_queue"):
        execute(f"{database.emptying} {table}")
    text_index_of(database, FILE_TERMS).empty(execute)
    execute("UPDATE archive_text_state SET rules = $1, filled = 0", RULES)


def renew_texts(execute: Execute, database: Database, number: int, item: Item) -> None:
    """Remove what was indexed of the files of an item that was changed, and have it wait."""
    text_index_of(database, FILE_TERMS).remove(execute, number)
    if not has_public_files(item):
        remove_texts(execute, number)
        return
    for table in _TABLES:
        execute(
            f"DELETE FROM {table} WHERE item = $1 AND sha256 NOT IN "  # noqa: S608  # ours
            "(SELECT sha256 FROM archive_file WHERE archive_file.item = $2)",
            number,
            number,
        )
    execute(
        "INSERT INTO archive_text_queue (item, turn) VALUES ($1, $2) "
        "ON CONFLICT (item) DO UPDATE SET turn = excluded.turn",
        number,
        _new_turn(),
    )


def remove_texts(execute: Execute, number: int) -> None:
    """Remove the texts and pictures of an item, which no longer waits."""
    for table in _TABLES:
        execute(f"DELETE FROM {table} WHERE item = $1", number)  # noqa: S608  # ours
    execute("DELETE FROM archive_text_queue WHERE item = $1", number)
