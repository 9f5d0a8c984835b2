"""Threats, row 4: an archive that is registered claims what others have, and answers first.

Three honest archives take longer than the rogue. Readers are sent to whoever is known to
have the Original, to whoever is at home where the label was made, and else to whoever was
registered first; and what the rogue claims is on record, once for each item. Nor does a claim keep
the redirect of an item out of the cache.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from tests.support.doubles.archive import ArchiveDouble, EarlyClaimingArchive
from tests.support.servers.attacked import FULL, connected
from tests.support.servers.attacked_resolver import (
    LONG_GRACE,
    WITHOUT_TRUST,
    at_once,
    attacked,
    conflicts,
    label,
    made_at,
    metric,
    service_of,
)
from tests.support.servers.resolver import ResolverServer
from tests.support.waiting import wait_until

COUNT: Final = 10_000 if FULL else 100
LABELS: Final = 120 if FULL else 12
READERS: Final = 8
HONEST: Final = 3
READS: Final = 10
LATE: Final = 0.03
"""Seconds that an honest archive takes."""
ORIGINAL: Final = "?ibiurl.requireditemstatus=Original"

WITHOUT_CLAIMANTS: Final = """
from ibi.resolver.search.conflicts import Conflicts

Conflicts.is_news = lambda self, label, contending, owner: True
"""


class Honest(ArchiveDouble):
    """Says what it has, but not at once."""

    def said(self, query: dict[str, str]) -> str:
        """Answer late."""
        self.released.wait(LATE)
        return super().said(query)


class Scene:
    """Honest archives, a rogue, and who has what."""

    def __init__(
        self, resolver: ResolverServer, honest: list[Honest], rogue: EarlyClaimingArchive
    ) -> None:
        """Begin without a label."""
        self.resolver = resolver
        self.honest = honest
        self.rogue = rogue
        self.places: dict[str, str] = {}

    def hold(self, name: str, number: int) -> None:
        """Have one of the honest archives have an item."""
        archive = self.honest[number % HONEST]
        archive.hold(name)
        self.places[name] = archive.items[name]["url"]

    def known(self) -> None:
        """Let items be found before the rogue comes: then their owners are known."""
        for number in range(LABELS):
            self.hold(label(number), number)
        before = {archive: len(archive.queries) for archive in self.honest}
        for name in self.places:
            assert self.resolver.get(f"/{name}").status == 302
        # A search ends when everybody has answered, which may be after its reader has left.
        for archive, count in before.items():
            wait_until(lambda a=archive, c=count: len(a.queries) >= c + LABELS)  # type: ignore[misc]

    def at_home(self) -> None:
        """Have items that nobody ever asked for, and that were made where their archive is."""
        for number in range(LABELS):
            self.hold(made_at(f"198.51.0.{number % HONEST + 1}", 7 + number), number)

    def nowhere(self) -> None:
        """Have items that nobody ever asked for, and that were made nobody knows where."""
        for number in range(LABELS, 2 * LABELS):
            self.hold(label(number), number)

    def let_the_rogue_in(self) -> None:
        """Register and include it."""
        self.resolver.include(self.rogue)

    def resolve(self, count: int) -> Counter[str]:
        """Have readers ask for all items again and again; return where they were not sent."""
        names = list(self.places)
        tasks = [names[turn::READERS] * (count // len(names) + 1) for turn in range(READERS)]
        wrong: Counter[str] = Counter()
        for found in at_once(READERS, self._read, [each[: count // READERS] for each in tasks]):
            wrong += found
        return wrong

    def _read(self, names: list[str]) -> Counter[str]:
        wrong: Counter[str] = Counter()
        with connected(self.resolver) as reader:
            for name in names:
                answer = reader.ask(f"/{name}")
                location = dict(answer.headers).get("location", f"status {answer.status}")
                if location != self.places[name]:
                    wrong[location] += 1
        return wrong


@contextmanager
def scene(folder: Path, without: str = "", hot_seconds: float = 0.0) -> Iterator[Scene]:
    with ExitStack() as stack:
        resolver = stack.enter_context(attacked(folder, without, hot_seconds=hot_seconds))
        honest = [stack.enter_context(Honest(service_of(number))) for number in range(HONEST)]
        for archive in honest:
            resolver.include(archive)
        yield Scene(resolver, honest, stack.enter_context(EarlyClaimingArchive(service_of(9))))


def test_nobody_is_sent_to_the_rogue(tmp_path: Path) -> None:
    with scene(tmp_path, LONG_GRACE) as all_of_it:
        all_of_it.known()
        all_of_it.let_the_rogue_in()
        all_of_it.at_home()
        all_of_it.nowhere()
        assert all_of_it.resolve(COUNT) == Counter()
        claimed = set(all_of_it.rogue.items)
        assert claimed == set(all_of_it.places)
        resolver = all_of_it.resolver
        wait_until(lambda: len(conflicts(resolver)) >= len(claimed))
        on_record = conflicts(resolver)
        assert Counter(each["label"] for each in on_record) == Counter(claimed)
        for each in on_record:
            assert [claim["archive"] for claim in each["claims"]][1:] == [all_of_it.rogue.service]

        name, place = next(iter(all_of_it.places.items()))
        owner = next(each for each in all_of_it.honest if each.address in place)
        _the_original_is_required(all_of_it, name, owner)
        _the_owner_is_silent(all_of_it, name, owner)


def _the_original_is_required(all_of_it: Scene, name: str, owner: Honest) -> None:
    """Who wants the Original is sent nowhere, and told who contends."""
    alert = all_of_it.resolver.get(f"/{name}{ORIGINAL}")
    assert alert.status == 409
    assert set(alert.json()["archives"]) == {owner.service, all_of_it.rogue.service}


def _the_owner_is_silent(all_of_it: Scene, name: str, owner: Honest) -> None:
    """The claim of a rogue is not believed while the owner is silent; a copy is served."""
    owner.behaviour = "unavailable"
    resolver = all_of_it.resolver
    for asked in (name, f"{name}{ORIGINAL}", name, name):
        answer = resolver.get(f"/{asked}")
        assert answer.status == 503
        assert owner.service in answer.json()["archives"]
    copier = next(each for each in all_of_it.honest if each is not owner)
    copier.hold(name, state="Copy")
    answer = resolver.get(f"/{name}")
    assert (answer.status, answer.headers["location"]) == (302, copier.items[name]["url"])
    resolver.api("POST", f"archives/{owner.service}/exclude")
    del copier.items[name]
    assert resolver.get(f"/{name}").status == 503


def test_the_rogue_bites(tmp_path: Path) -> None:
    """The twin: who believes the first answer sends readers to the rogue."""
    with scene(tmp_path, WITHOUT_TRUST) as all_of_it:
        all_of_it.known()
        all_of_it.let_the_rogue_in()
        for archive in all_of_it.honest:
            archive.behaviour = "late"
        wrong = all_of_it.resolve(READERS * 4)
        assert wrong.total() > READERS * 2
        assert all(all_of_it.rogue.address in location for location in wrong)


def searches_for_contested_items(all_of_it: Scene) -> float:
    """Read two items that the rogue claims too, in turn; return how often they were sought."""
    names = [made_at("198.51.0.1", number) for number in (7, 8)]
    for name in names:
        all_of_it.hold(name, 0)
    all_of_it.let_the_rogue_in()
    resolver = all_of_it.resolver
    with connected(resolver) as reader:
        for name in names * READS:
            answer = reader.ask(f"/{name}")
            assert answer["location"] == all_of_it.places[name]
            # What is learned of the claims is learned at the end of a search.
            wait_until(lambda: metric(resolver, "searches_under_way") == 0)
    assert sorted(each["label"] for each in conflicts(resolver)) == names
    return metric(resolver, "searches")


def test_the_claim_of_a_rogue_does_not_switch_the_cache_off(tmp_path: Path) -> None:
    """A redirect is dropped when the rogue is noticed, here and by the change feed: no more."""
    with scene(tmp_path, hot_seconds=60.0) as all_of_it:
        assert searches_for_contested_items(all_of_it) <= 2 * 3


def test_the_claim_bites(tmp_path: Path) -> None:
    """The twin: if each sight of a rival counts as news, every reader costs a search."""
    with scene(tmp_path, WITHOUT_CLAIMANTS, hot_seconds=60.0) as all_of_it:
        assert searches_for_contested_items(all_of_it) == 2 * READS
