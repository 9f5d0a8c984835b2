"""The formats of metadata that an archive offers, beside its pages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ibi.metadata import oai_dc
from ibi.model.label_pair import Forms
from ibi.model.metadata_record import MetadataRecord


@dataclass(frozen=True, slots=True)
class Format:
    """A format: its name in a persistent URL, and who writes it."""

    name: str
    media_type: str
    write: Callable[[MetadataRecord, Forms, str], bytes]
    """Of a record, the forms of the item described, and where persistent URLs begin."""


FORMATS: Final = {
    format_.name: format_
    for format_ in (Format("oai_dc", oai_dc.MEDIA_TYPE, oai_dc.write),)  # one line a format
}
