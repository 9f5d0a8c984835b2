"""Searches and hops among fake archives: who is asked, who is waited for, what is learned."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from ibi.errors import OverloadError, TooManyRequestsError
from ibi.identifier.label import parse
from ibi.identifier.verbs import read_modifiers
from ibi.model.archive_record import ArchiveRecord
from ibi.model.item import ContentType, State
from ibi.model.label_pair import Forms
from ibi.model.relation import Relation
from ibi.resolver.ports.outbound import NO_SLOT, NoReply, Reply
from ibi.resolver.ports.store import Owner
from ibi.resolver.rules import search_progress
from ibi.resolver.rules.decision import Alert, NotFound, Redirect, Unsure
from ibi.resolver.rules.redirect_cache import RedirectCache
from ibi.resolver.rules.redirect_entry import CachedRedirect
from ibi.resolver.rules.resolution import Chain, Resolution
from ibi.resolver.search import pool
from ibi.resolver.search.hops import MAX_HOPS, HopResolver
from ibi.wire.question import Question
from ibi.wire.requests import UrlRequest
from tests.support.doubles.resolver_store import until
from tests.support.scenes.search import (
    CLIENTS,
    NAMES,
    SERVICES,
    SearchScene,
    run_scene,
    says,
    winner,
)
from tests.support.values.archive_answers import (
    ITEM,
    NEXT,
    barren,
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


def test_all_included_archives_are_asked_and_nothing_private_is_told() -> None:
    async def work(scene: SearchScene) -> None:
        scene.archives.sayings["b"] = says(original("b"))
        asked = question("+(pt)", required=True, languages="pt-BR,fr;q=0.8")
        await scene.resolve(asked)
        assert sorted(name for name, _ in scene.archives.requests) == ["a", "b", "c"]
        for _, request in scene.archives.requests:
            assert request == UrlRequest(CLIENTS, asked.label, asked.verbs)
            text = " ".join(map(str, request.pairs()))
            assert "Original" not in text
            assert "BR" not in text

    run_scene(work)


def test_one_search_at_a_time_for_one_question() -> None:
    async def work(scene: SearchScene) -> None:
        scene.archives.held = set(NAMES)
        scene.archives.sayings["b"] = says(original("b"))
        readers = [asyncio.create_task(scene.resolve(question())) for _ in range(100)]
        await until(lambda: len(scene.archives.requests) == len(NAMES))
        scene.archives.free.set()
        assert {winner(each) for each in await asyncio.gather(*readers)} == {"b"}
        assert scene.searching.begun == 1
        assert len(scene.archives.requests) == len(NAMES)

    run_scene(work)


def test_the_key_of_an_answer_is_for_one_reader() -> None:
    async def work(scene: SearchScene) -> None:
        scene.archives.held = set(NAMES)
        scene.archives.sayings["b"] = says(original("b"))
        readers = [asyncio.create_task(scene.resolve(question())) for _ in range(5)]
        await until(lambda: len(scene.archives.requests) == len(NAMES))
        scene.archives.free.set()
        keys = [each.last.key for each in await asyncio.gather(*readers)]
        assert sum(key is not None for key in keys) == 1
        explained = await scene.resolve(question(), ask_all=True)
        assert explained.last.key is None

    run_scene(work)


def test_a_slow_archive_delays_nobody_whose_item_lies_elsewhere() -> None:
    async def work(scene: SearchScene) -> None:
        scene.archives.held = {"a", "c"}
        scene.archives.sayings["b"] = says(original("b"))
        assert winner(await scene.resolve(question())) == "b"
        assert not scene.archives.free.is_set()

    run_scene(work)


def test_the_owner_on_record_is_believed_though_a_rogue_is_faster() -> None:
    async def work(scene: SearchScene) -> None:
        scene.archives.sayings["c"] = says(original("c"))
        assert winner(await scene.resolve(question())) == "c"
        await scene.quiet()
        scene.archives.sayings["a"] = says(original("a"))
        scene.archives.held = {"c"}
        reader = asyncio.create_task(scene.resolve(question()))
        # Long after others have had their moment, the rogue is still not believed.
        await until(lambda: len(scene.archives.requests) == 2 * len(NAMES))
        await asyncio.sleep(2 * search_progress.CLAIM_GRACE_SECONDS)
        assert not reader.done()
        scene.archives.free.set()
        assert winner(await reader) == "c"
        await scene.quiet()
        [conflict] = scene.store.conflicts(0, 10, only_open=True)
        assert conflict.label == ITEM.label.canonical
        assert [claim.archive[0] for claim in conflict.claims] == ["c", "a"]

    run_scene(work)


def test_a_rival_claim_that_comes_late_is_recorded_all_the_same() -> None:
    async def work(scene: SearchScene) -> None:
        scene.archives.sayings = {"a": says(original("a")), "c": says(original("c"))}
        scene.archives.held = {"c"}
        assert winner(await scene.resolve(question())) == "a"
        assert not scene.store.conflicts(0, 10, only_open=True)
        scene.archives.free.set()
        await scene.quiet()
        assert len(scene.store.conflicts(0, 10, only_open=True)) == 1
        decided = await scene.resolve(replace(question(), original_required=True))
        assert isinstance(decided.outcome, Alert)

    run_scene(work)


def test_who_moved_is_learned() -> None:
    async def work(scene: SearchScene) -> None:
        label = ITEM.label.canonical
        scene.archives.sayings = {"a": says(original("a"))}
        await scene.resolve(question(), ask_all=True)
        await scene.quiet()
        assert scene.store.owned[label].archive.startswith("a.")
        scene.archives.sayings = {"a": says(copy("a")), "b": says(original("b"))}
        await scene.resolve(question(), ask_all=True)
        await scene.quiet()
        assert scene.store.owned[label].archive.startswith("b.")
        assert not scene.store.conflicts(0, 10, only_open=True)

    run_scene(work)


def test_what_the_operator_settled_is_not_unlearned() -> None:
    async def work(scene: SearchScene) -> None:
        label = ITEM.label.canonical
        scene.archives.sayings = {"a": says(original("a"))}
        settled = Owner(SERVICES["b"].canonical, 1, settled=True)
        scene.owners.learn(label, Owner(SERVICES["a"].canonical, 2))
        scene.store.keep_owners([(label, settled)])
        await scene.quiet()
        assert scene.store.owned[label] == settled

    run_scene(work)


def test_an_owner_that_is_switched_off_is_named() -> None:
    async def work(scene: SearchScene) -> None:
        scene.archives.sayings = {"a": says(original("a"))}
        await scene.resolve(question(), ask_all=True)
        await scene.registry.exclude(SERVICES["a"].canonical)
        outcome = (await scene.resolve(question())).outcome
        assert isinstance(outcome, Unsure)
        assert [each.archive for each in outcome.silences] == [SERVICES["a"].canonical]
        await scene.registry.remove(SERVICES["a"].canonical, "test")
        assert isinstance((await scene.resolve(question())).outcome, NotFound)

    run_scene(work)


def test_that_nobody_has_it_takes_the_word_of_those_included_meanwhile() -> None:
    async def work(scene: SearchScene) -> None:
        scene.archives.sayings = {"c": says(original("c"))}
        name = SERVICES["c"].canonical
        record = ArchiveRecord("c.example", SERVICES["c"], "192.0.2.1", "1", "a@b.c")
        caught_up = 0

        async def catch_up() -> None:
            nonlocal caught_up
            caught_up += 1
            await scene.registry.include(name, record, confirmed=True)

        await scene.registry.exclude(name)
        resolving = HopResolver(scene.searching, catch_up)
        assert winner(await resolving.resolve(question(), CLIENTS)) == "c"
        # Those who have it were not long in coming: nothing else has to be known.
        assert winner(await resolving.resolve(question(), CLIENTS)) == "c"
        assert caught_up == 1
        scene.archives.sayings = {}
        await scene.registry.remove(name, "test")
        resolving = HopResolver(scene.searching)
        assert isinstance((await resolving.resolve(question(), CLIENTS)).outcome, NotFound)

    run_scene(work)


def test_an_archive_that_is_down_is_not_asked_and_counts_as_silent() -> None:
    async def work(scene: SearchScene) -> None:
        silent = NoReply("b", "it did not answer in time")
        scene.archives.sayings = {"b": says(silent)}
        for _ in range(5):
            assert isinstance((await scene.resolve(question())).outcome, Unsure)
        asked = [name for name, _ in scene.archives.requests]
        assert asked.count("b") == 3
        assert asked.count("a") == 5

    run_scene(work)


def test_a_url_that_is_not_the_archives_own_serves_nobody() -> None:
    async def work(scene: SearchScene) -> None:
        evil = original("a")
        assert evil.listed is not None
        offered = {
            relation: replace(each, url="http://evil.example/")
            for relation, each in evil.listed.related.items()
        }
        evil = replace(evil, listed=replace(evil.listed, related=offered))
        scene.archives.sayings = {"a": says(evil)}
        resolution = await scene.resolve(question())
        assert isinstance(resolution.outcome, Unsure)
        [silence] = resolution.outcome.silences
        assert "not on its own host" in silence.reason
        # It is there, though: it answered.
        assert scene.registry.is_asked(silence.archive)

    run_scene(work)


@pytest.mark.parametrize("length", [1, 2, 3, 50])
def test_circles_are_cut(length: int) -> None:
    ring = [parse(f"a.example/ring/2012/01.01.01.{number:02}") for number in range(length)]

    def answer(request: UrlRequest) -> Reply:
        at = ring.index(request.label)
        following = ring[(at + 1) % length]
        return leads("a", Forms.of(following))

    async def work(scene: SearchScene) -> None:
        scene.archives.sayings = {"a": answer}
        asked = Question(ring[0], read_modifiers("!")[0])
        resolution = await scene.resolve(asked)
        assert isinstance(resolution.outcome, Chain)
        assert resolution.outcome.is_loop == (length <= MAX_HOPS)
        assert resolution.outcome.labels[0] == ring[0]
        assert len(resolution.steps) <= MAX_HOPS + 1

    run_scene(work, ("a",))


def test_hops_go_on_with_the_verbs_that_remain() -> None:
    async def work(scene: SearchScene) -> None:
        def first(request: UrlRequest) -> Reply:
            return leads("a", NEXT) if request.label == ITEM.label else unknown("a")

        def second(request: UrlRequest) -> Reply:
            assert request.label != ITEM.label or request.verbs
            return original("b") if not request.verbs else unknown("b")

        scene.archives.sayings = {"a": first, "b": second}
        resolution = await scene.resolve(question("!"))
        # The next edition is asked for with the same verbs, and nobody has it.
        assert [step.question.verbs for step in resolution.steps] == [read_modifiers("!")[0]] * 2
        assert isinstance(resolution.outcome, NotFound)

    run_scene(work)


def test_there_is_a_bound_on_searches_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "MAX_SEARCHES", 2)

    async def work(scene: SearchScene) -> None:
        scene.archives.held = set(NAMES)
        labels = [parse(f"x.example/y/2012/01.01.01.{number:02}") for number in range(3)]
        readers = [asyncio.create_task(scene.resolve(Question(label))) for label in labels]
        await until(lambda: any(each.done() for each in readers))
        with pytest.raises(OverloadError):
            await readers[2]
        scene.archives.free.set()
        await asyncio.gather(*readers[:2])

    run_scene(work)


def test_whoever_waits_is_let_go_when_searches_are_given_up() -> None:
    async def work(scene: SearchScene) -> None:
        scene.archives.held = set(NAMES)
        reader = asyncio.create_task(scene.resolve(question()))
        await until(lambda: len(scene.archives.requests) == len(NAMES))
        await scene.searching.close()
        assert isinstance((await reader).outcome, Unsure)

    run_scene(work)


def test_memory_keeps_no_longer_than_it_may() -> None:
    async def work(scene: SearchScene) -> None:
        scene.archives.sayings = {"a": says(original("a"))}
        memory = RedirectCache(lambda: scene.registry.version, hot_seconds=10, absent_seconds=2)
        version = memory.version
        found = await scene.resolve(question())
        known = memory.keep(found, HERE, version, found.began)
        kept = memory.recall(question(), [CLIENTS], found.began + 9.9)
        assert kept is known
        assert memory.recall(question(), [CLIENTS], found.began + 10) is None
        assert memory.recall(question("!"), [CLIENTS], found.began) is None
        assert memory.recall(question(required=True), [CLIENTS], found.began) is None
        # Who prefers which language does not matter where nothing depends on it.
        assert memory.recall(question(languages="pt"), [CLIENTS], found.began) is kept
        await scene.registry.exclude(SERVICES["c"].canonical)
        assert memory.recall(question(), [CLIENTS], found.began) is None
        memory.keep(found, HERE, version, found.began)
        assert memory.recall(question(), [CLIENTS], found.began) is None

    run_scene(work)


def test_memory_forgets_what_is_contended_and_keeps_nothing_of_before() -> None:
    async def work(scene: SearchScene) -> None:
        scene.archives.sayings = {"a": says(original("a"))}
        memory = RedirectCache(lambda: scene.registry.version, hot_seconds=10, absent_seconds=2)
        version = memory.version
        found = await scene.resolve(question())
        kept = memory.keep(found, HERE, version, found.began)
        assert isinstance(kept, CachedRedirect)
        memory.forget(ITEM.label.canonical)
        assert kept.lease.until == 0
        assert memory.recall(question(), [CLIENTS], found.began) is None
        memory.keep(found, HERE, version, found.began)
        assert memory.recall(question(), [CLIENTS], found.began) is None
        again = memory.keep(found, HERE, memory.version, found.began)
        assert memory.recall(question(), [CLIENTS], found.began) is again

    run_scene(work)


def test_an_item_is_forgotten_when_its_claimants_change_and_at_no_other_time() -> None:
    async def work(scene: SearchScene) -> None:
        async def forgotten_after(**claims: Reply) -> bool:
            scene.forgotten.clear()
            scene.archives.sayings = {name: says(reply) for name, reply in claims.items()}
            await scene.resolve(question())
            await until(lambda: not len(scene.searching))
            await scene.recorder.close()
            return ITEM.label.canonical in scene.forgotten

        a, b, c = original("a"), original("b"), original("c")
        await forgotten_after(a=a)
        assert await forgotten_after(a=a, b=b)
        assert not await forgotten_after(a=a, b=b)
        assert not await forgotten_after(a=a)
        # A rival that claims the item only now and then is news once.
        assert not await forgotten_after(a=a, b=b)
        assert await forgotten_after(a=a, b=b, c=c)
        assert not await forgotten_after(a=a, c=c)
        # Another one is trusted most now.
        assert await forgotten_after(b=b, c=c)

    run_scene(work)


# Readers: an archive may answer by the address of a reader.

INSIDER, OTHERS = ("150.163.2.0",), ("192.0.2.0",)


def by_client(name: str, *, told: bool = True) -> Callable[[UrlRequest], Reply]:
    """Answer some clients with the item, and others with its metadata; say so, or not."""

    def answer(request: UrlRequest) -> Reply:
        heard = original(name)
        assert heard.listed is not None
        if request.clients != INSIDER:
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
    async def work(scene: SearchScene) -> None:
        scene.archives.sayings = {"a": by_client("a")}
        scene.archives.held = {"a"}
        askers = [OTHERS, INSIDER, OTHERS, INSIDER, OTHERS]
        readers = [
            asyncio.create_task(scene.resolving.resolve(question(), asker)) for asker in askers
        ]
        await until(lambda: len(scene.archives.requests) == len(NAMES))
        scene.archives.free.set()
        found = [place(each) for each in await asyncio.gather(*readers)]
        assert found == ["page", "doc", "page", "doc", "page"]
        # Others than the first share its search, and ask the archive alone that answered by reader.
        assert scene.searching.begun == 1
        assert [name for name, _ in scene.archives.requests[len(NAMES) :]] == ["a", "a"]
        await scene.quiet()

    run_scene(work)


def test_what_is_for_everybody_is_searched_for_once_whoever_asks() -> None:
    async def work(scene: SearchScene) -> None:
        scene.archives.sayings = {"a": says(original("a"))}
        scene.archives.held = {"a"}
        readers = [
            asyncio.create_task(scene.resolving.resolve(question(), (f"192.0.{number}.0",)))
            for number in range(20)
        ]
        await until(lambda: len(scene.archives.requests) == len(NAMES))
        scene.archives.free.set()
        assert {each.only_for for each in await asyncio.gather(*readers)} == {()}
        assert scene.searching.begun == 1

    run_scene(work)


READER = ("150.163.2.77",)


def test_only_the_archive_that_answers_by_reader_gets_the_whole_address() -> None:
    async def work(scene: SearchScene) -> None:
        def answer(request: UrlRequest) -> Reply:
            heard = by_client("a")(replace(request, clients=OTHERS))
            return original("a") if request.clients == READER else heard

        scene.archives.sayings = {"a": answer, "b": says(copy("b"))}
        spent: list[int] = []
        found = await scene.resolving.resolve(
            question(), INSIDER, holder_clients=READER, charge=spent.append
        )
        assert place(found) == "doc"
        assert found.only_for == READER
        assert found.last.key is not None
        assert sum(spent) == len(NAMES) + 1
        got = {(name, request.clients) for name, request in scene.archives.requests}
        assert got == {("a", INSIDER), ("b", INSIDER), ("c", INSIDER), ("a", READER)}
        # An item for everybody is asked for with the network alone.
        scene.archives.sayings = {"a": says(original("a"))}
        again = await scene.resolving.resolve(question(), INSIDER, holder_clients=READER)
        assert again.only_for == ()
        assert [name for name, request in scene.archives.requests if request.clients == READER] == [
            "a"
        ]

    run_scene(work)


def test_an_archive_that_says_no_more_to_the_whole_address_counts_as_before() -> None:
    async def work(scene: SearchScene) -> None:
        def answer(request: UrlRequest) -> Reply:
            silent = NoReply("a", "it did not answer in time")
            return silent if request.clients == READER else by_client("a")(request)

        scene.archives.sayings = {"a": answer}
        found = await scene.resolving.resolve(question(), OTHERS, holder_clients=READER)
        assert place(found) == "page"
        assert found.only_for == READER
        assert found.last.key is None

    run_scene(work)


def test_an_archive_that_contradicts_itself_is_not_asked_for_ever() -> None:
    async def work(scene: SearchScene) -> None:
        def answer(request: UrlRequest) -> Reply:
            if request.clients == READER:
                return replace(barren("a"), personal=True)
            return by_client("a")(request)

        scene.archives.sayings = {"a": answer}
        await scene.resolving.resolve(question(), OTHERS, holder_clients=READER)
        asked = [request.clients for name, request in scene.archives.requests if name == "a"]
        assert asked == [OTHERS, READER, OTHERS]

    run_scene(work)


def test_each_message_for_one_reader_is_paid_for() -> None:
    async def work(scene: SearchScene) -> None:
        scene.archives.sayings = {"a": by_client("a")}
        scene.archives.held = {"a"}
        spent: list[int] = []
        first = asyncio.create_task(scene.resolving.resolve(question(), OTHERS))
        await until(lambda: len(scene.archives.requests) == len(NAMES))
        second = asyncio.create_task(
            scene.resolving.resolve(question(), INSIDER, charge=spent.append)
        )
        scene.archives.free.set()
        await asyncio.gather(first, second)
        assert spent == [1]

    run_scene(work)


class Budget:
    """What one reader may still cause, in messages."""

    def __init__(self, left: int) -> None:
        self.left = left

    def charge(self, messages: int) -> None:
        """Take messages, or refuse."""
        if messages > self.left:
            raise TooManyRequestsError(7)
        self.left -= messages


def test_messages_are_charged_before_they_are_sent_and_else_not_sent() -> None:
    async def work(scene: SearchScene) -> None:
        scene.digests.digests = {"a": {ITEM.label}, "b": set(), "c": set()}
        scene.archives.sayings = {"a": says(original("a"))}
        rich = Budget(10)
        found = await scene.resolving.resolve(question(), CLIENTS, charge=rich.charge)
        assert winner(found) == "a"
        await until(lambda: not len(scene.searching))
        assert rich.left == 10 - len(scene.archives.requests)
        # All others have to be asked for what was not found at first, and where it is required.
        for required, left in ((True, 1), (False, 2)):
            asked = question(required=required)
            if not required:
                scene.archives.sayings.clear()
            scene.archives.requests.clear()
            poor = Budget(left)
            with pytest.raises(TooManyRequestsError) as refused:
                await scene.resolving.resolve(asked, CLIENTS, charge=poor.charge)
            assert refused.value.retry_after == 7
            await until(lambda: not len(scene.searching))
            assert len(scene.archives.requests) == 1
            assert poor.left == left - 1
        scene.digests.readable = False
        nobody = Budget(len(NAMES) - 1)
        scene.archives.requests.clear()
        with pytest.raises(TooManyRequestsError):
            await scene.resolving.resolve(question(), CLIENTS, charge=nobody.charge)
        await until(lambda: not len(scene.searching))
        assert not scene.archives.requests
        assert nobody.left == len(NAMES) - 1

    run_scene(work)


def test_a_reader_that_joins_pays_for_what_only_that_reader_needs() -> None:
    async def work(scene: SearchScene) -> None:
        scene.digests.digests = {"a": {ITEM.label}, "b": set(), "c": set()}
        scene.archives.sayings = {"a": says(original("a"))}
        scene.archives.held = {"a"}
        one, other, third = Budget(9), Budget(9), Budget(1)
        first = asyncio.create_task(scene.resolving.resolve(question(), CLIENTS, charge=one.charge))
        await until(lambda: len(scene.archives.requests) == 1)
        poor = scene.resolving.resolve(question(required=True), CLIENTS, charge=third.charge)
        second = asyncio.create_task(
            scene.resolving.resolve(question(required=True), CLIENTS, charge=other.charge)
        )
        await until(lambda: len(scene.archives.requests) == len(NAMES))
        scene.archives.free.set()
        assert {winner(await first), winner(await second)} == {"a"}
        assert (one.left, other.left) == (8, 7)
        with pytest.raises(TooManyRequestsError):
            await poor

    run_scene(work)


def test_messages_that_no_reader_needs_are_not_sent_if_no_reader_may_cause_them() -> None:
    async def work(scene: SearchScene) -> None:
        scene.chance = 0.0
        scene.digests.digests = {"a": {ITEM.label}, "b": set(), "c": set()}
        scene.archives.sayings = {"a": says(original("a"))}
        for left, asked in ((2, 1), (3, 3)):
            scene.archives.requests.clear()
            budget = Budget(left)
            await scene.resolving.resolve(question(), CLIENTS, charge=budget.charge)
            await until(lambda: not len(scene.searching))
            assert len(scene.archives.requests) == asked
            assert budget.left == left - asked

    run_scene(work)


@pytest.mark.parametrize("told", [True, False])
def test_memory_gives_what_was_for_one_client_to_no_other(told: bool) -> None:  # noqa: FBT001
    """What was not said is assumed where metadata come that nobody asked for."""

    async def work(scene: SearchScene) -> None:
        scene.archives.sayings = {"a": by_client("a", told=told)}
        memory = RedirectCache(lambda: scene.registry.version, hot_seconds=10, absent_seconds=2)
        found = await scene.resolving.resolve(question(), OTHERS)
        kept = memory.keep(found, HERE, memory.version, found.began)
        assert found.only_for == OTHERS
        assert memory.recall(question(), [OTHERS], found.began) is kept
        assert memory.recall(question(), [INSIDER], found.began) is None
        insider = await scene.resolving.resolve(question(), INSIDER)
        assert insider.only_for == (INSIDER if told else ())
        memory.keep(insider, HERE, memory.version, insider.began)
        again = memory.recall(question(), [INSIDER], insider.began)
        assert isinstance(again, CachedRedirect)
        assert again.url.endswith(b"doc")
        memory.forget(ITEM.label.canonical)
        assert memory.recall(question(), [OTHERS], found.began) is None
        assert memory.recall(question(), [INSIDER], found.began) is None

    run_scene(work)


def test_metadata_that_are_asked_for_are_for_everybody() -> None:
    async def work(scene: SearchScene) -> None:
        page = replace(related("a", State.ORIGINAL), content=ContentType.METADATA)
        scene.archives.sayings = {"a": says(listing("a", {".metadata": page}))}
        assert (await scene.resolve(question(":"))).only_for == ()

    run_scene(work)


def test_a_claim_is_not_trusted_while_the_owner_cannot_be_read() -> None:
    async def work(scene: SearchScene) -> None:
        label = ITEM.label.canonical
        scene.store.keep_owners([(label, Owner(SERVICES["a"].canonical, 1))])
        scene.archives.sayings = {"b": says(original("b"))}
        scene.store.fails = True
        outcome = (await scene.resolve(question(), ask_all=True)).outcome
        assert isinstance(outcome, Unsure)
        assert outcome.is_unread
        scene.store.fails = False
        await scene.quiet()
        assert scene.store.owned[label].archive.startswith("a.")

    run_scene(work)


def test_a_search_that_began_before_unsettles_nothing() -> None:
    async def work(scene: SearchScene) -> None:
        label = ITEM.label.canonical
        settled = Owner(SERVICES["a"].canonical, 1, settled=True)
        scene.owners.learn(label, settled)
        scene.owners.learn(label, Owner(SERVICES["b"].canonical, 2))
        assert await scene.owners.owner(label) == (settled, True)
        await scene.quiet()
        scene.owners.learn(label, Owner(SERVICES["b"].canonical, 3))
        assert await scene.owners.owner(label) == (settled, True)

    run_scene(work)


def test_an_archive_that_there_was_no_time_to_ask_is_neither_up_nor_down() -> None:
    async def work(scene: SearchScene) -> None:
        timed_out = NoReply("b", "it did not answer in time")
        scene.archives.sayings = {"b": says(timed_out)}
        for _ in range(2):
            await scene.resolve(question())
        scene.archives.sayings = {"b": says(NoReply("b", NO_SLOT, asked=False))}
        for _ in range(5):
            assert isinstance((await scene.resolve(question())).outcome, Unsure)
        service = SERVICES["b"].canonical
        assert scene.registry.is_asked(service)
        scene.archives.sayings = {"b": says(timed_out)}
        await scene.resolve(question())
        assert not scene.registry.is_asked(service)

    run_scene(work)


def test_an_archive_that_refuses_a_question_is_there() -> None:
    async def work(scene: SearchScene) -> None:
        scene.archives.sayings = {"b": says(NoReply("b", "it answered 414", alive=True))}
        for _ in range(5):
            assert isinstance((await scene.resolve(question())).outcome, Unsure)
        assert scene.registry.is_asked(SERVICES["b"].canonical)

    run_scene(work)


def test_memory_keeps_nothing_unsure() -> None:
    async def work(scene: SearchScene) -> None:
        memory = RedirectCache(lambda: 0, hot_seconds=10, absent_seconds=2)
        absent = await scene.resolve(question())
        assert memory.keep(absent, HERE, memory.version, absent.began) is absent
        assert memory.recall(question(), [CLIENTS], absent.began + 1.9) is absent
        assert memory.recall(question(), [CLIENTS], absent.began + 2) is None
        scene.archives.sayings = {"b": says(NoReply("b", "it did not answer in time"))}
        unsure = await scene.resolve(question())
        assert isinstance(unsure.outcome, Unsure)
        memory.keep(unsure, HERE, memory.version, unsure.began)
        assert memory.recall(question(), [CLIENTS], unsure.began + 1.9) is not unsure

    run_scene(work)
