"""Languages of translations, and a reader's preference among them.

A language is written xx or xx-XX: ISO 639-1, and where it matters the country, ISO 3166-1.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Final

from ibi.errors import LanguageError

# Table A.1 of 004 lists the languages and countries of its day. The tables of maintained
# libraries hold all of them and those that have come since.
#
#   idioma = 2ALFAMI   pais = 2ALFAMA   (Table 6.4)
#
# Literals of ABNF match in either case (RFC 5234, 2.3), and so do these; written is xx-XX.
_LANGUAGE: Final = re.compile(r"([A-Za-z]{2})(?:-([A-Za-z]{2}))?")

_RANGE: Final = re.compile(r"(\*|[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8}){0,7})")
_QUALITY: Final = re.compile(r"[Qq]=(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)")
_MOST_RANGES: Final = 64
"""How many ranges of an Accept-Language are read. Browsers send a handful."""


@dataclass(frozen=True, slots=True)
class Language:
    """A language, with or without a country: pt, pt-BR."""

    code: str
    country: str = ""

    @classmethod
    def parse(cls, text: str) -> Language:
        """Parse xx or xx-XX in either case; both codes must be in the tables of ISO."""
        match = _LANGUAGE.fullmatch(text)
        if match is None:
            expected = "two letters, or two letters, a hyphen and two letters, as pt or pt-BR"
            raise LanguageError(text, part="the code", position=0, expected=expected, found=text)
        code, country = match[1].lower(), (match[2] or "").upper()
        if not _is_language(code):
            expected = "a language of ISO 639-1"
            raise LanguageError(
                text, part="the language", position=0, expected=expected, found=code
            )
        if country and not _is_country(country):
            expected = "a country of ISO 3166-1"
            raise LanguageError(
                text, part="the country", position=3, expected=expected, found=country
            )
        return cls(code, country)

    def __str__(self) -> str:
        return f"{self.code}-{self.country}" if self.country else self.code


@dataclass(frozen=True, slots=True)
class LanguagePreference:
    """The languages that a reader prefers, as ranges in order of preference (RFC 9110, 12.5.4)."""

    ranges: tuple[str, ...] = ()

    @classmethod
    def parse(cls, accept_language: str) -> LanguagePreference:
        """Parse an Accept-Language value; elements that are malformed are ignored."""
        weighted: list[tuple[float, str]] = []
        for element in accept_language.split(",", _MOST_RANGES)[:_MOST_RANGES]:
            tag, _, parameter = element.partition(";")
            quality = _QUALITY.fullmatch(parameter.strip()) if parameter.strip() else None
            if _RANGE.fullmatch(tag.strip()) and (quality or not parameter.strip()):
                weighted.append((float(quality[1]) if quality else 1.0, tag.strip().lower()))
        # sorted() is stable: equals stay in the order in which they were written.
        ranked = sorted(weighted, key=lambda each: -each[0])
        return cls(tuple(tag for quality, tag in ranked if quality > 0))

    def preferring(self, language: Language) -> LanguagePreference:
        """Return the preference with one language put first."""
        return LanguagePreference((str(language).lower(), *self.ranges))

    def look_up(self, offered: Iterable[Language]) -> Language | None:
        """Return the best of the languages offered (RFC 4647, 3.4), None if none matches."""
        by_tag = {str(language).lower(): language for language in offered}
        for wanted in self.ranges:
            subtags = wanted.split("-")
            while subtags:
                found = by_tag.get("-".join(subtags))
                if found is not None:
                    return found
                subtags.pop()
                # RFC 4647, 3.4: a single letter introduces what follows and goes with it.
                if subtags and len(subtags[-1]) == 1:
                    subtags.pop()
        return None


@cache
def _is_language(code: str) -> bool:
    # Its tables take 40 ms to load: a program that only parses labels must not load them.
    from langcodes import tag_is_valid  # noqa: PLC0415

    return tag_is_valid(code)


@cache
def _is_country(code: str) -> bool:
    from iso3166 import countries_by_alpha2  # noqa: PLC0415  # as above

    return code in countries_by_alpha2
