"""Threats, row 18: editions and translations that lead in a circle, or without an end.

Every item is in an archive that knows only the next one. Whoever asks gets a page that shows the
items that were gone through, and no archive is asked more than a bounded number of times.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.support.doubles.archive import ArchiveDouble
from tests.support.servers.attacked import FULL
from tests.support.servers.attacked_resolver import attacked, label, requests_for, service_of
from tests.support.servers.resolver import ResolverServer

MAX_HOPS: Final = 32
CYCLES: Final = range(1, 51) if FULL else (1, 2, 3, 31, 32, 33, 34, 50)
CHAIN: Final = 10_000
WAYS: Final = {"!": "nextedition", "!+(en)": "nextedition", ":(oai_dc)": "metadata(oai_dc)"}
"""What a reader asks, and by which pair an archive leads on."""

WITHOUT_BOUNDS: Final = """
from ibi.resolver.search import hops

hops.MAX_HOPS = hops.MAX_SECONDS = 10**9
"""


class Leading(ArchiveDouble):
    """An archive of items that lead from one to the next."""

    def lead(self, first: int, count: int, pair: str, *, is_circle: bool) -> list[str]:
        """Have so many items from a number on, and return their labels."""
        names = [label(first + number) for number in range(count)]
        following = [*names[1:], names[0] if is_circle else label(first + count)]
        for name, after in zip(names, following, strict=True):
            pairs = {"url": "", f"ibi.{pair}": f"ibip {after}"}
            self.items[name] = {"ibi": f"ibip {name}", **pairs}
        return names


@pytest.fixture(scope="module")
def resolver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ResolverServer]:
    with attacked(tmp_path_factory.mktemp("resolver"), absent_seconds=0.0) as running:
        yield running


@pytest.fixture(scope="module")
def archives(resolver: ResolverServer) -> Iterator[list[Leading]]:
    with Leading(service_of(0)) as first, Leading(service_of(1)) as second:
        for archive in (first, second):
            resolver.include(archive)
        yield [first, second]


def link_to(name: str) -> bytes:
    """Return the end of a link to an item, as pages write it."""
    return f">{name.replace('/', '/<wbr>')}</a>".encode()


@pytest.mark.parametrize("asked", WAYS)
def test_circles_end_with_a_page_that_shows_them(
    resolver: ResolverServer, archives: list[Leading], asked: str
) -> None:
    for number, count in enumerate(CYCLES):
        archive = archives[number % 2]
        names = archive.lead(1000 * number, count, WAYS[asked], is_circle=True)
        before = len(requests_for(archive))
        answer = resolver.get(f"/{names[0]}{asked}", Accept="text/html")
        shown = (names * 2)[: min(count, MAX_HOPS + 1) + 1]
        assert answer.status == 508
        assert [name for name in shown if link_to(name) not in answer.body] == []
        words = b"leads in a circle" if count <= MAX_HOPS + 1 else b"without an end"
        assert words in answer.body
        told = resolver.get(f"/{names[0]}{asked}").json()
        assert told["chain"] == shown
        assert len(requests_for(archive)) - before == 2 * (len(shown) - 1)


def test_a_chain_without_an_end_ends(resolver: ResolverServer, archives: list[Leading]) -> None:
    for archive, asked in zip(archives, WAYS, strict=False):
        names = archive.lead(100_000, CHAIN, WAYS[asked], is_circle=False)
        before = len(requests_for(archive))
        answer = resolver.get(f"/{names[0]}{asked}", Accept="text/html")
        assert answer.status == 508
        assert b"without an end" in answer.body
        assert len(requests_for(archive)) - before == MAX_HOPS + 1
        assert resolver.get(f"/{names[0]}{asked}").json()["chain"] == names[: MAX_HOPS + 2]
        for name in names:
            del archive.items[name]


def test_translations_of_each_other_are_gone_through_once(
    resolver: ResolverServer, archives: list[Leading]
) -> None:
    """One translation is asked for, so one is gone to, whatever is a translation of that."""
    names = archives[0].lead(900_000, 2, "translation(en)", is_circle=True)
    before = len(requests_for(archives[0]))
    answer = resolver.get(f"/{names[0]}+", Accept="text/html", Accept_Language="en")
    assert answer.status == 404
    assert all(link_to(name) in answer.body for name in names)
    assert requests_for(archives[0])[before:] == names


def test_a_chain_that_has_an_end_is_followed_to_it(
    resolver: ResolverServer, archives: list[Leading]
) -> None:
    names = archives[0].lead(500_000, MAX_HOPS, "nextedition", is_circle=False)
    last = label(500_000 + MAX_HOPS)
    url = f"http://{archives[1].address}/last"
    archives[1].hold(last, **{"ibi.lastedition": f"ibip {last}", "url.lastedition": url})
    answer = resolver.get(f"/{names[0]}!")
    assert (answer.status, answer.headers["location"]) == (302, url)


def test_the_chain_bites(tmp_path: Path) -> None:
    """The twin: without the bounds a chain is followed to its end, however far that is."""
    with attacked(tmp_path, WITHOUT_BOUNDS) as resolver, Leading(service_of(0)) as archive:
        resolver.include(archive)
        names = archive.lead(0, 10 * MAX_HOPS, "nextedition", is_circle=False)
        assert resolver.get(f"/{names[0]}!").status == 404
        assert set(names) <= set(requests_for(archive))
