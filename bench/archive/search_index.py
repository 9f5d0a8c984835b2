"""What the search index costs deposits: items that are described at length, with it and without."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Final
from unittest.mock import patch

from bench.archive import load as archive_load
from bench.archive.search_rows import BODY, TITLE, Row, SearchRows
from bench.support.goals import at_least
from ibi.archive.archive import Archive
from ibi.archive.rules import item_transitions
from ibi.archive.rules.deposit_request import NewItem
from ibi.archive.settings import read_archive
from ibi.archive.wiring.instance import Instance
from ibi.minting.storage.machine_folder import FOLDER
from ibi.model.change import ItemChange
from ibi.model.metadata_record import Agent, MetadataRecord, Text
from tests.support.servers.postgres import PostgresServer

ROUNDS: Final = 11
COUNT: Final = 40
"""Deposits in one round."""
LEAST: Final = 0.5
"""The share of the deposits without the index that are made with it."""
_INDEXING: Final = "ibi.archive.storage.catalogue.items.index_items"
_FILE: Final = "report.txt"


def deposits() -> list[str]:
    """Deposit with the index and without, in turn."""
    lines = [
        "| catalogue | deposits a second, without index | with it | of those without |",
        "| --- | --- | --- | --- |",
    ]
    goals = []
    with tempfile.TemporaryDirectory() as folder, PostgresServer() as server:
        os.environ[FOLDER] = str(Path(folder, "machine"))
        for name, catalogue in (("SQLite", ""), ("PostgreSQL", server.database())):
            data = Path(folder, name)
            archive_load.make(data, catalogue)
            with closing(Instance(read_archive(data))) as instance:
                without, with_it = _rates(instance.archive)
            share = with_it / without
            lines.append(f"| {name} | {without:,.0f} | {with_it:,.0f} | {share:.2f} |")
            goals.append(at_least(f"deposits with the index, on {name}", share, LEAST))
    return [
        *lines,
        "",
        *goals,
        "",
        (
            f"One item a deposit, with a file and a description of {TITLE + BODY} words, each made "
            f"durable before the next; wall time, medians of {ROUNDS} interleaved rounds of "
            f"{COUNT}. An item is indexed in the transaction of its deposit, so searches never "
            "lag behind; the text of its files follows in the background."
        ),
    ]


def _rates(archive: Archive) -> tuple[float, float]:
    """Return the deposits a second without the index and with it."""
    rows = iter(SearchRows(2 * (ROUNDS + 1) * COUNT))
    rates: tuple[list[float], list[float]] = ([], [])
    for number in range(ROUNDS + 1):
        for is_indexed in (False, True):
            with ExitStack() as stack:
                if not is_indexed:
                    stack.enter_context(patch(_INDEXING, lambda *_: None))
                rate = _rate(archive, rows)
            if number:  # the first round warms up
                rates[is_indexed].append(rate)
    return statistics.median(rates[0]), statistics.median(rates[1])


def _rate(archive: Archive, rows: Iterator[Row]) -> float:
    started = time.perf_counter()
    for _ in range(COUNT):
        _deposit(archive, next(rows))
    return COUNT / (time.perf_counter() - started)


def _deposit(archive: Archive, row: Row) -> None:
    deposit = uuid.uuid4().hex
    with archive.store.staging.receive(deposit, _FILE, 0) as sink:
        sink.write(row.document.heading.encode())
        file = sink.finish()
    record = MetadataRecord(
        titles=(Text(row.document.heading, "en"),),
        creators=tuple(Agent(name=name) for name in row.document.facets["creator"]),
        descriptions=(Text(" ".join(row.document.body[1]), "en"),),
        dates=row.document.facets["year"],
        types=row.document.facets["type"],
    )
    forms, metadata = archive.mint(2)
    now = archive.clock.wall()
    item, describing = item_transitions.new_items(
        forms, metadata, NewItem(record=record), (_FILE, True), now
    )
    changes = (
        ItemChange(item=item, files=(file,), adopted=deposit),
        ItemChange(item=describing),
    )
    archive.make(archive.change("deposit", "bench", forms.label, changes, now))
    archive.store.discard(deposit)
