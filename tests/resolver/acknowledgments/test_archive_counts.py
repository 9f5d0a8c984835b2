"""A real archive counts each access once, whenever the resolver that tells of it dies."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from ibi.foundation.http_client.ssrf_guard import OutboundGuard
from ibi.foundation.sql.sqlite import Sqlite
from ibi.foundation.sql.upgrade import upgrade
from ibi.foundation.system.clock import SystemClock
from ibi.identifier.label import parse
from ibi.model.item import ContentType, State
from ibi.model.registration import RegisteredArchive
from ibi.model.relation import Relation
from ibi.resolver.acknowledgments import outbox
from ibi.resolver.acknowledgments.sender import AcknowledgmentSender
from ibi.resolver.peers.archive_client import HttpArchiveClient
from ibi.resolver.ports.outbound import ArchiveClient, ArchiveReply
from ibi.resolver.rules.acknowledgment import Referral
from ibi.resolver.rules.redirect_entry import CachedRedirect, Terms
from ibi.resolver.rules.redirect_lease import ENDED
from ibi.resolver.storage.migrations import RESOLVER_MIGRATIONS
from ibi.resolver.storage.store import SqlResolverStore
from ibi.resolver.workers.leases import WorkerIdentity, WorkerLeases
from ibi.wire.requests import Acknowledgment, UrlRequest
from tests.support.scenes.acknowledgments import (
    INCLUSION,
    CrashingClient,
    CrashPoint,
    MemoryStore,
    Registry,
    archives,
    flush_at_once,
    keeper,
    kill,
    reached,
)
from tests.support.scenes.link_secret import SECRET, linked
from tests.support.servers.archive import ArchiveServer


@pytest.fixture(autouse=True)
def _in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    flush_at_once(monkeypatch)


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ArchiveServer]:
    with ArchiveServer(tmp_path_factory.mktemp("archive")) as started, linked(started):
        yield started


@pytest.fixture(scope="module")
def item(archive: ArchiveServer) -> dict[str, Any]:
    return archive.deposit({"Relatório 50%.txt": b"a"}, target="Relatório 50%.txt")


def counted(archive: ArchiveServer, item: dict[str, Any]) -> int:
    total: int = archive.api("GET", f"statistics?item={item['rep']}").json()["total"]
    return total


def registered(archive: ArchiveServer, platform: str) -> RegisteredArchive:
    inclusion = replace(
        INCLUSION, address=urlsplit(archive.address).netloc, platform_version=platform
    )
    service = parse(archive.service, strict=True)
    return RegisteredArchive(
        service=service, key="x", confirmed=1, inclusion=inclusion, link_secret=SECRET
    )


def real_client() -> HttpArchiveClient:
    return HttpArchiveClient(OutboundGuard(["127.0.0.0/8"]))


async def referral(
    client: ArchiveClient, archive: RegisteredArchive, item: dict[str, Any]
) -> Referral:
    """Ask as a resolver does for a reader."""
    request = UrlRequest(("150.163.2.0",), parse(item["ibip"], strict=True))
    heard = await client.ask(archive, request, 60.0)
    assert isinstance(heard, ArchiveReply)
    assert heard.listed is not None
    found = heard.listed.related[Relation()]
    assert found.content is not None
    persistent = f"http://urlib.net/{item['ibip']}"
    return Referral(
        archive.id,
        request,
        found.content,
        found.url,
        persistent,
        found.state,
        found.forms,
        heard.listed.key,
    )


async def life(
    store: MemoryStore, found: RegisteredArchive, item: dict[str, Any], readers: int
) -> bool:
    """Send readers, unless it is the last life; until all is told, or it ends. Tell whether so."""
    client = real_client()
    first = await referral(client, found, item)

    def note(telling: AcknowledgmentSender) -> None:
        if readers:
            telling.note(first)
            telling.note(first.without_key, readers - 1)

    return await lived(store, client, found, note)


async def lived(
    store: MemoryStore,
    client: HttpArchiveClient,
    found: RegisteredArchive,
    note: Callable[[AcknowledgmentSender], None],
) -> bool:
    mortal = CrashingClient(client, store.fate)
    telling = AcknowledgmentSender(store, mortal, archives(found), SystemClock(), keeper())
    telling.open()
    note(telling)
    await reached(lambda: store.fate.dead or (telling.waiting == 0 and not store.rows))
    died = store.fate.dead
    if died:
        await kill()
    else:
        await telling.close()
    await client.close()
    return died


@pytest.mark.parametrize(("platform", "readers"), [("ibi-0.1", 1501), ("2.1", 3)])
def test_whenever_a_resolver_dies_what_it_kept_is_counted_once(
    archive: ArchiveServer, item: dict[str, Any], platform: str, readers: int
) -> None:
    found = registered(archive, platform)
    died = True
    for moment in count(1):
        before = counted(archive, item)
        store = MemoryStore(fate=CrashPoint(dies_at=moment))
        died = asyncio.run(life(store, found, item, readers))
        assert counted(archive, item) - before <= readers
        store.fate = CrashPoint()
        assert not asyncio.run(life(store, found, item, 0))
        assert counted(archive, item) - before == store.kept
        assert store.kept in {0, readers}
        if not died:
            break
    assert store.kept == readers
    assert moment > 20


def test_a_resolver_that_dies_again_and_again_counts_nothing_twice(
    archive: ArchiveServer, item: dict[str, Any]
) -> None:
    found = registered(archive, "2.1")
    store = MemoryStore()
    before = counted(archive, item)
    for moment in (9, 14, 11, 8, 17, 12, 10):
        store.fate = CrashPoint(dies_at=moment)
        asyncio.run(life(store, found, item, 2))
        assert counted(archive, item) - before <= store.kept
    store.fate = CrashPoint()
    asyncio.run(life(store, found, item, 1))
    assert counted(archive, item) - before == store.kept


@pytest.mark.parametrize("readers", [1, 4])
def test_an_archive_without_the_secret_of_the_link_is_told_of_one_access_at_a_time(
    archive: ArchiveServer, item: dict[str, Any], readers: int
) -> None:
    found = replace(registered(archive, "ibi-0.1"), link_secret="")
    before = counted(archive, item)
    assert not asyncio.run(life(MemoryStore(), found, item, readers))
    assert counted(archive, item) == before + readers


class RecordingClient(HttpArchiveClient):
    """A client that records how archives answered acknowledgments."""

    def __init__(self, guard: OutboundGuard) -> None:
        """Begin without answers."""
        super().__init__(guard)
        self.said: list[str] = []

    async def acknowledge(
        self, archive: RegisteredArchive, request: Acknowledgment, seconds: float
    ) -> str:
        """Send an acknowledgment, and record the answer."""
        self.said.append(await super().acknowledge(archive, request, seconds))
        return self.said[-1]


def test_counts_that_were_refused_are_told_again_when_the_link_was_renewed(
    archive: ArchiveServer, item: dict[str, Any]
) -> None:
    found = registered(archive, "ibi-0.1")
    registry = archives(replace(found, link_secret="00" * 32))
    before = counted(archive, item)

    async def run() -> None:
        client, store = RecordingClient(OutboundGuard(["127.0.0.0/8"])), MemoryStore()
        telling = AcknowledgmentSender(store, client, registry, SystemClock(), keeper())
        first = await referral(client, found, item)
        telling.open()
        telling.note(first.without_key, 7)
        await reached(lambda: bool(client.said))
        assert counted(archive, item) == before
        registry.archives[found.id] = found
        await reached(lambda: telling.waiting == 0)
        await telling.close()
        await client.close()
        assert client.said[0]
        assert client.said[-1] == ""

    asyncio.run(run())
    assert counted(archive, item) == before + 7


@pytest.fixture(scope="module")
def items(archive: ArchiveServer) -> list[dict[str, Any]]:
    return [archive.deposit({"a": b"a"}, target="a") for _ in range(3)]


def known(found: RegisteredArchive, items: list[dict[str, Any]]) -> list[CachedRedirect]:
    terms = Terms("http://urlib.net", found.id, ContentType.DATA, State.ORIGINAL)
    return [
        CachedRedirect(ENDED, terms, f"/{item['ibip']}".encode(), item["url"].encode(), None)
        for item in items
    ]


READ = [(0, "150.163.2.0", 2), (1, "150.163.2.0", 1), (1, "192.0.2.7", 3), (2, "192.0.2.8", 1)]
"""Which item, by whom, and how often."""


@pytest.mark.parametrize(
    ("platform", "messages"),
    [("ibi-0.1", 1), pytest.param("2.1", 7, marks=pytest.mark.long)],
)
def test_whenever_a_resolver_dies_a_sheet_is_counted_once(
    archive: ArchiveServer,
    items: list[dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
    platform: str,
    messages: int,
) -> None:
    monkeypatch.setattr(outbox, "SMALL_BATCH", 0)
    found = registered(archive, platform)
    sent: list[int] = []

    def note(telling: AcknowledgmentSender) -> None:
        kept = known(found, items)
        for number, reader, times in READ:
            for _ in range(times):
                telling.note_known(kept[number], (reader,), b"")
        seen.append(telling)

    seen: list[AcknowledgmentSender] = []
    for moment in count(1):
        before = [counted(archive, item) for item in items]
        store = MemoryStore(fate=CrashPoint(dies_at=moment))
        died = asyncio.run(lived(store, real_client(), found, note))
        sent.append(seen.pop().sent)
        store.fate = CrashPoint()
        assert not asyncio.run(lived(store, real_client(), found, lambda _: None))
        grown = [counted(archive, item) - old for item, old in zip(items, before, strict=True)]
        assert grown in ([0, 0, 0], [2, 4, 1])
        assert sum(grown) == store.kept
        if not died:
            break
    assert grown == [2, 4, 1]
    assert sent[-1] == messages
    assert moment > 8


def test_a_resolver_on_a_real_database_tells_all_after_a_restart(
    archive: ArchiveServer, item: dict[str, Any], tmp_path: Path
) -> None:
    place = tmp_path / "resolver.sqlite"
    upgrade(str(place), RESOLVER_MIGRATIONS, postgresql=False)
    found = registered(archive, "ibi-0.1")
    before = counted(archive, item)

    async def run(registry: Registry, readers: int) -> int:
        store, client = SqlResolverStore(Sqlite(place), quick=True), real_client()
        identity = WorkerIdentity()
        telling = AcknowledgmentSender(
            store.acknowledgments, client, registry, SystemClock(), lambda: identity.name
        )
        duties = WorkerLeases(
            store.processes, SystemClock(), identity=identity, on_adoption=telling.add_adopted
        )
        await duties.open()
        telling.open()
        first = await referral(client, found, item)
        for _ in range(readers):
            telling.note(first)
        if not readers:
            await reached(lambda: telling.accesses_reported == 5)
        await telling.close()
        await client.close()
        waiting = store.acknowledgments.count_pending(duties.process)
        await duties.close()
        store.close()
        return waiting

    assert asyncio.run(run(archives(), 5)) == 5
    assert counted(archive, item) == before
    assert asyncio.run(run(archives(found), 0)) == 0
    assert counted(archive, item) == before + 5
