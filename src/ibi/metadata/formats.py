"""The metadata formats that an archive offers, besides its pages.

One table names each of them: how persistent URLs, clients that negotiate and harvesters call it,
and what writes it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from lxml import etree

from ibi.metadata import xml_writing
from ibi.metadata.crosswalks import (
    bibtex,
    csl_json,
    datacite,
    datacite_xml,
    erc,
    mods,
    mtd_br,
    oai_dc,
    openaire,
    own_json,
    ris,
    ro_crate,
    schema_org,
)
from ibi.metadata.crosswalks.item_facts import NO_FACTS, ItemFacts
from ibi.model.label_pair import Forms
from ibi.model.metadata_record import MetadataRecord

Write: TypeAlias = Callable[[MetadataRecord, Forms, str], bytes]
"""Takes a record, the labels of the item described, and the base of persistent URLs."""
WriteWithFacts: TypeAlias = Callable[[MetadataRecord, Forms, str, ItemFacts], bytes]
Element: TypeAlias = Callable[[MetadataRecord, Forms, str, ItemFacts], etree._Element]  # noqa: SLF001  # the only name that it has


def _any(_: MetadataRecord) -> bool:
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Harvested:
    """A format as OAI-PMH offers it (section 3.4)."""

    prefix: str
    schema: str
    """The address of the XML schema."""
    namespace: str
    element: Element
    """Writes the element that a record contains."""
    describes: Callable[[MetadataRecord], bool] = _any
    """Whether the format is one for an item: some are for theses only."""

    @property
    def is_limited(self) -> bool:
        """Whether there are items that the format is not for."""
        return self.describes is not _any


@dataclass(frozen=True, slots=True)
class Format:
    """A metadata format: its name in a persistent URL, and the function that writes it."""

    name: str
    title: str
    """Its name for people, the same in every language."""
    content_type: str
    """The value of Content-Type, which may have a charset."""
    write: Write
    extension: str = ""
    """Of the file into which a reader saves it; empty if browsers show the format."""
    aliases: tuple[str, ...] = ()
    """Further media types by which clients ask for the format."""
    write_with_facts: WriteWithFacts | None = None
    """The same as `write` for a format that has a place for more than the record."""
    harvested: Harvested | None = None
    is_negotiated: bool = True
    """Whether the format is offered to clients that accept its media type."""

    @property
    def media_type(self) -> str:
        """The media type alone, as links have it (RFC 8288, 3.4.1)."""
        return self.content_type.partition(";")[0]

    def describes(self, record: MetadataRecord) -> bool:
        """Return whether the format is one for an item."""
        return self.harvested is None or self.harvested.describes(record)

    def of_item(
        self, record: MetadataRecord, forms: Forms, base: str, facts: ItemFacts = NO_FACTS
    ) -> bytes:
        """Return the record of an item with what the format tells beside it."""
        if self.write_with_facts is None:
            return self.write(record, forms, base)
        return self.write_with_facts(record, forms, base, facts)

    def file_name(self, forms: Forms) -> str:
        """Return the name under which a reader saves it; empty if browsers show the format."""
        if not self.extension:
            return ""
        return f"{forms.short.spelling.replace('/', '-')}.{self.extension}"


FORMATS: Final = {
    format_.name: format_
    for format_ in (
        Format(
            "oai_dc",
            "Dublin Core",
            oai_dc.MEDIA_TYPE,
            oai_dc.write,
            aliases=("application/xml", "application/dc+xml"),
            harvested=Harvested(
                prefix="oai_dc",
                schema=oai_dc.SCHEMA,
                namespace=oai_dc.NAMESPACE,
                element=lambda record, forms, base, _: oai_dc.element(record, forms, base),
            ),
        ),
        Format(
            "bibtex",
            "BibTeX",
            bibtex.MEDIA_TYPE,
            bibtex.write,
            "bib",
            aliases=("application/x-biblatex", "text/x-bibtex"),
        ),
        Format("ris", "RIS", ris.MEDIA_TYPE, ris.write, "ris"),
        Format(
            "csl",
            "CSL-JSON",
            csl_json.MEDIA_TYPE,
            csl_json.write,
            "json",
            aliases=("application/citeproc+json",),
        ),
        Format("json", "JSON", own_json.MEDIA_TYPE, own_json.write),
        Format(
            "datacite",
            "DataCite XML",
            datacite_xml.MEDIA_TYPE,
            datacite_xml.write,
            aliases=("application/x-datacite+xml",),
            write_with_facts=datacite_xml.write,
            harvested=Harvested(
                prefix="oai_datacite",
                schema=datacite_xml.SCHEMA,
                namespace=datacite_xml.NAMESPACE,
                element=datacite_xml.element,
            ),
        ),
        Format(
            "datacite_json",
            "DataCite JSON",
            datacite.MEDIA_TYPE,
            datacite.write,
            aliases=("application/x-datacite+json",),
            write_with_facts=datacite.write,
        ),
        Format(
            "schema_org",
            "schema.org",
            schema_org.MEDIA_TYPE,
            schema_org.write,
            aliases=("application/vnd.schemaorg.ld+json",),
            write_with_facts=schema_org.write,
        ),
        Format(
            "ro_crate",
            "RO-Crate",
            ro_crate.MEDIA_TYPE,
            ro_crate.write,
            write_with_facts=ro_crate.write,
        ),
        Format("mods", "MODS", mods.MEDIA_TYPE, mods.write, write_with_facts=mods.write),
        Format(
            "openaire",
            "OpenAIRE",
            xml_writing.MEDIA_TYPE,
            openaire.write,
            write_with_facts=openaire.write,
            harvested=Harvested(
                prefix="oai_openaire",
                schema=openaire.SCHEMA,
                namespace=openaire.NAMESPACE,
                element=openaire.element,
            ),
        ),
        Format(
            "mtd-br",
            "MTD-BR",
            xml_writing.MEDIA_TYPE,
            mtd_br.write,
            write_with_facts=mtd_br.write,
            harvested=Harvested(
                prefix="mtd-br",
                schema=mtd_br.SCHEMA,
                namespace=mtd_br.NAMESPACE,
                element=mtd_br.element,
                describes=mtd_br.describes,
            ),
        ),
        Format("erc", "ERC", erc.MEDIA_TYPE, erc.write, is_negotiated=False),
    )
}
HARVESTED: Final = {
    each.harvested.prefix: each.harvested for each in FORMATS.values() if each.harvested is not None
}
"""The formats that harvesters can ask for, by their prefixes in OAI-PMH."""


def formats_of(record: MetadataRecord) -> tuple[str, ...]:
    """Return the names of the formats in which an item can be described."""
    return tuple(name for name, each in FORMATS.items() if each.describes(record))
