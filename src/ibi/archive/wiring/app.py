"""A running archive."""

from __future__ import annotations

import random
import secrets
from importlib import metadata
from typing import TYPE_CHECKING

from ibi.archive.settings import ArchiveSettings, missing_for_linking
from ibi.archive.wiring.maintenance import build_exchange, build_maintenance, signing_key_of
from ibi.errors import ArchiveRequestError
from ibi.model.archive_record import ArchiveRecord
from ibi.model.label_pair import Forms

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from ibi.archive.links.announcer import Announcer
    from ibi.archive.rules.announcement import Link
from ibi.archive.wiring.instance import Instance


def archive_app(  # noqa: PLR0915  # its parts, one after the other
    instance: Instance,
) -> tuple[Starlette, Announcer]:
    """Return an archive's application, and who tells the resolvers of it once it answers."""
    from ibi.archive.deposits.deposits import Deposits
    from ibi.archive.links.announcer import Announcer, CatalogueLinks
    from ibi.archive.peers.resolver_client import HttpResolverClient
    from ibi.archive.rules.answer import Identity
    from ibi.archive.rules.url_keys import UrlKeys
    from ibi.archive.storage.unpack.unpack import unpack
    from ibi.archive.web.api.administration import AdministrationApi
    from ibi.archive.web.api.deposits import DepositsApi
    from ibi.archive.web.api.history import HistoryApi
    from ibi.archive.web.api.items import ItemsApi
    from ibi.archive.web.api.messages import ArchiveAnswer, Labels
    from ibi.archive.web.api.statistics import StatisticsApi
    from ibi.archive.web.app import ArchiveApp, RouteGroup
    from ibi.archive.web.authorization import ArchiveAuthorizer
    from ibi.archive.web.item_pages import ItemPages
    from ibi.archive.web.metrics import ArchiveMetrics
    from ibi.archive.web.pages import Pages
    from ibi.archive.web.protocol import ArchiveService
    from ibi.archive.web.public_routes import PublicRoutes
    from ibi.archive.web.reader_access import ReaderAccess
    from ibi.archive.web.urls import ArchiveUrls
    from ibi.foundation.web.authentication import Authenticator
    from ibi.foundation.web.client_address import ClientAddresses
    from ibi.foundation.web.tokens import ARCHIVE_SCOPES, Tokens
    from ibi.metadata.formats import FORMATS

    settings, archive, clock = instance.settings, instance.archive, instance.clock
    catalogue = archive.catalogue
    service = instance.service()
    identity = Identity(settings.address, service, formats=tuple(FORMATS))
    secret = catalogue.settings.keep("urlkeys", secrets.token_hex(32))
    metrics = ArchiveMetrics()
    links = CatalogueLinks(catalogue.links)
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
    urls = ArchiveUrls(catalogue.items, identity, resolver)
    door = ArchiveAuthorizer(
        Authenticator(Tokens(catalogue.tokens, clock, ARCHIVE_SCOPES), clock),
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
    upkeep = build_maintenance(instance, door)
    is_ticket = upkeep.transfers.is_ticket
    readers = ReaderAccess(ClientAddresses(settings.trusted_proxies, "full"), door, is_ticket)
    metrics.watch_damage(upkeep.damages)
    metrics.watch_copies(upkeep.copies)
    apis: list[RouteGroup] = [
        ItemsApi(archive, door, urls),
        DepositsApi(deposits, door, urls, settings.largest_file),
        AdministrationApi(
            archive, door, urls, links, announcer, about, lambda: _check_linkable(settings)
        ),
        HistoryApi(archive, door),
        StatisticsApi(archive, door),
        *build_exchange(instance, service, deposits, door),
        *upkeep.apis,
    ]
    app = ArchiveApp(
        archive,
        deposits,
        archive_service,
        apis,
        upkeep.services,
        upkeep.rounds,
        PublicRoutes(archive, archive_service, urls, pages, readers),
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
