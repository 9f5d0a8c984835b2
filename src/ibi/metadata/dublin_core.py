"""A record in the fifteen elements of Dublin Core (ISO 15836-1), each with a plain text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ibi.metadata import licence
from ibi.metadata.related import name_of
from ibi.model.metadata_record import MetadataRecord, Text

ELEMENTS: Final = {
    "title": "titles",
    "creator": "creators",
    "subject": "subjects",
    "description": "descriptions",
    "publisher": "publishers",
    "contributor": "contributors",
    "date": "dates",
    "type": "types",
    "format": "formats",
    "identifier": "identifiers",
    "source": "sources",
    "language": "languages",
    "relation": "relations",
    "coverage": "coverages",
    "rights": "rights",
}
"""The name of each element, and the field of a record that holds it."""


def elements(record: MetadataRecord) -> Iterator[tuple[str, Text]]:
    """Yield name and text of every element, in the order of the standard.

    ORCID iD, affiliation and role are left out: Dublin Core has only a name for a person. A funder
    is a contributor, and a related item a relation, by its address if it has one. The licence
    becomes the last of the rights, by its address if it has one.
    """
    for name, part in ELEMENTS.items():
        for value in record.named_creators if part == "creators" else getattr(record, part):
            yield name, value if isinstance(value, Text) else Text(str(value))
        if part == "contributors":
            funders = dict.fromkeys(each.funder for each in record.funding)
            yield from ((name, Text(funder)) for funder in funders)
        if part == "relations":
            yield from ((name, Text(name_of(each))) for each in record.related)
    if record.licence:
        yield "rights", Text(licence.address_of(record.licence) or record.licence)
