"""Searches that ask first who is likely to have an item, among fake archives."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest

from ibi.errors import OverloadError
from ibi.foundation.system.clock import SystemClock
from ibi.identifier.ibip import Ibip
from ibi.identifier.instant import Instant
from ibi.identifier.label import Label, parse
from ibi.identifier.verbs import read_modifiers
from ibi.model.archive_record import ArchiveRecord
from ibi.model.clock import SECOND
from ibi.model.item import State
from ibi.resolver.ports.outbound import NoReply, Reply
from ibi.resolver.ports.store import Owner
from ibi.resolver.rules import search_progress
from ibi.resolver.rules.decision import Alert, NotFound, Redirect, Unsure
from ibi.resolver.rules.redirect_cache import RedirectCache
from ibi.resolver.rules.redirect_entry import CachedRedirect
from ibi.resolver.rules.redirect_lease import Lease
from ibi.resolver.search import archive_queries, archives_without_digest, pool
from ibi.resolver.search.archives_without_digest import UndigestedArchives
from ibi.wire.question import Question
from ibi.wire.requests import UrlRequest
from tests.support.doubles.resolver_store import until
from tests.support.scenes.search import NAMES, SERVICES, SearchScene, run_scene, says, winner
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


def asked(scene: SearchScene) -> list[str]:
    """Return who was asked, nobody twice for one search."""
    return [name for name, _ in scene.archives.requests]


def publish(
    scene: SearchScene, names: tuple[str, ...] = NAMES, *holders: str, of: Label = LABEL
) -> None:
    """Let archives publish digests, some of them with a label."""
    scene.digests.digests = {name: {of} if name in holders else set() for name in names}


def put_on_record(scene: SearchScene, name: str, label: Label = LABEL) -> None:
    scene.store.owned[label.canonical] = Owner(SERVICES[name].canonical, 1)


def test_only_who_is_likely_to_have_it_is_asked() -> None:
    async def work(scene: SearchScene) -> None:
        publish(scene, NAMES, "b")
        put_on_record(scene, "b")
        scene.archives.sayings["b"] = says(original("b"))
        assert winner(await scene.resolve(question())) == "b"
        await scene.quiet()
        assert asked(scene) == ["b"]

    run_scene(work)


def test_the_home_is_asked_and_put_on_record_without_the_others() -> None:
    async def work(scene: SearchScene) -> None:
        publish(scene)
        scene.archives.sayings["a"] = says(original("a"))
        assert winner(await scene.resolve(Question(AT_HOME))) == "a"
        await scene.quiet()
        assert asked(scene) == ["a"]
        assert scene.store.owned[AT_HOME.canonical].archive == SERVICES["a"].canonical

    run_scene(work)


@pytest.mark.parametrize("readable", [True, False])
def test_where_nothing_is_known_all_are_asked_at_once(readable: bool) -> None:  # noqa: FBT001
    """No digest is there, or the store cannot be read."""

    async def work(scene: SearchScene) -> None:
        scene.digests.readable = readable
        if not readable:
            publish(scene, NAMES, "b")
        scene.archives.held = set(NAMES)
        reader = asyncio.create_task(scene.resolve(question()))
        await until(lambda: len(scene.archives.requests) == len(NAMES))
        scene.archives.free.set()
        found = await reader
        assert isinstance(found.outcome, NotFound)
        assert found.last.evidence.asked_first is None

    run_scene(work)


def test_that_nobody_has_it_takes_the_word_of_all() -> None:
    async def work(scene: SearchScene) -> None:
        publish(scene)
        assert isinstance((await scene.resolve(question())).outcome, NotFound)
        assert sorted(asked(scene)) == ["a", "b", "c"]
        scene.archives.sayings["c"] = says(SILENT)
        assert isinstance((await scene.resolve(question())).outcome, Unsure)

    run_scene(work)


# Archives whose log is followed: their digest stands for their answer.


def test_an_archive_whose_log_is_followed_has_answered_no_without_being_asked() -> None:
    async def work(scene: SearchScene) -> None:
        publish(scene)
        scene.follow("a", "b")
        assert isinstance((await scene.resolve(question())).outcome, NotFound)
        assert asked(scene) == ["c"]
        scene.follow("c")
        scene.archives.requests.clear()
        assert isinstance((await scene.resolve(question())).outcome, NotFound)
        assert asked(scene) == []

    run_scene(work)


def test_a_home_and_an_owner_are_asked_in_any_case() -> None:
    async def work(scene: SearchScene) -> None:
        publish(scene)
        scene.follow(*NAMES)
        put_on_record(scene, "b", AT_HOME)
        assert isinstance((await scene.resolve(Question(AT_HOME))).outcome, NotFound)
        assert sorted(asked(scene)) == ["a", "b"]

    run_scene(work)


def test_an_archive_that_publishes_no_digest_is_asked_and_awaited() -> None:
    async def work(scene: SearchScene) -> None:
        publish(scene, ("a", "b"))
        scene.follow("a", "b")
        scene.archives.sayings["c"] = says(SILENT)
        assert isinstance((await scene.resolve(question())).outcome, Unsure)
        assert asked(scene) == ["c"]

    run_scene(work)


def test_the_word_of_digests_is_enough_where_the_original_is_required() -> None:
    async def work(scene: SearchScene) -> None:
        publish(scene, NAMES, "b")
        scene.follow(*NAMES)
        scene.archives.sayings["b"] = says(original("b"))
        assert winner(await scene.resolve(question(required=True))) == "b"
        await scene.quiet()
        assert asked(scene) == ["b"]
        # So is it to record the owner: no archive that was not asked comes before it.
        assert scene.store.owned[LABEL.canonical].archive == SERVICES["b"].canonical

    run_scene(work)


def test_all_are_asked_for_a_label_that_is_younger_than_the_digests() -> None:
    async def work(scene: SearchScene) -> None:
        publish(scene)
        scene.follow(*NAMES)
        now = SystemClock().wall() // SECOND
        for seconds in (now, now + 3600):
            scene.archives.requests.clear()
            young = Ibip.mount("203.0.113.9", 800, Instant(seconds))
            assert isinstance((await scene.resolve(Question(young))).outcome, NotFound)
            assert sorted(asked(scene)) == ["a", "b", "c"]

    run_scene(work)


def test_an_archive_that_was_silent_does_not_answer_by_its_digest() -> None:
    async def work(scene: SearchScene) -> None:
        publish(scene, NAMES, "a", of=AT_HOME)
        scene.follow(*NAMES)
        scene.archives.sayings["a"] = says(SILENT)
        assert isinstance((await scene.resolve(Question(AT_HOME))).outcome, Unsure)
        scene.archives.requests.clear()
        assert isinstance((await scene.resolve(question())).outcome, Unsure)
        assert asked(scene) == ["a"]

    run_scene(work)


def test_to_explain_a_search_all_are_asked() -> None:
    async def work(scene: SearchScene) -> None:
        publish(scene)
        scene.follow(*NAMES)
        found = await scene.resolve(question(), ask_all=True)
        assert isinstance(found.outcome, NotFound)
        assert sorted(asked(scene)) == ["a", "b", "c"]

    run_scene(work)


def test_archives_that_come_are_asked_until_their_logs_are_followed() -> None:
    async def work(scene: SearchScene) -> None:
        publish(scene)
        scene.follow(*NAMES)
        await scene.registry.exclude(SERVICES["c"].canonical)
        assert isinstance((await scene.resolve(question())).outcome, NotFound)
        assert asked(scene) == []
        scene.followed.keep_only({SERVICES[name].canonical for name in ("a", "b")})
        record = ArchiveRecord("c.example", SERVICES["c"], "192.0.2.1", "1", "a@b.c")
        await scene.registry.include(SERVICES["c"].canonical, record, confirmed=True)
        assert isinstance((await scene.resolve(question())).outcome, NotFound)
        assert asked(scene) == ["c"]

    run_scene(work)


def test_an_archive_that_is_down_is_silent_among_those_held_back_too() -> None:
    async def work(scene: SearchScene) -> None:
        publish(scene)
        scene.archives.sayings["c"] = says(SILENT)
        for _ in range(5):
            outcome = (await scene.resolve(question())).outcome
            assert isinstance(outcome, Unsure)
            assert [each.archive for each in outcome.silences] == [SERVICES["c"].canonical]
        assert asked(scene).count("c") == 3

    run_scene(work)


@pytest.mark.parametrize("on_record", [True, False])
def test_a_place_that_has_it_no_more_leads_to_all_others_in_the_same_request(
    on_record: bool,  # noqa: FBT001
) -> None:
    """The item moved to c, and no digest says so yet."""

    async def work(scene: SearchScene) -> None:
        publish(scene, FIVE, "a")
        if on_record:
            put_on_record(scene, "a")
        scene.archives.sayings["c"] = says(original("c"))
        assert winner(await scene.resolve(question())) == "c"
        await scene.quiet()
        assert Counter(asked(scene)) == Counter(FIVE)
        assert scene.store.owned[LABEL.canonical].archive == SERVICES["c"].canonical
        assert (LABEL.canonical in scene.forgotten) == on_record
        assert not scene.store.conflicts(0, 10, only_open=True)

    run_scene(work, FIVE)


@pytest.mark.parametrize("on_record", [True, False])
def test_a_copy_at_the_old_place_tells_that_the_original_moved(
    on_record: bool,  # noqa: FBT001
) -> None:
    """Whoever was known to have it is believed at once, as it is where all are asked.

    But it is found out in the same search where the Original is, and what was remembered is
    forgotten: nobody is sent to the old place any more.
    """

    async def work(scene: SearchScene) -> None:
        publish(scene, FIVE, "a")
        if on_record:
            put_on_record(scene, "a")
        scene.archives.sayings = {"a": says(copy("a")), "c": says(original("c"))}
        assert winner(await scene.resolve(question())) == ("a" if on_record else "c")
        await scene.quiet()
        assert scene.store.owned[LABEL.canonical].archive == SERVICES["c"].canonical
        assert (LABEL.canonical in scene.forgotten) == on_record
        scene.archives.requests.clear()
        assert winner(await scene.resolve(question())) == "c"
        await scene.quiet()
        assert asked(scene) == ["a", "c"]

    run_scene(work, FIVE)


@pytest.mark.parametrize("explains", [True, False])
def test_who_joins_a_search_and_needs_all_makes_it_ask_them(
    explains: bool,  # noqa: FBT001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        search_progress, "CLAIM_GRACE_SECONDS", 3600
    )  # nobody is asked for what takes too long

    async def work(scene: SearchScene) -> None:
        publish(scene, NAMES, "b")
        put_on_record(scene, "b")
        scene.archives.held = {"b"}
        scene.archives.sayings["b"] = says(original("b"))
        first = asyncio.create_task(scene.resolve(question()))
        await until(lambda: asked(scene) == ["b"])
        joining = scene.resolve(question(required=not explains), ask_all=explains)
        second = asyncio.create_task(joining)
        await until(lambda: sorted(asked(scene)) == ["a", "b", "c"])
        scene.archives.free.set()
        assert winner(await first) == winner(await second) == "b"
        await scene.quiet()
        assert len(scene.archives.requests) == len(NAMES)
        assert scene.searching.begun == 1

    run_scene(work)


def test_each_who_listens_is_content_before_a_search_ends() -> None:
    """One finds the translation that he wants at once, and another has to look further."""

    def in_language(name: str, language: str) -> Callable[[UrlRequest], Reply]:
        translated = related(name, State.ORIGINAL, OTHER)
        return says(listing(name, {f".translation({language})": translated}))

    async def work(scene: SearchScene) -> None:
        publish(scene, NAMES, "b")
        scene.archives.held = {"b"}
        scene.archives.sayings = {"b": in_language("b", "pt"), "c": in_language("c", "fr")}
        readers = [
            asyncio.create_task(scene.resolve(question("+", languages=each)))
            for each in ("pt", "fr", "pt")
        ]
        await until(lambda: asked(scene) == ["b"])
        scene.archives.free.set()
        assert [winner(each) for each in await asyncio.gather(*readers)] == ["b", "c", "b"]
        assert Counter(asked(scene)) == Counter(NAMES)

    run_scene(work)


def test_a_search_keeps_its_rules_after_its_readers_have_left() -> None:
    async def work(scene: SearchScene) -> None:
        publish(scene, NAMES, "b")
        put_on_record(scene, "b")
        scene.archives.held = {"b"}
        scene.archives.sayings["c"] = says(original("c"))
        reader = asyncio.create_task(scene.resolve(question()))
        await until(lambda: asked(scene) == ["b"])
        reader.cancel()
        scene.archives.free.set()
        await scene.quiet()
        assert sorted(asked(scene)) == ["a", "b", "c"]
        assert scene.store.owned[LABEL.canonical].archive == SERVICES["c"].canonical

    run_scene(work)


def test_others_are_asked_when_the_likely_one_takes_longer_than_a_moment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(search_progress, "CLAIM_GRACE_SECONDS", 0.01)

    async def work(scene: SearchScene) -> None:
        publish(scene, NAMES, "b")
        scene.archives.held = {"b"}
        scene.archives.sayings["c"] = says(copy("c"))
        assert winner(await scene.resolve(question())) == "c"
        assert not scene.archives.free.is_set()

    run_scene(work)


def test_those_who_were_held_back_get_a_moment_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And the others have none left when nobody is awaited who could be enough."""
    monkeypatch.setattr(search_progress, "CLAIM_GRACE_SECONDS", 3600)

    async def work(scene: SearchScene) -> None:
        publish(scene, ("a", "b", "c", "d"), "b")
        scene.archives.held = {"a", "e"}
        scene.archives.sayings = {"d": says(original("d")), "a": says(original("a"))}
        claimant = SERVICES["d"].canonical
        before = scene.registry.last_asked(claimant)
        reader = asyncio.create_task(scene.resolve(question()))
        await until(lambda: scene.registry.last_asked(claimant) > before)
        await until(lambda: len(scene.archives.requests) == len(FIVE))
        assert not reader.done()
        scene.archives.free.set()
        assert winner(await reader) == "a"

    run_scene(work, FIVE)


