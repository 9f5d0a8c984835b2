"""A running resolver to be attacked, whole or with one guard switched off; and archives for it.

The twin of an attack is the same attack on a resolver whose process runs a few lines first, which
take one guard away. All else is as it is shipped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

from ibi.identifier.ibip import Ibip
from ibi.identifier.instant import EPOCH, Instant
from tests.support.doubles.archive import ArchiveDouble
from tests.support.servers.attacked import switched_off
from tests.support.servers.resolver import ResolverServer
from tests.support.waiting import PATIENCE

ELSEWHERE: Final = "203.0.113.9"
"""Where no archive of these tests is at home."""
HTML: Final = "Accept: text/html"
WITHOUT_TRUST: Final = """
from ibi.resolver.rules import decision, evidence
from ibi.resolver.search import hops

def first(question, hearing):
    offers = evidence.offers_of(question, hearing)
    if offers:
        return decision.Redirect(offers[0].answer, offers[0].choice, decision.Why.COPY)
    return decision.Wait() if hearing.awaited else decision.NotFound()

hops.decide = first
"""
"""Sends readers to whichever archive answers first."""

LONG_GRACE: Final = """
from ibi.resolver.rules import search_progress

search_progress.CLAIM_GRACE_SECONDS = 60.0
"""
"""Gives others time to claim an item, on a machine however loaded."""

_Given = TypeVar("_Given")
_Got = TypeVar("_Got")


@contextmanager
def attacked(
    folder: Path, without: str = "", most_files: int = 0, /, **settings: object
) -> Iterator[ResolverServer]:
    """Run a resolver; `without` are lines of Python that its process runs before all others."""
    resolver = ResolverServer(folder)
    resolver.most_files = most_files
    resolver.set(**settings)
    with switched_off(folder, without), resolver:
        yield resolver


def service_of(number: int) -> str:
    """Return the label of an archive service; each is at home at an address of its own."""
    return made_at(f"198.51.{number // 250}.{number % 250 + 1}", 0)


def made_at(ip: str, number: int) -> str:
    """Return one of the labels that were made at an address."""
    return Ibip.mount(ip, 800, Instant(EPOCH.seconds + 600_000_000 + number)).canonical


def label(number: int) -> str:
    """Return a label that is at home nowhere."""
    return made_at(ELSEWHERE, number)


def at_once(number: int, act: Callable[[_Given], _Got], given: Iterable[_Given]) -> list[_Got]:
    """Do something to each, by so many at a time."""
    with ThreadPoolExecutor(number) as pool:
        return list(pool.map(act, given, timeout=20 * PATIENCE))


def conflicts(resolver: ResolverServer) -> list[dict[str, Any]]:
    """Return the conflicts that wait for the operator."""
    found: list[dict[str, Any]] = []
    while True:
        after = found[-1]["number"] if found else 0
        page = resolver.api("GET", f"conflicts?after={after}").json()["conflicts"]
        if not page:
            return found
        found += page


def metric(resolver: ResolverServer, name: str) -> float:
    """Return one of the numbers that it tells Prometheus."""
    return resolver.metric(f"ibi_resolver_{name}")


def requests_for(archive: ArchiveDouble) -> list[str]:
    """Return the labels that an archive was asked for, in order."""
    return [
        query.get("parsedibiurl.ibi", "")
        for query in list(archive.queries)
        if query.get("servicesubject") == "urlRequest"
    ]
