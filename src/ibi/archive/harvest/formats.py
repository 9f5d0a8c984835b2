"""The metadata formats in which harvesters get items: one entry of the table each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ibi.archive.rules.harvest.document import FormatNote
from ibi.metadata import oai_dc
from ibi.model.item import Item
from ibi.model.metadata_record import MetadataRecord


@dataclass(frozen=True, slots=True)
class HarvestFormat:
    """A metadata format of OAI-PMH."""

    prefix: str
    """Its metadataPrefix."""
    schema: str
    """The address of its XML schema."""
    namespace: str
    write: Callable[[Item, MetadataRecord, str], bytes]
    """Returns the XML document of an item by its record; the text begins persistent URLs."""

    @property
    def note(self) -> FormatNote:
        """The format as it is listed."""
        return FormatNote(self.prefix, self.schema, self.namespace)


HARVEST_FORMATS: Final = {
    each.prefix: each
    for each in (
        HarvestFormat(
            "oai_dc",
            oai_dc.SCHEMA,
            oai_dc.NAMESPACE,
            lambda item, record, base: oai_dc.write(record, item.forms, base),
        ),
    )
}
