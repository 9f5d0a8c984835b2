"""Threats, row 24: a stranger claims items while the archive that holds them is silent.

The holder is the home of the labels, or its digest lists them. It hangs up at once, or when
all others were asked, or hangs, or is switched off; its items were never asked for before, or were.
The stranger was registered first, and claims whatever it is asked for, in plain and with the verbs
of a persistent URL. Readers get a copy if there is one, and are else sent nowhere; each label is
one case of conflict.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import pytest

from ibi.wire.digest import DigestPage, encode, fingerprint
from tests.support.doubles.archive import ArchiveDouble, EarlyClaimingArchive
from tests.support.servers.attacked import FULL
from tests.support.servers.attacked_resolver import (
    LONG_GRACE,
    at_once,
    attacked,
    conflicts,
    label,
    made_at,
    requests_for,
    service_of,
)
from tests.support.servers.resolver import ARCHIVE_SECONDS, ResolverServer
from tests.support.waiting import wait_until

ITEMS: Final = 170 if FULL else 6
"""Items in each of the situations, half of which were asked for before."""
READERS: Final = 8
SECONDS_OF_SILENCE: Final = 5.0
"""Seconds after which an archive that hangs counts as silent; the others answer within them."""
SILENCES: Final = (
    *("hang up", "hang up late", "switched off"),
    *([pytest.param("hang", marks=pytest.mark.alone)] if FULL else ()),
)
"""Ways of being silent; only time ends the last one."""
EPOCH: Final = "00112233445566778899aabbccddeeff"
WITHOUT_HOLDERS: Final = """
from ibi.resolver.rules.evidence import Evidence

Evidence.holders = property(lambda self: self._owners)
"""
WITHOUT_LIST_FOR_VERBS: Final = """
from ibi.resolver.rules import decision

