"""Threats, row 13: half of all archives hang, drip, flood, send garbage or bombs, or hang up.

What lies in the other half is found as before. Of what nobody has, it is said who did not answer,
never that it is not there. Neither memory nor descriptors are lost, however often it goes on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import pytest

from tests.support.doubles.archive import ArchiveDouble
from tests.support.servers.attacked import FULL, connected, descriptors, resident_memory
from tests.support.servers.attacked_resolver import at_once, attacked, label, service_of
from tests.support.servers.resolver import ResolverServer
from tests.support.waiting import wait_until

ARCHIVES: Final = 50 if FULL else 12
ROUNDS: Final = 40 if FULL else 4
READERS: Final = 4
ITEMS: Final = 4
"""Of each good archive."""
FAULTS: Final = (
    *("hang", "hang in the body", "drip", "drip headers", "flood", "flood of chunks", "garbage"),
    *("flood of headers", "flood of trailers", "flood of beginnings", "endless line", "bomb"),
    *("garbled list", "garbled chunks", "two lengths", "reset", "reset in the body", "hang up"),
    *(
        "hidden bomb",
        "redirect",
        "wrong content type",
        "many headers",
        "cut",
        "error",
        "unavailable",
    ),
)
MORE_MEMORY: Final = 64 << 20
"""Bytes that a process may grow by without having lost any: what it remembers, and fragments."""
MORE_DESCRIPTORS: Final = 64

WITHOUT_BOUNDS: Final = """
from ibi.resolver.rules import decision, search_progress
from ibi.resolver.search import hops
from ibi.resolver.registry.availability import Availability

# Everybody is waited for, whoever has answered, and nobody is ever taken for down.
decide = hops.decide
hops.decide = lambda question, hearing: (
    decision.Wait() if hearing.awaited else decide(question, hearing)
)
Availability.note_reply = lambda self, name, silence: None

# A right resolver would then send the reader off at the first claim, without a moment for others.
search_progress.CLAIM_GRACE_SECONDS = 0.0
"""


@contextmanager
def scene(
    folder: Path, number: int, without: str = "", **settings: object
) -> Iterator[tuple[ResolverServer, list[ArchiveDouble], list[ArchiveDouble]]]:
    """Run a resolver with so many archives, half of them faulty from now on."""
    usual: dict[str, object] = {
        "hot_seconds": 0.0,
        "absent_seconds": 0.0,
        "archive_seconds": 5.0,
        "trusted_proxies": ["127.0.0.1/32"],
    }
    with ExitStack() as stack:
        resolver = stack.enter_context(attacked(folder, without, **(usual | settings)))
        archives = [stack.enter_context(ArchiveDouble(service_of(each))) for each in range(number)]
        # The keys of archives are looked at two at a time.
        at_once(2, resolver.include, archives)
        good, faulty = archives[::2], archives[1::2]
        for turn, archive in enumerate(faulty):
            archive.behaviour = FAULTS[turn % len(FAULTS)]
        for turn in range(ITEMS * len(good)):
            good[turn % len(good)].hold(label(turn))
        yield resolver, good, faulty


def places(good: list[ArchiveDouble]) -> dict[str, str]:
    return {name: pairs["url"] for archive in good for name, pairs in archive.items.items()}


def resolve(resolver: ResolverServer, right: dict[str, str]) -> Counter[str]:
    """Read all items; return what was not as it should be.

    Each reader has a network of its own, because searches that wait are counted by network.
    """

    def act(turn: int) -> Counter[str]:
        wrong: Counter[str] = Counter()
        with connected(resolver) as reader:
            for name in list(right)[turn::READERS]:
                answer = reader.ask(f"/{name}", f"X-Forwarded-For: 198.51.{turn}.9")
                place = dict(answer.headers).get("location", f"status {answer.status}")
                wrong[place] += place != right[name]
        return +wrong

    return sum(at_once(READERS, act, range(READERS)), Counter())


def test_the_other_half_is_found_as_before(tmp_path: Path) -> None:
    with scene(tmp_path, ARCHIVES) as (resolver, good, faulty):
        right = places(good)
        assert resolve(resolver, right) == Counter()
        silent = {archive.service for archive in faulty}
        for number in range(10**6, 10**6 + 5):
            answer = resolver.get(f"/{label(number)}")
            assert answer.status == 503
            assert set(answer.json()["archives"]) == silent
            assert int(answer.headers["retry-after"]) > 0
        wait_until(lambda: _down(resolver) == silent)
        assert resolve(resolver, right) == Counter()
        settled = resident_memory(resolver), descriptors(resolver)
        for _ in range(ROUNDS):
            assert resolve(resolver, right) == Counter()
            assert resolver.get(f"/{label(10**6)}").status == 503
        assert resident_memory(resolver) < settled[0] + MORE_MEMORY
        assert descriptors(resolver) < settled[1] + MORE_DESCRIPTORS
        # Who recovers is asked again.
        for archive in faulty:
            archive.released.set()
            archive.behaviour = "archive"
        wait_until(lambda: not _down(resolver))
        assert resolver.get(f"/{label(10**6)}").status == 404


def _down(resolver: ResolverServer) -> set[str]:
    return {name for name, each in resolver.archives().items() if each["state"] == "down"}


def test_the_faults_bite(tmp_path: Path) -> None:
    """The twin: who waits for everybody, every time, waits until the deadline every time."""
    settings = {"archive_seconds": 60.0}
    with scene(tmp_path, 4, WITHOUT_BOUNDS, **settings) as (resolver, good, faulty):
        for archive in faulty:
            archive.behaviour = "hang"
        name, _ = next(iter(places(good).items()))
        with connected(resolver) as reader:
            reader.send(f"/{name}")
            for archive in (*good, *faulty):
                archive.asked(lambda of=archive: "urlRequest" in of.subjects)  # type: ignore[misc]
            # All have been asked and half have answered. Who asks later is answered first: the
            # resolver has read those answers by then, and has sent the reader nowhere.
            for _ in range(50):
                assert resolver.get("/healthz").status == 200
            reader.socket.setblocking(False)  # noqa: FBT003  # it has no name
            with pytest.raises(BlockingIOError):
                reader.socket.recv(1)
