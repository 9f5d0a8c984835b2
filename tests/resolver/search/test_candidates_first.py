"""Searches that ask first who is likely to have an item, among archives on paper."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest

from ibi.errors import OverloadError
from ibi.identifier.label import Label, parse
from ibi.identifier.verbs import read_modifiers
from ibi.model.item import State
from ibi.resolver.ports.outbound import NoReply, Reply
from ibi.resolver.ports.store import Owner
from ibi.resolver.rules.cached_redirect import CachedRedirect
from ibi.resolver.rules.decision import Alert, NotFound, Redirect, Unsure
from ibi.resolver.rules.lease import Lease
from ibi.resolver.rules.redirect_cache import RedirectCache
from ibi.resolver.search import fan_out as module
from ibi.resolver.search import undigested
from ibi.resolver.search.undigested import UndigestedArchives
from ibi.wire.question import Question
from ibi.wire.requests import UrlRequest
from tests.support.doubles.resolver_store import until
from tests.support.scenes.search import NAMES, SERVICES, Desk, at_desk, says, winner
from tests.support.values.archive_answers import (
    ITEM,
    NEXT,
    OTHER,
    copy,
    leads,
    listing,
    original,
    question,
    related,
    unknown,
)

LABEL = ITEM.label
AT_HOME = parse("a.example/archive/2013/06.05.15.34")
"""Of the archive a."""
FIVE = (*NAMES, "d", "e")
SILENT = NoReply("", "it did not answer in time")


@pytest.fixture(autouse=True)
def _keys_are_cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that is slow to guess is slow to keep, and no test here is about keys."""
    monkeypatch.setattr("ibi.resolver.registry.registry.kept", str)


def asked(desk: Desk) -> list[str]:
    """Return who was asked, nobody twice for one search."""
    return [name for name, _ in desk.paper.requests]


def publish(desk: Desk, names: tuple[str, ...] = NAMES, *holders: str, of: Label = LABEL) -> None:
    """Let archives publish digests, some of them with a label."""
    desk.digests.digests = {name: {of} if name in holders else set() for name in names}


def put_on_record(desk: Desk, name: str, label: Label = LABEL) -> None:
    desk.shelf.owned[label.canonical] = Owner(SERVICES[name].canonical, 1)


def test_only_who_is_likely_to_have_it_is_asked() -> None:
    async def work(desk: Desk) -> None:
        publish(desk, NAMES, "b")
        put_on_record(desk, "b")
        desk.paper.sayings["b"] = says(original("b"))
        assert winner(await desk.resolve(question())) == "b"
        await desk.quiet()
        assert asked(desk) == ["b"]

    at_desk(work)


def test_who_publishes_no_digest_is_asked_with_them() -> None:
    async def work(desk: Desk) -> None:
        publish(desk, ("a", "b"), "b")
        put_on_record(desk, "b")
        desk.paper.sayings["b"] = says(original("b"))
        assert winner(await desk.resolve(question())) == "b"
        await desk.quiet()
        assert asked(desk) == ["b", "c"]

    at_desk(work)


def test_the_home_is_asked_and_put_on_record_without_the_others() -> None:
    async def work(desk: Desk) -> None:
        publish(desk)
        desk.paper.sayings["a"] = says(original("a"))
        assert winner(await desk.resolve(Question(AT_HOME))) == "a"
        await desk.quiet()
        assert asked(desk) == ["a"]
        assert desk.shelf.owned[AT_HOME.canonical].archive == SERVICES["a"].canonical

    at_desk(work)


@pytest.mark.parametrize("readable", [True, False])
def test_where_nothing_is_known_all_are_asked_at_once(readable: bool) -> None:  # noqa: FBT001
    """No digest is there, or the store cannot be read."""

    async def work(desk: Desk) -> None:
        desk.digests.readable = readable
        if not readable:
            publish(desk, NAMES, "b")
        desk.paper.held = set(NAMES)
        reader = asyncio.create_task(desk.resolve(question()))
        await until(lambda: len(desk.paper.requests) == len(NAMES))
        desk.paper.free.set()
        found = await reader
        assert isinstance(found.outcome, NotFound)
        assert found.last.evidence.likely is None

    at_desk(work)


