"""Accesses of many items on sheets: nothing is lost or told twice between the two forms."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibi.errors import MessageError
from ibi.foundation.sql.sqlite import Sqlite
from ibi.foundation.sql.upgrade import upgrade
from ibi.foundation.system.clock import SystemClock
from ibi.identifier.ibip import mount_suffix
from ibi.identifier.instant import EPOCH, Instant
from ibi.identifier.label import parse
from ibi.model.archive_record import UrlKey
from ibi.model.item import ContentType, State
from ibi.model.label_pair import Forms
from ibi.model.relation import Relation
from ibi.resolver.acknowledgments import outbox
from ibi.resolver.acknowledgments.outbox import AcknowledgmentOutbox, PendingAccesses
from ibi.resolver.ports.store import PendingAcknowledgment
from ibi.resolver.rules import access_count_sheet
from ibi.resolver.rules.access_count_sheet import OpenSheet
from ibi.resolver.rules.acknowledgment import (
    acknowledgment_of,
    is_keyed,
    is_sheet,
    pending,
    refreshed,
)
from ibi.resolver.rules.redirect_entry import AskedFor, CachedRedirect, Terms
from ibi.resolver.rules.redirect_lease import ENDED
from ibi.resolver.storage.migrations import RESOLVER_MIGRATIONS
from ibi.resolver.storage.store import SqlResolverStore
from ibi.resolver.workers.leases import WorkerLeases
from ibi.wire import requests
from ibi.wire.access_counts import MOST_ACCESSES, total
from ibi.wire.access_counts import written as written_others
from ibi.wire.percent_encoding import value
from ibi.wire.question import Question
from ibi.wire.requests import Acknowledgment
from ibi.wire.url_list import Related, UrlList

TERMS = Terms("http://r.example", "J8LNKB5R7W/3FUQHC5", ContentType.DATA, State.ORIGINAL)
READER, OTHER = ("192.0.2.0",), ("198.51.100.0", "10.0.0.0")
KEY = UrlKey("1424636122-5331490054869684")
FORMS = Forms.parse("rep sid.inpe.br/mtc-m19/2013/09.04.12.27.57 ibip 8JMKD3MGP7W/3EPGUE5")
NOW = 1_700_000_000 * 10**9


def known(number: int, terms: Terms = TERMS) -> CachedRedirect:
    label = f"8JMKD3MGP7W/{mount_suffix(Instant(EPOCH.seconds + number))}"
    url = f"http://a.example/col/{label}/doc/ó.txt"
    return CachedRedirect(ENDED, terms, f"/{label}".encode(), url.encode(), None)


def written(
    terms: Terms, lines: Sequence[tuple[CachedRedirect, tuple[str, ...], int]]
) -> PendingAcknowledgment:
    sheet = OpenSheet(terms)
    for each, clients, count in lines:
        sheet.add(each, clients, count)
    return sheet.row(NOW)


def keyed(row: PendingAcknowledgment) -> str:
    """Return the acknowledgment of a row with a key."""
    related = {Relation(): Related(FORMS, url=_url(row))}
    return refreshed(row, UrlList("a.example", FORMS, key=KEY, related=related))


def _url(row: PendingAcknowledgment) -> str:
    url: str = msgspec.json.decode(row.acknowledgment)["url"]
    return url


def counts(rows: list[PendingAcknowledgment]) -> Counter[tuple[str, str]]:
    found: Counter[tuple[str, str]] = Counter()
    for row in rows:
        found[row.request, row.acknowledgment] += row.count
    return found


@pytest.mark.parametrize("terms", [TERMS, replace(TERMS, state=None)])
def test_a_sheet_is_divided_into_the_rows_that_there_would_have_been(terms: Terms) -> None:
    items = [known(number, terms) for number in (1, 2, 3)]
    kept = replace(written(terms, [(each, OTHER, n) for n, each in enumerate(items, 1)]), id=7)
    assert is_sheet(kept)
    assert not is_keyed(kept)
    assert (kept.count, kept.archive) == (6, terms.archive)
    rows = access_count_sheet.divided(kept)
    assert [row.id for row in rows] == [7, 0, 0]
    assert [replace(row, id=0) for row in rows] == [
        row
        for count, each in enumerate(items, 1)
        for row in pending(each.referral(OTHER), count, NOW)
    ]
    assert not any(is_sheet(row) for row in rows)


@pytest.mark.parametrize("text", ["", "[]", '{"lines": 1}', "{"])
def test_a_sheet_that_cannot_be_read_is_an_error_of_ours(text: str) -> None:
    nobody = CachedRedirect(ENDED, TERMS, b"/x", b"http://a.example/", None)
    kept = written(TERMS, [(nobody, READER, 1)])
    with pytest.raises(MessageError):
        access_count_sheet.divided(kept)  # there is no such label
    with pytest.raises(MessageError):
        access_count_sheet.divided(replace(kept, acknowledgment=text))
    with pytest.raises(MessageError):
        access_count_sheet.first(replace(kept, acknowledgment=text))
    good = written(TERMS, [(known(1), READER, 1)])
    for change in (b'"lines":[]', b'"clients":[]'):
        name = change.partition(b":")[0].decode()
        fields = msgspec.json.decode(good.acknowledgment) | msgspec.json.decode(b"{%b}" % change)
        broken = replace(good, acknowledgment=msgspec.json.encode(fields).decode())
        with pytest.raises(MessageError):
            access_count_sheet.first(broken)
        assert name in broken.acknowledgment


def test_a_sheet_is_told_by_the_key_of_its_first_line() -> None:
    items = [known(number) for number in (1, 2, 3)]
    lines = [(items[0], READER, 2), (items[1], OTHER, 3), (items[2], READER, 4)]
    kept = replace(written(TERMS, lines), id=7)
    first = access_count_sheet.first(kept)
    assert [first] == pending(items[0].referral(READER), 2, NOW)
    [row] = access_count_sheet.keyed(kept, keyed(first), 9, NOW + 5)
    assert (row.id, row.count, row.since, is_keyed(row)) == (7, 9, NOW + 5, True)
    told = acknowledgment_of(row)
    assert (told.key, told.clients, told.accesses, told.url) == (
        KEY,
        READER,
        2,
        items[0].url.decode(),
    )
    assert [(f"/{label}".encode(), count) for label, count in told.others] == [
        (items[1].path, 3),
        (items[2].path, 4),
    ]
    # Through the wire, as the archive reads it.
    read = requests.decode(requests.encode(told))
    assert isinstance(read, Acknowledgment)
    assert (read.accesses, read.others) == (told.accesses, told.others)


@given(
    counts=st.lists(st.integers(1, 99), min_size=1, max_size=60),
    most=st.integers(99, 1000),
    longest=st.integers(0, 500),
)
def test_what_one_message_does_not_hold_stays_on_the_sheet(
    counts: list[int], most: int, longest: int
) -> None:
    lines = [(known(number), READER, count) for number, count in enumerate(counts)]
    sheet = replace(written(TERMS, lines), id=7)
    told: list[int] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(access_count_sheet, "LONGEST_OTHERS", longest)
        while sheet.id:
            *rest, row = access_count_sheet.keyed(
                sheet, keyed(access_count_sheet.first(sheet)), most, NOW
            )
            message = acknowledgment_of(row)
            assert total(message.accesses, message.others) == row.count <= most
            assert len(value(written_others(message.others))) <= longest
            assert (row.id, is_sheet(row)) == (0 if rest else 7, False)
            told += [message.accesses, *(count for _, count in message.others)]
            [sheet] = rest or [replace(sheet, id=0)]
    assert told == counts


async def test_few_are_kept_each_by_itself_and_of_many_those_that_are_read_often() -> None:
    noted = PendingAccesses()
    items = [known(number) for number in range(outbox.SMALL_BATCH + 1)]
    for each in items[:-1]:
        noted.note(each, READER)
    taken = await noted.take(NOW)
    assert not taken.sheets
    assert len(taken.referrals) == outbox.SMALL_BATCH
    assert len(noted) == noted.total == 0
    for each in items:
        noted.note(each, READER)
    for _ in range(outbox.OWN_ROW_COUNT):
        noted.note(items[0], OTHER)
    assert noted.total == len(items) + outbox.OWN_ROW_COUNT
    taken = await noted.take(NOW)
    assert taken.referrals == [(items[0].referral(OTHER), outbox.OWN_ROW_COUNT)]
    assert sum(row.count for row in taken.sheets) == len(items)
    assert all(row.count <= MOST_ACCESSES for row in taken.sheets)


def test_what_is_more_than_an_item_is_on_no_sheet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "SMALL_BATCH", 1)
    question = Question(parse("8JMKD3MGP7W/3EPGUE5"), path="/a.txt")
    path = question.persistent_url.at("").encode()
    file = CachedRedirect(
        ENDED, TERMS, path, b"http://a.example/x", AskedFor(question, question, ())
    )
    noted = PendingAccesses()
    for each in (known(1), file, known(2)):
        noted.note(each, READER)
    taken = asyncio.run(noted.take(NOW))
    assert taken.referrals == [(file.referral(READER), 1)]
    assert [row.count for row in taken.sheets] == [2]


async def test_a_sheet_has_each_persistent_url_as_it_was_received(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(outbox, "SMALL_BATCH", 1)
    noted = PendingAccesses()
    item = known(1)
    label = item.path.decode()
    for received in (b"", f"{label}?a=1".encode(), f"{label.lower()}".encode(), b""):
        noted.note(item, READER, received)
    [sheet] = (await noted.take(NOW)).sheets
    rows = [msgspec.json.decode(row.acknowledgment) for row in access_count_sheet.divided(sheet)]
    assert [row["persistent_url"] for row in rows] == [
        f"http://r.example{label}",
        f"http://r.example{label}?a=1",
        f"http://r.example{label.lower()}",
    ]
    assert [row.count for row in access_count_sheet.divided(sheet)] == [2, 1, 1]


def test_a_sheet_of_the_former_version_is_read() -> None:
    kept = written(TERMS, [(known(1), READER, 2)])
    fields = msgspec.json.decode(kept.acknowledgment)
    fields["lines"] = [line[:4] for line in fields["lines"]]
    former = replace(kept, acknowledgment=msgspec.json.encode(fields).decode())
    assert access_count_sheet.divided(former) == access_count_sheet.divided(kept)


async def test_one_client_makes_few_rows_for_one_item_whatever_it_writes() -> None:
    noted = PendingAccesses()
    item = known(1)
    for number in range(100):
        noted.note(item, READER, item.path + f"?x={number}".encode())
    noted.note(item, OTHER, item.path + b"?x=1")
    assert (noted.total, noted.lost) == (101, 0)
    taken = await noted.take(NOW)
    assert [count for _, count in taken.referrals] == [1] * outbox.MAX_SPELLINGS + [
        100 - outbox.MAX_SPELLINGS,
        1,
    ]
    cited = item.referral(READER)
    assert (cited, 100 - outbox.MAX_SPELLINGS) in taken.referrals


def test_what_there_is_no_room_for_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "MAX_COUNTED", 2)
    noted = PendingAccesses()
    for number in (1, 2, 3, 3):
        noted.note(known(number), READER)
    assert (len(noted), noted.lost) == (2, 2)


def test_clients_take_no_more_memory_when_there_is_no_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """While the store fails, nothing is taken, and readers of any network ask in any spelling."""
    monkeypatch.setattr(outbox, "MAX_COUNTED", 2)
    noted, item = PendingAccesses(), known(1)
    noted.note(item, READER, item.path + b"?x=1")
    noted.note(item, OTHER, item.path + b"?x=1")
    gc.collect()
    tracemalloc.start()
    try:
        for number in range(5000):
            noted.note(item, (f"10.{number // 250}.{number % 250}.0",), item.path + b"?x=2")
        grown, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (len(noted), noted.lost) == (2, 5000)
    assert grown < 100_000


async def test_sheets_are_kept_and_divided_in_a_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "SMALL_BATCH", 3)
    monkeypatch.setattr(outbox, "MOST_ACCESSES", 4)
    place = tmp_path / "resolver.sqlite"
    upgrade(str(place), RESOLVER_MIGRATIONS, postgresql=False)
    items = [known(number) for number in range(10)]

    store = SqlResolverStore(Sqlite(place), quick=True)
    duties = WorkerLeases(store.processes, SystemClock())
    await duties.open()
    queue = AcknowledgmentOutbox(store.acknowledgments, SystemClock(), lambda: duties.process)
    for each in items:
        queue.known.note(each, READER)
    await queue.flush()
    last, sheets = await queue.page(0)
    assert last == len(sheets) == 3
    assert queue.waiting == store.acknowledgments.count_pending(duties.process) == 10
    divided = [row for sheet in sheets for row in await queue.divide(sheet)]
    assert len({row.id for row in divided}) == 10
    _, rows = await queue.page(0)
    expected = [row for each in items for row in pending(each.referral(READER), 1, 0)]
    assert counts(rows) == counts(divided) == counts(expected)
    assert queue.waiting == store.acknowledgments.count_pending(duties.process) == 10
    await duties.close()
    store.close()
