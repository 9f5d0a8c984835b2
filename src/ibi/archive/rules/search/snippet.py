"""The part of a text that shows why an item was found, with the words that were asked for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from ibi.archive.ports.search import Clause
from ibi.archive.rules.search.terms import STEM, stems_of, words_of

LENGTH: Final = 220
"""Characters of a snippet, without the rest of its last word."""
_BEFORE: Final = 60
"""Characters before the first word that was asked for."""
_LONGEST: Final = 20_000
"""Characters of a text in which words are looked for."""
ALIKE: Final = 3
"""Characters with which two words of one stem begin."""
# A word and the accents that follow its letters, as some texts have them apart.
WORD: Final = re.compile(r"[^\W_][^\W_\u0300-\u036f]*(?:[\u0300-\u036f]+[^\W_]*)*")
_SPACE: Final = " "
_GAP: Final = "…"


class Part(NamedTuple):
    """A part of a text."""

    text: str
    is_hit: bool


class Highlighter:
    """Finds the words of a search in texts."""

    def __init__(self, clauses: Sequence[Clause]) -> None:
        """Look for the words of clauses, apart from filters and what is excluded."""
        wanted = [
            match
            for clause in clauses
            if not (clause.is_excluded or clause.is_filter)
            for match in clause.alternatives
        ]
        terms = {term for match in wanted for term in match.terms}
        self._prefixes = tuple(match.terms[-1] for match in wanted if match.is_prefix)
        self._stems = {term for term in terms if term.startswith(STEM)}
        self._words = terms - self._stems - {*self._prefixes}
        self._beginnings = {word[:ALIKE] for word in self._words}

    def parts(self, text: str) -> tuple[Part, ...]:
        """Return a whole text in parts."""
        return self._divided(text, 0, len(text))

    def snippet(self, text: str) -> tuple[Part, ...]:
        """Return the part of a text around the first word that was asked for."""
        line = _SPACE.join(text[:_LONGEST].split())
        first = next((word.start() for word in WORD.finditer(line) if self.is_hit(word[0])), 0)
        start = _word_start(line, first - _BEFORE) if first > _BEFORE else 0
        end = _word_end(line, start + LENGTH)
        parts = self._divided(line, start, end)
        before = (Part(f"{_GAP} ", is_hit=False),) if start else ()
        after = (Part(f" {_GAP}", is_hit=False),) if end < len(line) else ()
        return (*before, *parts, *after)

    def _divided(self, text: str, start: int, end: int) -> tuple[Part, ...]:
        parts, place = [], start
        for word in WORD.finditer(text, start, end):
            if self.is_hit(word[0]):
                if word.start() > place:
                    parts.append(Part(text[place : word.start()], is_hit=False))
                parts.append(Part(word[0], is_hit=True))
                place = word.end()
        if place < end:
            parts.append(Part(text[place:end], is_hit=False))
        return tuple(parts)

    def is_hit(self, text: str) -> bool:
        """Return whether a word of a text was asked for."""
        return any(self._is_wanted(word) for word in words_of(text))

    def _is_wanted(self, word: str) -> bool:
        if word in self._words or (self._prefixes and word.startswith(self._prefixes)):
            return True
        # Only words that begin alike may have the same stem: a stem takes a while.
        return word[:ALIKE] in self._beginnings and not self._stems.isdisjoint(stems_of(word))


def _word_start(text: str, place: int) -> int:
    """Return where the first word begins at or after a place."""
    return text.find(_SPACE, place) + 1 if place else 0


def _word_end(text: str, place: int) -> int:
    """Return where the word ends in which a place is; the end of the text if it is the last."""
    end = text.find(_SPACE, place)
    return len(text) if end < 0 else min(end, place + LENGTH)