def test_that_nobody_has_it_takes_the_word_of_all() -> None:
    async def work(desk: Desk) -> None:
        publish(desk)
        assert isinstance((await desk.resolve(question())).outcome, NotFound)
        assert sorted(asked(desk)) == ["a", "b", "c"]
        desk.paper.sayings["c"] = says(SILENT)
        assert isinstance((await desk.resolve(question())).outcome, Unsure)

    at_desk(work)


def test_an_archive_that_is_down_is_silent_among_those_held_back_too() -> None:
    async def work(desk: Desk) -> None:
        publish(desk)
        desk.paper.sayings["c"] = says(SILENT)
        for _ in range(5):
            outcome = (await desk.resolve(question())).outcome
            assert isinstance(outcome, Unsure)
            assert [each.archive for each in outcome.silences] == [SERVICES["c"].canonical]
        assert asked(desk).count("c") == 3

    at_desk(work)


@pytest.mark.parametrize("on_record", [True, False])
def test_a_place_that_has_it_no_more_leads_to_all_others_in_the_same_request(
    on_record: bool,  # noqa: FBT001
) -> None:
    """The item moved to c, and no digest says so yet."""

    async def work(desk: Desk) -> None:
        publish(desk, FIVE, "a")
        if on_record:
            put_on_record(desk, "a")
        desk.paper.sayings["c"] = says(original("c"))
        assert winner(await desk.resolve(question())) == "c"
        await desk.quiet()
        assert Counter(asked(desk)) == Counter(FIVE)
        assert desk.shelf.owned[LABEL.canonical].archive == SERVICES["c"].canonical
        assert (LABEL.canonical in desk.forgotten) == on_record
        assert not desk.shelf.conflicts(0, 10, only_open=True)

    at_desk(work, FIVE)


@pytest.mark.parametrize("on_record", [True, False])
def test_a_copy_at_the_old_place_tells_that_the_original_moved(
    on_record: bool,  # noqa: FBT001
) -> None:
    """Whoever was known to have it is believed at once, as it is where all are asked.

    But it is found out in the same search where the Original is, and what was remembered is
    forgotten: nobody is sent to the old place any more.
    """

    async def work(desk: Desk) -> None:
        publish(desk, FIVE, "a")
        if on_record:
            put_on_record(desk, "a")
        desk.paper.sayings = {"a": says(copy("a")), "c": says(original("c"))}
        assert winner(await desk.resolve(question())) == ("a" if on_record else "c")
        await desk.quiet()
        assert desk.shelf.owned[LABEL.canonical].archive == SERVICES["c"].canonical
        assert (LABEL.canonical in desk.forgotten) == on_record
        desk.paper.requests.clear()
        assert winner(await desk.resolve(question())) == "c"
        await desk.quiet()
        assert asked(desk) == ["a", "c"]

    at_desk(work, FIVE)


def test_a_copy_is_served_if_nobody_has_the_original() -> None:
    async def work(desk: Desk) -> None:
        publish(desk, NAMES, "b")
        desk.paper.sayings["b"] = says(copy("b"))
        assert winner(await desk.resolve(question())) == "b"
        assert sorted(asked(desk)) == ["a", "b", "c"]

    at_desk(work)


def test_an_owner_that_is_silent_leads_to_copies_that_no_digest_tells_of() -> None:
    async def work(desk: Desk) -> None:
        publish(desk, NAMES, "b")
        put_on_record(desk, "b")
        desk.paper.sayings = {"b": says(SILENT), "c": says(copy("c")), "a": says(original("a"))}
        assert winner(await desk.resolve(question())) == "c"

    at_desk(work)


