"""A reader process of an archive, whose writer is another process."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import metadata
from typing import NoReturn

from starlette.applications import Starlette

from ibi.archive.archive import Archive
from ibi.archive.collections import Collections
from ibi.archive.holder_check import HolderCheck
from ibi.archive.item_rights import ItemRights
from ibi.archive.ports.holders import NoResolvers
from ibi.archive.resolver_links.digest_log import DigestLog
from ibi.archive.rules.transfer_messages import TICKET_SETTING, ReadTickets
from ibi.archive.rules.url_keys import UrlKeys
from ibi.archive.search.search import Search
from ibi.archive.settings import ArchiveSettings, read_archive
from ibi.archive.storage.files.switchable_store import ReaderStore
from ibi.archive.web.api.citations import CitationsApi
from ibi.archive.web.api.collections import CollectionsApi
from ibi.archive.web.api.holdings import HoldingsApi
from ibi.archive.web.api.items import ItemsApi
from ibi.archive.web.api.search import SearchApi, SearchQueue
from ibi.archive.web.citations import Citations
from ibi.archive.web.digest import DigestEndpoint
from ibi.archive.web.forwarding import Forwarder
from ibi.archive.web.item_pages import ItemPages
from ibi.archive.web.metrics import ArchiveMetrics, archive_status
from ibi.archive.web.public_routes import PublicRoutes
from ibi.archive.web.reader_access import ReaderAccess
from ibi.archive.web.reader_process import ReaderService, reader_application
from ibi.archive.web.usage_recorder import USAGE, UsageRecorder, encoded
from ibi.archive.wiring.app import build_authorizer, build_landing, build_pages, build_urls
from ibi.archive.wiring.harvest import build_harvest
from ibi.archive.wiring.instance import service_of
from ibi.archive.wiring.people import build_people
from ibi.archive.wiring.reading import reading_routes
from ibi.archive.wiring.stores import read_catalogue, store_of
from ibi.errors import StorageError
from ibi.foundation.figures.recorder import FIGURES, FiguresRecorder, Readings
from ibi.foundation.figures.recorder import encoded as encoded_tally
from ibi.foundation.interprocess.notices import Send, sender
from ibi.foundation.system.clock import SystemClock
from ibi.foundation.system.shared_memory import SharedCount, SharedText
from ibi.foundation.web.client_address import ClientAddresses


@dataclass(frozen=True, slots=True)
class WriterStatus:
    """The state of the writer, in memory that all readers share."""

    moves: SharedCount = field(default_factory=SharedCount)
    """The number of moves of the files to another store."""
    resolver: SharedText = field(default_factory=SharedText)
    """The address of a resolver that includes the archive; empty if none does."""


class ReaderInstance:
    """An archive, open only for reading."""

    def __init__(self, settings: ArchiveSettings, writer_status: WriterStatus) -> None:
        """Open the archive; the writer finishes decided changes."""
        self.settings = settings
        self.writer_status = writer_status
        self.clock = SystemClock()
        self.catalogue = read_catalogue(settings)
        try:
            store = ReaderStore(
                settings.folder / "incoming",
                lambda: store_of(read_archive(settings.folder)),
                writer_status.moves,
            )
            self.archive = Archive(self.catalogue, store, _mint, self.clock)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the catalogue."""
        self.catalogue.close()


def _mint(_: int) -> NoReturn:
    raise StorageError("of labels", "this process only reads")


def reader_app(instance: ReaderInstance, writer: Forwarder) -> Starlette:
    """Return the application of a reader."""
    settings, archive, clock = instance.settings, instance.archive, instance.clock
    catalogue = instance.catalogue
    service = service_of(catalogue, settings)
    urls = build_urls(settings, catalogue, service, instance.writer_status.resolver.read)
    keys = UrlKeys(bytes.fromhex(catalogue.settings.get("urlkeys")))
    tickets = ReadTickets(bytes.fromhex(catalogue.settings.get(TICKET_SETTING)))
    # Tokens are not cached: a new or removed one must take effect at once in all processes.
    people = build_people(settings, catalogue, clock, is_reader=True)
    authorizer = build_authorizer(settings, catalogue, clock, people, trusted_for=0)
    clients = ClientAddresses(settings.trusted_proxies, "full")
    readers = ReaderAccess(clients, authorizer, tickets.opens)
    send_usage = sender(writer.notify, USAGE)
    usage = UsageRecorder(
        clients,
        clock,
        catalogue.settings.get("urlkeys"),
        lambda visits: send_usage(encoded(visits)),
    )
    answering = ReaderService(catalogue, urls.identity, keys, clock, writer)
    citations = Citations(settings.published_by, clock)
    templates = build_pages(settings, urls)
    pages = ItemPages(templates, urls, clock, citations)
    metrics = ArchiveMetrics()
    searches = SearchQueue(Search(archive))
    harvest = build_harvest(archive, settings, urls, catalogue.settings.get("urlkeys"))
    apis = (
        harvest.api,
        SearchApi(searches, urls),
        CollectionsApi(Collections(archive), ItemRights(archive), catalogue.search, searches, urls),
        # Changes are forwarded to the writer, so no other archive is looked for here.
        ItemsApi(
            archive,
            urls,
            HolderCheck(catalogue.items, NoResolvers(), clock),
            settings.published_by,
            searches,
        ),
        CitationsApi(archive, urls, citations),
        HoldingsApi(archive),
        DigestEndpoint(DigestLog(catalogue.digest), published=settings.digest),
        archive_status(
            catalogue.items, metrics, metadata.version("ibi"), (settings.folder, settings.root)
        ),
    )
    landing = build_landing(settings, catalogue)
    public = PublicRoutes(archive, answering, urls, pages, readers, landing, usage)
    reading = reading_routes(settings, archive, urls, templates, searches, harvest, public)
    figures = _figures(metrics, sender(writer.notify, FIGURES))
    return reader_application(
        writer, apis, authorizer, reading, pages, metrics, usage, figures, people.visitors
    )


def _figures(metrics: ArchiveMetrics, send: Send) -> FiguresRecorder:
    """Return the recorder of the requests that this process answers; the writer stores them."""

    async def read() -> Readings:
        return metrics.readings()

    return FiguresRecorder(read, lambda tally: send(encoded_tally(tally)))
