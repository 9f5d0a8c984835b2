"""Threats, rows 10, 14 and 17: searches by words, and tombstones, among hostile archives.

Archives write script into whatever a resolver shows of their answers, send without an end or not
at all; and one network searches for ever new words, to make the resolver ask many archives.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Timer
from time import monotonic
from typing import Any, Final
from urllib.parse import quote

import pytest

from ibi.resolver.search.word_search import MAX_SECONDS
from tests.attacks.test_resolver_scripts import WITHOUT_ESCAPING, dialogs, faults_of
from tests.support.doubles.searchable_archive import SearchableArchive, found
from tests.support.hostile.script_payloads import VECTORS, payloads
from tests.support.servers.attacked import FULL, connected
from tests.support.servers.attacked_resolver import at_once, attacked, label, service_of
from tests.support.servers.resolver import ResolverServer
from tests.support.tools.chromium import Chromium, chromium
from tests.support.waiting import wait_until

COUNT: Final = 500 if FULL else 10
ARCHIVES: Final = 4
RATE: Final = ARCHIVES
"""Messages a second, which are one search: so few that no machine is slow enough for the share to
come back in time."""
BURST: Final = 10 * RATE
SEARCHES: Final = 5_000 if FULL else 200
ATTACKERS: Final = 4

WITHOUT_BUDGET: Final = """
from ibi.foundation.web.rate_limit import RateLimit

RateLimit.admit = lambda self, client, cost=1: None
"""
WITHOUT_DEADLINE: Final = """
from ibi.resolver.search import word_search

word_search.MAX_SECONDS = 10.0**6
"""


class ScriptingArchive(SearchableArchive):
    """Writes a payload into everything that a resolver may show of it."""

    platform = "ibi-0.1"

    def __init__(self, service: str) -> None:
        """Have one deleted item."""
        super().__init__(service)
        self.platform = "ibi-0.1"
        self._number = 0

    def write(self, text: str) -> tuple[str, str]:
        """Write a payload; return the targets of the pages that show it."""
        self._number += 1
        name, item = label(self._number), label(500_000 + self._number)
        self.results = found(
            {
                "ibip": name,
                "rep": text,
                "title": text,
                "creators": [text, text],
                "year": text,
                "snippet": text,
                "persistent_url": text,
            }
        )
        tombstone = {
            "type": "urn:ibi:problem:deleted",
            **dict.fromkeys(("title", "item_title", "deleted", "who", "reason", "detail"), text),
            "replaced_by": {"ibip": name, "rep": text},
            "metadata": {"ibip": text, "rep": text},
        }
        self.hold(item, state="Deleted", url="", contenttype="")
        self.documents[f"/{item}"] = 410, json.dumps(tombstone).encode()
        return f"/search?q=word{self._number}", f"/{item}"


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    with chromium() as started:
        yield started


@contextmanager
def scripting(folder: Path, without: str = "") -> Iterator[tuple[ResolverServer, ScriptingArchive]]:
    with (
        attacked(folder, without) as resolver,
        ScriptingArchive(service_of(0)) as archive,
    ):
        archive.documents["/api/v1/archive"] = 200, json.dumps({"name": VECTORS[0]}).encode()
        resolver.include(archive)
        wait_until(lambda: bool(results(resolver, "name")["archives"][0]["name"]))
        yield resolver, archive


def results(resolver: ResolverServer, words: str) -> dict[str, Any]:
    answer = resolver.get(f"/api/v1/search?q={quote(words)}")
    assert answer.status == 200, answer.body
    found_: dict[str, Any] = answer.json()
    return found_


def test_no_script_of_an_archive_runs_or_becomes_an_element(
    tmp_path: Path, browser: Chromium
) -> None:
    elements = 0
    with (
        scripting(tmp_path) as (resolver, archive),
        browser.page() as page,
        connected(resolver) as reader,
    ):
        for text in payloads(COUNT):
            targets = archive.write(text)
            assert dialogs(page, resolver, list(targets)) == 0
            for target in targets:
                faults, count = faults_of(reader, target)
                assert faults == [], (target, faults)
                elements += count
    assert elements > 20 * COUNT


def test_the_payloads_bite(tmp_path: Path) -> None:
    """The twin: the same pages without escaping; that a browser runs them is another twin's."""
    with (
        scripting(tmp_path, WITHOUT_ESCAPING) as (resolver, archive),
        connected(resolver) as reader,
    ):
        for target in archive.write(VECTORS[0]):
            faults, _ = faults_of(reader, target)
            assert [each for each in faults if each.startswith(("<", "script "))], (target, faults)


