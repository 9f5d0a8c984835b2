"""What a record needs so that its item can be cited, by the names of the fields of the form.

They are the mandatory properties of DataCite (schema 4.6) that the archive does not give by itself:
the identifier is the label.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Final

from ibi.errors import MetadataError, Sentence
from ibi.metadata.dates import read_date
from ibi.model.metadata_record import MetadataRecord

_MISSING: Final[Mapping[str, str]] = {
    "title": Sentence("The title is missing."),
    "creator": Sentence("The creator is missing: name one, or say that it is unknown."),
    "year": Sentence("The year of publication is missing."),
    "type": Sentence("The type is missing: say what the item is."),
    "publisher": Sentence("The publisher is missing."),
}
"""The fields that are needed, in the order of the form."""


def missing_for_citation(record: MetadataRecord, publisher: str = "") -> dict[str, str]:
    """Return a Sentence for each field that the record lacks; `publisher` is the default one."""
    present = {
        "title": bool(record.title.value.strip()),
        "creator": bool(record.creators),
        "year": any(map(_is_date, record.dates)),
        "type": bool(record.types),
        "publisher": bool(record.publishers or publisher.strip()),
    }
    return {field: what for field, what in _MISSING.items() if not present[field]}


def check_citable(record: MetadataRecord, publisher: str = "") -> None:
    """Raise MetadataError, with all of them, if there are such fields."""
    missing = missing_for_citation(record, publisher)
    if missing:
        what = reduce(
            lambda first, others: Sentence("%(a)s %(b)s", a=first, b=others), missing.values()
        )
        raise MetadataError(Sentence("The item could not be cited. %(missing)s", missing=what))


def _is_date(text: str) -> bool:
    try:
        read_date(text)
    except MetadataError:
        return False
    return True
