"""The routes for readers and crawlers, which every process of an archive answers."""

from __future__ import annotations

from importlib import metadata

from starlette.routing import Route

from ibi.archive.archive import Archive
from ibi.archive.settings import ArchiveSettings
from ibi.archive.web.api.search import SearchQueue
from ibi.archive.web.discovery.routes import DiscoveryRoutes
from ibi.archive.web.item.iiif import ManifestsOfImages
from ibi.archive.web.names.content_names import ContentNames
from ibi.archive.web.names.reconciliation_routes import ReconciliationRoutes
from ibi.archive.web.pages import Pages
from ibi.archive.web.public_routes import PublicRoutes
from ibi.archive.web.signposting.linksets import LinksetEndpoint
from ibi.archive.web.signposting.mementos import MementoEndpoint
from ibi.archive.web.site_pages import SitePages
from ibi.archive.web.statistics_page import StatisticsPage
from ibi.archive.web.urls import ArchiveUrls
from ibi.archive.wiring.harvest import HarvestParts
from ibi.archive.wiring.public_dump import build_dump


def reading_routes(  # noqa: PLR0913, PLR0917  # its parts
    settings: ArchiveSettings,
    archive: Archive,
    urls: ArchiveUrls,
    pages: Pages,
    searches: SearchQueue,
    harvest: HarvestParts,
    public: PublicRoutes,
) -> list[Route]:
    """Return the routes in the order of their paths; the last one matches every path."""
    catalogue = archive.catalogue
    dump = build_dump(settings, catalogue, urls)
    return [
        *SitePages(pages, metadata.version("ibi")).routes,
        *harvest.routes,
        *StatisticsPage(catalogue.statistics, archive.clock, pages).routes,
        *DiscoveryRoutes(archive, settings.name, searches, urls, pages, dump).routes,
        *LinksetEndpoint(archive, urls).routes,
        *MementoEndpoint(archive, urls).routes,
        *ManifestsOfImages(archive, urls).routes,
        *ContentNames(catalogue.items, settings.address).routes,
        *ReconciliationRoutes(settings.name, searches, urls).routes,
        *public.routes,
    ]
