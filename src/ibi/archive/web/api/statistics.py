"""The API of an archive: numbers of accesses and of holdings."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable
from datetime import date
from typing import Final

import msgspec
from starlette.responses import Response

from ibi.archive.archive import Archive
from ibi.archive.ports.statistics import HoldingCount, ItemAccesses, MaintenanceCounts
from ibi.archive.rules.calendar import PERIODS, Period, day_of, period_of, summed
from ibi.archive.web.api.date_query import days_of
from ibi.archive.web.api.responses import moment, pair
from ibi.errors import ArchiveRequestError, Sentence, UnknownError, shown
from ibi.foundation.web.json_response import json_answer
from ibi.foundation.web.operations import AuthorizedRequest
from ibi.foundation.web.request_body import number_of

_MAX_PAGE: Final = 1000
"""Entries of one page at most."""
COUNTED: Final = ("accesses", "views", "downloads")
"""What is counted: readers sent by resolvers, views of pages, downloads of files."""
_PLACE: Final = re.compile(r"([0-9]{1,18})-([0-9]{1,18})")


class PeriodAnswer(msgspec.Struct, frozen=True):
    """Accesses of a day, a week or a month: 2026-11-15, 2026-W46, 2026-11."""

    period: str
    count: int


class StatisticsAnswer(msgspec.Struct, frozen=True):
    """Accesses by period, and their total."""

    total: int
    by: str
    accesses: list[PeriodAnswer]
    after: str = ""
    """Continue after this; empty at the end."""


class ReadItem(msgspec.Struct, frozen=True):
    """The number of accesses to an item."""

    rep: str
    ibip: str
    title: str
    count: int


class MostRead(msgspec.Struct, frozen=True):
    """A page of items, the most read first."""

    items: list[ReadItem]
    after: str = ""


class HeldCount(msgspec.Struct, frozen=True):
    """The number of items of one kind and state, and of their files."""

    kind: str
    state: str
    items: int
    files: int
    bytes: int


class MonthGrowth(msgspec.Struct, frozen=True):
    """The number of items of data that were made in a month and exist, and of their files."""

    month: str
    items: int
    files: int
    bytes: int


class CopyCounts(msgspec.Struct, frozen=True):
    """Numbers of copies."""

    known: int
    missing: int
    """Copies whose Originals are not found."""
    faulty: int
    """Copies that could not be updated."""


class TransferCount(msgspec.Struct, frozen=True):
    """The number of transfers of one role and state."""

    role: str
    state: str
    count: int


class TaskCount(msgspec.Struct, frozen=True):
    """The number of tasks of one kind and state."""

    kind: str
    state: str
    count: int
    last: str
    """When the last of them began."""


class HoldingsStatistics(msgspec.Struct, frozen=True):
    """Numbers of holdings and of their maintenance."""

    held: list[HeldCount]
    growth: list[MonthGrowth]
    copies: CopyCounts
    transfers: list[TransferCount]
    tasks: list[TaskCount]
    damaged: int
    """Damaged files."""


class StatisticsApi:
    """Handlers of the operations on statistics, which contain no address of a reader."""

    def __init__(self, archive: Archive) -> None:
        """Report statistics of an archive."""
        self._archive = archive
        self._statistics = archive.catalogue.statistics

    async def statistics(self, request: AuthorizedRequest) -> Response:
        """Report accesses, views or downloads by day, week or month."""
        first, last = days_of(request)
        by = _period(request.query_params.get("by", PERIODS[0]))
        limit = number_of(request.query_params.get("limit", str(_MAX_PAGE)), 1, _MAX_PAGE)
        after = request.query_params.get("after", "")
        item = request.query_params.get("item", "")
        number = (await asyncio.to_thread(self._archive.get, item)).id if item else 0
        what = _counted(request.query_params.get("count", COUNTED[0]))
        days = await asyncio.to_thread(
            self._daily, what, first.isoformat(), last.isoformat(), number
        )
        counts = summed(((date.fromisoformat(day), count) for day, count in days), by)
        later = [each for each in counts if each[0] > after]
        page = [PeriodAnswer(*each) for each in later[:limit]]
        more = page[-1].period if len(later) > limit else ""
        return json_answer(StatisticsAnswer(sum(count for _, count in counts), by, page, more))

    def _daily(self, what: str, first: str, last: str, item: int) -> list[tuple[str, int]]:
        if what == "accesses":
            return [(each.day, each.count) for each in self._statistics.accesses(first, last, item)]
        found = self._statistics.usage(first, last, item)
        if what == "views":
            return [(each.day, each.views) for each in found if each.views]
        return [(each.day, each.downloads) for each in found if each.downloads]

    async def most_read(self, request: AuthorizedRequest) -> Response:
        """List the items that were read most."""
        first, last = (each.isoformat() for each in days_of(request))
        limit = number_of(request.query_params.get("limit", "10"), 1, _MAX_PAGE)
        after = _place(request.query_params.get("after", ""))
        found = await asyncio.to_thread(self._statistics.most_read, first, last, limit, after)
        items = await asyncio.to_thread(lambda: [self._read_item(each) for each in found])
        more = f"{found[-1].count}-{found[-1].item}" if len(found) == limit else ""
        return json_answer(MostRead(items, more))

    def _read_item(self, read: ItemAccesses) -> ReadItem:
        try:
            forms = self._archive.get(read.label).item.forms
            record = self._archive.get_described(read.label).record
        except UnknownError:  # it was removed meanwhile
            return ReadItem(read.label, "", "", read.count)
        title = record.titles[0].value if record and record.titles else ""
        return ReadItem(*pair(forms), title, read.count)

    async def holdings(self, _: AuthorizedRequest) -> Response:
        """Report the numbers of holdings."""
        held = await asyncio.to_thread(self._statistics.holdings)
        counts = await asyncio.to_thread(self._statistics.maintenance_counts)
        return json_answer(holdings_statistics(held, counts))


def holdings_statistics(
    held: Iterable[HoldingCount], counts: MaintenanceCounts
) -> HoldingsStatistics:
    """Return the statistics of holdings and of maintenance as a message."""
    kinds: dict[tuple[str, str], list[int]] = {}
    months: dict[str, list[int]] = {}
    for each in held:
        sizes = (each.items, each.files, each.size)
        _add(kinds.setdefault((each.kind, each.state), [0, 0, 0]), sizes)
        if each.kind == "data" and each.state != "Deleted":
            _add(months.setdefault(period_of(day_of(each.day), "month"), [0, 0, 0]), sizes)
    return HoldingsStatistics(
        [HeldCount(*names, *sizes) for names, sizes in sorted(kinds.items())],
        [MonthGrowth(month, *sizes) for month, sizes in sorted(months.items())],
        CopyCounts(counts.copies, counts.missing, counts.faulty),
        [TransferCount(each.role, each.state, each.count) for each in counts.exchanges],
        [TaskCount(each.kind, each.state, each.count, moment(each.begun)) for each in counts.tasks],
        counts.damaged,
    )


def _add(sums: list[int], numbers: tuple[int, int, int]) -> None:
    for place, number in enumerate(numbers):
        sums[place] += number


def _counted(text: str) -> str:
    if text not in COUNTED:
        msg = Sentence(
            "%(text)s is not counted: expected %(counted)s.",
            text=shown(text),
            counted=", ".join(COUNTED),
        )
        raise ArchiveRequestError(msg)
    return text


def _period(text: str) -> Period:
    if text not in PERIODS:
        msg = Sentence(
            "%(text)s is not a period: expected %(periods)s.",
            text=shown(text),
            periods=", ".join(PERIODS),
        )
        raise ArchiveRequestError(msg)
    return text


def _place(text: str) -> tuple[int, int] | None:
    """Return the count and the item after which a page begins; None for the first page."""
    if not text:
        return None
    found = _PLACE.fullmatch(text)
    if found is None:
        msg = Sentence("%(text)s is not where a page of items ended.", text=shown(text))
        raise ArchiveRequestError(msg)
    return int(found[1]), int(found[2])
