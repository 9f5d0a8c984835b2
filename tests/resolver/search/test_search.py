"""Searches and hops among archives on paper: who is asked, who is waited for, what is learned."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from ibi.errors import OverloadError
from ibi.identifier.label import parse
from ibi.identifier.verbs import read_modifiers
from ibi.model.archive_record import ArchiveRecord
from ibi.model.item import ContentType, State
from ibi.model.label_pair import Forms
from ibi.model.relation import Relation
from ibi.resolver.ports.outbound import NO_SLOT, NoReply, Reply
from ibi.resolver.ports.store import Owner
from ibi.resolver.rules.cached_redirect import CachedRedirect
from ibi.resolver.rules.decision import Alert, NotFound, Redirect, Unsure
from ibi.resolver.rules.redirect_cache import RedirectCache
from ibi.resolver.rules.resolution import Chain, Resolution
from ibi.resolver.search import fan_out as module
from ibi.resolver.search.hops import MOST_HOPS, HopResolver
from ibi.wire.question import Question
from ibi.wire.requests import UrlRequest
from tests.support.doubles.resolver_store import until
from tests.support.scenes.search import CLIENTS, NAMES, SERVICES, Desk, at_desk, says, winner
from tests.support.values.archive_answers import (
    ITEM,
    NEXT,
    copy,
    leads,
    listing,
    original,
    question,
    related,
    unknown,
    url_of,
)

HERE = "http://resolver.example"


@pytest.fixture(autouse=True)
def _keys_are_cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that is slow to guess is slow to keep, and no test here is about keys."""
    monkeypatch.setattr("ibi.resolver.registry.registry.kept", str)


def test_all_included_archives_are_asked_and_nothing_private_is_told() -> None:
    async def work(desk: Desk) -> None:
        desk.paper.sayings["b"] = says(original("b"))
        asked = question("+(pt)", required=True, languages="pt-BR,fr;q=0.8")
        await desk.resolve(asked)
        assert sorted(name for name, _ in desk.paper.requests) == ["a", "b", "c"]
        for _, request in desk.paper.requests:
            assert request == UrlRequest(CLIENTS, asked.label, asked.verbs)
            text = " ".join(map(str, request.pairs()))
            assert "Original" not in text
            assert "BR" not in text

    at_desk(work)


def test_one_search_at_a_time_for_one_question() -> None:
    async def work(desk: Desk) -> None:
        desk.paper.held = set(NAMES)
        desk.paper.sayings["b"] = says(original("b"))
        readers = [asyncio.create_task(desk.resolve(question())) for _ in range(100)]
        await until(lambda: len(desk.paper.requests) == len(NAMES))
        desk.paper.free.set()
        assert {winner(each) for each in await asyncio.gather(*readers)} == {"b"}
        assert desk.searching.begun == 1
        assert len(desk.paper.requests) == len(NAMES)

    at_desk(work)


def test_the_key_of_an_answer_is_for_one_reader() -> None:
    async def work(desk: Desk) -> None:
        desk.paper.held = set(NAMES)
        desk.paper.sayings["b"] = says(original("b"))
        readers = [asyncio.create_task(desk.resolve(question())) for _ in range(5)]
        await until(lambda: len(desk.paper.requests) == len(NAMES))
        desk.paper.free.set()
        keys = [each.last.key for each in await asyncio.gather(*readers)]
        assert sum(key is not None for key in keys) == 1
        explained = await desk.resolve(question(), hear_all=True)
        assert explained.last.key is None

    at_desk(work)


def test_a_slow_archive_delays_nobody_whose_item_lies_elsewhere() -> None:
    async def work(desk: Desk) -> None:
        desk.paper.held = {"a", "c"}
        desk.paper.sayings["b"] = says(original("b"))
        assert winner(await desk.resolve(question())) == "b"
        assert not desk.paper.free.is_set()

    at_desk(work)


def test_the_owner_on_record_is_believed_though_a_rogue_is_faster() -> None:
    async def work(desk: Desk) -> None:
        desk.paper.sayings["c"] = says(original("c"))
        assert winner(await desk.resolve(question())) == "c"
        await desk.quiet()
        desk.paper.sayings["a"] = says(original("a"))
        desk.paper.held = {"c"}
        reader = asyncio.create_task(desk.resolve(question()))
        # Long after others have had their moment, the rogue is still not believed.
        await until(lambda: len(desk.paper.requests) == 2 * len(NAMES))
        await asyncio.sleep(2 * module.CLAIM_GRACE_SECONDS)
        assert not reader.done()
        desk.paper.free.set()
        assert winner(await reader) == "c"
        await desk.quiet()
        [conflict] = desk.shelf.conflicts(0, 10, only_open=True)
        assert conflict.label == ITEM.label.canonical
        assert [claim.archive[0] for claim in conflict.claims] == ["c", "a"]

    at_desk(work)


