"""The search index in SQL: written in the transaction of each change, and filled in parts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from itertools import chain
from typing import Final, NamedTuple

import msgspec

from ibi.archive.ports.search import FACETS, Clause, Facet, FacetCount, Hit, Order, SearchDocument
from ibi.archive.rules.manifest import read_document
from ibi.archive.rules.search.document import RULES, document_of, is_searched
from ibi.archive.rules.search.terms import place_of
from ibi.archive.storage.catalogue.full_text import remove_texts, renew_texts
from ibi.archive.storage.catalogue.search_rows import find_item, find_record
from ibi.archive.storage.catalogue.search_text import FILE_TERMS, TextIndex, text_index_of
from ibi.errors import SearchTimeoutError
from ibi.foundation.sql.database import Database, Execute
from ibi.foundation.sql.rows import marks, storable
from ibi.foundation.sql.store import SqlHandle
from ibi.model.item import Item
from ibi.model.label_pair import Forms

SECONDS: Final = 3.0
"""The longest time of one search in the database."""
_PART: Final = 50
"""Items that are indexed in one transaction, which blocks all other writers."""
_WHOLE: Final = 2**62
"""The value of `filled` when all items that are older than the index have been indexed."""
_ENCODE: Final = msgspec.json.Encoder().encode
_DECODE: Final = msgspec.json.Decoder(dict[Facet, tuple[str, ...]]).decode


class _Way(NamedTuple):
    """The order of the numbers of items, and the part of them that is wanted."""

    direction: str
    side: str
    """The side of the bound on which the items lie."""
    bound: int


def _way(order: Order, after: int) -> _Way:
    if order == "oldest":
        return _Way("ASC", ">", after)
    return _Way("DESC", "<", after or _WHOLE)


class SqlSearchIndex:
    """Finds items by their terms."""

    def __init__(self, handle: SqlHandle) -> None:
        self._database = handle.database
        self._text = text_index_of(handle.database)
        self._files = text_index_of(handle.database, FILE_TERMS)
        self._write = handle.write
        self._read = handle.read
        self._read_within = handle.read_within

    def find(
        self, clauses: Sequence[Clause], order: Order, limit: int, after: int = 0
    ) -> list[Hit]:
        """Return items that fulfil all clauses; the newest ones, if there are more than `limit`."""
        way = _way(order, after)
        hits = self._found(self._text, clauses, way, limit)
        has_words = any(not clause.is_filter for clause in clauses)
        if has_words and order == "relevance":
            best = self._found(self._text, clauses, way, limit, only_title=True) if hits else []
            hits = _distinct([*best, *hits])
            if len(hits) < limit:
                hits = _distinct([*hits, *self._in_files(clauses, way, limit)])
        elif has_words:
            hits = _distinct([*hits, *self._in_files(clauses, way, limit)])
            hits.sort(key=lambda hit: hit.item, reverse=way.direction == "DESC")
        if order == "title":
            hits = sorted(hits[:limit], key=lambda hit: (not hit.heading, hit.heading, -hit.item))
        return hits[:limit]

    def _in_files(self, clauses: Sequence[Clause], way: _Way, limit: int) -> list[Hit]:
        """Return items that fulfil the clauses by the texts of their files."""
        hits = self._found(self._files, clauses, way, limit)
        return [replace(hit, in_files=True) for hit in hits]

    def _found(
        self,
        text: TextIndex,
        clauses: Sequence[Clause],
        way: _Way,
        limit: int,
        *,
        only_title: bool = False,
    ) -> list[Hit]:
        if clauses:
            select = text.select(way.direction, way.side)
            query = text.query(clauses, only_title=only_title)
            values: tuple[object, ...] = (query, way.bound, limit)
        else:
            select = (
                "SELECT item, heading, facets FROM archive_search "  # noqa: S608  # our own words
                f"WHERE item {way.side} $1 ORDER BY item {way.direction} LIMIT $2"
            )
            values = (way.bound, limit)
        try:
            rows = self._read_within(SECONDS, select, *values)
        except TimeoutError:
            raise SearchTimeoutError(SECONDS) from None
        return [Hit(item, _DECODE(facets), heading) for item, heading, facets in rows]

    def values(self, facet: Facet, after: str, limit: int, *, last_first: bool) -> list[FacetCount]:
        """Return the values of a facet after another, in their order or in the reverse one."""
        side, way = ("<", "DESC") if last_first else (">", "ASC")
        select = "SELECT value, count FROM archive_facet WHERE facet = $1"
        order = f"ORDER BY place {way}, value {way} LIMIT"
        if after:
            further = f"{select} AND (place, value) {side} ($2, $3) {order} $4"
            rows = self._read(further, facet, place_of(after), storable(after), limit)
        else:
            rows = self._read(f"{select} {order} $2", facet, limit)
        return [FacetCount(*row) for row in rows]

    def count_values(self, facet: Facet) -> int:
        """Return the number of different values of a facet."""
        [(count,)] = self._read("SELECT count(*) FROM archive_facet WHERE facet = $1", facet)
        return int(count)

    def counts(self, facet: Facet, values: Sequence[str]) -> dict[str, int]:
        """Return the number of items that have each value."""
        keys = [(facet, place_of(value), storable(value)) for value in dict.fromkeys(values)]
        if not keys:
            return {}
        select = "SELECT value, count FROM archive_facet WHERE (facet, place, value) IN"
        rows = self._read(f"{select} (VALUES {marks(len(keys), 3)})", *chain.from_iterable(keys))
        return {str(value): int(count) for value, count in rows}

    def is_whole(self) -> bool:
        """Return whether all items are in the index."""
        return self._read("SELECT rules, filled FROM archive_search_state") == [(RULES, _WHOLE)]

    def fill(self) -> bool:
        """Index some items that are older than the index; return False if none is left."""
        return not self.is_whole() and self._write(self._fill)

    def _fill(self, execute: Execute) -> bool:
        select = f"SELECT rules, filled FROM archive_search_state{self._database.for_update}"  # noqa: S608  # ours
        [(rules, filled)] = execute(select)
        if rules != RULES:
            empty_search(execute, self._database)
            filled = 0
        rows = execute(
            "SELECT id, document FROM archive_item WHERE kind = 'data' AND id > $1 "
            "ORDER BY id LIMIT $2",
            filled,
            _PART,
        )
        for number, text in rows:
            _index(execute, self._text, number, read_document(text))
        place = rows[-1][0] if rows else _WHOLE
        execute("UPDATE archive_search_state SET filled = $1", place)
        return bool(rows)


def _distinct(hits: Sequence[Hit]) -> list[Hit]:
    """Return the first hit of each item."""
    found: dict[int, Hit] = {}
    for hit in hits:
        found.setdefault(hit.item, hit)
    return [*found.values()]


def empty_search(execute: Execute, database: Database) -> None:
    """Empty the index, to be filled anew."""
    for table in ("archive_search", "archive_facet"):
        execute(f"{database.emptying} {table}")
    text_index_of(database).empty(execute)
    execute("UPDATE archive_search_state SET rules = $1, filled = 0", RULES)


def index_items(execute: Execute, database: Database, items: Iterable[Item]) -> None:
    """Index items that were written, or the items that they describe."""
    text = text_index_of(database)
    subjects: dict[str, Forms] = {}
    for item in items:
        forms = item.forms if item.kind == "data" else item.describes
        if forms is not None:
            subjects[forms.label.canonical] = forms
    for forms in subjects.values():
        found = find_item(execute, forms)
        if found is not None and found[1].kind == "data":
            _index(execute, text, *found)
            renew_texts(execute, database, *found)


def remove_from_search(execute: Execute, database: Database, number: int) -> None:
    """Remove an item from the index."""
    _remove(execute, text_index_of(database), number)
    text_index_of(database, FILE_TERMS).remove(execute, number)
    remove_texts(execute, number)


def _index(execute: Execute, text: TextIndex, number: int, item: Item) -> None:
    if not is_searched(item):
        _remove(execute, text, number)
        return
    document = document_of(item, find_record(execute, item))
    digest = _digest(document)
    known = execute("SELECT digest, facets FROM archive_search WHERE item = $1", number)
    if known and bytes(known[0][0]) == digest:
        return
    text.remove(execute, number)
    text.put(execute, number, document)
    execute(
        "INSERT INTO archive_search (item, heading, facets, digest) VALUES ($1, $2, $3, $4) "
        "ON CONFLICT (item) DO UPDATE SET heading = excluded.heading, facets = excluded.facets, "
        "digest = excluded.digest",
        number,
        document.heading,
        _ENCODE(document.facets).decode(),
        digest,
    )
    _count(execute, _DECODE(known[0][1]) if known else {}, document.facets)


def _digest(document: SearchDocument) -> bytes:
    return blake2b(_ENCODE(msgspec.to_builtins(document)), digest_size=16).digest()


def _remove(execute: Execute, text: TextIndex, number: int) -> None:
    known = execute("DELETE FROM archive_search WHERE item = $1 RETURNING facets", number)
    if known:
        text.remove(execute, number)
        _count(execute, _DECODE(known[0][0]), {})


def _count(
    execute: Execute,
    before: Mapping[Facet, tuple[str, ...]],
    after: Mapping[Facet, tuple[str, ...]],
) -> None:
    """Count an item under its values, and no longer under those that it had before."""
    for facet in FACETS:
        old, new = {*before.get(facet, ())}, {*after.get(facet, ())}
        # In one order: two transactions that lock the same rows would wait for each other.
        for value in sorted(old ^ new):
            _change_count(execute, facet, value, 1 if value in new else -1)


def _change_count(execute: Execute, facet: Facet, value: str, change: int) -> None:
    key: tuple[str, str, str] = (facet, place_of(value), value)
    execute(
        "INSERT INTO archive_facet (facet, place, value, count) VALUES ($1, $2, $3, $4) "
        "ON CONFLICT (facet, place, value) "
        "DO UPDATE SET count = archive_facet.count + excluded.count",
        *key,
        change,
    )
    if change < 0:
        execute(
            "DELETE FROM archive_facet WHERE facet = $1 AND place = $2 AND value = $3 "
            "AND count <= 0",
            *key,
        )
