"""Figures of an archive over time, by one process and by a writer with two readers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.servers.archive import ArchiveServer
from tests.support.servers.postgres import DATABASES, database_options

MISSING = "/col/nothing/here"
PAGES, LOST = 12, 5


def counted(archive: ArchiveServer, resolution: str) -> Counter[str]:
    answer = archive.api("GET", f"figures?resolution={resolution}")
    assert answer.status == 200, answer.body
    sums: Counter[str] = Counter()
    for period in answer.json()["periods"]:
        sums.update(period["counts"])
    return sums


@pytest.fixture(
    scope="module",
    params=[(database, workers) for database in DATABASES for workers in ("", "2")],
    ids=lambda each: "-".join(filter(None, each)),
)
def archive(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ArchiveServer]:
    """An archive that deposited and answered, was stopped, and serves again."""
    request.param, workers = request.param
    options = database_options(request, "--catalogue")
    made = ArchiveServer(tmp_path_factory.mktemp("figures"), *options)
    made.wanted_workers = workers
    with made as started:
        for number in range(3):
            started.deposit({"a.txt": b"a" * 100, "b.txt": bytes([number])})
        started.api("POST", "reservations", {"count": 4})
        for _ in range(PAGES):
            assert started.get("/search").status == 200
        for _ in range(LOST):
            assert started.get(MISSING).status == 404
        yield started.restart()


@pytest.mark.parametrize("resolution", ["minute", "hour", "day"])
def test_deposits_labels_and_requests_are_counted_once(
    archive: ArchiveServer, resolution: str
) -> None:
    counts = counted(archive, resolution)
    assert counts["deposits"] == 3
    assert counts["labels"] == 3 * 2 + 4
    assert counts["status.404"] == LOST
    # Of a deposit the API is asked four times: to begin it, for its two files, to complete it.
    assert counts["status.201"] == 3 * 3 + 1
    assert counts["status.200"] >= PAGES + 3
    assert counts["requests"] == sum(
        count for name, count in counts.items() if name.startswith("status.")
    )


def test_levels_are_those_of_the_catalogue(archive: ArchiveServer) -> None:
    periods: list[dict[str, Any]] = archive.api("GET", "figures").json()["periods"]
    levels = {name: level["last"] for name, level in periods[-1]["levels"].items()}
    assert levels == {"items": 3, "files": 6, "bytes": 303, "tasks": 0, "damaged": 0}


def test_durations_are_those_of_all_requests(archive: ArchiveServer) -> None:
    [*_, period] = archive.api("GET", "figures").json()["periods"]
    durations = period["durations"]["requests"]
    assert sum(durations["counts"].values()) == period["counts"]["requests"]
    assert 0 < durations["median"] <= durations["most"]


def test_figures_are_for_those_who_may_read_them(archive: ArchiveServer) -> None:
    assert archive.api("GET", "figures", token="").status == 401
    assert archive.api("GET", "figures", token=archive.add_token("r", "read")).status == 200
    receive = archive.add_token("x", "receive")
    assert archive.api("GET", "figures", token=receive).status == 403