def test_a_rival_claim_that_comes_late_is_recorded_all_the_same() -> None:
    async def work(desk: Desk) -> None:
        desk.paper.sayings = {"a": says(original("a")), "c": says(original("c"))}
        desk.paper.held = {"c"}
        assert winner(await desk.resolve(question())) == "a"
        assert not desk.shelf.conflicts(0, 10, only_open=True)
        desk.paper.free.set()
        await desk.quiet()
        assert len(desk.shelf.conflicts(0, 10, only_open=True)) == 1
        decided = await desk.resolve(replace(question(), original_required=True))
        assert isinstance(decided.outcome, Alert)

    at_desk(work)


def test_who_moved_is_learned() -> None:
    async def work(desk: Desk) -> None:
        label = ITEM.label.canonical
        desk.paper.sayings = {"a": says(original("a"))}
        await desk.resolve(question(), hear_all=True)
        await desk.quiet()
        assert desk.shelf.owned[label].archive.startswith("a.")
        desk.paper.sayings = {"a": says(copy("a")), "b": says(original("b"))}
        await desk.resolve(question(), hear_all=True)
        await desk.quiet()
        assert desk.shelf.owned[label].archive.startswith("b.")
        assert not desk.shelf.conflicts(0, 10, only_open=True)

    at_desk(work)


def test_what_the_operator_settled_is_not_unlearned() -> None:
    async def work(desk: Desk) -> None:
        label = ITEM.label.canonical
        desk.paper.sayings = {"a": says(original("a"))}
        settled = Owner(SERVICES["b"].canonical, 1, settled=True)
        desk.owners.learn(label, Owner(SERVICES["a"].canonical, 2))
        desk.shelf.keep_owners([(label, settled)])
        await desk.quiet()
        assert desk.shelf.owned[label] == settled

    at_desk(work)


def test_an_owner_that_is_switched_off_is_named() -> None:
    async def work(desk: Desk) -> None:
        desk.paper.sayings = {"a": says(original("a"))}
        await desk.resolve(question(), hear_all=True)
        await desk.registry.exclude(SERVICES["a"].canonical)
        outcome = (await desk.resolve(question())).outcome
        assert isinstance(outcome, Unsure)
        assert [each.archive for each in outcome.silences] == [SERVICES["a"].canonical]
        await desk.registry.remove(SERVICES["a"].canonical, "test")
        assert isinstance((await desk.resolve(question())).outcome, NotFound)

    at_desk(work)


def test_that_nobody_has_it_takes_the_word_of_those_included_meanwhile() -> None:
    async def work(desk: Desk) -> None:
        desk.paper.sayings = {"c": says(original("c"))}
        name = SERVICES["c"].canonical
        record = ArchiveRecord("c.example", SERVICES["c"], "192.0.2.1", "1", "a@b.c")
        caught_up = 0

        async def catch_up() -> None:
            nonlocal caught_up
            caught_up += 1
            await desk.registry.include(name, record, confirmed=True)

        await desk.registry.exclude(name)
        resolving = HopResolver(desk.searching, catch_up)
        assert winner(await resolving.resolve(question(), CLIENTS)) == "c"
        # Those who have it were not long in coming: nothing else has to be known.
        assert winner(await resolving.resolve(question(), CLIENTS)) == "c"
        assert caught_up == 1
        desk.paper.sayings = {}
        await desk.registry.remove(name, "test")
        resolving = HopResolver(desk.searching)
        assert isinstance((await resolving.resolve(question(), CLIENTS)).outcome, NotFound)

    at_desk(work)


def test_an_archive_that_is_down_is_not_asked_and_counts_as_silent() -> None:
    async def work(desk: Desk) -> None:
        silent = NoReply("b", "it did not answer in time")
        desk.paper.sayings = {"b": says(silent)}
        for _ in range(5):
            assert isinstance((await desk.resolve(question())).outcome, Unsure)
        asked = [name for name, _ in desk.paper.requests]
        assert asked.count("b") == 3
        assert asked.count("a") == 5

    at_desk(work)


