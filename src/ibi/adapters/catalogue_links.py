"""Links to resolvers, kept in the catalogue."""

from __future__ import annotations

from ibi.archive.announcement import Link, document, read_document
from ibi.ports import Catalogue


class CatalogueLinks:
    """The links of one archive."""

    def __init__(self, catalogue: Catalogue) -> None:
        """Keep them in a catalogue."""
        self._catalogue = catalogue

    def all(self) -> list[Link]:
        """Return all links."""
        kept = self._catalogue.links()
        return [read_document(resolver, text) for resolver, text in kept.items()]

    def save(self, link: Link) -> None:
        """Keep a link, in the place of the one to the same resolver."""
        self._catalogue.keep_link(link.resolver, document(link))

    def remove(self, resolver: str) -> None:
        """Forget a link."""
        self._catalogue.drop_link(resolver)
