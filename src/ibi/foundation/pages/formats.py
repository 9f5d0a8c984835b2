"""Dates, sizes and numbers in the notation of a language."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from functools import cache
from typing import Final

from babel import Locale
from babel.core import get_global
from babel.dates import format_date, format_datetime, format_skeleton, format_timedelta
from babel.numbers import format_decimal
from babel.units import format_unit

from ibi.errors import LanguageError, MetadataError
from ibi.identifier.instant import Instant
from ibi.identifier.language import Language
from ibi.metadata.dates import Moment, read_date
from ibi.model.clock import SECOND

_LAST_SECOND: Final = 253_402_300_799
"""The last second of the year 9999, the end of Python's calendar."""
_SIZES: Final = ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB"))


class Formats:
    """Writes values in one language."""

    def __init__(self, code: str) -> None:
        self._locale = Locale(code)

    @property
    def locale(self) -> str:
        """The language with its most likely territory, as Open Graph writes it: pt_BR."""
        language, *_, territory = get_global("likely_subtags")[self._locale.language].split("_")
        return f"{language}_{territory}"

    def short_month(self, month: str) -> str:
        """Return the short name of a month, which is given as 2026-11."""
        year, number = map(int, month.split("-"))
        return format_skeleton("MMM", date(year, number, 1), locale=self._locale)

    def moments(self, text: str) -> list[tuple[str, str]]:
        """Return each end of a date of a record, for programs and for people.

        An invalid date is returned as it is; so is the year 0, which HTML's time element lacks.
        """
        try:
            return [self._moment(moment) for moment in read_date(text)]
        except MetadataError:
            return [("", text)]

    def _moment(self, moment: Moment) -> tuple[str, str]:
        if not moment.year:
            return "", moment.text
        if moment.seconds is not None:
            return self.instant(moment.seconds * SECOND)
        if moment.month is None:
            return moment.text, moment.text
        day = date(moment.year, moment.month, moment.day or 1)
        if moment.day is None:
            return moment.text, format_skeleton("yMMMM", day, locale=self._locale)
        return moment.text, format_date(day, "long", locale=self._locale)

    def instant(self, nanoseconds: int) -> tuple[str, str]:
        """Return an instant of POSIX time, for programs and for people."""
        moment = datetime.fromtimestamp(nanoseconds // SECOND, UTC)
        shown = format_datetime(moment, "long", tzinfo=UTC, locale=self._locale)
        return f"{moment:%Y-%m-%dT%H:%M:%SZ}".rjust(20, "0"), shown

    def day(self, nanoseconds: int) -> tuple[str, str]:
        """Return the day of an instant of POSIX time, for programs and for people."""
        moment = datetime.fromtimestamp(nanoseconds // SECOND, UTC)
        written = f"{moment:%Y-%m-%d}".rjust(10, "0")
        return written, format_date(moment.date(), "long", locale=self._locale)

    def month(self, name: str) -> str:
        """Return a month such as 2026-11 with its year."""
        return format_skeleton("yMMMM", date.fromisoformat(f"{name}-01"), locale=self._locale)

    def short_months(self, names: Iterable[str]) -> list[str]:
        """Return the short names of months such as 2026-11, without the year."""
        days = (date.fromisoformat(f"{name}-01") for name in names)
        return [format_date(day, "LLL", locale=self._locale).rstrip(".") for day in days]

    def moment_of(self, instant: Instant) -> tuple[str, str]:
        """Return the instant of a label, which may lie beyond Python's calendar."""
        if not 0 <= instant.seconds <= _LAST_SECOND:
            return "", instant.iso8601
        return self.instant(instant.seconds * SECOND)

    def ago(self, nanoseconds: int) -> str:
        """Return how long ago an event was, given in nanoseconds before now."""
        passed = timedelta(seconds=-max(nanoseconds // SECOND, 1))
        return format_timedelta(passed, add_direction=True, locale=self._locale)

    def seconds(self, seconds: float) -> str:
        """Return a duration in seconds, to the thousandth."""
        number = format_decimal(round(seconds, 3), "#,##0.000", self._locale)
        return f"{number}\N{NO-BREAK SPACE}s"

    def size(self, size: int) -> str:
        """Return a size in the largest unit that fits, decimal as for disks."""
        for unit, symbol in _SIZES:
            if size >= unit:
                number = format_decimal(size / unit, "#,##0.#", self._locale)
                return f"{number}\N{NO-BREAK SPACE}{symbol}"
        return format_unit(size, "digital-byte", "long", locale=self._locale)

    def number(self, number: int) -> str:
        """Return a number with separated thousands."""
        return format_decimal(number, locale=self._locale)

    def languages(self) -> list[tuple[str, str]]:
        """Return the codes of the languages of ISO 639-1 with their names, sorted by name."""
        names = self._locale.languages.items()
        known = [(code, name) for code, name in names if _is_language(code)]
        return sorted(known, key=lambda pair: _sorted_as(pair[1]))

    def language(self, tag: str) -> str:
        """Return the name of a language, or its tag if the name is unknown."""
        code, _, country = tag.partition("-")
        name = self._locale.languages.get(code.lower())
        if name is None:
            return tag
        place = self._locale.territories.get(country.upper())
        return f"{name} ({place})" if place else name


@cache
def _is_language(code: str) -> bool:
    """Return whether an item can be in a language: the library names more, and old codes."""
    try:
        return str(Language.parse(code)) == code
    except LanguageError:
        return False


def _sorted_as(name: str) -> str:
    """Return a name without case and accents: `árabe` stands before `bengali`."""
    apart = unicodedata.normalize("NFKD", name.casefold())
    return "".join(letter for letter in apart if not unicodedata.combining(letter))
