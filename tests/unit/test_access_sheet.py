"""Accesses of many items on sheets: nothing is lost or told twice between the two forms."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from ibi.adapters.clock import SystemClock
from ibi.adapters.sql_resolver_store import SqlResolverStore
from ibi.adapters.sql_schema import upgrade
from ibi.adapters.sqlite import Sqlite
from ibi.errors import MessageError
from ibi.identifier.ibip import mount_suffix
from ibi.identifier.instant import EPOCH, Instant
from ibi.identifier.label import parse
from ibi.model.item import ContentType, State
from ibi.ports import PendingAcknowledgment
from ibi.resolver import access_sheet, noted_accesses
from ibi.resolver.acknowledgment import is_keyed, is_sheet, pending
from ibi.resolver.acknowledgment_queue import AcknowledgmentQueue
from ibi.resolver.duties import Duties
from ibi.resolver.known import Asked, Known, Terms
from ibi.resolver.lease import ENDED
from ibi.resolver.noted_accesses import NotedAccesses
from ibi.resolver.question import Question

TERMS = Terms("http://r.example", "J8LNKB5R7W/3FUQHC5", ContentType.DATA, State.ORIGINAL)
READER, OTHER = ("192.0.2.0",), ("198.51.100.0", "10.0.0.0")
NOW = 1_700_000_000 * 10**9


def known(number: int, terms: Terms = TERMS) -> Known:
    label = f"8JMKD3MGP7W/{mount_suffix(Instant(EPOCH.seconds + number))}"
    url = f"http://a.example/col/{label}/doc/ó.txt"
    return Known(ENDED, terms, f"/{label}".encode(), url.encode(), None)


def counts(rows: list[PendingAcknowledgment]) -> Counter[tuple[str, str]]:
    found: Counter[tuple[str, str]] = Counter()
    for row in rows:
        found[row.request, row.acknowledgment] += row.count
    return found


@pytest.mark.parametrize("terms", [TERMS, replace(TERMS, state=None)])
def test_a_sheet_is_divided_into_the_rows_that_there_would_have_been(terms: Terms) -> None:
    items = [known(number, terms) for number in (1, 2, 3)]
    lines = [(each.path.decode(), each.url.decode(), count) for count, each in enumerate(items, 1)]
    kept = replace(access_sheet.sheet(terms, OTHER, lines, NOW), id=7)
    assert is_sheet(kept)
    assert not is_keyed(kept)
    assert (kept.count, kept.archive) == (6, terms.archive)
    rows = access_sheet.divided(kept)
    assert [row.id for row in rows] == [7, 0, 0]
    assert [replace(row, id=0) for row in rows] == [
        row
        for count, each in enumerate(items, 1)
        for row in pending(each.referral(OTHER), count, NOW)
    ]
    assert not any(is_sheet(row) for row in rows)


@pytest.mark.parametrize("text", ["", "[]", '{"lines": 1}', "{"])
def test_a_sheet_that_cannot_be_read_is_an_error_of_ours(text: str) -> None:
    kept = access_sheet.sheet(TERMS, READER, [("/x", "http://a.example/", 1)], NOW)
    with pytest.raises(MessageError):
        access_sheet.divided(kept)  # there is no such label
    with pytest.raises(MessageError):
        access_sheet.divided(replace(kept, acknowledgment=text))


def test_few_are_kept_each_by_itself_and_of_many_those_that_are_read_often() -> None:
    async def run() -> None:
        noted = NotedAccesses()
        items = [known(number) for number in range(noted_accesses.FEW + 1)]
        for each in items[:-1]:
            noted.note(each, READER)
        taken = await noted.take(NOW)
        assert not taken.sheets
        assert len(taken.referrals) == noted_accesses.FEW
        assert len(noted) == noted.total == 0
        for each in items:
            noted.note(each, READER)
        for _ in range(noted_accesses.OFTEN):
            noted.note(items[0], OTHER)
        assert noted.total == len(items) + noted_accesses.OFTEN
        taken = await noted.take(NOW)
        assert taken.referrals == [(items[0].referral(OTHER), noted_accesses.OFTEN)]
        assert sum(row.count for row in taken.sheets) == len(items)
        assert all(len(access_sheet.divided(row)) <= noted_accesses.LINES for row in taken.sheets)

    asyncio.run(run())


def test_what_is_more_than_an_item_is_on_no_sheet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noted_accesses, "FEW", 1)
    question = Question(parse("8JMKD3MGP7W/3EPGUE5"), path="/a.txt")
    path = question.persistent_url.at("").encode()
    file = Known(ENDED, TERMS, path, b"http://a.example/x", Asked(question, question, ()))
    noted = NotedAccesses()
    for each in (known(1), file, known(2)):
        noted.note(each, READER)
    taken = asyncio.run(noted.take(NOW))
    assert taken.referrals == [(file.referral(READER), 1)]
    assert [row.count for row in taken.sheets] == [2]


def test_what_there_is_no_room_for_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noted_accesses, "MOST", 2)
    noted = NotedAccesses()
    for number in (1, 2, 3, 3):
        noted.note(known(number), READER)
    assert (len(noted), noted.lost) == (2, 2)


def test_sheets_are_kept_and_divided_in_a_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(noted_accesses, "FEW", 3)
    monkeypatch.setattr(noted_accesses, "LINES", 4)
    place = tmp_path / "resolver.sqlite"
    upgrade(str(place), postgresql=False, part="resolver")
    items = [known(number) for number in range(10)]

    async def run() -> None:
        store = SqlResolverStore(Sqlite(place), quick=True)
        duties = Duties(store, SystemClock())
        await duties.open()
        queue = AcknowledgmentQueue(store, SystemClock(), lambda: duties.process)
        for each in items:
            queue.known.note(each, READER)
        await queue.flush()
        last, sheets = await queue.page(0)
        assert last == len(sheets) == 3
        assert queue.waiting == store.count_pending(duties.process) == 10
        divided = [row for sheet in sheets for row in await queue.divide(sheet)]
        assert len({row.id for row in divided}) == 10
        _, rows = await queue.page(0)
        expected = [row for each in items for row in pending(each.referral(READER), 1, 0)]
        assert counts(rows) == counts(divided) == counts(expected)
        assert queue.waiting == store.count_pending(duties.process) == 10
        await duties.close()
        store.close()

    asyncio.run(run())
