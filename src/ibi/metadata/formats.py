"""The metadata formats that an archive offers, besides its pages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ibi.metadata import bibtex, csl_json, erc, oai_dc, ris
from ibi.model.label_pair import Forms
from ibi.model.metadata_record import MetadataRecord


@dataclass(frozen=True, slots=True)
class Format:
    """A metadata format: its name in a persistent URL, and the function that writes it."""

    name: str
    title: str
    """Its name for people, the same in every language."""
    content_type: str
    """The value of Content-Type, which may have a charset."""
    write: Callable[[MetadataRecord, Forms, str], bytes]
    """Takes a record, the labels of the item described, and the base of persistent URLs."""
    extension: str = ""
    """Of the file into which a reader saves it; empty if browsers show the format."""

    @property
    def media_type(self) -> str:
        """The media type alone, as links have it (RFC 8288, 3.4.1)."""
        return self.content_type.partition(";")[0]

    def file_name(self, forms: Forms) -> str:
        """Return the name under which a reader saves it; empty if browsers show the format."""
        if not self.extension:
            return ""
        return f"{forms.short.spelling.replace('/', '-')}.{self.extension}"


FORMATS: Final = {
    format_.name: format_
    for format_ in (
        Format("oai_dc", "Dublin Core", oai_dc.MEDIA_TYPE, oai_dc.write),
        Format("bibtex", "BibTeX", bibtex.MEDIA_TYPE, bibtex.write, "bib"),
        Format("ris", "RIS", ris.MEDIA_TYPE, ris.write, "ris"),
        Format("csl", "CSL-JSON", csl_json.MEDIA_TYPE, csl_json.write, "json"),
        Format("erc", "ERC", erc.MEDIA_TYPE, erc.write),
    )
}
