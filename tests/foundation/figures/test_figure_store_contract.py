"""The store of figures, on every database: sums of several writers, and few rows."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ibi.foundation.figures.store import SqlFigures
from ibi.foundation.sql.database_url import open_newest
from ibi.foundation.sql.store import SqlHandle
from ibi.model.clock import SECOND
from ibi.model.figures import DAY, HOUR, MINUTE, RESOLUTIONS, Level, Resolution, Tally, total
from ibi.resolver.storage.migrations import RESOLVER_MIGRATIONS
from tests.support.servers.postgres import DATABASES, PostgresServer

TABLE = "resolver_figure"
NOON = 1_795_089_600
"""2026-11-19, 12:00."""
EVER = (-(2**62), 2**62)


@pytest.fixture(params=DATABASES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "figures.sqlite")
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.database()


@pytest.fixture
def handle(place: str) -> Iterator[SqlHandle]:
    with closing(SqlHandle(open_newest(place, RESOLVER_MIGRATIONS))) as opened:
        yield opened


@pytest.fixture
def store(handle: SqlHandle) -> SqlFigures:
    return SqlFigures(handle, TABLE)


def starts(store: SqlFigures, resolution: Resolution) -> list[int]:
    return [period.start for period in store.periods(resolution, *EVER)]


def test_what_comes_is_in_its_minute_hour_and_day(store: SqlFigures) -> None:
    came = Tally({"deposits": 2}, {"requests": {"0.1": 3}}, {"items": Level.of(7)})
    store.add(NOON * SECOND, came)
    store.add((NOON + 59) * SECOND, came)
    store.add((NOON + 60) * SECOND, came)
    assert [
        (period.start, period.tally.counts["deposits"]) for period in store.periods(MINUTE, *EVER)
    ] == [(NOON, 4), (NOON + 60, 2)]
    for resolution in (HOUR, DAY):
        [period] = store.periods(resolution, *EVER)
        assert period.tally == total([came, came, came])
        assert period.tally.levels["items"] == Level(3, 21, 7, 7, 7)


def test_periods_are_those_that_begin_within_a_span(store: SqlFigures) -> None:
    for minute in range(5):
        store.add((NOON + 60 * minute) * SECOND, Tally({"x": minute}))
    found = store.periods(MINUTE, NOON + 60, NOON + 180)
    assert [period.tally.counts["x"] for period in found] == [1, 2, 3]
    assert store.periods(MINUTE, NOON + 1, NOON + 59) == []


def test_writers_at_the_same_time_lose_nothing(place: str, handle: SqlHandle) -> None:
    """Two connections of their own, as two processes have, across the end of a minute."""
    del handle  # it made the tables
    begin = threading.Barrier(2)

    def write(number: int) -> None:
        with closing(SqlHandle(open_newest(place, RESOLVER_MIGRATIONS))) as own:
            store = SqlFigures(own, TABLE)
            begin.wait()
            for turn in range(20):
                store.add((NOON + 6 * turn) * SECOND, Tally({"x": 1, f"of {number}": 1}))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with closing(SqlHandle(open_newest(place, RESOLVER_MIGRATIONS))) as opened:
        store = SqlFigures(opened, TABLE)
        for resolution in RESOLUTIONS:
            found = total(period.tally for period in store.periods(resolution, *EVER))
            assert found.counts == {"x": 40, "of 0": 20, "of 1": 20}
        assert len(starts(store, MINUTE)) == 2


def test_rows_stay_few_even_if_the_clock_jumps(
    store: SqlFigures, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = tuple(Resolution(each.name, each.seconds, 5) for each in RESOLUTIONS)
    monkeypatch.setattr("ibi.foundation.figures.store.RESOLUTIONS", few)
    for minute in range(20):
        store.add((NOON + 60 * minute) * SECOND, Tally({"x": 1}))
    assert starts(store, MINUTE) == [NOON + 60 * minute for minute in range(15, 20)]
    [hour] = store.periods(HOUR, *EVER)
    assert hour.tally.counts == {"x": 20}  # what was removed as minutes is in the hour
    for wrong in (2**33, 0, 2**32):  # the years 2242, 1970 and 2106
        store.add(wrong * SECOND, Tally({"x": 1}))
        assert len(starts(store, MINUTE)) == 5
    for minute in range(20, 25):
        store.add((NOON + 60 * minute) * SECOND, Tally({"x": 1}))
    assert starts(store, MINUTE) == [NOON + 60 * minute for minute in range(20, 25)]


def test_a_damaged_row_is_an_empty_one(store: SqlFigures, handle: SqlHandle) -> None:
    store.add(NOON * SECOND, Tally({"x": 1}))
    handle.write(lambda execute: execute("UPDATE resolver_figure SET tally = '[not this'"))
    assert store.periods(MINUTE, *EVER)[0].tally == Tally()
    store.add(NOON * SECOND, Tally({"x": 3}))
    assert store.periods(MINUTE, *EVER)[0].tally == Tally({"x": 3})
