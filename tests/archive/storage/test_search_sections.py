"""A search on PostgreSQL reads the newest sections of the index first, and only those it needs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from ibi.archive.rules.search.query import SearchQuery
from ibi.archive.storage.catalogue.search_text import TERMS, Tsvector
from ibi.archive.storage.migrations import ARCHIVE_MIGRATIONS
from ibi.foundation.sql.database import Execute
from ibi.foundation.sql.postgres import Postgres
from ibi.foundation.sql.upgrade import upgrade
from tests.support.scenes.catalogue import schema
from tests.support.servers.postgres import PostgresServer

BITS = 3
"""Sections of the test have eight numbers, four of which are items."""
SECTIONS = 30


@pytest.fixture
def database(postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Postgres]:
    """A catalogue with items in many sections, all of which have a common word."""
    monkeypatch.setattr(Tsvector, "SECTION_BITS", BITS)
    url = schema(postgres)
    upgrade(url, ARCHIVE_MIGRATIONS, postgresql=True)
    database = Postgres(url)

    def fill(execute: Execute) -> None:
        execute(
            f"INSERT INTO {TERMS} (item, terms) "  # noqa: S608  # our own names
            f"SELECT item, CAST(format('%s/common', item >> {BITS}) AS tsvector) "
            f"FROM generate_series(0, {(SECTIONS << BITS) - 1}, 2) AS item"
        )
        execute(
            "INSERT INTO archive_search (item, heading, facets, digest) "  # noqa: S608  # ours
            f"SELECT item, '', '{{}}', '' FROM {TERMS}"
        )
        execute(f"ANALYZE {TERMS}")

    database.transaction(fill)
    yield database
    database.close()


@pytest.mark.parametrize(
    ("direction", "side", "bound", "sections"),
    [("DESC", "<", 2**62, SECTIONS), ("ASC", ">", -1, SECTIONS), ("DESC", "<", 5 << BITS, 5)],
)
def test_the_sections_that_are_needed_are_read(
    database: Postgres, direction: str, side: str, bound: int, sections: int
) -> None:
    def read(word: str) -> int:
        index = Tsvector(TERMS)
        query = index.query(SearchQuery(text=word).clauses)
        explain = f"EXPLAIN (ANALYZE, FORMAT JSON) {index.select(direction, side)}"
        [(plan,)] = database.read_within(5.0, explain, query, bound, 6)
        return _loops(json.loads(plan)[0]["Plan"])

    # Six items are in two sections; the sort reads a third one, to know where the second ends.
    assert read("common") == 3
    assert read("absent") == sections


def _loops(plan: dict[str, Any]) -> int:
    """Return how often the table of terms was read."""
    here = int(plan["Actual Loops"]) if plan.get("Relation Name") == TERMS else 0
    return max([here, *map(_loops, plan.get("Plans", []))])
