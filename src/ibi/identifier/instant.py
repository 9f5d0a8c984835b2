"""The exact moment that a label carries.

Table 6.1 of 003 lets a fraction of a second have any number of digits, so neither a float nor
`datetime` (microseconds, four-digit years) can hold it: whole seconds are an integer, the
fraction is its decimal digits.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

SECONDS_PER_DAY: Final = 86_400
TWO_DIGITS: Final = tuple(f"{number:02}" for number in range(60))
"""Hours, minutes and seconds in two digits, eight times as fast as formatting them."""

_DAYS_BEFORE_MONTH: Final = (0, 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334)
_UNIX_DAY: Final = 719_163
"""The day number of 1970-01-01, where 0001-01-01 is day 1."""
_DAYS_IN_400_YEARS: Final = 146_097


def is_leap(year: int) -> bool:
    """Return whether the (proleptic) Gregorian year has a 29 February."""
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def days_in_month(year: int, month: int) -> int:
    """Return the number of days of the month, which is 1 to 12."""
    if month == 2:  # noqa: PLR2004  # February needs no name
        return 29 if is_leap(year) else 28
    return 30 if month in {4, 6, 9, 11} else 31


@dataclass(frozen=True, slots=True, order=True)
class Instant:
    """A moment in POSIX time.

    `fraction` is the fraction of the second in decimal digits without trailing zeros ("05" is
    five hundredths). In this form, digit strings sort as the numbers do.
    """

    seconds: int
    fraction: str = ""

    @property
    def significant_fraction(self) -> str:
        """The fraction without trailing zeros; ValueError if it has other than decimal digits."""
        if self.fraction and not (self.fraction.isascii() and self.fraction.isdigit()):
            msg = "the fraction of a second is made of decimal digits"
            raise ValueError(msg)
        return self.fraction.rstrip("0")

    @property
    def iso8601(self) -> str:
        """ISO 8601 with Z, with the fraction only if there is one.

        Years past 9999 have the sign that ISO 8601 requires of an expanded year.
        """
        days, rest = divmod(self.seconds, SECONDS_PER_DAY)
        minutes, second = divmod(rest, 60)
        time = f"{TWO_DIGITS[minutes // 60]}:{TWO_DIGITS[minutes % 60]}:{TWO_DIGITS[second]}"
        fraction = f".{self.fraction}" if self.fraction else ""
        return f"{_iso_day(days)}T{time}{fraction}Z"

    def __str__(self) -> str:
        return self.iso8601


def instant_of(nanoseconds: int) -> Instant:
    """Return the instant of so many nanoseconds of POSIX time."""
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return Instant(seconds, f"{rest:09}".rstrip("0") if rest else "")


def midnight(year: int, month: int, day: int) -> int:
    """Return the POSIX time at which a Gregorian day begins; ValueError if there is no such day."""
    if not 1 <= month <= 12 or not 1 <= day <= days_in_month(year, month):  # noqa: PLR2004  # months
        msg = f"there is no day {year:04}-{month:02}-{day:02}"
        raise ValueError(msg)
    before = year - 1
    days = before * 365 + before // 4 - before // 100 + before // 400
    days += _DAYS_BEFORE_MONTH[month] + day - _UNIX_DAY
    if month > 2 and is_leap(year):  # noqa: PLR2004  # after February
        days += 1
    return days * SECONDS_PER_DAY


def date(days: int) -> tuple[int, int, int]:
    """Return year, month and day of the date so many days after 1970-01-01."""
    # Count from 0000-03-01, so that a leap day is the last of its year.
    era, day_of_era = divmod(days + _UNIX_DAY + 305, _DAYS_IN_400_YEARS)
    leap_days = day_of_era // 1460 - day_of_era // 36_524 + day_of_era // 146_096
    year_of_era = (day_of_era - leap_days) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    month_from_march = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * month_from_march + 2) // 5 + 1
    month = (month_from_march + 2) % 12 + 1
    return era * 400 + year_of_era + (month <= 2), month, day  # noqa: PLR2004  # January, February


# There are some 11,000 days since the first label: all of them fit into the cache.
@lru_cache(maxsize=16_384)
def _iso_day(days: int) -> str:
    year, month, day = date(days)
    sign = "+" if year > 9999 else ""  # noqa: PLR2004  # the last four-digit year
    return f"{sign}{year:04}-{month:02}-{day:02}"


EPOCH: Final = Instant(807_235_200)
"""1995-08-01T00:00:00Z, the origin of the seconds in an IBIp (003, Algorithm 6, line 2)."""