decision._trusted = lambda question, evidence, offers: list(offers)
decision._claimed_elsewhere = lambda question, offer: offer
decision._is_silent_before = lambda evidence, archive: False
"""
RELATIONS: Final = {"!": ".lastedition", ":": ".metadata", "+(pt)": ".translation(pt)"}
"""What the stranger claims of an item, by the modifier that readers add."""
REQUIRED: Final = "?ibiurl.requireditemstatus=Original"


class Holder(ArchiveDouble):
    """An archive that, once it has others, hangs up when all of them were asked for an item."""

    others: tuple[ArchiveDouble, ...] = ()

    def said(self, query: dict[str, str]) -> str:
        """Answer, or hang up."""
        name = query.get("parsedibiurl.ibi", "")
        for other in self.others:
            other.asked(lambda other=other: not name or name in requests_for(other))  # type: ignore[misc]
        if self.others:
            raise ConnectionAbortedError
        return super().said(query)


class Scene:
    """A stranger, a holder, and an archive with a copy of every third item."""

    def __init__(self, resolver: ResolverServer, stack: ExitStack, kind: str) -> None:
        """Let the holder hold items as their home, or by its digest."""
        self.resolver = resolver
        self.stranger = stack.enter_context(EarlyClaimingArchive(service_of(9)))
        self.holder = stack.enter_context(Holder(service_of(1)))
        self.copier = stack.enter_context(ArchiveDouble(service_of(2)))
        at_home = "198.51.0.2"
        self.names = [
            made_at(at_home, number + 1) if kind == "home" else label(number)
            for number in range(ITEMS)
        ]
        for number, name in enumerate(self.names):
            self.holder.hold(name)
            if number % 3 == 0:
                self.copier.hold(name, state="Copy")
        if kind == "digest":
            self.holder.platform = "ibi-1"
            self.holder.digest = self._page
        self.key = resolver.include(self.holder)
        resolver.include(self.copier)
        if kind == "digest":
            wait_until(lambda: "digest" in resolver.archives()[self.holder.service])

    def _page(self, query: dict[str, str]) -> bytes:
        if self.holder.others:
            raise ConnectionAbortedError
        if query.get("after"):
            return encode(DigestPage(EPOCH, 1, 1, more=False))
        held = tuple(sorted(map(fingerprint, self.names)))
        return encode(DigestPage(EPOCH, 0, 1, more=False, held=held))

    def let_the_stranger_in(self) -> None:
        """Register and include it, after half of the items were asked for."""
        for name in self.names[::2]:
            assert self.resolver.get(f"/{name}").headers["location"] == self._place(
                name, "Original"
            )
        self.resolver.include(self.stranger)

    def _place(self, name: str, state: str) -> str:
        return (self.holder if state == "Original" else self.copier).items[name]["url"]

    def sent(self) -> Counter[str]:
        """Let readers ask for all items; return where they were sent."""
        return Counter(at_once(READERS, self._read, self.names))

    def is_holder_back(self) -> bool:
        """Return whether all readers are sent to it; a slow machine may give some a copy."""
        sent = self.sent()
        assert sent["stranger"] == 0
        return sent == Counter(holder=ITEMS)

    def _read(self, name: str) -> str:
        answer = self.resolver.get(f"/{name}")
        location = answer.headers.get("location", "")
        if not location:
            assert answer.status == 503, answer.body
            assert self.holder.service in answer.json()["archives"]
            return "nowhere"
        if location == self.stranger.items.get(name, {}).get("url"):
            return "stranger"
        state = "Copy" if name in self.copier.items else "Original"
        return (
            "copy"
            if location == self._place(name, state) != self._place(name, "Original")
            else ("holder")
        )


@contextmanager
def scene(
    folder: Path, kind: str, without: str = "", seconds: float = ARCHIVE_SECONDS
) -> Iterator[Scene]:
    with ExitStack() as stack:
        settings = {"hot_seconds": 0.0, "archive_seconds": seconds}
        resolver = stack.enter_context(attacked(folder, without, **settings))
        yield Scene(resolver, stack, kind)


EXPECTED: Final = Counter(copy=(ITEMS + 2) // 3, nowhere=ITEMS - (ITEMS + 2) // 3)


@pytest.mark.parametrize("kind", ["home", "digest"])
@pytest.mark.parametrize("silence", SILENCES)
def test_no_reader_gets_to_the_stranger(tmp_path: Path, kind: str, silence: str) -> None:
    seconds = SECONDS_OF_SILENCE if silence == "hang" else ARCHIVE_SECONDS
    with scene(tmp_path, kind, seconds=seconds) as all_of_it:
        all_of_it.let_the_stranger_in()
        holder, resolver = all_of_it.holder, all_of_it.resolver
        if silence == "switched off":
            resolver.announce(holder, all_of_it.key, "exclusionRequest")
        elif silence == "hang up late":
            holder.others = (all_of_it.stranger, all_of_it.copier)
        else:
            holder.behaviour = silence
        assert all_of_it.sent() == EXPECTED
        wait_until(lambda: len(conflicts(resolver)) >= ITEMS)
        on_record = conflicts(resolver)
        assert Counter(each["label"] for each in on_record) == Counter(all_of_it.names)
        contenders = [holder.service, all_of_it.stranger.service]
        for each in on_record:
            assert [claim["archive"] for claim in each["claims"]] == contenders
        # It is back: a new process of the resolver, or the old one, sends readers to it.
        holder.behaviour, holder.others = "archive", ()
        if silence == "hang":
            assert resolver.stop() == 0
            resolver.set(archive_seconds=ARCHIVE_SECONDS)
            resolver.start()
        if silence == "switched off":
            resolver.announce(holder, all_of_it.key)
        wait_until(lambda: resolver.archives()[holder.service]["state"] == "included")
        wait_until(all_of_it.is_holder_back)


@pytest.mark.parametrize("kind", ["home", "digest"])
def test_the_stranger_bites(tmp_path: Path, kind: str) -> None:
    """The twin: who waits for the owner alone sends readers of all other items to the stranger."""
    with scene(tmp_path, kind, WITHOUT_HOLDERS + LONG_GRACE) as all_of_it:
        all_of_it.let_the_stranger_in()
        all_of_it.holder.behaviour = "hang up"
        assert all_of_it.sent()["stranger"] >= ITEMS // 2


class StrangerWithVerbs(ArchiveDouble):
    """Claims that it has the last edition of everything, its metadata and its translation.

    It names all of them by the label of the item: the list of that label decides.
    """

    def __init__(self, service: str) -> None:
        """Claim nothing yet."""
        super().__init__(service)
        self.relation = ""
        self.url = f"http://{self.address}/col/claimed"

    def said(self, query: dict[str, str]) -> str:
        """Claim."""
        name = query.get("parsedibiurl.ibi", "")
        if name:
            claim = {
                "ibi": f"ibip {name}",
                "url": self.url,
                "contenttype": "Data",
                "state": "Original",
                "timestamp": "2020-01-02T03:04:05Z",
            }
            pairs = {f"{key}{self.relation}": value for key, value in claim.items()}
            self.items[name] = {"ibi": f"ibip {name}", **pairs}
        return super().said(query)


def sent_by_verbs(folder: Path, silence: str, without: str = "") -> Counter[str]:
    """Let readers ask for new items with each modifier, the holder silent; return where to."""
    with scene(folder, "home", without) as all_of_it, ExitStack() as stack:
        stranger = stack.enter_context(StrangerWithVerbs(service_of(8)))
        resolver, holder = all_of_it.resolver, all_of_it.holder
        resolver.include(stranger)
        if silence == "switched off":
            resolver.announce(holder, all_of_it.key, "exclusionRequest")
        else:
            holder.behaviour = silence

        def read(path: str) -> str:
            answer = resolver.get(f"/{path}")
            location = answer.headers.get("location", "")
            if location:
                return "stranger" if location == stranger.url else "copy"
            assert answer.status == 503, answer.body
            assert holder.service in answer.json()["archives"]
            return "nowhere"

        sent = Counter[str]()
        for modifier, relation in RELATIONS.items():
            stranger.relation = relation
            paths = [f"{name}{modifier}" for name in all_of_it.names]
            sent.update(at_once(READERS, read, [*paths, *(each + REQUIRED for each in paths)]))
        return sent


@pytest.mark.parametrize("silence", ["hang up", "switched off"])
def test_no_reader_gets_to_the_stranger_by_verbs(tmp_path: Path, silence: str) -> None:
    # The copy of an item serves as its own last edition and translation, but has no metadata.
    copies = 2 * EXPECTED["copy"]
    nowhere = 2 * ITEMS * len(RELATIONS) - copies
    assert sent_by_verbs(tmp_path, silence) == Counter(copy=copies, nowhere=nowhere)


def test_the_stranger_with_verbs_bites(tmp_path: Path) -> None:
    """The twin: who takes every claim to a related item sends these readers to the stranger."""
    sent = sent_by_verbs(tmp_path, "hang up", WITHOUT_LIST_FOR_VERBS)
    assert sent == Counter(stranger=2 * ITEMS * len(RELATIONS))
