"""What is searched of an item: the terms of its labels and of its description."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from ibi.archive.ports.search import FACETS, Facet, SearchDocument
from ibi.archive.rules.search.terms import label_mark, mark_of, place_of, stems_of, words_of
from ibi.errors import LanguageError, MetadataError
from ibi.identifier.language import Language
from ibi.metadata.dates import read_date
from ibi.model.item import Item, State
from ibi.model.metadata_record import MetadataRecord, Text

RULES: Final = 5
"""The version of the terms; an index of another version is filled anew."""
MOST_WORDS: Final = 5000
"""Words of an item that are indexed; PostgreSQL numbers up to 16,383 of them."""
_LONGEST_VALUE: Final = 200
"""Characters of a value of a facet."""
_MOST_VALUES: Final = 50
"""Values of one facet of an item."""

Words = tuple[tuple[str, ...], ...]


def is_searched(item: Item) -> bool:
    """Return whether an item is in the index: data that are not deleted."""
    return item.kind == "data" and item.state is not State.DELETED


def document_of(item: Item, record: MetadataRecord | None) -> SearchDocument:
    """Return the terms of an item with its description."""
    main = str(item.language.code) if item.language else ""
    titles = [*record.titles] if record else []
    texts = [*_texts(record)]
    title, rest = _words(titles, MOST_WORDS)
    body, _ = _words(texts, rest)
    facets = facets_of(item, record)
    return SearchDocument(
        title=title,
        title_stems=_stems(titles, title, main),
        body=body,
        body_stems=_stems(texts, body, main),
        marks=tuple(_marks(item, facets)),
        facets=facets,
        heading=place_of(titles[0].value) if titles else "",
    )


def facets_of(item: Item, record: MetadataRecord | None) -> dict[Facet, tuple[str, ...]]:
    """Return the values of an item by facet."""
    collections = tuple(forms.short.spelling for forms in item.collections)
    if record is None:
        language = (item.language.code,) if item.language else ()
        none: dict[Facet, tuple[str, ...]] = dict.fromkeys(FACETS, ())
        return none | {"language": language, "collection": collections}
    return {
        "type": _values(record.types),
        "year": _year(record),
        "language": tuple(dict.fromkeys(_languages(item, record))),
        "creator": _values(map(str, record.named_creators)),
        "collection": collections,
    }


def _marks(item: Item, facets: dict[Facet, tuple[str, ...]]) -> Iterator[str]:
    # As words, the year and the day in a label would find it beside what is about them.
    for label in item.names:
        yield from (label_mark(each) for each in _beginnings(label.spelling))
    for facet in FACETS:
        if facet != "collection":
            yield from (mark_of(facet, value) for value in facets[facet])
    # A reader may know either label of a collection.
    labels = (label for forms in item.collections for label in forms)
    yield from (mark_of("collection", label.canonical) for label in labels)


def _beginnings(spelling: str) -> Iterator[str]:
    """Yield a label and its beginnings of two parts or more: those of one subsystem or year."""
    parts = spelling.split("/")
    yield from ("/".join(parts[:count]) for count in range(2, len(parts) + 1))


def _values(texts: Iterable[str]) -> tuple[str, ...]:
    """Return values that can be told apart: with words, in one line, each once."""
    lines = (" ".join(text.split())[:_LONGEST_VALUE] for text in texts)
    distinct = {words_of(line): line for line in lines if words_of(line)}
    return tuple(distinct.values())[:_MOST_VALUES]


def _year(record: MetadataRecord) -> tuple[str, ...]:
    for text in record.dates:
        try:
            return (f"{read_date(text)[0].year:04}",)
        except MetadataError:
            continue
    return ()


def _languages(item: Item, record: MetadataRecord) -> Iterator[str]:
    if item.language is not None:
        yield item.language.code
        return
    for text in record.languages:
        try:
            yield Language.parse(text).code
        except LanguageError:
            continue


def _texts(record: MetadataRecord | None) -> Iterator[Text]:
    """Yield all texts but the titles; the language of names and identifiers is `-`."""
    if record is not None:
        names = (*record.named_creators, *record.contributors, *record.publishers)
        yield from (Text(str(name), "-") for name in names)
        yield from (Text(each.affiliation, "-") for each in names if each.affiliation)
        for funding in record.funding:
            yield Text(f"{funding.funder} {funding.award}", "-")
            yield Text(funding.title)
        yield from record.subjects
        yield from record.descriptions
        yield from record.coverages
        yield from (Text(each) for each in record.types)
        related = (each.identifier for each in record.related)
        named = (*record.identifiers, *record.sources, *record.relations)
        further = (*named, *related, *_year(record))
        yield from (Text(each, "-") for each in further)


def _words(texts: Iterable[Text], most: int) -> tuple[Words, int]:
    """Return the words of texts, and how many more may be indexed."""
    found = []
    for text in texts:
        words = words_of(text.value)[:most]
        most -= len(words)
        found.append(words)
    return tuple(found), most


def _stems(texts: Iterable[Text], words: Words, main: str) -> tuple[str, ...]:
    """Return the stems of words, each text in its language or in that of the item."""
    stems: dict[str, None] = {}
    for text, run in zip(texts, words, strict=True):
        language = (text.language or main).partition("-")[0]
        if text.language != "-":
            stems |= dict.fromkeys(stem for word in run for stem in stems_of(word, language))
    return tuple(stems)