def test_one_search_in_a_hundred_asks_all() -> None:
    async def work(scene: SearchScene) -> None:
        publish(scene, NAMES, "b")
        put_on_record(scene, "b")
        scene.archives.sayings = {"b": says(original("b")), "c": says(original("c"))}
        scene.chance = search_progress.FULL_SEARCH_SHARE
        assert winner(await scene.resolve(question())) == "b"
        await scene.quiet()
        assert asked(scene) == ["b"]
        scene.chance = search_progress.FULL_SEARCH_SHARE / 2
        assert winner(await scene.resolve(question())) == "b"
        await scene.quiet()
        assert sorted(asked(scene)) == ["a", "b", "b", "c"]
        assert len(scene.store.conflicts(0, 10, only_open=True)) == 1

    run_scene(work)


def test_a_stranger_is_put_on_record_after_all_were_asked() -> None:
    """The reader does not wait for it. Who is senior, and does not list it, is a rival."""

    async def work(scene: SearchScene) -> None:
        publish(scene, NAMES, "b")
        scene.archives.held = {"a", "c"}
        scene.archives.sayings = {"b": says(original("b")), "a": says(original("a"))}
        assert winner(await scene.resolve(question())) == "b"
        assert not scene.archives.free.is_set()
        assert LABEL.canonical not in scene.store.owned
        scene.archives.free.set()
        await scene.quiet()
        assert scene.store.owned[LABEL.canonical].archive == SERVICES["b"].canonical
        [conflict] = scene.store.conflicts(0, 10, only_open=True)
        assert [claim.archive for claim in conflict.claims] == [
            SERVICES[name].canonical for name in "ba"
        ]

    run_scene(work)


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
    monkeypatch.setattr(search_progress, "MAX_RECORD_ASKS", 100 if others_are_asked else 0)

    async def work(scene: SearchScene) -> None:
        leases = Lasting()
        memory = RedirectCache(lambda: 0, hot_seconds=10, absent_seconds=2, leases=leases)

        async def lease_of(label: Label) -> Lease:
            found = await scene.resolve(Question(label))
            await scene.quiet()
            known = memory.keep(found, "http://resolver.example", memory.version, found.began)
            assert isinstance(known, CachedRedirect)
            return known.lease

        publish(scene, NAMES, "b")
        scene.archives.sayings["b"] = says(original("b"))
        assert await lease_of(LABEL) is not leases.given
        assert (LABEL.canonical in scene.store.owned) == others_are_asked
        put_on_record(scene, "b")
        assert await lease_of(LABEL) is leases.given
        scene.archives.sayings["a"] = says(original("a"))
        assert await lease_of(AT_HOME) is leases.given

    run_scene(work)


