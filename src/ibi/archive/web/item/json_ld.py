"""The description of an item in its own page, as JSON-LD in a data block of HTML.

Browsers do not execute a data block, so the security policy of pages does not concern it. In a
script element `</script>` and `<!--` mean something also within a string of JSON: the text has no
character that HTML knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from ibi.archive.rules.collections.membership import is_collection
from ibi.archive.web.delivery.media_types import media_type_of
from ibi.identifier.instant import Instant
from ibi.metadata.crosswalks import schema_org
from ibi.metadata.crosswalks.item_facts import FileFacts, ItemFacts
from ibi.metadata.schema_types import COLLECTION
from ibi.model.clock import SECOND
from ibi.model.item import File, Item
from ibi.model.label_pair import Forms
from ibi.model.metadata_record import MetadataRecord
from ibi.wire.percent_encoding import path as in_url


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where an item is, and what it belongs to."""

    base: str
    """The address of the archive."""
    persistent_base: str
    archive: str
    """The name of the archive."""
    page: str
    """The URL of the page of the item."""
    collections: Sequence[tuple[Forms, str]] = ()
    """The collections that it belongs to, with their titles."""


def json_ld(item: Item, record: MetadataRecord, files: Iterable[File], place: Place) -> Markup:
    """Return the content of a data block; `files` are those that every reader gets."""
    facts = ItemFacts(
        files=tuple(_facts(item, file, place.base) for file in files),
        updated=Instant(item.updated // SECOND) if item.updated else None,
        archive=place.archive,
        address=place.base,
        restricted=bool(item.readers),
    )
    value = schema_org.value(record, item.forms, place.persistent_base, facts)
    if is_collection(item, record):
        value["@type"] = COLLECTION
    value["mainEntityOfPage"] = {"@type": "WebPage", "@id": place.page}
    for name, found in _relations(item, place).items():
        value[name] = [*_listed(value.get(name)), *found]
    catalog = {"@type": "DataCatalog", "name": place.archive, "url": f"{place.base}/"}
    value["includedInDataCatalog"] = catalog
    return htmlsafe_json_dumps(value)


def _relations(item: Item, place: Place) -> dict[str, list[Any]]:
    """Return what the record does not know: collections, and the edition before."""
    found: dict[str, list[Any]] = {}
    if place.collections:
        found["isPartOf"] = [
            {"@type": COLLECTION, "@id": _persistent(forms, place), "name": title}
            for forms, title in place.collections
        ]
    if item.previous_edition is not None:
        found["isBasedOn"] = [{"@id": _persistent(item.previous_edition, place)}]
    return found


def _listed(value: object) -> list[Any]:
    """Return the values of a property, which may be alone."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _persistent(forms: Forms, place: Place) -> str:
    return f"{place.persistent_base}/{forms.short.spelling}"


def _facts(item: Item, file: File, base: str) -> FileFacts:
    return FileFacts(
        path=file.path,
        url=f"{base}/col/{item.forms.label.spelling}/doc/{in_url(file.path)}",
        media_type=media_type_of(file.path, file.media_type),
        size=file.size,
        sha256=file.sha256,
    )
