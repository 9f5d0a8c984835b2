"""RO-Crate 1.1: the metadata document of an item with its files (ro-crate-metadata.json).

Files are web-based data entities: the document describes them where they are. The crate needs a
day of publication and a licence: the day on which its label was made stands for a date that is less
exact, and a licence that is not stated is said to be so.

https://www.researchobject.org/ro-crate/specification/1.1/
"""

from __future__ import annotations

import json
from typing import Any, Final

from ibi.metadata import licence
from ibi.metadata.crosswalks import schema_org
from ibi.metadata.crosswalks.item_facts import NO_FACTS, FileFacts, ItemFacts, day_of
from ibi.model.label_pair import Forms
from ibi.model.metadata_record import MetadataRecord
from ibi.wire.addresses import is_web_address

MEDIA_TYPE: Final = 'application/ld+json; profile="https://w3id.org/ro/crate/1.1"'
FILE_NAME: Final = "ro-crate-metadata.json"
"""The name that the specification gives to the file."""

_CRATE: Final = "https://w3id.org/ro/crate/1.1"
_ROOT: Final = "./"
_NO_LICENCE: Final = "#licence-not-stated"
_INLINE: Final = frozenset(("@value", "@language"))


def write(record: MetadataRecord, forms: Forms, base: str, facts: ItemFacts = NO_FACTS) -> bytes:
    """Return the record of the item with these labels; `base` begins persistent URLs."""
    return schema_org.encoded(value(record, forms, base, facts))


def value(
    record: MetadataRecord, forms: Forms, base: str, facts: ItemFacts = NO_FACTS
) -> dict[str, Any]:
    """Return the document: a flat graph, in which each thing is described once."""
    graph = _Graph()
    graph.add(
        {
            "@id": FILE_NAME,
            "@type": "CreativeWork",
            "conformsTo": {"@id": _CRATE},
            "about": {"@id": _ROOT},
        }
    )
    root = schema_org.description(record, forms, base)
    own_kind = root.pop("@type")
    root.pop("@id")
    if own_kind != "Dataset":
        root["additionalType"] = f"{schema_org.CONTEXT}/{own_kind}"
    root.pop("encoding", None)
    root.pop("distribution", None)
    files = [_file(each) for each in facts.files]
    graph.add(
        {
            **root,
            "@id": _ROOT,
            "@type": "Dataset",
            "description": root.get("description", record.title.value),
            "datePublished": day_of(record, forms),
            "license": _licence(record),
            **({"hasPart": _with(root.get("hasPart"), files)} if files else {}),
        }
    )
    return {"@context": f"{_CRATE}/context", "@graph": graph.entities}


def _with(parts: Any, files: list[dict[str, Any]]) -> list[Any]:  # noqa: ANN401  # any value of JSON
    """Return files behind what is a part of the item besides."""
    others = parts if isinstance(parts, list) else [parts] if parts else []
    return [*others, *files]


def _licence(record: MetadataRecord) -> dict[str, Any]:
    if not record.licence:
        name = "No licence is stated"
        about = "The archive knows no licence for this item."
        return {"@id": _NO_LICENCE, "@type": "CreativeWork", "name": name, "description": about}
    address = licence.address_of(record.licence)
    is_listed = not is_web_address(record.licence)
    name = record.licence if is_listed else "The licence at this address"
    return {"@id": address, "@type": "CreativeWork", "name": name, "description": name}


def _file(file: FileFacts) -> dict[str, Any]:
    every: dict[str, Any] = {
        "@id": file.url,
        "@type": "File",
        "name": file.path,
        "contentSize": str(file.size),
        "encodingFormat": file.media_type.partition(";")[0],
        "sha256": file.sha256,
    }
    return {name: part for name, part in every.items() if part}


class _Graph:
    """Entities in their order; one within another becomes an entity of its own."""

    def __init__(self) -> None:
        self.entities: list[dict[str, Any]] = []
        self._known: dict[str, dict[str, Any]] = {}
        self._names: dict[str, str] = {}
        """The ids that entities without one of their own were given, by their content."""

    def add(self, entity: dict[str, Any]) -> None:
        """Append an entity that has an id."""
        place = self._known[entity["@id"]] = {}
        self.entities.append(place)
        place.update({name: self._flat(part) for name, part in entity.items()})

    def _flat(self, part: Any) -> Any:  # noqa: ANN401  # any value of JSON
        """Return a part in which each entity is a reference."""
        if isinstance(part, list):
            return [self._flat(each) for each in part]
        if not isinstance(part, dict) or _INLINE & part.keys():
            return part
        if set(part) == {"@id"}:
            return part
        name = part.get("@id") or self._named(part)
        if name not in self._known:
            self.add({**part, "@id": name})
        return {"@id": name}

    def _named(self, entity: dict[str, Any]) -> str:
        name = f"#{entity['@type'].lower()}-{len(self._names) + 1}"
        return self._names.setdefault(json.dumps(entity, sort_keys=True), name)
