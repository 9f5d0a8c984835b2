"""A reader's preference among languages: the one rule by which a translation is chosen.

Archives follow it for `+(xx)`, resolvers for `+`, and pages for their texts and for metadata.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from ibi.identifier.language import Language

_RANGE: Final = re.compile(r"(\*|[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8}){0,7})")
_QUALITY: Final = re.compile(r"[Qq]=(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)")
_MOST_RANGES: Final = 64
"""How many ranges of an Accept-Language are read. Browsers send a handful."""


def nearest(wanted: str, offered: Iterable[Language]) -> Language | None:
    """Return the language that is nearest to a range, None if none is of the same language.

    The exact tag, else the range truncated from its end (RFC 4647, 3.4), else any tag of the same
    primary language. Of several the one without a country is found by truncation already, so that
    the first one offered remains: archives offer in the order in which they received translations.
    """
    candidates = list(offered)
    by_tag = {str(language).lower(): language for language in candidates}
    subtags = wanted.lower().split("-")
    primary = subtags[0]
    while subtags:
        found = by_tag.get("-".join(subtags))
        if found is not None:
            return found
        subtags.pop()
        # RFC 4647, 3.4: a single letter introduces what follows and goes with it.
        if subtags and len(subtags[-1]) == 1:
            subtags.pop()
    # RFC 4647 ends here: a reader of pt would get English where only pt-BR is offered.
    return next((language for language in candidates if language.code == primary), None)


@dataclass(frozen=True, slots=True)
class LanguagePreference:
    """The languages that a reader prefers, as ranges in order of preference (RFC 9110, 12.5.4)."""

    ranges: tuple[str, ...] = ()
    refused: frozenset[str] = frozenset()
    """Tags that are never chosen for want of a better one: those of quality 0."""

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
        wanted = tuple(tag for quality, tag in ranked if quality > 0)
        refused = {tag for quality, tag in ranked if quality == 0}
        return cls(wanted, frozenset(refused.difference(wanted)))

    def preferring(self, language: Language) -> LanguagePreference:
        """Return the preference with one language put first."""
        first = str(language).lower()
        return LanguagePreference((first, *self.ranges), self.refused - {first})

    def look_up(self, offered: Iterable[Language]) -> Language | None:
        """Return the best of the languages offered, None if none matches any range."""
        accepted = [each for each in offered if str(each).lower() not in self.refused]
        matches = (nearest(wanted, accepted) for wanted in self.ranges)
        return next((found for found in matches if found is not None), None)
