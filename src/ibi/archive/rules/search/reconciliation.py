"""How well an item fits what a table says of it: the scores of reconciliation.

A candidate has from 0 to 100: the share of words that its title and the query have in common, and
of the properties that agree. It is a match only if its title is the query, word for word, if all
properties agree, and if no other candidate has the same: what is in doubt a person decides.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ibi.archive.rules.search.terms import words_of

_OF_TITLE: Final = 0.7
"""The weight of the title, if there are properties too."""
_SIGNS: Final = str.maketrans(dict.fromkeys('"*', " "))


@dataclass(frozen=True, slots=True)
class Fit:
    """How well a candidate fits."""

    score: float
    """From 0 to 100."""
    is_exact: bool
    """Whether nothing that is known speaks against it."""


def plain_words(text: str) -> str:
    """Return a text without the signs that a search gives a meaning to."""
    words = (word.lstrip("-") for word in text.translate(_SIGNS).split())
    return " ".join(word for word in words if word)


def fit_of(
    query: str,
    titles: Sequence[str],
    wanted: Mapping[str, Sequence[str]],
    values: Mapping[str, Collection[str]],
) -> Fit:
    """Compare an item with a query and with wanted values of properties."""
    asked = words_of(query)
    shares = [_common(asked, words_of(title)) for title in titles]
    of_title = max(shares, default=0.0) if asked else 1.0
    is_exact = not asked or any(asked == words_of(title) for title in titles)
    agreeing = [_agrees(each, values.get(name, ())) for name, each in wanted.items()]
    if not agreeing:
        return Fit(round(100 * of_title, 1), is_exact)
    share = sum(agreeing) / len(agreeing)
    score = share if not asked else _OF_TITLE * of_title + (1 - _OF_TITLE) * share
    return Fit(round(100 * score, 1), is_exact and all(agreeing))


def _common(one: Sequence[str], other: Sequence[str]) -> float:
    """Return twice the words that both have, by the words of both (Dice)."""
    if not one or not other:
        return 0.0
    first, second = set(one), set(other)
    return 2 * len(first & second) / (len(first) + len(second))


def _agrees(wanted: Sequence[str], values: Collection[str]) -> bool:
    """Return whether one of the wanted values is there, as the same words in any order."""
    known = {frozenset(words_of(value)) for value in values}
    return any(frozenset(words_of(each)) in known for each in wanted if words_of(each))
