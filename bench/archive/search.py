"""Searches in archives of ten thousand and of a million items, on both databases, over HTTP.

Both archives run at the same time on one core, and are asked in turn by the same clients on the
other.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Final
from urllib.parse import urlencode

import apsw
import asyncpg

from bench.archive import item_rows
from bench.archive import load as archive_load
from bench.archive.load import ArchiveServer
from bench.archive.search_clients import CLIENTS
from bench.archive.search_rows import FACET, SEARCH, SEED, STATE, WORDS, Row, SearchRows
from bench.support.goals import at_most
from bench.support.plots import bars
from ibi.archive.storage.catalogue.search_text import TERMS, Fts5, Tsvector
from tests.support.servers.postgres import PostgresServer

SIZES: Final = (10_000, int(os.environ.get("BENCH_SEARCH_ITEMS", "1_000_000")))
"""The variable is for a quick try."""
ROUNDS: Final = 3
REQUESTS: Final = 50
"""Searches of each kind in one round, all of them different where the kind allows."""
MOST: Final = 3.0
"""Times that a 99th percentile may be with many items what it is with few."""
_PART: Final = 5_000
"""Rows that are written at once."""
KINDS: Final = (
    "rare word",
    "common word",
    "two words",
    "phrase",
    "beginning",
    "facet and word",
    "no hit",
)
_SERVER_SETTINGS: Final = {"shared_buffers": "512MB", "maintenance_work_mem": "512MB"}


def on_sqlite() -> list[str]:
    """Search archives on SQLite."""
    with tempfile.TemporaryDirectory() as folder:
        made = [_on_sqlite(Path(folder, str(items)), items) for items in SIZES]
        return _compared("search-sqlite", made)


def on_postgresql() -> list[str]:
    """Search archives on PostgreSQL."""
    with tempfile.TemporaryDirectory() as folder, PostgresServer() as server:
        asyncio.run(_configure(server.url))
        server.stop()
        server.start()
        made = [
            _on_postgresql(Path(folder, str(items)), items, server.database()) for items in SIZES
        ]
        return _compared("search-postgresql", made)


def _parts(rows: SearchRows) -> Iterator[list[Row]]:
    left = iter(rows)
    while part := list(islice(left, _PART)):
        yield part


def _said(_: int) -> None:
    """Say nothing: the rows of the index take longer."""


def _on_sqlite(folder: Path, items: int) -> tuple[Path, int, str]:
    service = archive_load.make(folder)
    connection = apsw.Connection(str(folder / "catalogue.sqlite"))
    # What is lost by a crash here is filled again.
    connection.execute("PRAGMA journal_mode = OFF")
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("PRAGMA cache_size = -400000")
    connection.execute("BEGIN")
    item_rows.ON_SQLITE.fill(connection.execute, items, _said)
    rows, index = SearchRows(items), Fts5(TERMS)

    def execute(sql: str, *values: object) -> list[tuple[object, ...]]:
        return list(connection.execute(sql, values))

    for part in _parts(rows):
        for row in part:
            index.put(execute, row.item, row.document)
            execute(SEARCH, row.item, row.document.heading, row.facets, row.digest)
        _report((part[-1].item - 8) // 2, items)
    connection.executemany(FACET, rows.facet_rows())
    for statement in STATE:
        connection.execute(statement)
    connection.execute("COMMIT")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.close()
    return folder, items, service


def _report(done: int, items: int) -> None:
    if not done % 100_000:
        sys.stderr.write(f"  {done:,} of {items:,} items ...\n")


async def _configure(url: str) -> None:
    connection = await asyncpg.connect(url)
    for name, value in _SERVER_SETTINGS.items():
        await connection.execute(f"ALTER SYSTEM SET {name} = '{value}'")
    await connection.close()


def _on_postgresql(folder: Path, items: int, url: str) -> tuple[Path, int, str]:
    service = archive_load.make(folder, url)
    asyncio.run(_fill(url, items))
    return folder, items, service


async def _fill(url: str, items: int) -> None:
    connection = await asyncpg.connect(url)
    for table in (*item_rows.TABLES, "archive_search", TERMS):  # lost by a crash, filled again
        await connection.execute(f"ALTER TABLE {table} SET UNLOGGED")
    [(gin,)] = await connection.fetch(
        "SELECT indexdef FROM pg_indexes WHERE indexname = 'archive_search_text_terms'"
    )
    await connection.execute("DROP INDEX archive_search_text_terms")
    for statement in item_rows.ON_POSTGRESQL.statements(items, _said):
        await connection.execute(statement)
    rows, index = SearchRows(items), Tsvector(TERMS)
    for part in _parts(rows):
        written: list[tuple[str, tuple[object, ...]]] = []

        def note(sql: str, *values: object) -> list[tuple[object, ...]]:
            written.append((sql, values))  # noqa: B023  # called at once
            return []

        for row in part:
            index.put(note, row.item, row.document)
        await connection.executemany(written[0][0], [values for _, values in written])
        await connection.executemany(
            SEARCH, [(row.item, row.document.heading, row.facets, row.digest) for row in part]
        )
        _report((part[-1].item - 8) // 2, items)
    await connection.executemany(FACET, rows.facet_rows())
    for statement in (*STATE, gin, "VACUUM ANALYZE"):
        await connection.execute(statement)
    await connection.close()


# --- what is asked --------------------------------------------------------------------------------


def targets(kind: str, rows: SearchRows, titles: Sequence[Sequence[str]]) -> list[str]:
    """Return different searches of a kind, the same every time."""
    chance = random.Random(f"{SEED} {kind}")  # noqa: S311  # the same every time

    def word(first: int, last: int) -> str:
        return rows.words[chance.randrange(first, last)]

    found = []
    for _ in range(REQUESTS):
        match kind:
            case "rare word":
                pairs = {"q": word(WORDS // 2, WORDS)}
            case "common word":
                pairs = {"q": word(0, 50)}
            case "two words":
                pairs = {"q": f"{word(20, 500)} {word(20, 500)}"}
            case "phrase":
                title = chance.choice(titles)
                start = chance.randrange(len(title) - 1)
                pairs = {"q": f'"{title[start]} {title[start + 1]}"'}
            case "beginning":
                pairs = {"q": f"{word(100, 5_000)[:4]}*"}
            case "facet and word":
                pairs = {"q": word(20, 500), "year": str(chance.randrange(1990, 2026))}
            case _:
                pairs = {"q": f"{word(0, 50)} {word(0, 50)}xq"}
        found.append(f"/api/v1/search?{urlencode(pairs)}")
    return found


def asked(server: ArchiveServer, searches: Sequence[str], core: int) -> list[float]:
    """Have clients ask, from another core; return how long each search took, in milliseconds."""
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "bench.archive.search_clients", server.address, str(core)],
        input="\n".join(searches),
        check=True,
        capture_output=True,
        text=True,
    )
    return [1e3 * float(each) for each in json.loads(done.stdout)]


# --- what is told ---------------------------------------------------------------------------------


def _compared(plot: str, made: Sequence[tuple[Path, int, str]]) -> list[str]:
    cores = sorted(os.sched_getaffinity(0))
    took: dict[tuple[int, str], list[list[float]]] = {}
    rows = SearchRows(SIZES[0])
    titles = [row.document.title[0] for row in islice(rows, 2_000)]
    searches = {kind: targets(kind, rows, titles) for kind in KINDS}
    with ExitStack() as stack:
        servers = [stack.enter_context(archive_load.running(*each, cores[0])) for each in made]
        for number in range(ROUNDS + 1):
            for kind in KINDS:
                for server in servers:
                    seen = asked(server, searches[kind], cores[-1])
                    if number:  # the first round warms the caches
                        took.setdefault((server.items, kind), []).append(seen)
    return _told(plot, took)


def _p(rounds: Sequence[Sequence[float]], percent: int) -> float:
    """Return the median over the rounds of a percentile."""
    return statistics.median(
        sorted(each)[min(len(each) - 1, len(each) * percent // 100)] for each in rounds
    )


def _told(plot: str, took: dict[tuple[int, str], list[list[float]]]) -> list[str]:
    few, many = SIZES
    lines = [
        f"| search | p50, ms, {few:,} | {many:,} | p99, ms, {few:,} | {many:,} | times |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for kind in KINDS:
        small, large = took[few, kind], took[many, kind]
        lines.append(
            f"| {kind} | {_p(small, 50):.1f} | {_p(large, 50):.1f} | {_p(small, 99):.1f} | "
            f"{_p(large, 99):.1f} | {_p(large, 99) / _p(small, 99):.2f} |"
        )
    mixed = {
        items: [
            [each for kind in KINDS for each in took[items, kind][number]]
            for number in range(ROUNDS)
        ]
        for items in SIZES
    }
    ratio = _p(mixed[many], 99) / _p(mixed[few], 99)
    lines += [
        (
            f"| all of these, mixed | {_p(mixed[few], 50):.1f} | {_p(mixed[many], 50):.1f} | "
            f"{_p(mixed[few], 99):.1f} | {_p(mixed[many], 99):.1f} | {ratio:.2f} |"
        ),
        "",
        bars(
            plot,
            f"99th percentile of a search, {few:,} and {many:,} items",
            "ms",
            KINDS,
            {f"{n:,} items": [_p(took[n, kind], 99) for kind in KINDS] for n in SIZES},
        ),
        "",
        at_most(f"99th percentile of searches in {many:,} items, in times of {few:,}", ratio, MOST),
        "",
        (
            f"`GET /api/v1/search` with facets, {CLIENTS} clients, {REQUESTS} different searches "
            f"of each kind in each of {ROUNDS} interleaved rounds (medians), both servers on one "
            f"core. Items have {WORDS:,} different words by Zipf's law, 8 in the title and 42 "
            "elsewhere, and a year, type, language and one of 10,000 creators. A common word is "
            "one of the 50 most frequent. The rows are written in bulk, by the statements of the "
            "archive."
        ),
    ]
    return lines