def test_a_url_that_is_not_the_archives_own_serves_nobody() -> None:
    async def work(desk: Desk) -> None:
        evil = original("a")
        assert evil.listed is not None
        offered = {
            relation: replace(each, url="http://evil.example/")
            for relation, each in evil.listed.related.items()
        }
        evil = replace(evil, listed=replace(evil.listed, related=offered))
        desk.paper.sayings = {"a": says(evil)}
        resolution = await desk.resolve(question())
        assert isinstance(resolution.outcome, Unsure)
        [silence] = resolution.outcome.silences
        assert "not on its own host" in silence.reason
        # It is there, though: it answered.
        assert desk.registry.is_asked(silence.archive)

    at_desk(work)


@pytest.mark.parametrize("length", [1, 2, 3, 50])
def test_circles_are_cut(length: int) -> None:
    ring = [parse(f"a.example/ring/2012/01.01.01.{number:02}") for number in range(length)]

    def answer(request: UrlRequest) -> Reply:
        at = ring.index(request.label)
        following = ring[(at + 1) % length]
        return leads("a", Forms.of(following))

    async def work(desk: Desk) -> None:
        desk.paper.sayings = {"a": answer}
        asked = Question(ring[0], read_modifiers("!")[0])
        resolution = await desk.resolve(asked)
        assert isinstance(resolution.outcome, Chain)
        assert resolution.outcome.is_loop == (length <= MOST_HOPS)
        assert resolution.outcome.labels[0] == ring[0]
        assert len(resolution.steps) <= MOST_HOPS + 1

    at_desk(work, ("a",))


def test_hops_go_on_with_the_verbs_that_remain() -> None:
    async def work(desk: Desk) -> None:
        def first(request: UrlRequest) -> Reply:
            return leads("a", NEXT) if request.label == ITEM.label else unknown("a")

        def second(request: UrlRequest) -> Reply:
            assert request.label != ITEM.label or request.verbs
            return original("b") if not request.verbs else unknown("b")

        desk.paper.sayings = {"a": first, "b": second}
        resolution = await desk.resolve(question("!"))
        # The next edition is asked for with the same verbs, and nobody has it.
        assert [step.question.verbs for step in resolution.steps] == [read_modifiers("!")[0]] * 2
        assert isinstance(resolution.outcome, NotFound)

    at_desk(work)


def test_there_is_a_bound_on_searches_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_SEARCHES", 2)

    async def work(desk: Desk) -> None:
        desk.paper.held = set(NAMES)
        labels = [parse(f"x.example/y/2012/01.01.01.{number:02}") for number in range(3)]
        readers = [asyncio.create_task(desk.resolve(Question(label))) for label in labels]
        await until(lambda: any(each.done() for each in readers))
        with pytest.raises(OverloadError):
            await readers[2]
        desk.paper.free.set()
        await asyncio.gather(*readers[:2])

    at_desk(work)


def test_whoever_waits_is_let_go_when_searches_are_given_up() -> None:
    async def work(desk: Desk) -> None:
        desk.paper.held = set(NAMES)
        reader = asyncio.create_task(desk.resolve(question()))
        await until(lambda: len(desk.paper.requests) == len(NAMES))
        await desk.searching.close()
        assert isinstance((await reader).outcome, Unsure)

    at_desk(work)


def test_memory_keeps_no_longer_than_it_may() -> None:
    async def work(desk: Desk) -> None:
        desk.paper.sayings = {"a": says(original("a"))}
        memory = RedirectCache(lambda: desk.registry.version, hot_seconds=10, absent_seconds=2)
        version = memory.version
        found = await desk.resolve(question())
        known = memory.keep(found, HERE, version, found.began)
        kept = memory.recall(question(), CLIENTS, found.began + 9.9)
        assert kept is known
        assert memory.recall(question(), CLIENTS, found.began + 10) is None
        assert memory.recall(question("!"), CLIENTS, found.began) is None
        assert memory.recall(question(required=True), CLIENTS, found.began) is None
        # Who prefers which language does not matter where nothing depends on it.
        assert memory.recall(question(languages="pt"), CLIENTS, found.began) is kept
        await desk.registry.exclude(SERVICES["c"].canonical)
        assert memory.recall(question(), CLIENTS, found.began) is None
        memory.keep(found, HERE, version, found.began)
        assert memory.recall(question(), CLIENTS, found.began) is None

    at_desk(work)


