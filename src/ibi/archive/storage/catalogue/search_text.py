"""Terms of items in an index for full text: FTS5 of SQLite, tsvector of PostgreSQL.

Both store the terms that they are given, and divide, fold and stem nothing. Terms have letters,
digits and the signs `=`, `~` and `^` only, so that none can be taken for a part of a query.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final, Protocol
from zlib import crc32

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
    """A tsvector, whose terms begin with the number of the item's section.

    A GIN index gives all items of a term at once, in no order. By sections of items that follow
    each other, a search reads the newest ones first, and no more of them than it needs.

    Weights and positions are not in the index either: each item with two common words would be read
    to compare them. So the terms of the title stand a second time, behind a sign; and two words
    that follow each other have a term, which leaves few items to be compared.
    """

    SECTION_BITS: Final = 13
    """A section has 8,192 numbers of items, half of which are of descriptions: enough that the
    newest one often has all hits that are wanted, and few enough to be sorted at once."""
    _SECTION: Final = "#"
    """The place of the number of the section in a query."""
    _TITLE: Final = "^"
    """The first character of a term of the title."""
    _PAIR: Final = "+"
    """The first character of a term for two words that follow each other."""
    _PAIRS: Final = 4096
    """Different terms for two words: with one for each two, a hundred thousand items had an index
    of 565 MB, and a tenth of that before there were sections."""
    _EVERY: Final = "~"
    """A term of all items: what a search excludes is taken from these."""

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
        section = f"{item >> self.SECTION_BITS}/"
        terms = (f"'{section}{term}':{place}" for term, place in self._terms(document))
        execute(
            f"INSERT INTO {self._table} (item, terms) "  # noqa: S608  # our own names
            "VALUES ($1, CAST($2::text AS tsvector))",
            item,
            " ".join(self._bounded(terms)),
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

    def _terms(self, document: SearchDocument) -> Iterator[tuple[str, int]]:
        """Yield terms with their places; first those that other terms are useless without."""
        runs = [*self._placed(document)]
        pairs = (
            f"{sign}{pair}" for signs, _, run in runs for sign in signs for pair in self._pairs(run)
        )
        single = dict.fromkeys((self._EVERY, *document.marks, *pairs))
        stems = dict.fromkeys((*document.title_stems, *document.body_stems))
        in_title = (f"{self._TITLE}{stem}" for stem in document.title_stems)
        yield from ((term, self._LAST) for term in single)
        for signs, place, run in runs:
            for number, word in enumerate(run, place):
                yield from ((f"{sign}{word}", min(number, self._LAST)) for sign in signs)
        yield from ((term, self._LAST) for term in (*stems, *in_title))

    def _placed(
        self, document: SearchDocument
    ) -> Iterator[tuple[tuple[str, ...], int, tuple[str, ...]]]:
        """Yield the runs of words, each with the signs of its terms and its first position."""
        place = 1
        for signs, runs in ((("", self._TITLE), document.title), (("",), document.body)):
            for run in runs:
                yield signs, place, run
                place += len(run) + self._GAP

    def _pairs(self, words: Sequence[str]) -> Iterator[str]:
        for first, second in pairwise(words):
            yield f"{self._PAIR}{crc32(f'{first} {second}'.encode()) % self._PAIRS:x}"

    def remove(self, execute: Execute, item: int) -> None:
        """Remove the terms of an item, if there are any."""
        execute(f"DELETE FROM {self._table} WHERE item = $1", item)  # noqa: S608  # our own names

    def empty(self, execute: Execute) -> None:
        """Remove the terms of all items."""
        execute(f"TRUNCATE {self._table}")

    def query(self, clauses: Sequence[Clause], *, only_title: bool = False) -> str:
        """Return the query for items that fulfil all clauses; with `only_title`, in the title."""
        parts = [self._clause(each, only_title=only_title) for each in clauses]
        if all(each.is_excluded for each in clauses):
            parts.insert(0, f"'{self._SECTION}/{self._EVERY}'")
        return " & ".join(parts)

    def _clause(self, clause: Clause, *, only_title: bool) -> str:
        in_title = only_title and not (clause.is_filter or clause.is_excluded)
        sign = self._TITLE if in_title else ""
        matches = " | ".join(self._match(each, sign) for each in clause.alternatives)
        return f"{'!' if clause.is_excluded else ''}({matches})"

    def _match(self, match: Match, sign: str) -> str:
        whole = match.terms[:-1] if match.is_prefix else match.terms
        pairs, words = (
            [f"'{self._SECTION}/{sign}{term}'" for term in terms]
            for terms in (self._pairs(whole), match.terms)
        )
        phrase = f"{' <-> '.join(words)}{':*' if match.is_prefix else ''}"
        return f"({' & '.join([*pairs, f'({phrase})'])})"

    def select(self, direction: str, side: str) -> str:
        """Return the statement for items of a query, $1, on a side of the item $2: at most $3."""
        # The sections are searched one after the other until there are enough items: an order
        # that begins with the section is sorted section by section. Other columns are read after
        # that, and one by one: the planner would rather read a whole table of a million rows than
        # find two thousand of them.
        newest, oldest = (
            f"(SELECT {edge}(item) >> {self.SECTION_BITS} FROM {self._table} "  # noqa: S608  # ours
            f"WHERE item {side} $2)"
            for edge in ("max", "min")
        )
        first, last, step = (newest, oldest, -1) if direction == "DESC" else (oldest, newest, 1)
        return (
            f"SELECT {_COLUMNS} FROM (SELECT t.item FROM (SELECT section "  # noqa: S608  # ours
            f"FROM generate_series({first}, {last}, {step}) section "
            f"ORDER BY section {direction}) n CROSS JOIN LATERAL (SELECT item FROM {self._table} "
            f"WHERE terms @@ CAST(replace($1::text, '{self._SECTION}', n.section::text) "
            f"AS tsquery) AND item {side} $2 ORDER BY item {direction} LIMIT $3) t "
            f"ORDER BY n.section {direction}, t.item {direction} LIMIT $3) t CROSS JOIN LATERAL "
            "(SELECT item, heading, facets FROM archive_search WHERE item = t.item LIMIT 1) s "
            f"ORDER BY s.item {direction}"
        )