def test_among_very_many_not_every_search_asks_all_to_put_one_on_record(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(search_progress, "MAX_RECORD_ASKS", 1)

    async def work(scene: SearchScene) -> None:
        publish(scene, NAMES, "b")
        scene.archives.sayings["b"] = says(original("b"))
        assert winner(await scene.resolve(question())) == "b"
        await scene.quiet()
        assert asked(scene) == ["b"]
        assert LABEL.canonical not in scene.store.owned
        scene.chance = 0.3
        assert winner(await scene.resolve(question())) == "b"
        await scene.quiet()
        assert scene.store.owned[LABEL.canonical].archive == SERVICES["b"].canonical

    run_scene(work)


def test_only_a_few_searches_at_once_ask_all_for_the_record(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(search_progress, "MAX_IDLE_SEARCHES", 1)

    async def work(scene: SearchScene) -> None:
        labels = [parse(f"x.example/y/2012/01.01.01.{number:02}") for number in range(2)]
        scene.digests.digests = {"a": set(), "b": set(labels), "c": set()}
        scene.archives.held = {"a", "c"}
        scene.archives.sayings["b"] = says(original("b"))
        for label in labels:
            assert winner(await scene.resolve(Question(label))) == "b"
        await until(lambda: len(scene.archives.requests) == len(NAMES) + 1)
        scene.archives.free.set()
        await scene.quiet()
        assert Counter(asked(scene)) == Counter("abbc")
        assert labels[0].canonical in scene.store.owned
        assert labels[1].canonical not in scene.store.owned

    run_scene(work)


def test_a_crowd_that_hangs_keeps_nobody_from_those_whose_word_decides(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(archive_queries, "MAX_OTHER_ASKS", 1)

    async def work(scene: SearchScene) -> None:
        scene.archives.held = {"b", "c"}
        scene.archives.sayings["a"] = says(original("a"))
        for day in (1, 2, 3):
            label = parse(f"a.example/archive/2013/06.{day:02}.15.34")
            assert winner(await scene.resolve(Question(label))) == "a"
        assert Counter(asked(scene)) == Counter("aaab")
        scene.archives.free.set()
        await scene.quiet()
        assert Counter(asked(scene)) == Counter("aaabbbccc")

    run_scene(work)


def test_strangers_who_list_what_they_like_and_hang_keep_nobody_from_homes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(archive_queries, "MAX_LISTED_ASKS", 1)

    async def work(scene: SearchScene) -> None:
        labels = [parse(f"a.example/archive/2013/06.{day:02}.15.34") for day in (1, 2, 3)]
        scene.digests.digests = {"a": set(), "b": set(labels), "c": set()}
        scene.archives.held = {"b"}
        scene.archives.sayings["a"] = says(original("a"))
        for label in labels:
            assert winner(await scene.resolve(Question(label))) == "a"
        assert Counter(asked(scene)) == Counter("aaab")
        scene.archives.free.set()
        await scene.quiet()
        assert Counter(asked(scene)) == Counter("aaabbb")

    run_scene(work)


def test_a_search_whose_readers_have_left_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "MAX_SEARCHES", 2)

    async def work(scene: SearchScene) -> None:
        scene.archives.held = {"c"}
        scene.archives.sayings = {"a": says(original("a")), "b": says(original("b"))}
        labels = [parse(f"a.example/archive/2013/06.{day:02}.15.34") for day in (1, 2, 3)]
        for label in labels:
            assert winner(await scene.resolve(Question(label))) == "a"
        assert len(scene.searching) == 2
        # What was heard of the first is on record: who contends, and who is at home.
        await until(lambda: bool(scene.store.conflicts(0, 10, only_open=True)))
        [conflict] = scene.store.conflicts(0, 10, only_open=True)
        assert conflict.label == labels[0].canonical
        waiting = [
            asyncio.create_task(scene.resolve(Question(label, original_required=True)))
            for label in labels[1:]
        ]
        await until(lambda: len(scene.archives.requests) == 3 * len(NAMES))
        running = scene.searching._running.values()  # noqa: SLF001  # nothing else shows it
        await until(lambda: all(search.readers for search in running))
        with pytest.raises(OverloadError):
            await scene.resolve(question())
        scene.archives.free.set()
        assert {type(each.outcome) for each in await asyncio.gather(*waiting)} == {Alert}

    run_scene(work)


def test_the_home_that_leads_on_is_enough_and_a_stranger_is_not() -> None:
    async def work(scene: SearchScene) -> None:
        def leading(name: str) -> Callable[[UrlRequest], Reply]:
            def say(request: UrlRequest) -> Reply:
                return unknown(name) if request.label == NEXT.label else leads(name, NEXT)

            return say

        publish(scene, NAMES, "b", of=NEXT.label)
        put_on_record(scene, "b", NEXT.label)
        last_edition = related("b", State.ORIGINAL, NEXT)
        scene.archives.sayings = {
            "a": leading("a"),
            "b": says(listing("b", {".lastedition": last_edition})),
        }
        asking = Question(AT_HOME, read_modifiers("!")[0])
        assert winner(await scene.resolve(asking)) == "b"
        assert asked(scene) == ["a", "b"]
        scene.archives.requests.clear()
        scene.archives.sayings["c"] = leading("c")
        scene.digests.digests["c"].add(LABEL)
        scene.archives.sayings["a"] = says(unknown("a"))
        await scene.resolve(replace(asking, label=LABEL))
        assert Counter(name for name, each in scene.archives.requests if each.label == LABEL) == (
            Counter(NAMES)
        )

    run_scene(work)


def test_a_search_that_is_broken_off_says_nothing_of_those_held_back() -> None:
    async def work(scene: SearchScene) -> None:
        publish(scene, NAMES, "b")
        scene.archives.held = {"b"}
        reader = asyncio.create_task(scene.resolve(question()))
        await until(lambda: asked(scene) == ["b"])
        await scene.searching.close()
        outcome = (await reader).outcome
        assert isinstance(outcome, Unsure)
        assert [each.archive[0] for each in outcome.silences] == ["a", "b", "c"]

    run_scene(work)


def test_who_would_have_been_asked_first_is_known_after_all_were_heard() -> None:
    async def work(scene: SearchScene) -> None:
        publish(scene, ("a", "b"), "b")
        scene.archives.sayings["b"] = says(original("b"))
        step = (await scene.resolve(question(), ask_all=True)).last
        assert {each.archive[0] for each in step.evidence.answers} == set(NAMES)
        assert step.evidence.asked_first == frozenset(SERVICES[name].canonical for name in "bc")
        assert isinstance(step.decision, Redirect)

    run_scene(work)


def test_who_publishes_is_looked_at_again_a_part_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(archives_without_digest, "PART", 2)

    async def work(scene: SearchScene) -> None:
        publishing: set[str] = set()
        looking = UndigestedArchives(scene.registry, lambda name: name[0] in publishing)

        def names(now: float) -> str:
            return "".join(sorted(name[0] for name in looking.names(now)))

        assert names(1.0) == "abcde"
        publishing |= set("abcde")
        assert names(1.0) == "abcde"
        assert [names(1.0 + number) for number in (1, 2, 3)] == ["abe", "ab", ""]
        publishing.clear()
        assert [names(5.0 + number) for number in range(4)] == ["cd", "cde", "abcde", "abcde"]
        await scene.registry.exclude(SERVICES["e"].canonical)
        assert names(8.0) == "abcd"

    run_scene(work, FIVE)