def test_memory_forgets_what_is_contended_and_keeps_nothing_of_before() -> None:
    async def work(desk: Desk) -> None:
        desk.paper.sayings = {"a": says(original("a"))}
        memory = RedirectCache(lambda: desk.registry.version, hot_seconds=10, absent_seconds=2)
        version = memory.version
        found = await desk.resolve(question())
        kept = memory.keep(found, HERE, version, found.began)
        assert isinstance(kept, CachedRedirect)
        memory.forget(ITEM.label.canonical)
        assert kept.lease.until == 0
        assert memory.recall(question(), CLIENTS, found.began) is None
        memory.keep(found, HERE, version, found.began)
        assert memory.recall(question(), CLIENTS, found.began) is None
        again = memory.keep(found, HERE, memory.version, found.began)
        assert memory.recall(question(), CLIENTS, found.began) is again

    at_desk(work)


# Licences: an archive may answer by the address of a reader.

LICENSED, OTHERS = ("150.163.2.0",), ("192.0.2.0",)


def by_client(name: str, *, told: bool = True) -> Callable[[UrlRequest], Reply]:
    """Answer some clients with the item, and others with its metadata; say so, or not."""

    def answer(request: UrlRequest) -> Reply:
        heard = original(name)
        assert heard.listed is not None
        if request.clients != LICENSED:
            offered = heard.listed.related[Relation()]
            page = replace(offered, url=url_of(name, "page"), content=ContentType.METADATA)
            listed = replace(heard.listed, related={Relation(): page})
            heard = replace(heard, listed=listed)
        return replace(heard, personal=told)

    return answer


def place(resolution: Resolution) -> str:
    assert isinstance(resolution.outcome, Redirect)
    return resolution.outcome.served.related.url.rpartition("/")[2]


def test_who_joins_a_search_does_not_get_what_was_for_another() -> None:
    async def work(desk: Desk) -> None:
        desk.paper.sayings = {"a": by_client("a")}
        desk.paper.held = {"a"}
        askers = [OTHERS, LICENSED, OTHERS, LICENSED, OTHERS]
        readers = [
            asyncio.create_task(desk.resolving.resolve(question(), asker)) for asker in askers
        ]
        await until(lambda: len(desk.paper.requests) == len(NAMES))
        desk.paper.free.set()
        found = [place(each) for each in await asyncio.gather(*readers)]
        assert found == ["page", "doc", "page", "doc", "page"]
        # One for the first, which the others of the same network share, and one for the others.
        assert desk.searching.begun == 2
        await desk.quiet()

    at_desk(work)


def test_what_is_for_everybody_is_searched_for_once_whoever_asks() -> None:
    async def work(desk: Desk) -> None:
        desk.paper.sayings = {"a": says(original("a"))}
        desk.paper.held = {"a"}
        readers = [
            asyncio.create_task(desk.resolving.resolve(question(), (f"192.0.{number}.0",)))
            for number in range(20)
        ]
        await until(lambda: len(desk.paper.requests) == len(NAMES))
        desk.paper.free.set()
        assert {each.only_for for each in await asyncio.gather(*readers)} == {()}
        assert desk.searching.begun == 1

    at_desk(work)


def test_each_search_of_ones_own_is_paid_for() -> None:
    async def work(desk: Desk) -> None:
        desk.paper.sayings = {"a": by_client("a")}
        desk.paper.held = {"a"}
        spent: list[str] = []
        first = asyncio.create_task(desk.resolving.resolve(question(), OTHERS))
        await until(lambda: len(desk.paper.requests) == len(NAMES))
        second = asyncio.create_task(
            desk.resolving.resolve(question(), LICENSED, spend=lambda: spent.append("one"))
        )
        desk.paper.free.set()
        await asyncio.gather(first, second)
        assert spent == ["one"]

    at_desk(work)


