"""Figures of a resolver over time, by one process and by two, on every database."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest

from tests.support.clients.http import PROBLEM
from tests.support.doubles.archive import ArchiveDouble
from tests.support.servers.postgres import DATABASES, database_options
from tests.support.servers.resolver import ResolverServer

LABEL = "8JMKD3MGP7W/3EPGUE5"
MISSING = "8JMKD3MGP7W/3EPGUEA"
FOUND, LOST = 30, 6
READER = "reader"


@dataclass
class Stopped:
    """A resolver that resolved, was stopped, and serves again."""

    resolver: ResolverServer
    warm: int
    reader: str

    def figures(self, query: str = "") -> dict[str, Any]:
        """Return what it tells by a token that only reads."""
        answer = self.resolver.api("GET", f"figures{query}", token=self.reader)
        assert answer.status == 200, answer.body
        found: dict[str, Any] = answer.json()
        return found

    def counts(self, resolution: str) -> Counter[str]:
        """Return the sums of all counts."""
        sums: Counter[str] = Counter()
        for period in self.figures(f"?resolution={resolution}")["periods"]:
            sums.update(period["counts"])
        return sums


@pytest.fixture(
    scope="module",
    params=[(database, workers) for database in DATABASES for workers in ("", "2")],
    ids=lambda each: "-".join(filter(None, each)),
)
def stopped(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stopped]:
    request.param, workers = request.param
    options = database_options(request, "--database")
    resolver = ResolverServer(tmp_path_factory.mktemp("figures"), *options)
    resolver.set(hot_seconds=60.0)
    resolver.wanted_workers = workers
    with ExitStack() as stack:
        archive = stack.enter_context(ArchiveDouble())
        stack.enter_context(resolver)
        archive.hold(LABEL)
        resolver.include(archive)
        reader = resolver.add_token(READER, "read")
        for _ in range(FOUND):
            assert resolver.get(f"/{LABEL}").status == 302
        for _ in range(LOST):
            assert resolver.get(f"/{MISSING}").status == 404
        warm = int(resolver.metric("ibi_resolver_warm_answers"))
        resolver.restart()
        yield Stopped(resolver, warm, reader)


@pytest.mark.parametrize("resolution", ["minute", "hour", "day"])
def test_every_resolution_is_counted_once(stopped: Stopped, resolution: str) -> None:
    counts = stopped.counts(resolution)
    assert counts["resolutions"] == FOUND + LOST
    assert counts["outcome.redirect"] == FOUND
    assert counts["status.404"] == LOST
    assert counts["status.302"] == FOUND


def test_warm_redirects_are_among_them(stopped: Stopped) -> None:
    assert stopped.warm > 0
    counts = stopped.counts("day")
    assert stopped.warm <= counts["cached"] < counts["resolutions"]
    durations: Counter[str] = Counter()
    for period in stopped.figures("?resolution=hour")["periods"]:
        durations.update(period["durations"].get("requests", {}).get("counts", {}))
    assert durations["0.0005"] >= stopped.warm
    assert sum(durations.values()) == counts["requests"]


def test_levels_are_those_of_the_register(stopped: Stopped) -> None:
    levels = stopped.figures("?resolution=day")["periods"][-1]["levels"]
    assert (levels["archives"]["last"], levels["archives.answering"]["most"]) == (1, 1)
    assert levels["conflicts"]["last"] == 0


def test_a_span_without_periods_is_empty(stopped: Stopped) -> None:
    assert stopped.figures("?from=2001-01-01&to=2001-12-31")["periods"] == []


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("?resolution=second", "'second' is not a resolution: expected minute, hour, day."),
        ("?from=yesterday", "'yesterday' is not a day"),
        ("?to=2026-02-30", "'2026-02-30' is not a day"),
        ("?resolution=minute&from=2026-01-01", "ask for fewer"),
    ],
)
def test_what_cannot_be_read_is_refused(stopped: Stopped, query: str, words: str) -> None:
    answer = stopped.resolver.api("GET", f"figures{query}")
    assert (answer.status, answer.headers["content-type"]) == (400, PROBLEM)
    assert words in answer.json()["detail"]


def test_figures_are_for_those_who_may_read_them(stopped: Stopped) -> None:
    assert stopped.resolver.api("GET", "figures", token="").status == 401