@contextmanager
def searched(
    folder: Path, without: str = "", **settings: object
) -> Iterator[tuple[ResolverServer, list[SearchableArchive]]]:
    with ExitStack() as stack:
        wanted: dict[str, object] = {"trusted_proxies": ["127.0.0.1/32"], **settings}
        resolver = stack.enter_context(attacked(folder, without, **wanted))
        archives = [
            stack.enter_context(SearchableArchive(service_of(number))) for number in range(ARCHIVES)
        ]
        for archive in archives:
            resolver.include(archive)
        yield resolver, archives


def flood(resolver: ResolverServer) -> Counter[int]:
    """Search for ever new words, from addresses of one network; count the statuses."""

    def act(turn: int) -> Counter[int]:
        counts: Counter[int] = Counter()
        with connected(resolver) as client:
            for number in range(turn, SEARCHES, ATTACKERS):
                peer = f"X-Forwarded-For: 203.0.113.{number % 200 + 1}"
                path = "/api/v1/search" if number % 2 else "/search"
                counts[client.ask(f"{path}?q=word{number}", peer).status] += 1
        return counts

    return sum(at_once(ATTACKERS, act, range(ATTACKERS)), Counter())


def test_new_words_cost_no_more_than_a_share(tmp_path: Path) -> None:
    with searched(tmp_path, messages_a_second=RATE) as (resolver, archives):
        began = monotonic()
        counts = flood(resolver)
        messages = BURST + RATE * (monotonic() - began + 1)
        assert set(counts) == {200, 429}
        assert sum(len(archive.searches) for archive in archives) <= messages
        # Readers elsewhere have a share of their own.
        with connected(resolver) as reader:
            answer = reader.ask("/api/v1/search?q=w", "X-Forwarded-For: 198.51.100.9")
            assert answer.status == 200


def test_the_flood_bites(tmp_path: Path) -> None:
    """The twin: without a budget each search is as many messages as there are archives."""
    with searched(tmp_path, WITHOUT_BUDGET, messages_a_second=RATE) as (resolver, archives):
        counts = flood(resolver)
        asked = sum(len(archive.searches) for archive in archives)
        assert asked == ARCHIVES * counts[200] > 2 * BURST


def waiting(archive: SearchableArchive) -> None:
    """Let an archive answer searches only after it was released."""
    archive.on_document = archive.released.wait


def test_a_hanging_archive_does_not_delay_the_page_past_the_deadline(tmp_path: Path) -> None:
    with searched(tmp_path, archive_seconds=60.0) as (resolver, archives):
        waiting(archives[0])
        answer = results(resolver, "words")
        assert not archives[0].released.is_set()
        assert [each["address"] for each in answer["silent"]] == [archives[0].address]
        assert answer["silent"][0]["reason"] == "it did not answer in time"
        assert len(answer["archives"]) == ARCHIVES - 1


def test_without_a_deadline_the_page_waits(tmp_path: Path) -> None:
    """The twin: an archive that answers after the deadline is waited for."""
    with searched(tmp_path, WITHOUT_DEADLINE, archive_seconds=60.0) as (resolver, archives):
        waiting(archives[0])
        later = Timer(MAX_SECONDS + 2, archives[0].released.set)
        later.start()
        answer = results(resolver, "words")
        later.join()
        assert answer["silent"] == []
        assert len(answer["archives"]) == ARCHIVES


@pytest.mark.parametrize(
    "behaviour",
    ["bomb", "flood", "flood of chunks", "flood of headers", "endless line", "garbage", "drip"],
)
def test_an_archive_that_floods_is_named_and_the_others_are_shown(
    tmp_path: Path, behaviour: str
) -> None:
    with searched(tmp_path, archive_seconds=1.0) as (resolver, archives):
        archives[0].behaviour = behaviour
        for archive in archives[1:]:
            archive.results = found({"ibip": label(1), "title": "Water"})
        answer = results(resolver, "words")
        assert answer["count"] == ARCHIVES - 1
        shown = resolver.get("/search?q=words", Accept="text/html").body.decode()
        assert shown.count("Water") == ARCHIVES - 1
