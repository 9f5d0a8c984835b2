"""The API of figures over time, the same for an archive and a resolver."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from ibi.errors import RequestError, Sentence, shown
from ibi.foundation.web.json_response import json_answer
from ibi.foundation.web.openapi import query
from ibi.foundation.web.operations import AuthorizedRequest, Operation
from ibi.identifier.instant import Instant
from ibi.model.clock import SECOND, Clock
from ibi.model.figures import (
    DAY,
    HOUR,
    MINUTE,
    RESOLUTIONS,
    Durations,
    FigureStore,
    Level,
    Period,
    Resolution,
    quantile,
)

MAX_PERIODS: Final = 4000
"""Periods of one answer at most: all that are kept of one length."""
_SECONDS_OF_A_DAY: Final = 86_400
_USUAL_DAYS: Final = {MINUTE: 2, HOUR: 14, DAY: 366}
"""Days of an answer if the request names none."""
_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


class DurationsAnswer(msgspec.Struct, frozen=True):
    """How long something took."""

    median: float
    """Seconds that half of all took at most; an estimate from the counts, as the next two."""
    most: float
    """Seconds that 99 of 100 took at most."""
    counts: dict[str, int]
    """How many took so many seconds at most, and more than the next lower bound."""


class LevelAnswer(msgspec.Struct, frozen=True):
    """A quantity that was measured once a minute."""

    last: int
    least: int
    most: int
    mean: float


class FiguresPeriodAnswer(msgspec.Struct, frozen=True):
    """What happened in a period."""

    start: str
    counts: dict[str, int]
    """How often it happened; what is not named did not happen."""
    durations: dict[str, DurationsAnswer]
    levels: dict[str, LevelAnswer]


class FiguresAnswer(msgspec.Struct, frozen=True):
    """Periods, the oldest first; those in which the service did not run are left out."""

    resolution: str
    periods: list[FiguresPeriodAnswer]


class FiguresApi:
    """Handler of the operation on figures."""

    def __init__(self, store: FigureStore, clock: Clock, bounds: Sequence[float]) -> None:
        """Report stored figures; `bounds` are those by which durations are counted."""
        self._store = store
        self._clock = clock
        self._bounds = bounds

    async def figures(self, request: AuthorizedRequest) -> Response:
        """Report the figures of the periods that begin on some days."""
        resolution = _resolution(request.query_params.get("resolution", DAY.name))
        first, last = _span(request, resolution, self._clock.wall() // SECOND)
        if (last - first) // resolution.seconds >= MAX_PERIODS:
            msg = Sentence("These are too many days for this resolution: ask for fewer of them.")
            raise RequestError(msg)
        found = await asyncio.to_thread(self._store.periods, resolution, first, last)
        periods = [self._period(period) for period in found]
        return json_answer(FiguresAnswer(resolution.name, periods))

    def _period(self, period: Period) -> FiguresPeriodAnswer:
        tally = period.tally
        return FiguresPeriodAnswer(
            Instant(period.start).iso8601,
            tally.counts,
            {name: self._durations(each) for name, each in tally.durations.items()},
            {name: _level(each) for name, each in tally.levels.items()},
        )

    def _durations(self, durations: Durations) -> DurationsAnswer:
        median, most = (quantile(durations, share, self._bounds) or 0.0 for share in (0.5, 0.99))
        return DurationsAnswer(round(median, 6), round(most, 6), durations)


def _level(level: Level) -> LevelAnswer:
    mean = round(level.total / max(level.count, 1), 3)
    return LevelAnswer(level.last, level.least, level.most, mean)


def _resolution(text: str) -> Resolution:
    for resolution in RESOLUTIONS:
        if resolution.name == text:
            return resolution
    msg = Sentence(
        "%(text)s is not a resolution: expected %(resolutions)s.",
        text=shown(text),
        resolutions=", ".join(each.name for each in RESOLUTIONS),
    )
    raise RequestError(msg)


def _span(request: Request, resolution: Resolution, now: int) -> tuple[int, int]:
    """Return the first and the last second of the days of a request."""
    last = request.query_params.get("to")
    end = (_midnight(last) if last else now - now % _SECONDS_OF_A_DAY) + _SECONDS_OF_A_DAY - 1
    first = request.query_params.get("from")
    usual = end + 1 - _USUAL_DAYS[resolution] * _SECONDS_OF_A_DAY
    return _midnight(first) if first else usual, end


def _midnight(text: str) -> int:
    if _DAY.fullmatch(text) is not None:
        try:
            day = date.fromisoformat(text)
        except ValueError:
            pass  # the calendar has no such day
        else:
            return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp())
    msg = Sentence("%(text)s is not a day: expected one such as 2026-11-15.", text=shown(text))
    raise RequestError(msg)


def figures_operation(scope: str) -> Operation:
    """Return the operation of a program; it needs a scope."""
    return Operation(
        "GET",
        "/api/v1/figures",
        scope,
        FiguresApi.figures,
        "Counts, durations and levels over time, by minute, hour or day",
        answer=FiguresAnswer,
        parameters=(
            query(
                "resolution",
                "The length of a period; days if left out",
                {"type": "string", "enum": [each.name for each in RESOLUTIONS]},
            ),
            query("from", "The first day, as 2026-11-15"),
            query("to", "The last day; today if left out"),
        ),
    )