def test_the_original_alone_is_asked_for_of_all_at_once() -> None:
    async def work(desk: Desk) -> None:
        publish(desk, NAMES, "b")
        desk.paper.held = set(NAMES)
        desk.paper.sayings = {"b": says(original("b")), "c": says(original("c"))}
        reader = asyncio.create_task(desk.resolve(question(required=True)))
        await until(lambda: len(desk.paper.requests) == len(NAMES))
        desk.paper.free.set()
        assert isinstance((await reader).outcome, Alert)

    at_desk(work)


@pytest.mark.parametrize("explains", [True, False])
def test_who_joins_a_search_and_needs_all_makes_it_ask_them(
    explains: bool,  # noqa: FBT001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        module, "CLAIM_GRACE_SECONDS", 3600
    )  # nobody is asked for what takes too long

    async def work(desk: Desk) -> None:
        publish(desk, NAMES, "b")
        put_on_record(desk, "b")
        desk.paper.held = {"b"}
        desk.paper.sayings["b"] = says(original("b"))
        first = asyncio.create_task(desk.resolve(question()))
        await until(lambda: asked(desk) == ["b"])
        joining = desk.resolve(question(required=not explains), hear_all=explains)
        second = asyncio.create_task(joining)
        await until(lambda: sorted(asked(desk)) == ["a", "b", "c"])
        desk.paper.free.set()
        assert winner(await first) == winner(await second) == "b"
        await desk.quiet()
        assert len(desk.paper.requests) == len(NAMES)
        assert desk.searching.begun == 1

    at_desk(work)


def test_each_who_listens_is_content_before_a_search_ends() -> None:
    """One finds the translation that he wants at once, and another has to look further."""

    def in_language(name: str, language: str) -> Callable[[UrlRequest], Reply]:
        translated = related(name, State.ORIGINAL, OTHER)
        return says(listing(name, {f".translation({language})": translated}))

    async def work(desk: Desk) -> None:
        publish(desk, NAMES, "b")
        desk.paper.held = {"b"}
        desk.paper.sayings = {"b": in_language("b", "pt"), "c": in_language("c", "fr")}
        readers = [
            asyncio.create_task(desk.resolve(question("+", languages=each)))
            for each in ("pt", "fr", "pt")
        ]
        await until(lambda: asked(desk) == ["b"])
        desk.paper.free.set()
        assert [winner(each) for each in await asyncio.gather(*readers)] == ["b", "c", "b"]
        assert Counter(asked(desk)) == Counter(NAMES)

    at_desk(work)


def test_a_search_keeps_its_rules_after_its_readers_have_left() -> None:
    async def work(desk: Desk) -> None:
        publish(desk, NAMES, "b")
        put_on_record(desk, "b")
        desk.paper.held = {"b"}
        desk.paper.sayings["c"] = says(original("c"))
        reader = asyncio.create_task(desk.resolve(question()))
        await until(lambda: asked(desk) == ["b"])
        reader.cancel()
        desk.paper.free.set()
        await desk.quiet()
        assert sorted(asked(desk)) == ["a", "b", "c"]
        assert desk.shelf.owned[LABEL.canonical].archive == SERVICES["c"].canonical

    at_desk(work)


def test_others_are_asked_when_the_likely_one_takes_longer_than_a_moment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "CLAIM_GRACE_SECONDS", 0.01)

    async def work(desk: Desk) -> None:
        publish(desk, NAMES, "b")
        desk.paper.held = {"b"}
        desk.paper.sayings["c"] = says(original("c"))
        assert winner(await desk.resolve(question())) == "c"
        assert not desk.paper.free.is_set()

    at_desk(work)


