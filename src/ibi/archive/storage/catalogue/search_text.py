"""Terms of items in an index for full text: FTS5 of SQLite, tsvector of PostgreSQL.

Both store the terms that they are given, and divide, fold and stem nothing. Terms have letters,
digits and the signs `=`, `~` and `^` only, so that none can be taken for a part of a query.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Protocol

from ibi.archive.ports.search import Clause, Match, SearchDocument
from ibi.foundation.sql.database import Database, Execute

TERMS: Final = "archive_search_text"
"""The table of the terms of descriptions."""
FILE_TERMS: Final = "archive_file_terms"
"""The table of the terms of descriptions together with the texts of files."""
_COLUMNS: Final = "s.item, s.heading, s.facets"


class TextIndex(Protocol):
    """The statements of one database."""

    def put(self, execute: Execute, item: int, document: SearchDocument) -> None:
        """Insert the terms of an item that has none."""
        ...

    def remove(self, execute: Execute, item: int) -> None:
        """Remove the terms of an item, if there are any."""
        ...

    def empty(self, execute: Execute) -> None:
        """Remove the terms of all items."""
        ...

    def query(self, clauses: Sequence[Clause], *, only_title: bool = False) -> str:
        """Return the query for items that fulfil all clauses; with `only_title`, in the title."""
        ...

    def select(self, direction: str, side: str) -> str:
        """Return the statement for items of a query, $1, on a side of the item $2: at most $3."""
        ...


def text_index_of(database: Database, table: str = TERMS) -> TextIndex:
    """Return the index for full text in a table of a database."""
    return Fts5(table) if database.text_index == "fts5" else Tsvector(table)


class Fts5:
    """FTS5, with a column for the title and one for all other terms."""

    _BREAK: Final = " | "
    """Between two texts: a term that no phrase has."""
    _EVERY: Final = "~"
    """A term of all items: FTS5 has no query for items that lack a term."""

    def __init__(self, table: str) -> None:
        self._table = table

    def put(self, execute: Execute, item: int, document: SearchDocument) -> None:
        """Insert the terms of an item that has none."""
        execute(
            f"INSERT INTO {self._table} (rowid, title, body) VALUES ($1, $2, $3)",  # noqa: S608  # ours
            item,
            self._joined(document.title, document.title_stems),
            self._joined(document.body, (*document.body_stems, *document.marks, self._EVERY)),
        )

    def _joined(self, runs: Iterable[tuple[str, ...]], single: tuple[str, ...]) -> str:
        return self._BREAK.join([*(" ".join(run) for run in runs), " ".join(single)])

    def remove(self, execute: Execute, item: int) -> None:
        """Remove the terms of an item, if there are any."""
        execute(f"DELETE FROM {self._table} WHERE rowid = $1", item)  # noqa: S608  # our own names

    def empty(self, execute: Execute) -> None:
        """Remove the terms of all items, without reading them one by one."""
        execute(f"DROP TABLE {self._table}")
        execute(
            f"CREATE VIRTUAL TABLE {self._table} USING fts5("
            "title, body, prefix = '2 3', tokenize = \"ascii tokenchars '=~|'\")"
        )

    def query(self, clauses: Sequence[Clause], *, only_title: bool = False) -> str:
        """Return the query for items that fulfil all clauses; with `only_title`, in the title."""
        wanted = [
            self._clause(each, only_title=only_title) for each in clauses if not each.is_excluded
        ]
        excluded = [self._clause(each, only_title=False) for each in clauses if each.is_excluded]
        text = " AND ".join(wanted) or f'"{self._EVERY}"'
        return f"({text}) NOT ({' OR '.join(excluded)})" if excluded else text

    def _clause(self, clause: Clause, *, only_title: bool) -> str:
        column = "title : " if only_title and not clause.is_filter else ""
        return f"({column}({' OR '.join(map(self._match, clause.alternatives))}))"

    @staticmethod
    def _match(match: Match) -> str:
        return f'"{" ".join(match.terms)}"' + (" *" if match.is_prefix else "")

    def select(self, direction: str, side: str) -> str:
        """Return the statement for items of a query, $1, on a side of the item $2: at most $3."""
        return (
            f"SELECT {_COLUMNS} FROM {self._table} t JOIN archive_search s "  # noqa: S608
            f"ON s.item = t.rowid WHERE t.{self._table} MATCH $1 "
            f"AND t.rowid {side} $2 ORDER BY t.rowid {direction} LIMIT $3"
        )


class Tsvector:
    """A tsvector, in which the terms of the title stand a second time, behind a sign.

    Weights would do, but the index knows none: each hit of a common word would be read to see
    whether it is in the title.
    """

    _TITLE: Final = "^"
    """The first character of a term of the title."""

    _LAST: Final = 16_383
    """The greatest position, for terms whose place in a text does not matter."""
    _GAP: Final = 2
    """Positions between two texts, so that no phrase lies across both."""
    _ROOM: Final = 1_000_000
    """Octets of the terms of an item; PostgreSQL allows 1,048,575 in a row."""

    def __init__(self, table: str) -> None:
        self._table = table

    def put(self, execute: Execute, item: int, document: SearchDocument) -> None:
        """Insert the terms of an item that has none."""
        execute(
            f"INSERT INTO {self._table} (item, terms) "  # noqa: S608  # our own names
            "VALUES ($1, CAST($2::text AS tsvector))",
            item,
            " ".join(self._bounded(self._terms(document))),
        )

    def _bounded(self, terms: Iterable[str]) -> Iterator[str]:
        """Yield the first terms, as many as fit into a row: a change must not fail for a long text.

        Written out, terms with their positions take more octets than in the row.
        """
        left = self._ROOM
        for term in terms:
            left -= len(term.encode()) + 1
            if left < 0:
                return
            yield term

    def _terms(self, document: SearchDocument) -> Iterator[str]:
        yield from (f"'{mark}':{self._LAST}" for mark in document.marks)
        place = 1
        for signs, runs in ((("", self._TITLE), document.title), (("",), document.body)):
            for run in runs:
                for word in run:
                    yield from (f"'{sign}{word}':{min(place, self._LAST)}" for sign in signs)
                    place += 1
                place += self._GAP
        stems = dict.fromkeys((*document.title_stems, *document.body_stems))
        in_title = (f"{self._TITLE}{stem}" for stem in document.title_stems)
        yield from (f"'{term}':{self._LAST}" for term in (*stems, *in_title))

    def remove(self, execute: Execute, item: int) -> None:
        """Remove the terms of an item, if there are any."""
        execute(f"DELETE FROM {self._table} WHERE item = $1", item)  # noqa: S608  # our own names

    def empty(self, execute: Execute) -> None:
        """Remove the terms of all items."""
        execute(f"TRUNCATE {self._table}")

    def query(self, clauses: Sequence[Clause], *, only_title: bool = False) -> str:
        """Return the query for items that fulfil all clauses; with `only_title`, in the title."""
        return " & ".join(self._clause(each, only_title=only_title) for each in clauses)

    def _clause(self, clause: Clause, *, only_title: bool) -> str:
        in_title = only_title and not (clause.is_filter or clause.is_excluded)
        sign = self._TITLE if in_title else ""
        matches = " | ".join(self._match(each, sign) for each in clause.alternatives)
        return f"{'!' if clause.is_excluded else ''}({matches})"

    @staticmethod
    def _match(match: Match, sign: str) -> str:
        terms = " <-> ".join(f"'{sign}{term}'" for term in match.terms)
        return f"({terms}{':*' if match.is_prefix else ''})"

    def select(self, direction: str, side: str) -> str:
        """Return the statement for items of a query, $1, on a side of the item $2: at most $3."""
        # Sorted and cut before other columns are read, and these one by one: the planner would
        # rather read a whole table of a million rows than find two thousand of them.
        return (
            f"SELECT {_COLUMNS} FROM (SELECT item FROM {self._table} "  # noqa: S608  # ours
            f"WHERE terms @@ CAST($1::text AS tsquery) AND item {side} $2 "
            f"ORDER BY item {direction} LIMIT $3) t CROSS JOIN LATERAL "
            "(SELECT item, heading, facets FROM archive_search WHERE item = t.item LIMIT 1) s "
            f"ORDER BY s.item {direction}"
        )
