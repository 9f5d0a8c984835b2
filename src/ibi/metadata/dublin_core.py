"""A record in the fifteen elements of Dublin Core (ISO 15836-1), each with a plain text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ibi.metadata import licence
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

    An ORCID iD is left out: Dublin Core has only a name for a person. The licence becomes the last
    of the rights, by its address if it has one.
    """
    for name, part in ELEMENTS.items():
        for value in getattr(record, part):
            yield name, value if isinstance(value, Text) else Text(str(value))
    if record.licence:
        yield "rights", Text(licence.address_of(record.licence) or record.licence)