def test_those_who_were_held_back_get_a_moment_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And the others have none left when nobody is awaited who could be enough."""
    monkeypatch.setattr(module, "CLAIM_GRACE_SECONDS", 3600)

    async def work(desk: Desk) -> None:
        publish(desk, ("a", "b", "c", "d"), "b")
        desk.paper.held = {"a", "e"}
        desk.paper.sayings = {"d": says(original("d")), "a": says(original("a"))}
        claimant = SERVICES["d"].canonical
        before = desk.registry.last_asked(claimant)
        reader = asyncio.create_task(desk.resolve(question()))
        await until(lambda: desk.registry.last_asked(claimant) > before)
        await asyncio.sleep(0.01)
        assert len(desk.paper.requests) == len(FIVE)
        assert not reader.done()
        desk.paper.free.set()
        assert winner(await reader) == "a"

    at_desk(work, FIVE)


def test_one_search_in_a_hundred_asks_all() -> None:
    async def work(desk: Desk) -> None:
        publish(desk, NAMES, "b")
        put_on_record(desk, "b")
        desk.paper.sayings = {"b": says(original("b")), "c": says(original("c"))}
        desk.chance = module.FULL_SEARCH_SHARE
        assert winner(await desk.resolve(question())) == "b"
        await desk.quiet()
        assert asked(desk) == ["b"]
        desk.chance = module.FULL_SEARCH_SHARE / 2
        assert winner(await desk.resolve(question())) == "b"
        await desk.quiet()
        assert sorted(asked(desk)) == ["a", "b", "b", "c"]
        assert len(desk.shelf.conflicts(0, 10, only_open=True)) == 1

    at_desk(work)


def test_a_stranger_is_put_on_record_after_all_were_asked() -> None:
    """The reader does not wait for it. Who is senior, and lists it in no digest yet, wins."""

    async def work(desk: Desk) -> None:
        publish(desk, NAMES, "b")
        desk.paper.held = {"a", "c"}
        desk.paper.sayings = {"b": says(original("b")), "a": says(original("a"))}
        assert winner(await desk.resolve(question())) == "b"
        assert not desk.paper.free.is_set()
        assert LABEL.canonical not in desk.shelf.owned
        desk.paper.free.set()
        await desk.quiet()
        assert desk.shelf.owned[LABEL.canonical].archive == SERVICES["a"].canonical
        assert len(desk.shelf.conflicts(0, 10, only_open=True)) == 1

    at_desk(work)


class Lasting:
    """Lets every answer last that may."""

    def __init__(self) -> None:
        """Give one lease to all."""
        self.given = Lease(float("inf"))

    def lease(self, archive: str, asked: float, now: float) -> Lease:
        """Give it."""
        del archive, asked, now
        return self.given

    def release(self) -> None:
        """End nothing."""


@pytest.mark.parametrize("others_are_asked", [True, False])
def test_what_a_stranger_says_lasts_only_after_all_were_heard(
    others_are_asked: bool,  # noqa: FBT001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else it would for an hour, whoever comes before him, where nobody fetches digests."""
    monkeypatch.setattr(module, "MAX_RECORD_ASKS", 100 if others_are_asked else 0)

    async def work(desk: Desk) -> None:
        memory, leases = RedirectCache(lambda: 0, hot_seconds=10, absent_seconds=2), Lasting()
        memory.leases = leases

        async def lease_of(label: Label) -> Lease:
            found = await desk.resolve(Question(label))
            await desk.quiet()
            known = memory.keep(found, "http://resolver.example", memory.version, found.began)
            assert isinstance(known, CachedRedirect)
            return known.lease

        publish(desk, NAMES, "b")
        desk.paper.sayings["b"] = says(original("b"))
        assert await lease_of(LABEL) is not leases.given
        assert (LABEL.canonical in desk.shelf.owned) == others_are_asked
        put_on_record(desk, "b")
        assert await lease_of(LABEL) is leases.given
        desk.paper.sayings["a"] = says(original("a"))
        assert await lease_of(AT_HOME) is leases.given

    at_desk(work)


