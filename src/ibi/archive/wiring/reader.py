"""A reader of an archive that another process keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import metadata
from typing import TYPE_CHECKING, NoReturn

from ibi.archive.settings import ArchiveSettings, read_archive
from ibi.archive.wiring.instance import Instance, service_of
from ibi.archive.wiring.stores import read_catalogue, store_of
from ibi.errors import StorageError
from ibi.foundation.system.clock import SystemClock
from ibi.foundation.system.shared_memory import SharedCount, SharedText

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from ibi.archive.web.app import RouteGroup
    from ibi.archive.web.forwarding import Forwarder


@dataclass(frozen=True, slots=True)
class WriterStatus:
    """What the keeper tells all readers at once."""

    moves: SharedCount = field(default_factory=SharedCount)
    """How often the files were moved to another store."""
    resolver: SharedText = field(default_factory=SharedText)
    """The address of one that includes the archive; empty if none does."""

    def of(self, instance: Instance) -> None:
        """Have it told by the keeper's instance."""
        instance.on_move = self.moves.add
        instance.on_link = self.resolver.write


class ReaderInstance:
    """An archive as one of its readers has it: nothing that it holds can change anything."""

    def __init__(self, settings: ArchiveSettings, told: WriterStatus) -> None:
        """Open it; what was decided before is the keeper's to finish."""
        from ibi.archive.archive import Archive
        from ibi.archive.storage.files.switchable_store import ReaderStore

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
    from ibi.archive.links.digest_log import DigestLog
    from ibi.archive.rules.answer import Identity
    from ibi.archive.rules.url_keys import UrlKeys
    from ibi.archive.transfers.read_tickets import SETTING, ReadTickets
    from ibi.archive.web.api.holdings import HoldingsApi
    from ibi.archive.web.api.items import ItemsApi
    from ibi.archive.web.authorization import ArchiveAuthorizer
    from ibi.archive.web.digest import DigestEndpoint
    from ibi.archive.web.item_pages import ItemPages
    from ibi.archive.web.metrics import ArchiveMetrics
    from ibi.archive.web.pages import Pages
    from ibi.archive.web.public_routes import PublicRoutes
    from ibi.archive.web.reader_access import ReaderAccess
    from ibi.archive.web.reader_app import ReaderApp, ReaderService
    from ibi.archive.web.urls import ArchiveUrls
    from ibi.foundation.web.authentication import Authenticator
    from ibi.foundation.web.client_address import ClientAddresses
    from ibi.foundation.web.tokens import ARCHIVE_SCOPES, Tokens
    from ibi.metadata.formats import FORMATS

    settings, archive, clock = instance.settings, instance.archive, instance.clock
    catalogue = archive.catalogue
    identity = Identity(
        settings.address, service_of(instance.catalogue, settings), formats=tuple(FORMATS)
    )
    keys = UrlKeys(bytes.fromhex(catalogue.settings.get("urlkeys")))
    tickets = ReadTickets(bytes.fromhex(catalogue.settings.get(SETTING)))
    urls = ArchiveUrls(catalogue.items, identity, instance.told.resolver.read)
    # A token that was made or removed is so at once, whichever process is asked.
    tokens = Tokens(catalogue.tokens, clock, ARCHIVE_SCOPES, trusted_for=0)
    door = ArchiveAuthorizer(Authenticator(tokens, clock), clock, settings.requests_a_second)
    pages = ItemPages(Pages(settings.name, settings.address, lambda: urls.persistent_base), urls)
    readers = ReaderAccess(ClientAddresses(settings.trusted_proxies, "full"), door, tickets.opens)
    service = ReaderService(catalogue, identity, keys, clock, writer)
    apis: Sequence[RouteGroup] = (
        ItemsApi(archive, door, urls),
        HoldingsApi(archive),
        DigestEndpoint(DigestLog(catalogue.digest), published=settings.digest),
    )
    app = ReaderApp(
        catalogue.items,
        writer,
        apis,
        PublicRoutes(archive, service, urls, pages, readers),
        pages,
        ArchiveMetrics(),
        metadata.version("ibi"),
    )
    return app.asgi()