@pytest.mark.parametrize("told", [True, False])
def test_memory_gives_what_was_for_one_client_to_no_other(told: bool) -> None:  # noqa: FBT001
    """What was not said is assumed where metadata come that nobody asked for."""

    async def work(desk: Desk) -> None:
        desk.paper.sayings = {"a": by_client("a", told=told)}
        memory = RedirectCache(lambda: desk.registry.version, hot_seconds=10, absent_seconds=2)
        found = await desk.resolving.resolve(question(), OTHERS)
        kept = memory.keep(found, HERE, memory.version, found.began)
        assert found.only_for == OTHERS
        assert memory.recall(question(), OTHERS, found.began) is kept
        assert memory.recall(question(), LICENSED, found.began) is None
        licensed = await desk.resolving.resolve(question(), LICENSED)
        assert licensed.only_for == (LICENSED if told else ())
        memory.keep(licensed, HERE, memory.version, licensed.began)
        again = memory.recall(question(), LICENSED, licensed.began)
        assert isinstance(again, CachedRedirect)
        assert again.url.endswith(b"doc")
        memory.forget(ITEM.label.canonical)
        assert memory.recall(question(), OTHERS, found.began) is None
        assert memory.recall(question(), LICENSED, found.began) is None

    at_desk(work)


def test_metadata_that_are_asked_for_are_for_everybody() -> None:
    async def work(desk: Desk) -> None:
        page = replace(related("a", State.ORIGINAL), content=ContentType.METADATA)
        desk.paper.sayings = {"a": says(listing("a", {".metadata": page}))}
        assert (await desk.resolve(question(":"))).only_for == ()

    at_desk(work)


def test_an_owner_that_cannot_be_read_is_not_replaced() -> None:
    async def work(desk: Desk) -> None:
        label = ITEM.label.canonical
        desk.shelf.keep_owners([(label, Owner(SERVICES["a"].canonical, 1))])
        desk.paper.sayings = {"b": says(original("b"))}
        desk.shelf.fails = True
        assert winner(await desk.resolve(question(), hear_all=True)) == "b"
        desk.shelf.fails = False
        await desk.quiet()
        assert desk.shelf.owned[label].archive.startswith("a.")

    at_desk(work)


def test_a_search_that_began_before_unsettles_nothing() -> None:
    async def work(desk: Desk) -> None:
        label = ITEM.label.canonical
        settled = Owner(SERVICES["a"].canonical, 1, settled=True)
        desk.owners.learn(label, settled)
        desk.owners.learn(label, Owner(SERVICES["b"].canonical, 2))
        assert await desk.owners.owner(label) == (settled, True)
        await desk.quiet()
        desk.owners.learn(label, Owner(SERVICES["b"].canonical, 3))
        assert await desk.owners.owner(label) == (settled, True)

    at_desk(work)


def test_an_archive_that_there_was_no_time_to_ask_is_neither_up_nor_down() -> None:
    async def work(desk: Desk) -> None:
        timed_out = NoReply("b", "it did not answer in time")
        desk.paper.sayings = {"b": says(timed_out)}
        for _ in range(2):
            await desk.resolve(question())
        desk.paper.sayings = {"b": says(NoReply("b", NO_SLOT, asked=False))}
        for _ in range(5):
            assert isinstance((await desk.resolve(question())).outcome, Unsure)
        service = SERVICES["b"].canonical
        assert desk.registry.is_asked(service)
        desk.paper.sayings = {"b": says(timed_out)}
        await desk.resolve(question())
        assert not desk.registry.is_asked(service)

    at_desk(work)


def test_an_archive_that_refuses_a_question_is_there() -> None:
    async def work(desk: Desk) -> None:
        desk.paper.sayings = {"b": says(NoReply("b", "it answered 414", alive=True))}
        for _ in range(5):
            assert isinstance((await desk.resolve(question())).outcome, Unsure)
        assert desk.registry.is_asked(SERVICES["b"].canonical)

    at_desk(work)


def test_memory_keeps_nothing_unsure() -> None:
    async def work(desk: Desk) -> None:
        memory = RedirectCache(lambda: 0, hot_seconds=10, absent_seconds=2)
        absent = await desk.resolve(question())
        assert memory.keep(absent, HERE, memory.version, absent.began) is absent
        assert memory.recall(question(), CLIENTS, absent.began + 1.9) is absent
        assert memory.recall(question(), CLIENTS, absent.began + 2) is None
        desk.paper.sayings = {"b": says(NoReply("b", "it did not answer in time"))}
        unsure = await desk.resolve(question())
        assert isinstance(unsure.outcome, Unsure)
        memory.keep(unsure, HERE, memory.version, unsure.began)
        assert memory.recall(question(), CLIENTS, unsure.began + 1.9) is not unsure

    at_desk(work)