def test_among_very_many_not_every_search_asks_all_to_put_one_on_record(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MAX_RECORD_ASKS", 1)

    async def work(desk: Desk) -> None:
        publish(desk, NAMES, "b")
        desk.paper.sayings["b"] = says(original("b"))
        assert winner(await desk.resolve(question())) == "b"
        await desk.quiet()
        assert asked(desk) == ["b"]
        assert LABEL.canonical not in desk.shelf.owned
        desk.chance = 0.3
        assert winner(await desk.resolve(question())) == "b"
        await desk.quiet()
        assert desk.shelf.owned[LABEL.canonical].archive == SERVICES["b"].canonical

    at_desk(work)


def test_only_a_few_searches_at_once_ask_all_for_the_record(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MAX_IDLE_SEARCHES", 1)

    async def work(desk: Desk) -> None:
        labels = [parse(f"x.example/y/2012/01.01.01.{number:02}") for number in range(2)]
        desk.digests.digests = {"a": set(), "b": set(labels), "c": set()}
        desk.paper.held = {"a", "c"}
        desk.paper.sayings["b"] = says(original("b"))
        for label in labels:
            assert winner(await desk.resolve(Question(label))) == "b"
        await until(lambda: len(desk.paper.requests) == len(NAMES) + 1)
        desk.paper.free.set()
        await desk.quiet()
        assert Counter(asked(desk)) == Counter("abbc")
        assert labels[0].canonical in desk.shelf.owned
        assert labels[1].canonical not in desk.shelf.owned

    at_desk(work)


def test_a_crowd_that_hangs_keeps_nobody_from_those_whose_word_decides(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MAX_OTHER_ASKS", 1)

    async def work(desk: Desk) -> None:
        desk.paper.held = {"b", "c"}
        desk.paper.sayings["a"] = says(original("a"))
        for day in (1, 2, 3):
            label = parse(f"a.example/archive/2013/06.{day:02}.15.34")
            assert winner(await desk.resolve(Question(label))) == "a"
        assert Counter(asked(desk)) == Counter("aaab")
        desk.paper.free.set()
        await desk.quiet()
        assert Counter(asked(desk)) == Counter("aaabbbccc")

    at_desk(work)


def test_strangers_who_list_what_they_like_and_hang_keep_nobody_from_homes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MAX_LISTED_ASKS", 1)

    async def work(desk: Desk) -> None:
        labels = [parse(f"a.example/archive/2013/06.{day:02}.15.34") for day in (1, 2, 3)]
        desk.digests.digests = {"a": set(), "b": set(labels), "c": set()}
        desk.paper.held = {"b"}
        desk.paper.sayings["a"] = says(original("a"))
        for label in labels:
            assert winner(await desk.resolve(Question(label))) == "a"
        assert Counter(asked(desk)) == Counter("aaab")
        desk.paper.free.set()
        await desk.quiet()
        assert Counter(asked(desk)) == Counter("aaabbb")

    at_desk(work)


def test_a_search_whose_readers_have_left_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_SEARCHES", 2)

    async def work(desk: Desk) -> None:
        desk.paper.held = {"c"}
        desk.paper.sayings = {"a": says(original("a")), "b": says(original("b"))}
        labels = [parse(f"a.example/archive/2013/06.{day:02}.15.34") for day in (1, 2, 3)]
        for label in labels:
            assert winner(await desk.resolve(Question(label))) == "a"
        assert len(desk.searching) == 2
        # What was heard of the first is on record: who contends, and who is at home.
        await until(lambda: bool(desk.shelf.conflicts(0, 10, only_open=True)))
        [conflict] = desk.shelf.conflicts(0, 10, only_open=True)
        assert conflict.label == labels[0].canonical
        waiting = [
            asyncio.create_task(desk.resolve(Question(label, original_required=True)))
            for label in labels[1:]
        ]
        await until(lambda: len(desk.paper.requests) == 3 * len(NAMES))
        await asyncio.sleep(0.01)
        with pytest.raises(OverloadError):
            await desk.resolve(question())
        desk.paper.free.set()
        assert {type(each.outcome) for each in await asyncio.gather(*waiting)} == {Alert}

    at_desk(work)


def test_the_home_that_leads_on_is_enough_and_a_stranger_is_not() -> None:
    async def work(desk: Desk) -> None:
        def leading(name: str) -> Callable[[UrlRequest], Reply]:
            def say(request: UrlRequest) -> Reply:
                return unknown(name) if request.label == NEXT.label else leads(name, NEXT)

            return say

        publish(desk, NAMES, "b", of=NEXT.label)
        put_on_record(desk, "b", NEXT.label)
        last_edition = related("b", State.ORIGINAL, NEXT)
        desk.paper.sayings = {
            "a": leading("a"),
            "b": says(listing("b", {".lastedition": last_edition})),
        }
        asking = Question(AT_HOME, read_modifiers("!")[0])
        assert winner(await desk.resolve(asking)) == "b"
        assert asked(desk) == ["a", "b"]
        desk.paper.requests.clear()
        desk.paper.sayings["c"] = leading("c")
        desk.digests.digests["c"].add(LABEL)
        desk.paper.sayings["a"] = says(unknown("a"))
        await desk.resolve(replace(asking, label=LABEL))
        assert Counter(name for name, each in desk.paper.requests if each.label == LABEL) == (
            Counter(NAMES)
        )

    at_desk(work)


def test_a_search_that_is_broken_off_says_nothing_of_those_held_back() -> None:
    async def work(desk: Desk) -> None:
        publish(desk, NAMES, "b")
        desk.paper.held = {"b"}
        reader = asyncio.create_task(desk.resolve(question()))
        await until(lambda: asked(desk) == ["b"])
        await desk.searching.close()
        outcome = (await reader).outcome
        assert isinstance(outcome, Unsure)
        assert [each.archive[0] for each in outcome.silences] == ["a", "b", "c"]

    at_desk(work)


def test_who_would_have_been_asked_first_is_known_after_all_were_heard() -> None:
    async def work(desk: Desk) -> None:
        publish(desk, ("a", "b"), "b")
        desk.paper.sayings["b"] = says(original("b"))
        step = (await desk.resolve(question(), hear_all=True)).last
        assert {each.archive[0] for each in step.evidence.answers} == set(NAMES)
        assert step.evidence.likely == frozenset(SERVICES[name].canonical for name in "bc")
        assert isinstance(step.decision, Redirect)

    at_desk(work)


def test_a_holder_that_is_excluded_is_not_asked() -> None:
    async def work(desk: Desk) -> None:
        publish(desk, NAMES, "a", "b")
        desk.paper.sayings["b"] = says(original("b"))
        await desk.registry.exclude(SERVICES["a"].canonical)
        assert winner(await desk.resolve(question())) == "b"
        await desk.quiet()
        assert "a" not in asked(desk)

    at_desk(work)


def test_who_publishes_is_looked_at_again_a_part_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(undigested, "PART", 2)

    async def work(desk: Desk) -> None:
        publishing: set[str] = set()
        looking = UndigestedArchives(desk.registry, lambda name: name[0] in publishing)

        def names(now: float) -> str:
            return "".join(sorted(name[0] for name in looking.names(now)))

        assert names(1.0) == "abcde"
        publishing |= set("abcde")
        assert names(1.0) == "abcde"
        assert [names(1.0 + number) for number in (1, 2, 3)] == ["abe", "ab", ""]
        publishing.clear()
        assert [names(5.0 + number) for number in range(4)] == ["cd", "cde", "abcde", "abcde"]
        await desk.registry.exclude(SERVICES["e"].canonical)
        assert names(8.0) == "abcd"

    at_desk(work, FIVE)
