"""The form in which people write a record: its fields, and what they say.

A form is a list of pairs of field and text, as browsers send it. The pairs are kept as they were
typed, whatever is wrong with them, so that a page shows them again. A field that may be repeated
stands in a row with those beside it: the third `orcid` belongs to the third `creator`.

    title, title-language, type, year, date, language (repeated), publisher, licence,
    abstract, words (one keyword in each line), creator-unknown
    creators      creator, orcid, affiliation
    contributors  contributor, contributor-role, contributor-orcid, contributor-affiliation
    texts in other languages     in-language, in-title, in-abstract, in-words
    related items relation, related-scheme, related-identifier
    funding       funder, funder-id, award, award-title
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from ibi.errors import MetadataError
from ibi.metadata.json_record import MOST_VALUES, catalogued
from ibi.model.metadata_record import Agent, MetadataRecord

Pair = tuple[str, str]

CREATORS: Final = ("creator", "orcid", "affiliation")
CONTRIBUTORS: Final = (
    "contributor",
    "contributor-role",
    "contributor-orcid",
    "contributor-affiliation",
)
TEXTS: Final = ("in-language", "in-title", "in-abstract", "in-words")
RELATED: Final = ("relation", "related-scheme", "related-identifier")
FUNDING: Final = ("funder", "funder-id", "award", "award-title")
GROUPS: Final = (CREATORS, CONTRIBUTORS, TEXTS, RELATED, FUNDING)
"""The fields that are repeated together, one of each in a row."""
SINGLE: Final = (
    *("title", "title-language", "type", "year", "date", "publisher", "licence", "abstract"),
    *("words", "creator-unknown"),
)
"""The fields that a form has once."""
FIELDS: Final = (*SINGLE, "language", *(name for group in GROUPS for name in group))
MOST_PAIRS: Final = 8 * MOST_VALUES
"""Pairs of a form that are read; two thousand creators, each with three fields, are below it."""

YEAR_LENGTH: Final = 4
"""Digits of a year."""


class Place(NamedTuple):
    """A field of a form: its name, and which of its name it is, from 0."""

    field: str
    number: int = 0


@dataclass(frozen=True, slots=True)
class Form:
    """What was typed into a form, unchanged."""

    pairs: tuple[Pair, ...]

    @classmethod
    def of(cls, pairs: Iterable[Pair]) -> Form:
        """Return a form with the pairs of known fields, in their order."""
        known = (pair for pair in pairs if pair[0] in FIELDS)
        return cls(tuple(known)[:MOST_PAIRS])

    def value(self, field: str) -> str:
        """Return the text of a field that stands once; empty if the form lacks it."""
        return next((text for name, text in self.pairs if name == field), "")

    def values(self, field: str) -> tuple[str, ...]:
        """Return the texts of a repeated field."""
        return tuple(text for name, text in self.pairs if name == field)

    def rows(self, group: Sequence[str]) -> tuple[tuple[str, ...], ...]:
        """Return the rows of a group, each with one text for each field of the group."""
        columns = [self.values(name) for name in group]
        count = max(map(len, columns), default=0)
        return tuple(
            tuple(column[row] if row < len(column) else "" for column in columns)
            for row in range(count)
        )


# --- from a record to a form ----------------------------------------------------------------------


def form_from_record(record: MetadataRecord) -> tuple[Pair, ...]:
    """Return the pairs of a form that describes a record, as far as the form has fields."""
    return tuple(_pairs(record))


def _pairs(record: MetadataRecord) -> Iterator[Pair]:
    main, *further = _rows(record)
    tag, title, abstract, words = main
    date = next(iter(record.dates), "")
    yield from (("title", title), ("title-language", tag))
    yield "type", next(iter(record.types), "")
    yield from (("year", date[:YEAR_LENGTH]), ("date", date if len(date) > YEAR_LENGTH else ""))
    yield from (("language", each) for each in record.languages)
    yield "publisher", str(next(iter(record.publishers), ""))
    yield from (("licence", record.licence), ("abstract", abstract), ("words", words))
    if record.has_unknown_creator and not record.named_creators:
        yield "creator-unknown", "yes"
    for agent in record.named_creators:
        yield from zip(CREATORS, (written(agent), agent.orcid, agent.affiliation), strict=True)
    for agent in record.contributors:
        row = (written(agent), agent.role, agent.orcid, agent.affiliation)
        yield from zip(CONTRIBUTORS, row, strict=True)
    for texts in further:
        yield from zip(TEXTS, texts, strict=True)
    for related in record.related:
        three = (related.relation, related.scheme, related.identifier)
        yield from zip(RELATED, three, strict=True)
    for funding in record.funding:
        row = (funding.funder, funding.funder_id, funding.award, funding.title)
        yield from zip(FUNDING, row, strict=True)


def _rows(record: MetadataRecord) -> Iterator[tuple[str, str, str, str]]:
    """Yield language, title, abstract and keywords: the main ones, then those of each language.

    A language with several titles or abstracts has several rows.
    """
    tags = dict.fromkeys(
        text.language for text in (*record.titles, *record.descriptions, *record.subjects)
    )
    for tag in tags or ("",):
        titles, abstracts, words = (
            [text.value for text in texts if text.language == tag]
            for texts in (record.titles, record.descriptions, record.subjects)
        )
        for number in range(max(len(titles), len(abstracts), 1)):
            yield (
                tag,
                titles[number] if number < len(titles) else "",
                abstracts[number] if number < len(abstracts) else "",
                "\n".join(words) if number == 0 else "",
            )


# --- names ----------------------------------------------------------------------------------------


def agent_of(text: str) -> Agent | None:
    """Parse a name as people write it; None if it is blank.

    Braces keep a comma within a part, as in BibTeX: `{Springer, Inc.}` is an organisation, and
    `{Banon},` a person without a given name.
    """
    text = text.strip()
    if text.startswith("{"):
        if text.endswith("}"):
            return Agent(text[1:-1].strip())
        family, comma, given = text[1:].partition("},")
        if comma and family.strip():
            return Agent(family=family.strip(), given=given.strip())
    return catalogued(text)


def written(agent: Agent) -> str:
    """Return a name as `agent_of` reads it."""
    bare = Agent(agent.name, agent.family, agent.given)
    for text in (str(bare), f"{{{bare.family}}}, {bare.given}" if bare.family else ""):
        if text and _read_name(text) == bare:
            return text.strip()
    return f"{{{bare.name}}}" if bare.name else str(bare)


def _read_name(text: str) -> Agent | None:
    try:
        return agent_of(text)
    except MetadataError:  # what looks like an ORCID iD in the name has a wrong check digit
        return None
