"""The first and last day of a query, both included."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Final

from starlette.requests import Request

from ibi.errors import ArchiveRequestError, Sentence, shown
from ibi.model.clock import SECOND

_NANOSECONDS_OF_A_DAY: Final = 86_400 * SECOND
_LATEST: Final = 2**62
_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def days_of(request: Request) -> tuple[date, date]:
    """Return the first and the last day of a request; by default the whole calendar."""
    return days_in(request.query_params)


def days_in(query: Mapping[str, str]) -> tuple[date, date]:
    """Return the first and the last day of a query."""
    first, last = query.get("from"), query.get("to")
    return (
        date.min if first is None else _day(first),
        date.max if last is None else _day(last),
    )


def span_of(request: Request) -> tuple[int, int]:
    """Return the begin of the first day and the end of the last one, 0 where a day is not given.

    Both are nanoseconds of POSIX time, within the range of a database.
    """
    return span_in(request.query_params)


def span_in(query: Mapping[str, str]) -> tuple[int, int]:
    """Return the same of a query."""
    first, last = days_in(query)
    since = 0 if first == date.min else _midnight(first)
    return since, 0 if last == date.max else _midnight(last) + _NANOSECONDS_OF_A_DAY


def _midnight(day: date) -> int:
    seconds = int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp())
    return min(max(1, seconds * SECOND), _LATEST)


def _day(text: str) -> date:
    if _DAY.fullmatch(text) is not None:
        try:
            return date.fromisoformat(text)
        except ValueError:
            pass  # the calendar has no such day
    msg = Sentence("%(text)s is not a day: expected one such as 2026-11-15.", text=shown(text))
    raise ArchiveRequestError(msg)
