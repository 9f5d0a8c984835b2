"""What a reader asks for: words, phrases, beginnings of words, facets, an order and a page.

Nothing that a reader writes is an error: what has no meaning is ignored, what is too much is cut.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import urlencode

from ibi.archive.ports.search import FACETS, ORDERS, Clause, Facet, Match, Order
from ibi.archive.rules.search.terms import is_common, label_mark, mark_of, stems_of, words_of
from ibi.errors import LabelError
from ibi.identifier.label import parse

LONGEST_TEXT: Final = 400
"""Characters of the words of a reader."""
MOST_TERMS: Final = 16
"""Words and phrases of a reader."""
MOST_HITS: Final = 2000
"""Hits that a search finds; the reader of more narrows the search."""
PAGE_SIZE: Final = 20
"""Hits on one page."""
LAST_PAGE: Final = MOST_HITS // PAGE_SIZE
_SHORTEST_PREFIX: Final = 2
"""Characters of a beginning of words; all words begin with one of a few letters."""
_LONGEST_FILTER: Final = 200
_MOST_YEARS: Final = 300
"""Years between the first and the last that are asked for."""
_FIRST_YEAR, _LAST_YEAR = 1, 9999

# A phrase, which may lack its end; or a word. A hyphen before it excludes it.
_PART: Final = re.compile(r'(-?)"([^"]*)"?(\*?)|(\S+)')
_YEARS: Final = re.compile(r"([0-9]{1,4})(?:-([0-9]{1,4}))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchQuery:
    """A search, as a stable URL writes it."""

    text: str = ""
    filters: tuple[tuple[Facet, str], ...] = ()
    """At most one value of each facet, in the order of the facets."""
    order: Order = "relevance"
    page: int = 1

    @classmethod
    def parse(cls, pairs: Mapping[str, str]) -> SearchQuery:
        """Read the pairs of a URL."""
        filters = ((facet, " ".join(pairs.get(facet, "").split())) for facet in FACETS)
        order = pairs.get("sort", "")
        page = pairs.get("page", "")
        return cls(
            text=" ".join(pairs.get("q", "")[:LONGEST_TEXT].split()),
            filters=tuple((facet, value[:_LONGEST_FILTER]) for facet, value in filters if value),
            order=next((each for each in ORDERS if each == order), "relevance"),
            page=min(int(page), LAST_PAGE) or 1 if page.isdecimal() and len(page) < 10 else 1,  # noqa: PLR2004
        )

    @property
    def pairs(self) -> str:
        """The query of the URL; empty for all items."""
        pairs = {"q": self.text} | dict(self.filters)
        if self.order != "relevance":
            pairs["sort"] = self.order
        if self.page > 1:
            pairs["page"] = str(self.page)
        given = {name: value for name, value in pairs.items() if value}
        return urlencode(given, errors="replace")

    def narrowed(self, facet: Facet, value: str) -> SearchQuery:
        """Return the search with a filter in the place of any other of that facet."""
        wanted = dict(self.filters) | {facet: value}
        filters = tuple((each, wanted[each]) for each in FACETS if wanted.get(each))
        return replace(self, filters=filters, page=1)

    def widened(self, facet: Facet) -> SearchQuery:
        """Return the search without the filter of a facet."""
        return self.narrowed(facet, "")

    def at(self, page: int) -> SearchQuery:
        """Return another page of the search."""
        return replace(self, page=page)

    def with_text(self, text: str) -> SearchQuery:
        """Return the search for other words."""
        return replace(self, text=text, page=1)

    @property
    def has_signs(self) -> bool:
        """Whether it asks for more than words: for a phrase, a beginning, or without a word."""
        return any(len(part) > 1 and (part[0] in '-"' or "*" in part) for part in self.text.split())

    @property
    def beginnings(self) -> str:
        """The words as beginnings of words; a phrase and what is excluded stay as they are."""
        return " ".join(
            word if word[0] in '-"' or word[-1] in '"*' else f"{word}*"
            for word in self.text.split()
        )

    @property
    def clauses(self) -> tuple[Clause, ...]:
        """What an item must have to be found."""
        return (*self.text_clauses, *(_filter(facet, value) for facet, value in self.filters))

    @property
    def text_clauses(self) -> tuple[Clause, ...]:
        """What the texts of an item must have."""
        found = [clause for _, clause in _parts(self.text)]
        telling = [clause for clause in found if not _is_common(clause)]
        return tuple(telling or found)

    @property
    def parts(self) -> tuple[str, ...]:
        """The words and phrases that a shorter search may have one by one."""
        found = [part for part, clause in _parts(self.text) if not clause.is_excluded]
        return tuple(dict.fromkeys(found))


def _parts(text: str) -> Iterator[tuple[str, Clause]]:
    """Yield the parts of a text that have words, each with what it asks for."""
    most = MOST_TERMS
    for part in _PART.finditer(text):
        hyphen, phrase, star, word = part.groups()
        clause = _phrase(phrase, hyphen, star) if word is None else _word(word)
        if clause is not None and most:
            most -= 1
            yield part[0], clause


def _phrase(text: str, hyphen: str, star: str) -> Clause | None:
    words = words_of(text)
    return Clause(_in_order(text, words, is_prefix=bool(star)), bool(hyphen)) if words else None


def _word(text: str) -> Clause | None:
    words = words_of(text)
    if not words:
        return None
    is_excluded = text.startswith("-")
    if text.endswith("*") and len("".join(words)) >= _SHORTEST_PREFIX:
        return Clause((Match(words, is_prefix=True),), is_excluded)
    if len(words) > 1:  # CBERS-4A, a label, Chinese
        return Clause(_in_order(text.lstrip("-"), words), is_excluded)
    forms = (words[0], *stems_of(words[0]))
    return Clause(tuple(Match((form,)) for form in forms), is_excluded)


def _in_order(text: str, words: tuple[str, ...], *, is_prefix: bool = False) -> tuple[Match, ...]:
    """Return what has words in their order: a text, or a label, whose parts are no words."""
    label = (Match((label_mark(text),)),) if "/" in text and not is_prefix else ()
    return (Match(words, is_prefix), *label)


def _is_common(clause: Clause) -> bool:
    first = clause.alternatives[0]
    return len(first.terms) == 1 and not first.is_prefix and is_common(first.terms[0])


def _filter(facet: Facet, value: str) -> Clause:
    values = years_of(value) if facet == "year" else (_canonical(facet, value),)
    marks = tuple(Match((mark_of(facet, each),)) for each in values)
    return Clause(marks, is_filter=True)


def _canonical(facet: Facet, value: str) -> str:
    """Return the label of a collection in its one spelling, and other values as they are."""
    if facet != "collection":
        return value
    try:
        return parse(value).canonical
    except LabelError:
        return value


def years_of(text: str) -> tuple[str, ...]:
    """Return the years of a filter: `2013` or `2008-2013`; other texts are no year at all."""
    years = _YEARS.fullmatch(text)
    if years is None:
        return ("",)
    first, last = (int(year or years[1]) for year in years.groups())
    last = min(last, first + _MOST_YEARS - 1)
    return tuple(f"{year:04}" for year in range(first, last + 1)) or ("",)
