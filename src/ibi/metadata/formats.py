"""The metadata formats that an archive offers, besides its pages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ibi.metadata import oai_dc
from ibi.model.label_pair import Forms
from ibi.model.metadata_record import MetadataRecord


@dataclass(frozen=True, slots=True)
class Format:
    """A metadata format: its name in a persistent URL, and the function that writes it."""

    name: str
    media_type: str
    write: Callable[[MetadataRecord, Forms, str], bytes]
    """Takes a record, the labels of the item described, and the base of persistent URLs."""


FORMATS: Final = {
    format_.name: format_
    for format_ in (Format("oai_dc", oai_dc.MEDIA_TYPE, oai_dc.write),)  # one line a format
}
