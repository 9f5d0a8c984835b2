"""Threats, row 17: one client that asks for what nobody has, to make the resolver ask everybody.

What is sent to archives is counted in messages, and bounded by the share of the client's network,
however many identifiers it makes up, and whatever it asks of them. Readers of one identifier share
one search, and that nobody has it is remembered for a moment. Readers elsewhere are served as
before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import monotonic
from typing import Final

from tests.support.doubles.archive import ArchiveDouble
from tests.support.servers.attacked import FULL, connected
from tests.support.servers.attacked_resolver import (
    at_once,
    attacked,
    label,
    metric,
    requests_for,
    service_of,
)
from tests.support.servers.resolver import ResolverServer
from tests.support.waiting import wait_until

ARCHIVES: Final = 4
COUNT: Final = 20_000 if FULL else 400
RATE: Final = ARCHIVES
"""Messages a second, which are one search: so few that no machine is slow enough for the share to
come back in time."""
BURST: Final = 10 * RATE
ATTACKERS: Final = 4
MORE: Final = 5 * ATTACKERS
"""Requests that use up what has come back of the share."""
READERS: Final = 100
MANY: Final = 400
OF_ONE: Final = 64
"""Searches that may be under way for one network."""
ALL: Final = 256
"""Searches that may be under way."""
PATIENT: Final[dict[str, object]] = {"archive_seconds": 60.0, "messages_a_second": 1000}
SHARE: Final[dict[str, object]] = {
    "messages_a_second": RATE,
    "trusted_proxies": ["127.0.0.1/32"],
}

WITHOUT_BUDGET: Final = """
from ibi.resolver.search import pool
from ibi.resolver.rules.redirect_cache import RedirectCache
from ibi.resolver.search.pool import SearchPool
from ibi.foundation.web.rate_limit import RateLimit

