# ruff: noqa: S608  # all that these statements are made of stands here
"""The search index of very many items: terms as the archive makes them, of words by Zipf's law.

The archive's own way takes a millisecond for each item. Here the words and their stems are made
once, and the rows are written in bulk; the statements for the terms are those of the archive.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from ibi.archive.ports.search import FACETS, Facet, SearchDocument
from ibi.archive.rules.search.document import RULES
from ibi.archive.rules.search.terms import mark_of, place_of, stems_of

SEED: Final = 16066
WORDS: Final = 50_000
"""Different words; that of rank r is 1/r as frequent as the first."""
TITLE, BODY = 8, 40
"""Words of a title and of all other texts."""
_WHOLE: Final = 2**62
"""What `filled` is if nothing is left to be indexed."""
_SYLLABLES: Final = [
    first + vowel + last
    for first in "bcdfglmnprstv"
    for vowel in "aeiou"
    for last in ("", "n", "r", "s")
]
_TYPES: Final = ("Report", "Data set", "Thesis", "Map", "Image", "Article")
_LANGUAGES: Final = ("en", "pt", "es")

STATE: Final = (
    f"UPDATE archive_search_state SET rules = {RULES}, filled = {_WHOLE}",
    f"UPDATE archive_text_state SET rules = {RULES}, filled = {_WHOLE}",
)


def vocabulary() -> list[str]:
    """Return words of two to four syllables, the most frequent one first."""
    chance = random.Random(SEED)  # noqa: S311  # the same every time
    found: dict[str, None] = {}
    while len(found) < WORDS:
        found["".join(chance.choices(_SYLLABLES, k=chance.choice((2, 3, 3, 4))))] = None
    return [*found]


@dataclass(frozen=True, slots=True)
class Row:
    """What the index has of an item."""

    item: int
    document: SearchDocument
    facets: str
    digest: bytes


class SearchRows:
    """The rows of items, which are numbered as `item_rows` numbers them."""

    def __init__(self, items: int) -> None:
        """Make the words."""
        self._items = items
        self.words = vocabulary()
        self._weights = [*accumulate(1 / rank for rank in range(1, WORDS + 1))]
        self._stems = {word: stems_of(word, "en") for word in self.words}
        self._creators = [" ".join(self.words[n : n + 2]).title() for n in range(0, 20_000, 2)]
        self._marks = {
            (facet, value): mark_of(facet, value)
            for facet, values in (
                ("type", _TYPES),
                ("language", _LANGUAGES),
                ("year", tuple(map(str, range(1960, 2027)))),
                ("creator", tuple(self._creators)),
            )
            for value in values
        }
        self.counts: Counter[tuple[Facet, str]] = Counter()
        """Items by facet and value, of the rows so far."""

    def __iter__(self) -> Iterator[Row]:
        """Yield the rows in the order of the items; count their facets."""
        chance = random.Random(SEED)  # noqa: S311  # the same every time
        self.counts.clear()
        for number in range(self._items):
            words = chance.choices(self.words, cum_weights=self._weights, k=TITLE + BODY)
            facets = self._facets(chance)
            self.counts.update((facet, value) for facet in FACETS for value in facets[facet])
            title, body = tuple(words[:TITLE]), tuple(words[TITLE:])
            document = SearchDocument(
                title=(title,),
                title_stems=self._stemmed(title),
                body=(tuple(facets["creator"][0].lower().split()), body),
                body_stems=self._stemmed(body),
                marks=tuple(
                    self._marks[facet, value] for facet in FACETS for value in facets[facet]
                ),
                facets=facets,
                heading=" ".join(title),
            )
            yield Row(10 + 2 * number, document, json.dumps(facets), number.to_bytes(16, "big"))

    def _facets(self, chance: random.Random) -> dict[Facet, tuple[str, ...]]:
        return {
            "type": (chance.choice(_TYPES),),
            "year": (str(int(2026 - 66 * chance.random() ** 3)),),
            "language": (chance.choice(_LANGUAGES),),
            "creator": (self._creators[int(len(self._creators) * chance.random() ** 2)],),
            "collection": (),
        }

    def _stemmed(self, words: Sequence[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(stem for word in words for stem in self._stems[word]))

    def facet_rows(self) -> list[tuple[str, str, str, int]]:
        """Return the rows of `archive_facet`."""
        return [
            (facet, place_of(value), value, count)
            for (facet, value), count in sorted(self.counts.items())
        ]


SEARCH: Final = "INSERT INTO archive_search (item, heading, facets, digest) VALUES ($1, $2, $3, $4)"
FACET: Final = "INSERT INTO archive_facet (facet, place, value, count) VALUES ($1, $2, $3, $4)"
