"""Fake archives are told of each access at most once, and all of them get their turn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

import pytest

from ibi.foundation.system.clock import SystemClock
from ibi.identifier.label import parse
from ibi.model.clock import SECOND
from ibi.model.registration import RegisteredArchive
from ibi.resolver.acknowledgments import sender
from ibi.resolver.acknowledgments.sender import MAX_ARCHIVES, MAX_REST, AcknowledgmentSender
from ibi.resolver.rules.acknowledgment import (
    KEY_LIFETIME,
    MAX_WAIT,
)
from tests.support.doubles.minting_machine import FakeClock
from tests.support.scenes.acknowledgments import (
    FOREIGN,
    KEY,
    KEYED,
    NOW,
    OURS,
    REFERRAL,
    UNKEYED,
    CountingArchives,
    MemoryStore,
    Registry,
    archives,
    flush_at_once,
    keeper,
    reached,
)


@pytest.fixture(autouse=True)
def _in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    flush_at_once(monkeypatch)


def work(
    client: CountingArchives,
    act: Callable[[AcknowledgmentSender, MemoryStore], Coroutine[Any, Any, None]],
    *found: RegisteredArchive,
    clock: FakeClock | None = None,
) -> tuple[AcknowledgmentSender, MemoryStore]:
    """Do something while archives are being told."""

    async def run() -> tuple[AcknowledgmentSender, MemoryStore]:
        store = MemoryStore()
        telling = AcknowledgmentSender(
            store, client, archives(*found), clock or SystemClock(), keeper()
        )
        telling.open()
        await act(telling, store)
        await telling.close()
        return telling, store

    return asyncio.run(run())


async def all_told(telling: AcknowledgmentSender) -> None:
    await reached(lambda: telling.waiting == 0)


def test_hot_accesses_are_told_together_to_our_own_archives() -> None:
    async def act(telling: AcknowledgmentSender, _: MemoryStore) -> None:
        telling.note(REFERRAL)
        telling.note(REFERRAL.without_key, 2500)
        await all_told(telling)

    client = CountingArchives()
    telling, store = work(client, act, OURS)
    assert sorted(accesses for _, accesses in client.told.values()) == [1, 500, 1000, 1000]
    assert (telling.sent, telling.accesses_reported, telling.given_up) == (4, 2501, 0)
    assert (telling.waiting, telling.lost, store.rows) == (0, 0, {})


def test_foreign_archives_are_told_of_each_access_by_its_own_key() -> None:
    async def act(telling: AcknowledgmentSender, _: MemoryStore) -> None:
        telling.note(REFERRAL, 7)
        await all_told(telling)

    client = CountingArchives()
    telling, store = work(client, act, FOREIGN)
    assert [accesses for _, accesses in client.told.values()] == [1] * 7
    assert len(set(client.acknowledged)) == len(client.acknowledged) == 7
    assert (telling.sent, telling.accesses_reported, store.rows) == (7, 7, {})


def test_a_url_that_is_listed_no_more_is_given_up() -> None:
    async def act(telling: AcknowledgmentSender, _: MemoryStore) -> None:
        telling.note(REFERRAL, 4)
        await all_told(telling)

    client = CountingArchives(urls=("http://a.example.org/elsewhere",))
    telling, store = work(client, act, OURS)
    assert (client.total(), telling.given_up, store.rows) == (1, 3, {})


def test_what_cannot_be_read_any_more_is_given_up_and_stops_nobody() -> None:
    async def act(telling: AcknowledgmentSender, store: MemoryStore) -> None:
        store.keep_pending(
            "before",
            1,
            [
                replace(KEYED, acknowledgment="{"),
                replace(UNKEYED, request="servicesubject=x"),
                replace(KEYED, request=""),
            ],
        )
        telling.note(REFERRAL)
        await reached(lambda: telling.given_up == 3 and telling.accesses_reported == 1)

    client = CountingArchives()
    telling, store = work(client, act, OURS, clock=FakeClock(NOW))
    assert (client.total(), telling.waiting, store.rows) == (1, 0, {})


async def test_accesses_wait_for_an_archive_that_is_out_and_are_told_when_it_is_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sender, "ABSENCE_TIME", SECOND // 100)

    client, store, registry = CountingArchives(), MemoryStore(), Registry()
    telling = AcknowledgmentSender(store, client, registry, SystemClock(), keeper())
    telling.open()
    telling.note(REFERRAL.without_key, 3)
    await reached(lambda: bool(store.rows))
    for state in (None, replace(OURS, inclusion=None), OURS):
        assert client.asked == 0
        assert telling.waiting == 3
        if state is not None:
            registry.archives[OURS.id] = state
    await all_told(telling)
    await telling.close()
    assert client.total() == 3


def test_accesses_are_given_up_after_a_week() -> None:
    async def act(telling: AcknowledgmentSender, store: MemoryStore) -> None:
        store.keep_pending(
            "before",
            1,
            [replace(UNKEYED, count=5, since=NOW - MAX_WAIT), replace(UNKEYED, since=NOW)],
        )
        telling.note(REFERRAL.without_key)  # wakes it up
        await reached(lambda: telling.given_up == 5)

    telling, _ = work(CountingArchives(), act, clock=FakeClock(NOW))
    assert telling.waiting == 2


def test_an_acknowledgment_that_fails_is_sent_again_with_the_same_key_and_no_other() -> None:
    async def act(telling: AcknowledgmentSender, _: MemoryStore) -> None:
        telling.note(REFERRAL.without_key, 3)
        for sent in range(1, 4):
            await reached(lambda sent=sent: client.acknowledged.count(first) >= sent)  # type: ignore[misc]
            clock.true += MAX_REST
            # Wakes it up. Each has a URL of its own: two of one URL that are written together would
            # share one key, and the second would have to ask for another.
            telling.note(replace(REFERRAL, url=f"http://a.example.org/b{sent}"))
        assert set(client.acknowledged) - {str(KEY)} == {first}
        assert client.asked == 1
        clock.true += KEY_LIFETIME
        telling.note(replace(REFERRAL, url="http://a.example.org/c"))
        await reached(lambda: telling.given_up >= 3)

    clock = FakeClock(NOW)
    first = f"{1:010}-{1:010}"
    client = CountingArchives(refused={first})
    work(client, act, OURS, clock=clock)
    assert first not in client.told


def test_neither_silent_nor_hanging_archives_hold_up_others() -> None:
    names = [f"sid.inpe.br/mtc-m{number}@80/2009/08.21.17.02" for number in range(12)]
    found = [replace(OURS, service=parse(name, strict=True)) for name in names]

    async def act(telling: AcknowledgmentSender, store: MemoryStore) -> None:
        for archive in found:
            telling.note(replace(REFERRAL, archive=archive.id).without_key, 10)
        await reached(lambda: client.total() == 80)
        assert store.total() >= 40

    client = CountingArchives(
        silent={archive.id for archive in found[:2]}, hanging={archive.id for archive in found[2:4]}
    )
    telling, store = work(client, act, *found)
    assert {archive for archive, _ in client.told.values()} == {each.id for each in found[4:]}
    assert (telling.waiting, store.total()) == (40, 40)
    assert (client.most_at_one, client.most_under_way <= MAX_ARCHIVES) == (1, True)


def test_a_store_that_fails_for_a_while_loses_nothing() -> None:
    async def act(telling: AcknowledgmentSender, store: MemoryStore) -> None:
        for failures in ((0, 0), (1, 0), (0, 1), (1, 1), (2, 0)):
            store.fails_before, store.fails_after = failures
            telling.note(REFERRAL.without_key, 3)
            await reached(lambda: not (store.fails_before or store.fails_after))
        await all_told(telling)

    client = CountingArchives()
    telling, store = work(client, act, OURS)
    assert (client.total(), telling.accesses_reported, store.rows) == (15, 15, {})


def test_what_is_noted_until_the_end_is_kept() -> None:
    async def act(telling: AcknowledgmentSender, _: MemoryStore) -> None:
        telling.note(REFERRAL, 3)

    _, store = work(CountingArchives(hanging={OURS.id}), act, OURS)
    assert store.total() == 3
