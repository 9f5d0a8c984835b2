"""The first and last day of a query, both included."""

from __future__ import annotations

import re
from datetime import date
from typing import Final

from starlette.requests import Request

from ibi.errors import ArchiveRequestError, shown

_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def days_of(request: Request) -> tuple[date, date]:
    """Return the first and the last day of a request; by default the whole calendar."""
    first = request.query_params.get("from")
    last = request.query_params.get("to")
    return (
        date.min if first is None else _day(first),
        date.max if last is None else _day(last),
    )


def _day(text: str) -> date:
    if _DAY.fullmatch(text) is not None:
        try:
            return date.fromisoformat(text)
        except ValueError:
            pass  # the calendar has no such day
    msg = f"{shown(text)} is not a day: expected one such as 2026-11-15."
    raise ArchiveRequestError(msg)
