"""A reader of an archive that another process keeps."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import metadata
from typing import NoReturn

from starlette.applications import Starlette

from ibi.archive.archive import Archive
from ibi.archive.resolver_links.digest_log import DigestLog
from ibi.archive.rules.url_keys import UrlKeys
from ibi.archive.settings import ArchiveSettings, read_archive
from ibi.archive.storage.files.switchable_store import ReaderStore
from ibi.archive.transfers.read_tickets import SETTING, ReadTickets
from ibi.archive.web.api.holdings import HoldingsApi
from ibi.archive.web.api.items import ItemsApi
from ibi.archive.web.digest import DigestEndpoint
from ibi.archive.web.forwarding import Forwarder
from ibi.archive.web.metrics import ArchiveMetrics
from ibi.archive.web.public_routes import PublicRoutes
from ibi.archive.web.reader_access import ReaderAccess
from ibi.archive.web.reader_process import ReaderService, reader_application
from ibi.archive.web.status import archive_status
from ibi.archive.wiring.app import build_authorizer, build_pages, build_urls
from ibi.archive.wiring.instance import service_of
from ibi.archive.wiring.stores import read_catalogue, store_of
from ibi.errors import StorageError
from ibi.foundation.system.clock import SystemClock
from ibi.foundation.system.shared_memory import SharedCount, SharedText
from ibi.foundation.web.client_address import ClientAddresses


@dataclass(frozen=True, slots=True)
class WriterStatus:
    """What the keeper tells all readers at once."""

    moves: SharedCount = field(default_factory=SharedCount)
    """How often the files were moved to another store."""
    resolver: SharedText = field(default_factory=SharedText)
    """The address of one that includes the archive; empty if none does."""


class ReaderInstance:
    """An archive as one of its readers has it: nothing that it holds can change anything."""

    def __init__(self, settings: ArchiveSettings, told: WriterStatus) -> None:
        """Open it; what was decided before is the keeper's to finish."""
        self.settings = settings
        self.told = told
        self.clock = SystemClock()
        self.catalogue = read_catalogue(settings)
        try:
            store = ReaderStore(
                settings.folder / "incoming",
                lambda: store_of(read_archive(settings.folder)),
                told.moves,
            )
            self.archive = Archive(self.catalogue, store, _mint, self.clock)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let go of the catalogue."""
        self.catalogue.close()


def _mint(_: int) -> NoReturn:
    raise StorageError("of labels", "this process only reads")


def reader_app(instance: ReaderInstance, writer: Forwarder) -> Starlette:
    """Return the application of a reader."""
    settings, archive, clock = instance.settings, instance.archive, instance.clock
    catalogue = instance.catalogue
    service = service_of(catalogue, settings)
    urls = build_urls(settings, catalogue, service, instance.told.resolver.read)
    keys = UrlKeys(bytes.fromhex(catalogue.settings.get("urlkeys")))
    tickets = ReadTickets(bytes.fromhex(catalogue.settings.get(SETTING)))
    # A token that was made or removed is so at once, whichever process is asked.
    authorizer = build_authorizer(settings, catalogue, clock, trusted_for=0)
    readers = ReaderAccess(
        ClientAddresses(settings.trusted_proxies, "full"), authorizer, tickets.opens
    )
    answering = ReaderService(catalogue, urls.identity, keys, clock, writer)
    pages = build_pages(settings, urls)
    metrics = ArchiveMetrics()
    apis = (
        ItemsApi(archive, urls),
        HoldingsApi(archive),
        DigestEndpoint(DigestLog(catalogue.digest), published=settings.digest),
        archive_status(catalogue.items, metrics, metadata.version("ibi")),
    )
    reading = PublicRoutes(archive, answering, urls, pages, readers)
    return reader_application(writer, apis, authorizer, reading, pages, metrics)
