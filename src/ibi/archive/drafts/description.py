"""The description of a draft: the request of a deposit that its form makes."""

from __future__ import annotations

from typing import Any, Final

from ibi.archive.rules.deposit_request import DepositRequest
from ibi.archive.rules.drafts import draft as rules
from ibi.archive.rules.drafts.draft import Fields
from ibi.errors import DescriptionError, MetadataError, Sentence
from ibi.metadata.json_record import new_record_from

_ELEMENTS: Final = {
    "title": "titles",
    "creator": "creators",
    "year": "dates",
    "type": "types",
    "publisher": "publishers",
    "language": "languages",
    "abstract": "descriptions",
}


class PlainForm:
    """Reads the simple fields of a form."""

    def title(self, fields: Fields) -> str:
        """Return the title for lists; empty if there is none yet."""
        return next(iter(rules.values(fields, "title")), "")

    def request(self, fields: Fields) -> DepositRequest:
        """Return the request of a deposit; raise DescriptionError with all faults."""
        metadata: dict[str, Any] = {}
        for field, element in _ELEMENTS.items():
            if found := rules.values(fields, field):
                metadata[element] = found
        if "titles" not in metadata:
            raise DescriptionError((("title", 0, Sentence("A title is missing.")),))
        try:
            new_record_from(metadata)
        except MetadataError as fault:
            raise DescriptionError((("title", 0, fault.message()),)) from None
        return DepositRequest(
            metadata=metadata,
            language=next(iter(rules.values(fields, "language")), ""),
            target=next(iter(rules.values(fields, rules.TARGET)), ""),
            collections=rules.values(fields, rules.COLLECTION),
        )
