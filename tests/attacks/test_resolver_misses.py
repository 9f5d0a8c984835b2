"""Threats, row 25: labels that nobody has, asked for from many networks.

An archive whose log is followed has answered without being asked, so that a miss costs a message to
the home of the label and hardly any other. Where archives publish no digest, each network causes
messages at a fixed rate. Readers of items that exist are served as before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import quantiles
from threading import Event, Thread
from time import monotonic
from typing import Final

import pytest

from tests.support.doubles.archive import ArchiveDouble
from tests.support.servers.attacked import FULL, connected
from tests.support.servers.attacked_resolver import (
    at_once,
    attacked,
    label,
    made_at,
    metric,
    requests_for,
    service_of,
)
from tests.support.servers.program import WORKERS
from tests.support.servers.resolver import ResolverServer
from tests.support.waiting import wait_until

ARCHIVES: Final = 61 if FULL else 8
COUNT: Final = 10_000 if FULL else 200
NETWORKS: Final = 50 if FULL else 5
ATTACKERS: Final = 4
MOST: Final = 3
"""Messages that a miss may cost."""
RATE: Final = ARCHIVES
BURST: Final = 10 * RATE
ROUNDS: Final = 3
READS: Final = 200
"""Items that are read for the first time, in each round with and without the flood."""
PAUSE: Final = 0.04
"""Seconds between two labels of one attacker: all together make up a hundred a second."""
SETTINGS: Final[dict[str, object]] = {
    "trusted_proxies": ["127.0.0.1/32"],
    "hot_seconds": 60.0,
    "digest_seconds": 3600,
}

WITHOUT_FOLLOWED_LOGS: Final = """
from ibi.resolver.rules.followed_logs import FollowedLogs

FollowedLogs._follow = lambda self, archive, until: None
"""
WITHOUT_BUDGET: Final = """
from ibi.foundation.web.rate_limit import RateLimit

RateLimit.admit = lambda self, client, cost=1: None
"""


@contextmanager
def scene(
    folder: Path, without: str = "", *, published: bool, **settings: object
) -> Iterator[tuple[ResolverServer, list[ArchiveDouble]]]:
    with ExitStack() as stack:
        resolver = stack.enter_context(attacked(folder, without, **{**SETTINGS, **settings}))
        archives = [
            stack.enter_context(ArchiveDouble(service_of(number))) for number in range(ARCHIVES)
        ]
        for archive in archives:
            if published:
                archive.publish()
            resolver.include(archive)
        # A digest that is read is not yet followed in the twin.
        if without or not published:
            wait_until(lambda: metric(resolver, "digests") == ARCHIVES * published)
        else:
            workers = int(WORKERS or str(settings.get("workers", 1)))
            wait_until(lambda: metric(resolver, "logs_followed") == ARCHIVES * workers)
        yield resolver, archives


def made_up(number: int) -> str:
    """Return a label that nobody has; every other one was made where an archive is at home."""
    if number % 2:
        return label(10_000 + number)
    return made_at(f"198.51.0.{number // 2 % ARCHIVES + 1}", 10_000 + number)


def peer_of(number: int) -> str:
    return f"X-Forwarded-For: 203.0.{number % NETWORKS}.7"


def flood(resolver: ResolverServer, numbers: Iterable[int]) -> Counter[int]:
    """Ask for labels that nobody has, from many networks; return how often each status came."""
    numbers = list(numbers)

    def act(turn: int) -> Counter[int]:
        with connected(resolver) as client:
            return Counter(
                client.ask(f"/{made_up(number)}", peer_of(number)).status
                for number in numbers[turn::ATTACKERS]
            )

    return sum(at_once(ATTACKERS, act, range(ATTACKERS)), Counter())


def messages(archives: list[ArchiveDouble]) -> int:
    return sum(len(requests_for(archive)) for archive in archives)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_miss_costs_three_messages_at_most(tmp_path: Path, workers: int) -> None:
    with scene(tmp_path, published=True, workers=workers) as (resolver, archives):
        assert flood(resolver, range(COUNT)) == {404: COUNT}
        assert messages(archives) <= MOST * COUNT
        # Homes are asked in any case.
        assert messages(archives) >= COUNT // 2


def test_the_misses_bite(tmp_path: Path) -> None:
    """The twin: where no digest stands for an answer, every archive is asked."""
    with scene(tmp_path, WITHOUT_FOLLOWED_LOGS, published=True) as (resolver, archives):
        asked = min(COUNT, 200)
        assert flood(resolver, range(asked)) == {404: asked}
        assert messages(archives) > MOST * asked


def flood_without_digests(folder: Path, without: str = "") -> tuple[Counter[int], int, float]:
    """Return statuses, messages, and the messages that all networks may cause."""
    with scene(folder, without, published=False, messages_a_second=RATE) as (resolver, archives):
        began = monotonic()
        found = flood(resolver, range(COUNT))
        return found, messages(archives), NETWORKS * (BURST + RATE * (monotonic() - began + 1))


def test_without_digests_each_network_causes_messages_at_a_fixed_rate(tmp_path: Path) -> None:
    found, sent, most = flood_without_digests(tmp_path)
    assert set(found) <= {404, 429}
    assert found.total() == COUNT
    assert sent <= most


def test_the_rate_bites(tmp_path: Path) -> None:
    """The twin: without a budget every label costs a message to every archive."""
    found, sent, _ = flood_without_digests(tmp_path, WITHOUT_BUDGET)
    assert found == {404: COUNT}
    assert sent == COUNT * ARCHIVES


@contextmanager
def flooded(resolver: ResolverServer, numbers: Iterator[int]) -> Iterator[None]:
    """Ask for labels that nobody has, a hundred a second, while the context is open."""
    is_over = Event()

    def act() -> None:
        with connected(resolver) as client:
            while not is_over.wait(PAUSE):
                number = next(numbers)
                assert client.ask(f"/{made_up(number)}", peer_of(number)).status == 404

    threads = [Thread(target=act) for _ in range(ATTACKERS)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        is_over.set()
        for thread in threads:
            thread.join()


@contextmanager
def quiet(resolver: ResolverServer, numbers: Iterator[int]) -> Iterator[None]:
    del resolver, numbers
    yield


def read_times(resolver: ResolverServer, names: list[str]) -> list[float]:
    """Read items for the first time; return the seconds that each took."""
    times = []
    with connected(resolver) as client:
        for name in names:
            began = monotonic()
            assert client.ask(f"/{name}", "X-Forwarded-For: 192.0.2.9").status == 302
            times.append(monotonic() - began)
    return times


@pytest.mark.alone
@pytest.mark.skipif(not FULL, reason="times are compared in the full count alone")
def test_readers_wait_no_longer_than_twice_as_long(tmp_path: Path) -> None:
    with scene(tmp_path, published=True) as (resolver, archives):
        fresh, unknown = iter(range(10**6)), iter(range(10**6))
        times: dict[Callable[..., object], list[float]] = {quiet: [], flooded: []}
        for turn in range(2 * ROUNDS):
            during = (quiet, flooded)[turn % 2]
            names = []
            for number in (next(fresh) for _ in range(READS)):
                names.append(made_at(f"198.51.0.{number % ARCHIVES + 1}", 7 + number // ARCHIVES))
                archives[number % ARCHIVES].hold(names[-1])
            with during(resolver, unknown):
                times[during] += read_times(resolver, names)
        slowest = {during: quantiles(each, n=100)[98] for during, each in times.items()}
        assert slowest[flooded] <= 2 * slowest[quiet]
