"""Languages of translations.

A language is written xx or xx-XX: ISO 639-1, and where it matters the country, ISO 3166-1.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Final

from ibi.errors import LanguageError, Sentence

# Table A.1 of 004 lists the languages and countries of its day. The tables of maintained
# libraries hold all of them and those that have come since.
#
#   idioma = 2ALFAMI   pais = 2ALFAMA   (Table 6.4)
#
# Literals of ABNF match in either case (RFC 5234, 2.3), and so do these; written is xx-XX.
_LANGUAGE: Final = re.compile(r"([A-Za-z]{2})(?:-([A-Za-z]{2}))?")


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
            expected = Sentence(
                "two letters, or two letters, a hyphen and two letters, as pt or pt-BR"
            )
            raise LanguageError(
                text, part=Sentence("the code"), position=0, expected=expected, found=text
            )
        code, country = match[1].lower(), (match[2] or "").upper()
        if not _is_language(code):
            expected = Sentence("a language of ISO 639-1")
            raise LanguageError(
                text, part=Sentence("the language"), position=0, expected=expected, found=code
            )
        if country and not _is_country(country):
            expected = Sentence("a country of ISO 3166-1")
            raise LanguageError(
                text, part=Sentence("the country"), position=3, expected=expected, found=country
            )
        return cls(code, country)

    def __str__(self) -> str:
        return f"{self.code}-{self.country}" if self.country else self.code


@cache
def _is_language(code: str) -> bool:
    # Its tables take 40 ms to load: a program that only parses labels must not load them.
    from langcodes import tag_is_valid  # noqa: PLC0415

    return tag_is_valid(code)


@cache
def _is_country(code: str) -> bool:
    from iso3166 import countries_by_alpha2  # noqa: PLC0415  # as above

    return code in countries_by_alpha2
