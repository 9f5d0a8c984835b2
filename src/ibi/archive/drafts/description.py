"""The description of a draft: what its form says, what is missing, and the request it makes."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

import msgspec

from ibi.archive.rules.access import networks
from ibi.archive.rules.deposit_request import DepositRequest
from ibi.archive.rules.drafts import draft as rules
from ibi.archive.rules.drafts.draft import Fields
from ibi.errors import DescriptionError, LabelError, LanguageError, MetadataError, RequestError
from ibi.identifier.label import parse
from ibi.identifier.language import Language
from ibi.metadata.citability import missing_for_citation
from ibi.metadata.form import FIELDS, Place
from ibi.metadata.form_reader import FormReading, record_from_form
from ibi.metadata.json_record import record_as_dict, record_from
from ibi.model.metadata_record import MetadataRecord

READERS: Final = "readers"
"""The field with the networks from which the files may be read, one in each line."""
BASE: Final = "base"
"""The hidden field with the record that was imported, as JSON: for what the form has no field."""
KNOWN: Final = frozenset({*FIELDS, rules.TARGET, rules.REMOVED, rules.COLLECTION, READERS, BASE})
"""The fields of a draft; others are not kept."""


class RecordForm:
    """The form of a description in an archive."""

    def __init__(self, publisher: str) -> None:
        """Use the archive's publisher where the form names none."""
        self._publisher = publisher

    def known(self, fields: Fields) -> Fields:
        """Return the fields that are kept."""
        known = rules.only(fields, KNOWN)
        # Forms are sent with other line ends than scripts read in them (HTML, 4.10.21.4).
        return tuple((name, text.replace("\r\n", "\n")) for name, text in known)

    def title(self, fields: Fields) -> str:
        """Return the title for lists; empty if there is none yet."""
        return next(iter(rules.values(fields, "title")), "")

    def reading(self, fields: Fields) -> FormReading:
        """Return the record that the fields say, and the faults of single fields."""
        record, faults = record_from_form(fields, _base(fields))
        for number, text in enumerate(rules.values(fields, rules.COLLECTION)):
            try:
                parse(text)
            except LabelError as fault:
                faults[Place(rules.COLLECTION, number)] = fault.message()
        try:
            networks(_lines(fields, READERS))
        except RequestError as fault:
            faults[Place(READERS)] = fault.message()
        return FormReading(record, faults)

    def missing(self, record: MetadataRecord) -> dict[str, str]:
        """Return a sentence for each field without which an item cannot be cited."""
        return missing_for_citation(record, self._publisher)

    def request(self, fields: Fields) -> DepositRequest:
        """Return the request of a deposit; raise DescriptionError with all faults."""
        record, faults = self.reading(fields)
        for field, fault in self.missing(record).items():
            faults.setdefault(Place(field), fault)
        if faults:
            found = ((place.field, place.number, fault) for place, fault in faults.items())
            raise DescriptionError(tuple(found))
        return DepositRequest(
            metadata=record_as_dict(record),
            language=_language(record),
            target=next(iter(rules.values(fields, rules.TARGET)), ""),
            collections=rules.values(fields, rules.COLLECTION),
            readers=_lines(fields, READERS),
        )


def _base(fields: Fields) -> MetadataRecord | None:
    """Return the record that was imported; None if there is none that can be read."""
    with suppress(MetadataError, msgspec.DecodeError):
        for text in rules.values(fields, BASE):
            return record_from(msgspec.json.decode(text, type=dict[str, object]))
    return None


def _language(record: MetadataRecord) -> str:
    """Return the language of the item: the first of the record that labels can name."""
    for text in record.languages:
        with suppress(LanguageError):
            return str(Language.parse(text))
    return ""


def _lines(fields: Fields, name: str) -> list[str]:
    texts = (line.strip() for text in rules.values(fields, name) for line in text.splitlines())
    return [text for text in texts if text]
