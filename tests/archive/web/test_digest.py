"""What a stranger can make an archive do by asking for its digest, and asking again."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Iterator
from contextlib import closing
from http import HTTPStatus
from pathlib import Path
from threading import Event

import pytest
from starlette.exceptions import HTTPException
from starlette.requests import Request

from ibi.archive.ports.catalogue import Catalogue, DigestState, ManifestItem
from ibi.archive.resolver_links.digest_log import DigestLog
from ibi.archive.storage.catalogue.catalogue import sql_catalogue
from ibi.archive.storage.migrations import ARCHIVE_MIGRATIONS
from ibi.archive.web import digest as module
from ibi.archive.web.digest import PATH, DigestEndpoint
from ibi.foundation.sql.sqlite import Sqlite
from ibi.foundation.sql.upgrade import upgrade
from ibi.model.change import Change, ItemChange
from ibi.model.item import Item
from ibi.wire.digest import DigestPage, decode, fingerprint
from tests.support.scenes.small_archive import forms


class CountedDigest(DigestLog):
    """A digest that tells how often a page of it was put together, and how long that took."""

    def __init__(self, catalogue: Catalogue) -> None:
        """Begin with none."""
        super().__init__(catalogue.digest)
        self.catalogue = catalogue
        self.took: list[float] = []
        self.free = Event()
        self.free.set()

    def page(self, state: DigestState, after: int) -> DigestPage:
        """Put one together."""
        assert self.free.wait(60)
        begun = time.monotonic()
        page = super().page(state, after)
        self.took.append(time.monotonic() - begun)
        return page

    def put(self, number: int) -> None:
        """Let the archive have one item more."""
        item = ItemChange(item=Item(forms=forms(number)))
        id_, label = secrets.token_hex(8), item.item.forms.label.canonical
        change = Change(id=id_, at=7, who="me", act="deposit", label=label, items=(item,))
        self.catalogue.items.apply(change, lambda _: None)


@pytest.fixture
def digest(tmp_path: Path) -> Iterator[CountedDigest]:
    path = str(tmp_path / "catalogue.sqlite")
    upgrade(path, ARCHIVE_MIGRATIONS, postgresql=False)
    with closing(sql_catalogue(Sqlite(path), quick=True)) as catalogue:
        while catalogue.digest.fill():
            pass
        digest = CountedDigest(catalogue)
        digest.put(1)
        yield digest


async def ask(door: DigestEndpoint, before: DigestPage | None = None) -> DigestPage:
    query = f"epoch={before.epoch}&after={before.last}" if before else ""
    scope = {
        "type": "http",
        "method": "GET",
        "path": PATH,
        "query_string": query.encode(),
        "headers": [],
    }
    return decode(bytes((await door.page(Request(scope))).body))


def names(*numbers: int) -> set[int]:
    return {fingerprint(label.canonical) for number in numbers for label in forms(number)}


def test_a_page_is_put_together_once_until_there_is_more_to_say(digest: CountedDigest) -> None:
    async def act() -> None:
        door = DigestEndpoint(digest, published=True)
        first = [await ask(door) for _ in range(3)]
        assert len(digest.took) == 1
        digest.put(2)
        second = [await ask(door) for _ in range(3)]
        news = [await ask(door, first[0]) for _ in range(3)]
        assert len(digest.took) == 3
        assert [set(each.held) for each in first] == [names(1)] * 3
        assert [set(each.held) for each in second] == [names(1, 2)] * 3
        assert [set(each.held) for each in news] == [names(2)] * 3
        assert await ask(door, news[0]) == DigestPage(
            news[0].epoch, news[0].last, news[0].last, more=False, notifies=True
        )
        assert len(digest.took) == 3

    asyncio.run(act())


def test_there_is_none_before_everything_was_written_down(digest: CountedDigest) -> None:
    """Who read half of it would take what is missing for what is not held."""

    async def act() -> None:
        renewal = digest.catalogue.rebuild()
        renewal.put([ManifestItem(Item(forms=forms(2)), (), number=2, version=1)])
        renewal.finish()
        door = DigestEndpoint(digest, published=True)
        with pytest.raises(HTTPException) as refused:
            await ask(door)
        assert refused.value.status_code == HTTPStatus.SERVICE_UNAVAILABLE
        while digest.catalogue.digest.fill():
            pass
        assert set((await ask(door)).held) == names(2)

    asyncio.run(act())


def test_many_who_ask_for_the_same_at_once_have_it_put_together_once(
    digest: CountedDigest,
) -> None:
    async def act() -> None:
        door = DigestEndpoint(digest, published=True)
        pages = await asyncio.gather(*(ask(door) for _ in range(20)))
        assert {frozenset(each.held) for each in pages} == {frozenset(names(1))}
        assert len(digest.took) == 1

    asyncio.run(act())


def test_who_asks_from_many_places_gets_half_of_the_time(
    digest: CountedDigest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody's page is put together while the archive rests from the one before."""
    rests: list[float] = []
    freed = asyncio.Event()

    async def rest(seconds: float) -> None:
        rests.append(seconds)
        await freed.wait()

    async def act() -> None:
        door = DigestEndpoint(digest, published=True)
        state, _ = digest.place("", 0)
        first = digest.page(state, 0)
        digest.put(2)
        digest.took.clear()
        monkeypatch.setattr(asyncio, "sleep", rest)
        async with asyncio.TaskGroup() as group:
            one = group.create_task(ask(door))
            other = group.create_task(ask(door, first))
            while not rests and not (one.done() and other.done()):
                await asyncio.wait([one, other], timeout=0.01)
            assert len(digest.took) == 1
            freed.set()
        assert (set(one.result().held), set(other.result().held)) == (names(1, 2), names(2))
        assert len(digest.took) == len(rests) == 2
        assert all(rested >= took for rested, took in zip(rests, digest.took, strict=True))

    asyncio.run(act())


def test_only_so_many_may_wait(digest: CountedDigest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_WAITING", 3)

    async def act() -> None:
        door = DigestEndpoint(digest, published=True)
        digest.free.clear()
        waiting = {asyncio.create_task(ask(door)) for _ in range(8)}
        refused: set[asyncio.Task[DigestPage]] = set()
        while len(refused) < 8 - 3:
            done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            refused |= done
        for each in refused:
            failure = each.exception()
            assert isinstance(failure, HTTPException)
            assert failure.status_code == HTTPStatus.SERVICE_UNAVAILABLE
        digest.free.set()
        assert {frozenset(each.held) for each in await asyncio.gather(*waiting)} == {
            frozenset(names(1))
        }
        assert len(digest.took) == 1

    asyncio.run(act())
