"""The other archives, as the resolvers know them that this archive is linked to."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

from ibi.adapters.archive_source import HttpArchiveSource
from ibi.adapters.catalogue_links import CatalogueLinks
from ibi.adapters.outbound_guard import OutboundGuard
from ibi.adapters.remote_resolver import RemoteResolver
from ibi.errors import ResolverError
from ibi.identifier.label import Label

_HAVE_IT: Final = ("original", "copy", "has-it")
_SECURE: Final = ":443"
"""Nobody answers http at this port."""


class OtherArchives:
    """Finds archives that have an item, and speaks to them."""

    def __init__(self, links: CatalogueLinks, guard: OutboundGuard, own: str) -> None:
        """Ask the resolvers of these links; our own address is none of the others'."""
        self._links = links
        self._guard = guard
        self._own = own

    def connect(self, address: str) -> HttpArchiveSource:
        """Return an archive; it is spoken to when something is read."""
        return HttpArchiveSource(address, self._guard)

    def holders(self, label: Label) -> list[str]:
        """Return the addresses of archives that say that they have an item."""
        found: dict[str, None] = {}
        for link in self._links.all():
            # One that does not answer, or knows nothing, is no help and no fault.
            with suppress(ResolverError):
                query = {"url": label.spelling}
                explained = RemoteResolver(link.resolver, "").ask("GET", "explain", query=query)
                found |= dict.fromkeys(_addresses(explained))
        found.pop(self._own, None)
        return list(found)


def _addresses(explained: Any) -> list[str]:  # noqa: ANN401  # whatever a resolver says
    """Return who has the item, by what a resolver said; nobody if that makes no sense."""
    with suppress(LookupError, TypeError, AttributeError):
        asked = explained["steps"][0]["asked"]
        addresses = [str(each["address"]) for each in asked if each["said"] in _HAVE_IT]
        return [_url(address) for address in addresses if address]
    return []


def _url(address: str) -> str:
    return f"{'https' if address.endswith(_SECURE) else 'http'}://{address}"