pool.MAX_SEARCHES_PER_CLIENT = 10**9
RateLimit.admit = lambda self, client, cost=1: None
SearchPool.join = lambda self, question, *given, **more: None
RedirectCache.recall = lambda self, question, clients, now: None
"""


@contextmanager
def scene(
    folder: Path, without: str = "", **settings: object
) -> Iterator[tuple[ResolverServer, list[ArchiveDouble]]]:
    with ExitStack() as stack:
        resolver = stack.enter_context(attacked(folder, without, **{**SHARE, **settings}))
        archives = [
            stack.enter_context(ArchiveDouble(service_of(number))) for number in range(ARCHIVES)
        ]
        for archive in archives:
            resolver.include(archive)
        yield resolver, archives


def flood(resolver: ResolverServer, count: int, *, hosts: int) -> Counter[int]:
    """Ask for what nobody has, from addresses of one network; return how often each status came."""

    def act(turn: int) -> Counter[int]:
        found: Counter[int] = Counter()
        with connected(resolver) as client:
            for number in range(turn, count, ATTACKERS):
                peer = f"X-Forwarded-For: 203.0.113.{number % hosts + 1}"
                found[client.ask(f"/{label(10_000 + number)}", peer).status] += 1
        return found

    return sum(at_once(ATTACKERS, act, range(ATTACKERS)), Counter())


def test_made_up_identifiers_cost_no_more_than_a_share(tmp_path: Path) -> None:
    with scene(tmp_path, hot_seconds=60.0) as (resolver, archives):
        for number in range(10):
            archives[number % ARCHIVES].hold(label(number))
        began = monotonic()
        found = flood(resolver, COUNT, hosts=200)
        messages = BURST + RATE * (monotonic() - began + 1)
        assert set(found) == {404, 429}
        assert found.total() == COUNT
        assert found[404] * ARCHIVES <= messages
        assert sum(len(requests_for(archive)) for archive in archives) <= messages
        # The share of that network is used up; whoever reads elsewhere has one of his own.
        with connected(resolver) as reader:
            flooder = "X-Forwarded-For: 203.0.113.5"
            while reader.ask(f"/{label(10**6)}", flooder).status == 404:
                flood(resolver, MORE, hosts=1)
            for number in range(10):
                answer = reader.ask(f"/{label(number)}", "X-Forwarded-For: 198.51.100.9")
                assert answer.status == 302
            # And what is known costs nobody anything.
            assert reader.ask(f"/{label(0)}", flooder).status == 302
            shut_out = reader.ask(f"/{label(10**6 + 1)}", flooder)
            while shut_out.status == 404:  # on a busy machine some of the share has come back
                flood(resolver, MORE, hosts=1)
                shut_out = reader.ask(f"/{label(10**6 + 1)}", flooder)
            assert (shut_out.status, int(shut_out["retry-after"]) > 0) == (429, True)


def beside_a_burst(
    resolver: ResolverServer, archives: list[ArchiveDouble], at_least: int
) -> tuple[Counter[int], Counter[int]]:
    """Ask for much at once while an archive is slow; return how a reader fares, and the others."""
    late = archives[0]
    for number in range(10):
        archives[1].hold(label(number))
    late.behaviour = "late"
    with ExitStack() as stack:
        clients = [stack.enter_context(connected(resolver)) for _ in range(MANY)]
        for number, client in enumerate(clients):
            peer = f"X-Forwarded-For: 203.0.113.{number % 200 + 1}"
            client.send(f"/{label(20_000 + number)}", peer)
        wait_until(lambda: metric(resolver, "searches_under_way") >= at_least)
        reader = stack.enter_context(connected(resolver))
        peer = "X-Forwarded-For: 198.51.100.9"
        served = Counter(reader.ask(f"/{label(number)}", peer).status for number in range(10))
        late.released.set()
        return served, Counter(client.receive().status for client in clients)


def test_a_slow_archive_and_a_flood_keep_nobody_out(tmp_path: Path) -> None:
    """Searches that take their time are not all of one network."""
    with scene(tmp_path, "", **PATIENT) as (resolver, archives):
        served, found = beside_a_burst(resolver, archives, OF_ONE)
        assert served == {302: 10}
        assert found == {404: OF_ONE, 429: MANY - OF_ONE}


def test_readers_of_one_identifier_share_one_search(tmp_path: Path) -> None:
    with scene(tmp_path, absent_seconds=60.0, archive_seconds=60.0) as (resolver, archives):
        late = archives[0]
        late.behaviour = "late"
        with ExitStack() as stack:
            readers = [stack.enter_context(connected(resolver)) for _ in range(READERS)]
            for number, reader in enumerate(readers):
                reader.send(f"/{label(7)}", f"X-Forwarded-For: 198.51.{number}.1")
            late.asked(lambda: label(7) in requests_for(late))
            # Whoever connects after them is answered after they have been read.
            for _ in range(3):
                with connected(resolver) as after:
                    assert after.ask("/healthz").status == 200
            late.released.set()
            assert {reader.receive().status for reader in readers} == {404}
        assert [requests_for(archive) for archive in archives] == [[label(7)]] * ARCHIVES
        # The memory of it serves those who come later.
        assert {resolver.get(f"/{label(7)}").status for _ in range(20)} == {404}
        assert [requests_for(archive) for archive in archives] == [[label(7)]] * ARCHIVES


def test_the_flood_bites(tmp_path: Path) -> None:
    """The twin: without shares and memory, every request goes to every archive, or to none."""
    with scene(tmp_path, WITHOUT_BUDGET, **PATIENT) as (resolver, archives):
        assert flood(resolver, 3 * BURST, hosts=200) == {404: 3 * BURST}
        for _ in range(20):
            assert resolver.get(f"/{label(7)}").status == 404
        for archive in archives:
            assert len(requests_for(archive)) == 3 * BURST + 20
        served, _ = beside_a_burst(resolver, archives, ALL)
        assert served == {503: 10}
