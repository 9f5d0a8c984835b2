"""The part of a file that shows why its item was found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Final, NamedTuple

from ibi.archive.ports.full_text import FileText
from ibi.archive.ports.search import Clause
from ibi.archive.rules.item_choice import folded
from ibi.archive.rules.search.snippet import ALIKE, LENGTH, WORD, Highlighter
from ibi.archive.rules.search.terms import STEM

_BEFORE: Final = 120
"""Characters before the first word that was asked for."""
_LENGTH: Final = 2 * LENGTH
"""Characters from that word on, of which a snippet shows a part."""
_MOST_PLACES: Final = 500
"""Places of a word in a file that are compared: a common one has thousands, and the first do."""
_FIRST_WITHOUT_SPACES: Final = "\u3040"
"""The first of the characters that are words of their own (Japanese, Chinese)."""
_FIRST_FOLDED, _LAST_FOLDED = 0x41, 0x2000
"""The characters that differ from their folded ones: those after them have no case."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of the text of a file."""

    path: str
    text: str


class _Place(NamedTuple):
    start: int
    beginning: str
    """The beginning of a word that was asked for."""


class PassageFinder:
    """Finds the passages of files that have the words of a search."""

    def __init__(self, clauses: Sequence[Clause]) -> None:
        """Look for the words of clauses, apart from filters and what is excluded."""
        self._highlighter = Highlighter(clauses)
        self._beginnings = sorted(set(_beginnings(clauses)))

    def find(self, files: Iterable[FileText]) -> Passage | None:
        """Return the passage with the most of the words, of the first file that has as many."""
        best, most = None, 0
        for file in files:
            start, count = _densest(sorted(self._places(file.text)))
            if count > most:
                best, most = Passage(file.path, _part(file.text, start)), count
        return best

    def _places(self, text: str) -> Iterator[_Place]:
        """Yield the places of words that were asked for, the first ones of each."""
        plain = text.translate(_plain_letters())
        for beginning in self._beginnings:
            for start in islice(_words_with(plain, beginning), _MOST_PLACES):
                word = WORD.match(text, start)
                if word is not None and self._highlighter.is_hit(word[0]):
                    yield _Place(start, beginning)


def _words_with(text: str, beginning: str) -> Iterator[int]:
    """Yield where words begin so; in scripts without spaces, a word may follow another at once."""
    is_apart = beginning[0] < _FIRST_WITHOUT_SPACES
    start = text.find(beginning)
    while start >= 0:
        if not (is_apart and start and text[start - 1].isalnum()):
            yield start
        start = text.find(beginning, start + 1)


def _beginnings(clauses: Sequence[Clause]) -> Iterator[str]:
    """Yield the beginnings of all words that fulfil a clause, or a part of a phrase."""
    for clause in clauses:
        if clause.is_filter or clause.is_excluded:
            continue
        terms = [term for match in clause.alternatives for term in match.terms]
        has_stems = any(term.startswith(STEM) for term in terms)
        for term in terms:
            if not term.startswith(STEM):
                yield term[:ALIKE] if has_stems else term


def _densest(places: Sequence[_Place]) -> tuple[int, int]:
    """Return where the most different words are near each other, and how many these are."""
    start, most = 0, 0
    for number, place in enumerate(places):
        near = {place.beginning}
        for other in places[number + 1 : number + 20]:
            if other.start > place.start + LENGTH - _BEFORE:
                break
            near.add(other.beginning)
        if len(near) > most:
            start, most = place.start, len(near)
    return start, most


def _part(text: str, place: int) -> str:
    start = text.find(" ", place - _BEFORE, place) + 1 if place > _BEFORE else 0
    end = text.find(" ", place + _LENGTH)
    return text[start : end if end >= 0 else len(text)][: _BEFORE + 2 * _LENGTH]


@cache
def _plain_letters() -> dict[int, str]:
    """Return what folds letters one by one, so that places in a text stay the same."""
    table = {}
    for number in range(_FIRST_FOLDED, _LAST_FOLDED):
        letter = folded(chr(number))
        if len(letter) == 1 and letter != chr(number):
            table[number] = letter
    return table
