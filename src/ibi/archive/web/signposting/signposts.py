"""The links of an item's page, files, metadata documents and tombstone (FAIR Signposting).

https://signposting.org/FAIR: a header has as many as fit, in this order; the linkset has all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from ibi.archive.archive import ItemWithMetadata
from ibi.archive.ports.catalogue import StoredItem
from ibi.archive.rules.collections.membership import is_collection
from ibi.archive.rules.item_transitions import METADATA_TARGET
from ibi.archive.web.delivery.media_types import media_type_of
from ibi.archive.web.signposting.mementos import dated, memento_links
from ibi.archive.web.signposting.web_links import (
    LINKSET,
    LINKSET_JSON,
    WebLink,
    is_strict_address,
    link_header,
    linked_type,
)
from ibi.archive.web.urls import ArchiveUrls
from ibi.metadata import licence, orcid
from ibi.metadata.formats import FORMATS, formats_of
from ibi.metadata.schema_types import ABOUT_PAGE, SCHEMA_ORG, schema_type
from ibi.model.item import File, Item, State
from ibi.model.label_pair import Forms
from ibi.model.metadata_record import MetadataRecord
from ibi.wire.percent_encoding import path as in_url

LINKSETS: Final = "/linkset/"
"""The path before a label at which its links are, as `application/linkset`."""
LINKSETS_JSON: Final = "/linkset.json/"
"""The same as `application/linkset+json`."""
_HTML: Final = "text/html"


class Signposts:
    """Makes the links of the items of one archive."""

    def __init__(self, urls: ArchiveUrls) -> None:
        """Link to the URLs of an archive."""
        self._urls = urls

    def page_of(self, metadata: Forms) -> str:
        """Return the URL of the page of an item by the labels of its metadata."""
        return f"{self._urls.base}/col/{metadata.label.spelling}/doc/{METADATA_TARGET}"

    def of_page(self, look: ItemWithMetadata, files: Sequence[File]) -> list[WebLink]:
        """Return the links of the page of an item; `files` are those that it tells of."""
        item, record = look.item, look.record
        links = [*self._beginning(item), *_types(item, record)]
        if look.metadata is not None and record is not None:
            links += self._described_by(look.metadata.item.forms, record)
            links += _licence(record)
            links += _authors(record)
        links += (self._item(item, file) for file in files)
        return links

    def of_file(self, item: Item) -> list[WebLink]:
        """Return the links of a file, without those of its metadata documents."""
        links = [self._cite_as(item.forms)]
        if item.metadata is not None:
            described_at = f"{self._urls.base}/{item.metadata.short.spelling}"
            links.append(WebLink(described_at, "describedby", _HTML))
            links.append(WebLink(self.page_of(item.metadata), "collection", _HTML))
        return [*links, *self._linksets(item.forms), *memento_links(self._urls, item)]

    def of_metadata(self, item: Item, metadata: StoredItem) -> list[WebLink]:
        """Return the links of a document that describes an item."""
        describes = WebLink(self.page_of(metadata.item.forms), "describes", _HTML)
        return [describes, self._cite_as(item.forms), *self._linksets(item.forms)]

    def of_redirect(self, item: Item) -> list[WebLink]:
        """Return the links of a persistent URL, which leads to one of the item's resources."""
        forms = item.describes or item.forms
        metadata = item.forms if item.describes else item.metadata
        links = [self._cite_as(forms), *self._linksets(forms), *memento_links(self._urls, item)]
        if metadata is not None:
            links.append(WebLink(self.page_of(metadata), "describedby", _HTML))
        return links

    def of_tombstone(self, look: ItemWithMetadata) -> list[WebLink]:
        """Return the links of the tombstone of an item."""
        return [
            self._cite_as(look.item.forms),
            *self._linksets(look.item.forms),
            WebLink(ABOUT_PAGE, "type"),
            *(
                self._described_by(look.metadata.item.forms, look.record)
                if look.metadata and look.record
                else ()
            ),
        ]

    def all(self, look: ItemWithMetadata, files: Sequence[File]) -> Iterator[WebLink]:
        """Yield the links of an item's page, its metadata documents and its files, with anchors."""
        item, metadata = look.item, look.metadata
        persistent = self._urls.persistent(item.forms)
        page = self.page_of(metadata.item.forms) if metadata and look.record else persistent
        of_page = self.of_tombstone(look) if item.state is State.DELETED else None
        for link in of_page or self.of_page(look, files):
            if link.relation != "linkset":
                yield replace(link, anchor=page)
        if metadata is None or look.record is None:
            return
        for link in self._described_by(metadata.item.forms, look.record):
            yield WebLink(page, "describes", _HTML, link.target)
        for file in files:
            anchor = self._item(item, file).target
            yield WebLink(persistent, "cite-as", "", anchor)
            yield WebLink(page, "collection", _HTML, anchor)

    def _beginning(self, item: Item) -> Iterator[WebLink]:
        yield self._cite_as(item.forms)
        yield from self._linksets(item.forms)
        yield from memento_links(self._urls, item)

    def _cite_as(self, forms: Forms) -> WebLink:
        return WebLink(self._urls.persistent(forms), "cite-as")

    def _linksets(self, forms: Forms) -> Iterator[WebLink]:
        label = forms.short.spelling
        yield WebLink(f"{self._urls.base}{LINKSETS}{label}", "linkset", LINKSET)
        yield WebLink(f"{self._urls.base}{LINKSETS_JSON}{label}", "linkset", LINKSET_JSON)

    def _described_by(self, metadata: Forms, record: MetadataRecord) -> Iterator[WebLink]:
        page = self.page_of(metadata)
        for name in formats_of(record):
            yield WebLink(f"{page}?choice={name}", "describedby", FORMATS[name].media_type)

    def _item(self, item: Item, file: File) -> WebLink:
        url = f"{self._urls.base}/col/{item.forms.label.spelling}/doc/{in_url(file.path)}"
        return WebLink(url, "item", linked_type(media_type_of(file.path, file.media_type)))


def linked_files(item: Item, target: File | None, files: Sequence[File]) -> tuple[File, ...]:
    """Return the files that links tell of, the target first: only those that every reader gets."""
    if item.readers or item.runs_at or item.state is State.DELETED:
        return ()
    listed = files if item.list_public else ()
    first = (target,) if target is not None else ()
    return (*first, *(file for file in listed if file.path != item.target))


def linked(links: Iterable[WebLink], edition: Item | None = None) -> dict[str, str]:
    """Return the header that has links, and that with the time of an edition."""
    return {"Link": link_header(links), **(dated(edition) if edition else {})}


def _types(item: Item, record: MetadataRecord | None) -> Iterator[WebLink]:
    yield WebLink(ABOUT_PAGE, "type")
    if record is not None:
        name = schema_type(record.types, is_collection=is_collection(item, record))
        yield WebLink(f"{SCHEMA_ORG}{name}", "type")


def _licence(record: MetadataRecord) -> Iterator[WebLink]:
    address = licence.address_of(record.licence)
    if is_strict_address(address):
        yield WebLink(address, "license")


def _authors(record: MetadataRecord) -> Iterator[WebLink]:
    addresses = (orcid.address_of(each.orcid) for each in record.named_creators if each.orcid)
    for address in dict.fromkeys(addresses):
        if is_strict_address(address):
            yield WebLink(address, "author")
