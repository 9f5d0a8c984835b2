"""Dates of a record: ISO 8601 in the profile of W3C's note on dates and times, and intervals.

https://www.w3.org/TR/NOTE-datetime; an interval is two dates with a slash between (ISO 8601, 5.5).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from ibi.errors import MetadataError, Sentence, shown
from ibi.identifier.instant import days_in_month, midnight

# YYYY | YYYY-MM | YYYY-MM-DD | YYYY-MM-DDThh:mm[:ss[.s+]](Z|+hh:mm|-hh:mm)
_DATE: Final = re.compile(
    r"([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2})"
    r"(?:T([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,9}))?)?(?:Z|([+-])([0-9]{2}):([0-9]{2})))?"
    r")?)?"
)
_EXPECTED: Final = Sentence(
    "expected a year, a month (2009-02), a day (2009-02-16), a time with its zone "
    "(2009-02-16T17:46:00Z), or two of them with a slash between"
)


@dataclass(frozen=True, slots=True)
class Moment:
    """One end of a date, as precise as it was given: absent parts are None."""

    text: str
    year: int
    month: int | None = None
    day: int | None = None
    seconds: int | None = None
    """POSIX time of a moment given to the minute or better."""

    @property
    def day_text(self) -> str:
        """The date without its time."""
        return self.text[:10]


def read_date(text: str) -> tuple[Moment, ...]:
    """Parse a date (one moment) or an interval (two); MetadataError if the text is neither."""
    first, slash, second = text.partition("/")
    moments = tuple(_moment(text, each) for each in ((first, second) if slash else (first,)))
    if slash and _is_after(*moments):
        raise MetadataError(
            Sentence(
                "%(text)s is not a date: the interval ends before it begins.", text=shown(text)
            )
        )
    return moments


def _moment(whole: str, text: str) -> Moment:
    match = _DATE.fullmatch(text)
    if match is None:
        raise MetadataError(
            Sentence(
                "%(whole)s is not a date: %(expected)s.", whole=shown(whole), expected=_EXPECTED
            )
        )
    year, month, day = (None if part is None else int(part) for part in match.group(1, 2, 3))
    assert year is not None  # noqa: S101  # the pattern demands it
    if month is not None and not 1 <= month <= 12:  # noqa: PLR2004  # months of a year
        raise MetadataError(
            Sentence(
                "%(whole)s is not a date: there is no month %(month)s.",
                whole=shown(whole),
                month=f"{month:02}",
            )
        )
    if month is not None and day is not None and not 1 <= day <= days_in_month(year, month):
        raise MetadataError(
            Sentence(
                "%(whole)s is not a date: there is no day %(text)s.",
                whole=shown(whole),
                text=text[:10],
            )
        )
    if match[4] is None or month is None or day is None:
        return Moment(text, year, month, day)
    return Moment(text, year, month, day, midnight(year, month, day) + _of_day(whole, match))


def _of_day(whole: str, match: re.Match[str]) -> int:
    """Return the seconds since midnight, UTC."""
    hour, minute, second, zone_hour, zone_minute = (
        int(part or 0) for part in match.group(4, 5, 6, 9, 10)
    )
    if max(hour, zone_hour) > 23 or max(minute, second, zone_minute) > 59:  # noqa: PLR2004  # a clock's
        raise MetadataError(
            Sentence("%(whole)s is not a date: no clock shows this time.", whole=shown(whole))
        )
    zone = (zone_hour * 60 + zone_minute) * (-60 if match[8] == "-" else 60)
    return hour * 3600 + minute * 60 + second - zone


def _is_after(start: Moment, end: Moment) -> bool:
    """Return whether an interval ends before it begins, as far as both ends are given."""
    if start.seconds is not None and end.seconds is not None:
        return start.seconds > end.seconds
    common = min(len(start.day_text), len(end.day_text))
    return start.text[:common] > end.text[:common]
