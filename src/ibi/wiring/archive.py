"""A running archive."""

from __future__ import annotations

import random
import secrets
from collections.abc import Callable
from importlib import metadata
from typing import TYPE_CHECKING

from ibi.adapters.clock import SystemClock
from ibi.errors import ArchiveRequestError
from ibi.minting.minter import Minter
from ibi.model.archive_record import ArchiveRecord
from ibi.model.forms import Forms
from ibi.settings import ArchiveSettings, missing_for_linking
from ibi.wiring.bags import bags_of, signing_key_of
from ibi.wiring.databases import open_catalogue
from ibi.wiring.minting import minter_of
from ibi.wiring.stores import open_store
from ibi.wiring.upkeep import upkeep_of

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from ibi.adapters.sql_catalogue import SqlCatalogue
    from ibi.archive.announcement import Link
    from ibi.archive.announcer import Announcer


class Instance:
    """A running archive: what must be closed when it stops, in order."""

    def __init__(self, settings: ArchiveSettings) -> None:
        """Open everything; what was decided before the last stop is finished here."""
        from ibi.archive.archive import Archive

        self.settings = settings
        self.on_move: Callable[[], None] = lambda: None
        """Told when the files are elsewhere, as the settings say by then."""
        self.on_link: Callable[[str], None] = lambda _: None
        """Told which resolver includes the archive; an empty text if none does."""
        self.clock = SystemClock()
        self.catalogue = open_catalogue(settings)
        self.minter: Minter | None = None
        try:
            self.minter = minter_of(settings.minter)
            self.store = open_store(settings)
            self.archive = Archive(self.catalogue, self.store, self._mint, self.clock)
        except BaseException:
            self.close()
            raise

    def _mint(self, count: int) -> list[Forms]:
        assert self.minter is not None  # noqa: S101  # it is made before the archive
        return [Forms.of(label.rep, label.ibip) for label in self.minter.mint_many(count)]

    def service(self) -> Forms:
        """Return the labels of the archive service, of a catalogue that is whole."""
        return service_of(self.catalogue, self.settings)

    def close(self) -> None:
        """Let go of minter and catalogue."""
        if self.minter is not None:
            self.minter.close()
        self.catalogue.close()


def service_of(catalogue: SqlCatalogue, settings: ArchiveSettings) -> Forms:
    """Return the labels of the archive service, of a catalogue that is whole."""
    from ibi.adapters.sql_renewal import REBUILDING

    if catalogue.setting(REBUILDING):
        msg = (
            f"The catalogue of the archive in {settings.folder} is half rebuilt: "
            "'ibi archive rebuild' completes it."
        )
        raise ArchiveRequestError(msg)
    for held in catalogue.items(0, 1, "service"):
        return held.item.forms
    msg = (
        f"The catalogue of the archive in {settings.folder} has no archive service: "
        "'ibi archive rebuild' brings back what lies in the folder."
    )
    raise ArchiveRequestError(msg)


def archive_app(  # noqa: PLR0915  # its parts, one after the other
    instance: Instance,
) -> tuple[Starlette, Announcer]:
    """Return an archive's application, and who tells the resolvers of it once it answers."""
    from ibi.adapters.catalogue_links import CatalogueLinks
    from ibi.adapters.resolver_client import HttpResolverClient
    from ibi.adapters.unpacking import unpack
    from ibi.archive.announcer import Announcer
    from ibi.archive.answer import Identity
    from ibi.archive.deposits import Deposits
    from ibi.archive.url_keys import UrlKeys
    from ibi.metadata.formats import FORMATS
    from ibi.web.administration_api import AdministrationApi
    from ibi.web.archive_app import Api, ArchiveApp
    from ibi.web.archive_door import ArchiveDoor
    from ibi.web.archive_messages import ArchiveAnswer, Labels
    from ibi.web.archive_metrics import ArchiveMetrics
    from ibi.web.archive_service import ArchiveService
    from ibi.web.archive_urls import ArchiveUrls
    from ibi.web.clients import Clients
    from ibi.web.deposits_api import DepositsApi
    from ibi.web.doorkeeper import Doorkeeper
    from ibi.web.history_api import HistoryApi
    from ibi.web.item_pages import ItemPages
    from ibi.web.items_api import ItemsApi
    from ibi.web.pages import Pages
    from ibi.web.readers import Readers
    from ibi.web.reading import Reading
    from ibi.web.statistics_api import StatisticsApi
    from ibi.web.tokens import ARCHIVE_SCOPES, Tokens

    settings, archive, clock = instance.settings, instance.archive, instance.clock
    catalogue = archive.catalogue
    service = instance.service()
    identity = Identity(settings.address, service, formats=tuple(FORMATS))
    secret = catalogue.keep_setting("urlkeys", secrets.token_hex(32))
    metrics = ArchiveMetrics()
    links = CatalogueLinks(catalogue)
    including: dict[str, Link] = {link.resolver: link for link in links.all()}

    def observe(link: Link) -> None:
        including[link.resolver] = link
        metrics.observe_link(link)
        instance.on_link(resolver())

    def resolver() -> str:
        found = (each.resolver for each in including.values() if each.state == "included")
        return next(found, "")

    instance.on_link(resolver())
    version = metadata.version("ibi")
    announcer = Announcer(
        links,
        HttpResolverClient(),
        lambda: _record(settings, service, version),
        clock,
        observe=observe,
        jitter=random.random,
    )
    urls = ArchiveUrls(catalogue, identity, resolver)
    door = ArchiveDoor(
        Doorkeeper(Tokens(catalogue, clock, ARCHIVE_SCOPES), clock),
        clock,
        settings.requests_a_second,
    )
    archive_service = ArchiveService(catalogue, identity, UrlKeys(bytes.fromhex(secret)), clock)
    deposits = Deposits(archive, unpack)
    pages = ItemPages(Pages(settings.name, settings.address, lambda: urls.persistent_base), urls)
    rep, ibip = (str(label or "") for label in (service.rep, service.ibip))
    about = ArchiveAnswer(
        settings.name,
        settings.address,
        Labels(rep, ibip),
        0,
        [*FORMATS],
        version,
        signing_key_of(instance),
    )
    upkeep = upkeep_of(instance, door)
    is_ticket = upkeep.transfers.is_ticket
    readers = Readers(Clients(settings.trusted_proxies, "full"), door, is_ticket)
    metrics.watch_damage(upkeep.damages)
    metrics.watch_copies(upkeep.copies)
    apis: list[Api] = [
        ItemsApi(archive, door, urls),
        DepositsApi(deposits, door, urls, settings.largest_file),
        AdministrationApi(
            archive, door, urls, links, announcer, about, lambda: _check_linkable(settings)
        ),
        HistoryApi(archive, door),
        StatisticsApi(archive, door),
        *bags_of(instance, service, deposits, door),
        *upkeep.apis,
    ]
    app = ArchiveApp(
        archive,
        deposits,
        archive_service,
        apis,
        upkeep.services,
        upkeep.rounds,
        Reading(archive, archive_service, urls, pages, readers),
        pages,
        metrics,
        version,
    )
    return app.asgi(), announcer


def _check_linkable(settings: ArchiveSettings) -> None:
    """Nothing is invented for a resolver that an administrator did not say."""
    missing = missing_for_linking(settings)
    if missing:
        raise ArchiveRequestError(missing)


def _record(settings: ArchiveSettings, service: Forms, version: str) -> ArchiveRecord:
    _check_linkable(settings)
    return ArchiveRecord(
        settings.address.partition("://")[2],
        service.label,
        settings.ip,
        f"ibi-{version}",
        settings.administrator,
    )
