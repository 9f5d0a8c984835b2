"""Copies of items of other archives, and where those are found."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ibi.archive.copies import Copies
    from ibi.archive.copy_work import CopyWork
    from ibi.wiring.archive import Instance


def copying_of(instance: Instance) -> tuple[Copies, CopyWork]:
    """Return the copies of an archive, and who works on them."""
    from ibi.adapters.archive_source import HttpArchiveSource
    from ibi.adapters.catalogue_links import CatalogueLinks
    from ibi.adapters.original_finder import OriginalFinder
    from ibi.adapters.outbound_guard import OutboundGuard
    from ibi.archive.copies import Copies
    from ibi.archive.copy_work import CopyWork

    settings = instance.settings
    links = CatalogueLinks(instance.catalogue)
    guard = OutboundGuard(settings.allowed_networks)

    def resolvers() -> list[str]:
        return [link.resolver for link in links.all() if link.state != "leaving"]

    def connected(address: str) -> HttpArchiveSource:
        return HttpArchiveSource(address, guard)

    copies = Copies(instance.archive, OriginalFinder(resolvers), settings.address)
    return copies, CopyWork(copies, connected, connected)
