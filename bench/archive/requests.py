"""Archives of few and of very many items: what the questions of resolvers and readers cost.

Both run at the same time on one core, and are asked in turn by the same clients on the other.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import apsw
import asyncpg

from bench.archive import item_rows
from bench.archive import load as archive_load
from bench.archive.load import (
    CONSTANT,
    FILE,
    LAST_METADATA,
    METADATA,
    URL_REQUEST,
    ArchiveServer,
    Load,
)
from bench.support.clients import most_memory
from bench.support.goals import at_most
from bench.support.plots import bars
from tests.support.servers.postgres import PostgresServer

SIZES = (1_000, 1_000_000)
LARGE_SIZES = (10_000, int(os.environ.get("BENCH_ITEMS", "10_000_000")))
"""The variable is for a quick try."""
ROUNDS = 5
MOST = 3.0
"""Times that a 99th percentile may be with many items what it is with few."""
LONGEST_START = 5.0

_SERVER_SETTINGS = {"fsync": "on", "shared_buffers": "1GB", "maintenance_work_mem": "512MB"}


@dataclass(frozen=True)
class _Stock:
    """An archive with its items."""

    folder: Path
    items: int
    service: str
    octets: int
    """That its catalogue takes on the disk."""
    filled: float
    """Seconds that it took to fill."""


def url_requests() -> list[str]:
    """Ask archives of a thousand and of a million items on SQLite."""
    with tempfile.TemporaryDirectory() as folder:
        stocks = [_on_sqlite(Path(folder, str(items)), items) for items in SIZES]
        return _compared("archive-million", stocks, (URL_REQUEST, LAST_METADATA, CONSTANT))


def ten_million_on_sqlite() -> list[str]:
    """Ask archives of ten thousand and of ten million items on SQLite."""
    with tempfile.TemporaryDirectory() as folder:
        stocks = [_on_sqlite(Path(folder, str(items)), items) for items in LARGE_SIZES]
        return _compared(
            "archive-sqlite", stocks, (URL_REQUEST, LAST_METADATA, FILE, METADATA, CONSTANT)
        )


def ten_million_on_postgresql() -> list[str]:
    """Ask the same on PostgreSQL."""
    with tempfile.TemporaryDirectory() as folder, PostgresServer() as server:
        asyncio.run(_configure(server.url))
        server.stop()
        server.start()
        stocks = [
            _on_postgresql(Path(folder, str(items)), items, server.database())
            for items in LARGE_SIZES
        ]
        return _compared(
            "archive-postgresql", stocks, (URL_REQUEST, LAST_METADATA, FILE, METADATA, CONSTANT)
        )


def _said(items: int) -> Callable[[int], None]:
    def said(done: int) -> None:
        if done == items or not done % 1_000_000:
            sys.stderr.write(f"  {done:,} of {items:,} items ...\n")

    return said


def _on_sqlite(folder: Path, items: int) -> _Stock:
    service = archive_load.make(folder)
    started = time.monotonic()
    catalogue = folder / "catalogue.sqlite"
    connection = apsw.Connection(str(catalogue))
    # What is lost by a crash here is filled again.
    connection.execute("PRAGMA journal_mode = OFF")
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("PRAGMA cache_size = -400000")
    connection.execute("BEGIN")
    item_rows.ON_SQLITE.fill(connection.execute, items, _said(items))
    connection.execute("COMMIT")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.close()
    archive_load.put_files(folder, items)
    filled = time.monotonic() - started
    return _Stock(folder, items, service, catalogue.stat().st_size, filled)


async def _configure(url: str) -> None:
    connection = await asyncpg.connect(url)
    for name, value in _SERVER_SETTINGS.items():
        await connection.execute(f"ALTER SYSTEM SET {name} = '{value}'")
    await connection.close()


def _on_postgresql(folder: Path, items: int, url: str) -> _Stock:
    service = archive_load.make(folder, url)
    started = time.monotonic()
    octets = asyncio.run(_fill(url, items))
    archive_load.put_files(folder, items)
    return _Stock(folder, items, service, octets, time.monotonic() - started)


async def _fill(url: str, items: int) -> int:
    connection = await asyncpg.connect(url)
    for table in item_rows.TABLES:  # what is lost by a crash here is filled again
        await connection.execute(f"ALTER TABLE {table} SET UNLOGGED")
    again = await _without_indexes(connection)
    for statement in (*item_rows.ON_POSTGRESQL.statements(items, _said(items)), *again):
        await connection.execute(statement)
    await connection.execute("VACUUM ANALYZE")  # as the server does by itself, later
    octets = await connection.fetchval("SELECT pg_database_size(current_database())")
    await connection.close()
    return int(octets)


async def _without_indexes(connection: asyncpg.Connection) -> list[str]:
    """Drop the indexes of the tables, and return what makes them again: quicker than row by row."""
    constraints = await connection.fetch(
        "SELECT conrelid::regclass::text AS place, conname, pg_get_constraintdef(oid) AS text "
        "FROM pg_constraint WHERE contype IN ('p', 'u') AND conrelid::regclass::text = ANY($1)",
        item_rows.TABLES,
    )
    for place, name, _ in constraints:
        await connection.execute(f"ALTER TABLE {place} DROP CONSTRAINT {name}")
    select = "SELECT indexname, indexdef FROM pg_indexes WHERE tablename = ANY($1)"
    indexes = await connection.fetch(select, item_rows.TABLES)
    for name, _ in indexes:
        await connection.execute(f"DROP INDEX {name}")
    added = [
        f"ALTER TABLE {place} ADD CONSTRAINT {name} {text}" for place, name, text in constraints
    ]
    return [*added, *(text for _, text in indexes)]


def _compared(plot: str, stocks: Sequence[_Stock], kinds: Sequence[str]) -> list[str]:
    cores = sorted(os.sched_getaffinity(0))
    with ExitStack() as stack:
        servers = [
            stack.enter_context(
                archive_load.running(stock.folder, stock.items, stock.service, cores[0])
            )
            for stock in stocks
        ]
        measured: dict[tuple[int, str], list[Load]] = {}
        for _ in range(ROUNDS):
            for kind in kinds:
                for server in servers:
                    seen = archive_load.load(server, kind, cores[-1])
                    measured.setdefault((server.items, kind), []).append(seen)
        return _told(plot, stocks, servers, measured)


def _told(
    plot: str,
    stocks: Sequence[_Stock],
    servers: Sequence[ArchiveServer],
    measured: dict[tuple[int, str], list[Load]],
) -> list[str]:
    lines = [
        "| items | | requests a second | of the constant | p50, ms | p99, ms | CPU, us a request |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for (items, kind), loads in sorted(measured.items(), key=lambda each: each[0][0]):
        rate = statistics.median(load.rate for load in loads)
        constant = statistics.median(load.rate for load in measured[items, CONSTANT])
        lines.append(
            f"| {items:,} | {kind} | {rate:,.0f} | {rate / constant:.2f} | "
            f"{statistics.median(load.median for load in loads):.2f} | {_p99(loads):.2f} | "
            f"{statistics.median(load.cpu for load in loads) * 1e6:.0f} |"
        )
    few, many = (stock.items for stock in stocks)
    kinds = [kind for items, kind in measured if items == few]
    ratios = [_p99(measured[many, kind]) / _p99(measured[few, kind]) for kind in kinds]
    worst = max(ratios[:-1])
    listed = ", ".join(f"{kind} {ratio:.2f}" for kind, ratio in zip(kinds, ratios, strict=True))
    lines += [
        "",
        bars(
            plot,
            f"99th percentile of an answer, {few:,} and {many:,} items",
            "ms",
            kinds,
            {f"{n:,} items": [_p99(measured[n, kind]) for kind in kinds] for n in (few, many)},
        ),
        "",
        at_most(f"99th percentile with {many:,} items, in times of {few:,}", worst, MOST),
        at_most("to be ready after a start", max(s.start for s in servers), LONGEST_START, " s"),
        "",
        (
            f"The 99th percentile with {many:,} items is so many times that with {few:,}: "
            f"{listed}. "
            f"{archive_load.CLIENTS} clients, medians of {ROUNDS} interleaved rounds of "
            f"{archive_load.SECONDS:g} s, items at random, both servers on one core."
        ),
        "",
        (
            "| items | ready after, s | memory at the most, MB "
            "| disk, bytes an item | filled in, s |"
        ),
        "| --- | --- | --- | --- | --- |",
        *(
            f"| {stock.items:,} | {server.start:.2f} | {most_memory(server.process):.0f} | "
            f"{stock.octets / stock.items:,.0f} | {stock.filled:,.0f} |"
            for stock, server in zip(stocks, servers, strict=True)
        ),
        "",
        (
            "An item counts with the item that describes it: "
            "two documents, four names, one file with its checksums, and two rows of the digest's "
            "log, with all indexes and without the files themselves; memory is without the page "
            "cache. The rows are made by SQL in the real tables: the archive's own way, which "
            "makes each item durable, would take days."
        ),
    ]
    return lines


def _p99(loads: Sequence[Load]) -> float:
    return statistics.median(load.p99 for load in loads)
