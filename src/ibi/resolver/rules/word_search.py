"""Search by words: which archives are asked, and what is remembered of their answers."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from heapq import nsmallest
from typing import Final

from ibi.model.registration import RegisteredArchive
from ibi.resolver.ports.outbound import NoReply
from ibi.resolver.rules.archive_documents import FoundItems

MAX_ARCHIVES: Final = 32
"""Archives that one search by words asks: those that list the most labels in their digests."""
LONGEST_WORDS: Final = 400
"""Characters of a search, as many as archives read."""
ANSWER_SECONDS: Final = 30.0
"""Seconds for which the answer of an archive is used again for the same words."""
MAX_ANSWERS: Final = 1024
"""Answers of archives that are remembered; the oldest is dropped first."""
NO_SEARCH_SECONDS: Final = 600.0
"""Seconds for which an archive without a search is not asked again."""
MAX_WITHOUT_SEARCH: Final = 100_000
"""Archives without a search that are remembered."""


@dataclass(frozen=True, slots=True)
class ArchiveResults:
    """The items that one archive found."""

    archive: RegisteredArchive
    found: FoundItems


@dataclass(frozen=True, slots=True)
class WordResults:
    """The results of a search by words, archive by archive."""

    words: str
    results: tuple[ArchiveResults, ...] = ()
    """Archives that found something, those with the most labels first."""
    without: tuple[RegisteredArchive, ...] = ()
    """Archives that found nothing."""
    silent: tuple[tuple[RegisteredArchive, NoReply], ...] = ()
    """Archives that did not answer, and why."""
    not_asked: int = 0
    """Archives that may have a search, and were not asked because there are too many."""

    @property
    def count(self) -> int:
        """The number of hits of all archives."""
        return sum(each.found.count for each in self.results)


def normalized(text: str) -> str:
    """Return the words of a reader with single blanks, cut to the length that archives read."""
    return " ".join(text[: 4 * LONGEST_WORDS].split())[:LONGEST_WORDS].strip()


def chosen(
    archives: Iterable[RegisteredArchive],
    labels: Callable[[str], int],
    ranks: Mapping[str, int],
) -> list[RegisteredArchive]:
    """Return the archives to ask: those with the most labels, of several the senior one."""
    return nsmallest(
        MAX_ARCHIVES, archives, lambda each: (-labels(each.id), ranks.get(each.id, len(ranks)))
    )


@dataclass(frozen=True, slots=True)
class _Remembered:
    found: FoundItems
    until: float


class SearchMemory:
    """Recent answers of archives to searches by words, and which archives have no search.

    It has no clock: times are seconds, in the clock of the caller.
    """

    def __init__(self) -> None:
        """Remember nothing yet."""
        self._answers: OrderedDict[tuple[str, str, str], _Remembered] = OrderedDict()
        self._without: OrderedDict[tuple[str, str], float] = OrderedDict()

    def recall(self, words: str, archive: RegisteredArchive, now: float) -> FoundItems | None:
        """Return what an archive at its present address found a short time ago."""
        known = self._answers.get((words, archive.id, archive.address))
        return known.found if known is not None and now < known.until else None

    def keep(self, words: str, archive: RegisteredArchive, found: FoundItems, now: float) -> None:
        """Remember what an archive found."""
        key = (words, archive.id, archive.address)
        self._answers.pop(key, None)
        self._answers[key] = _Remembered(found, now + ANSWER_SECONDS)
        while len(self._answers) > MAX_ANSWERS:
            self._answers.popitem(last=False)

    def has_search(self, archive: RegisteredArchive, now: float) -> bool:
        """Return whether an archive may have a search."""
        return self._without.get((archive.id, archive.address), now) <= now

    def note_without_search(self, archive: RegisteredArchive, now: float) -> None:
        """Remember that an archive has no search."""
        self._without.pop((archive.id, archive.address), None)
        self._without[archive.id, archive.address] = now + NO_SEARCH_SECONDS
        while len(self._without) > MAX_WITHOUT_SEARCH:
            self._without.popitem(last=False)
