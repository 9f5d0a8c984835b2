"""Messages of the Reconciliation Service API 0.2 (W3C community group), and their limits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from ibi.archive.archive import ItemWithMetadata
from ibi.archive.rules.search.document import facets_of
from ibi.errors import RequestError, Sentence
from ibi.foundation.web.request_body import decoded

VERSIONS: Final = ("0.1", "0.2")
MOST_QUERIES: Final = 50
"""Queries of one batch; OpenRefine sends ten."""
MOST_ROWS: Final = 100
"""Items of one data extension, and four times the rows that OpenRefine asks for at once."""
MOST_CANDIDATES: Final = 20
"""Candidates of one query."""
_USUAL_CANDIDATES: Final = 5
_MOST_PROPERTIES: Final = 20
_LONGEST_VALUE: Final = 400
ITEM_TYPE: Final = "item"
"""The type of an item that names none, and of all items together."""
PROPERTIES: Final = {
    "title": "Title",
    "creator": "Creator",
    "year": "Year",
    "date": "Date",
    "type": "Type",
    "language": "Language",
    "publisher": "Publisher",
    "subject": "Subject",
    "identifier": "Identifier",
    "licence": "Licence",
    "description": "Description",
    "collection": "Collection",
    "repository-name": "Repository name",
    "ibip": "IBIp",
    "persistent-url": "Persistent URL",
}
"""Names of the properties by their ids."""


class PropertyValue(msgspec.Struct):
    """A property that the item should have."""

    pid: str
    v: Any


class ReconciliationQuery(msgspec.Struct):
    """A query of a batch."""

    query: str = ""
    type: str | list[str] = ""
    limit: float = _USUAL_CANDIDATES
    properties: list[PropertyValue] = []
    type_strict: str = "any"

    @property
    def types(self) -> tuple[str, ...]:
        """The wanted types; none if all items are wanted."""
        given = [self.type] if isinstance(self.type, str) else self.type
        return tuple(each for each in given if each and each != ITEM_TYPE)

    @property
    def count(self) -> int:
        """The number of candidates."""
        return int(min(max(self.limit, 1), MOST_CANDIDATES))

    @property
    def wanted(self) -> dict[str, list[str]]:
        """The values that properties should have, as texts; unknown properties are ignored."""
        found: dict[str, list[str]] = {}
        for each in self.properties[:_MOST_PROPERTIES]:
            if each.pid in PROPERTIES:
                values = each.v if isinstance(each.v, list) else [each.v]
                found.setdefault(each.pid, []).extend(_text(value) for value in values[:20])
        return found


class Entity(msgspec.Struct, frozen=True):
    """A type or a property, by id and name."""

    id: str
    name: str


class Candidate(msgspec.Struct, frozen=True, omit_defaults=True):
    """An item that may be meant."""

    id: str
    name: str
    score: float
    match: bool | None = None
    type: list[Entity] = []
    description: str = ""


class CandidateList(msgspec.Struct, frozen=True):
    """The candidates of a query."""

    result: list[Candidate]


class Suggestion(msgspec.Struct, frozen=True, omit_defaults=True):
    """An entity that completes what a person types."""

    id: str
    name: str
    description: str = ""
    notable: list[Entity] = []


class SuggestionList(msgspec.Struct, frozen=True):
    """The suggestions for what a person types."""

    result: list[Suggestion]


class PropertyChoice(msgspec.Struct):
    """A property that is wanted of each item."""

    id: str


class ExtensionQuery(msgspec.Struct):
    """Items, and the properties that are wanted of them."""

    ids: list[str]
    properties: list[PropertyChoice]


class ExtensionAnswer(msgspec.Struct, frozen=True):
    """The values of properties by item."""

    meta: list[Entity]
    rows: dict[str, dict[str, list[dict[str, str]]]]


def batch_of(text: str) -> dict[str, ReconciliationQuery]:
    """Parse a batch of queries."""
    batch = decoded(_BATCH.decode, text.encode())
    if len(batch) > MOST_QUERIES:
        raise RequestError(
            Sentence("A batch has at most %(most)s queries.", most=MOST_QUERIES),
        )
    return batch


def extension_of(text: str) -> ExtensionQuery:
    """Parse a data extension."""
    wanted = decoded(_EXTENSION.decode, text.encode())
    if len(wanted.ids) > MOST_ROWS or len(wanted.properties) > _MOST_PROPERTIES:
        raise RequestError(
            Sentence(
                "A request has at most %(rows)s items and %(properties)s properties.",
                rows=MOST_ROWS,
                properties=_MOST_PROPERTIES,
            )
        )
    return wanted


_BATCH: Final = msgspec.json.Decoder(dict[str, ReconciliationQuery])
_EXTENSION: Final = msgspec.json.Decoder(ExtensionQuery)


def values_of(look: ItemWithMetadata, persistent: str) -> dict[str, Sequence[str]]:
    """Return the values of all properties of an item, whose persistent URL is given."""
    item, record = look.item, look.record
    facets = facets_of(item, record)
    labels = item.forms
    found: dict[str, Sequence[str]] = {
        "year": facets["year"],
        "type": facets["type"],
        "language": facets["language"],
        "collection": facets["collection"],
        "repository-name": (labels.rep.spelling,) if labels.rep else (),
        "ibip": (labels.ibip.spelling,) if labels.ibip else (),
        "persistent-url": (persistent,),
    }
    if record is None:
        return found
    return found | {
        "title": [each.value for each in record.titles],
        "creator": [str(each) for each in record.named_creators],
        "date": record.dates,
        "publisher": [str(each) for each in record.publishers],
        "subject": [each.value for each in record.subjects],
        "identifier": record.identifiers,
        "licence": (record.licence,) if record.licence else (),
        "description": [each.value for each in record.descriptions],
    }


def _text(value: object) -> str:
    """Return a value as a text; of one that is an entity its name or else its id."""
    if isinstance(value, dict):
        value = value.get("name") or value.get("id") or ""
    return str(value)[:_LONGEST_VALUE]
