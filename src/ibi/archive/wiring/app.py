"""Builds the application of an archive from its capabilities."""

from __future__ import annotations

import random
import secrets
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib import metadata

from starlette.applications import Starlette

from ibi.archive.deposits.deposits import Deposits
from ibi.archive.health import Health
from ibi.archive.housekeeping import Housekeeping
from ibi.archive.peers.resolver_client import HttpResolverClient
from ibi.archive.peers.signing_key import SigningKey
from ibi.archive.ports.catalogue import Catalogue
from ibi.archive.resolver_links.announcer import Announcer, CatalogueLinks, IncludingResolver
from ibi.archive.resolver_links.linking import Linking
from ibi.archive.rules.announcement import Link
from ibi.archive.rules.answer import Identity
from ibi.archive.rules.scopes import SCOPES
from ibi.archive.rules.url_keys import UrlKeys
from ibi.archive.search.search import Search
from ibi.archive.settings import ArchiveSettings, missing_for_linking
from ibi.archive.storage.unpack.unpack import unpack
from ibi.archive.web.api.administration import AdministrationApi, token_history
from ibi.archive.web.api.health import HealthApi
from ibi.archive.web.api.messages import ArchiveAnswer, Labels
from ibi.archive.web.api.search import SearchQueue
from ibi.archive.web.app import Running, archive_application
from ibi.archive.web.citations import Citations
from ibi.archive.web.figures import ArchiveReadings
from ibi.archive.web.item_pages import ItemPages
from ibi.archive.web.landing import LandingPages
from ibi.archive.web.metrics import BOUNDS, ArchiveMetrics, archive_status
from ibi.archive.web.names.domain_registration import DomainRegistrationApi
from ibi.archive.web.pages import Pages
from ibi.archive.web.protocol import ArchiveService
from ibi.archive.web.public_routes import PublicRoutes
from ibi.archive.web.reader_access import ReaderAccess
from ibi.archive.web.urls import ArchiveUrls
from ibi.archive.web.usage_recorder import USAGE, UsageCounter, UsageRecorder
from ibi.archive.wiring.administration import build_admin_pages, build_health
from ibi.archive.wiring.capabilities import (
    Capability,
    build_adoptions,
    build_audits,
    build_copies,
    build_holders,
    build_tasks,
    build_transfers,
    copies_capability,
    deposits_capability,
    digest_capability,
    exchange_capability,
    fixity_capability,
    items_capability,
    log_damage,
    search_capability,
    transfers_capability,
)
from ibi.archive.wiring.drafts import build_drafts, draft_pages, drafts_capability
from ibi.archive.wiring.harvest import build_harvest, harvest_backfill
from ibi.archive.wiring.instance import Instance
from ibi.archive.wiring.people import build_account_pages, build_people
from ibi.archive.wiring.public_dump import dump_capability
from ibi.archive.wiring.reading import reading_routes
from ibi.errors import ArchiveRequestError, UnknownError
from ibi.foundation.accounts.people import People
from ibi.foundation.figures.recorder import FIGURES, FiguresRecorder, FiguresWriter
from ibi.foundation.interprocess.notices import Notices
from ibi.foundation.pages.identity import identity_of
from ibi.foundation.web.authorization import Authenticator, Authorizer, TokenLimits
from ibi.foundation.web.client_address import ClientAddresses, peer_of
from ibi.foundation.web.figures_api import FiguresApi
from ibi.foundation.web.status import StatusApi
from ibi.foundation.web.tokens import STALE_TIME, Tokens
from ibi.foundation.web.tokens_api import TokensApi
from ibi.metadata.negotiation import OFFERED
from ibi.model.archive_record import ArchiveRecord
from ibi.model.clock import Clock
from ibi.model.label_pair import Forms


def archive_app(instance: Instance, *, has_readers: bool = False) -> tuple[Starlette, Announcer]:
    """Return the application of an archive, and its announcer, to be started once it serves.

    `has_readers` if other processes answer requests, or forward them to this one.
    """
    settings, catalogue, clock = instance.settings, instance.catalogue, instance.clock
    service = instance.service()
    metrics = ArchiveMetrics()
    links = CatalogueLinks(catalogue.links)
    including = IncludingResolver(links.all(), instance.on_link)
    announcer = _announcer(instance, links, service, (including.observe, metrics.observe_link))
    linking = Linking(instance.archive, links, announcer, partial(_check_linkable, settings))
    health = build_health(instance, links)
    urls = build_urls(settings, catalogue, service, including.address)
    holders = build_holders(instance, service)
    adoptions = build_adoptions(instance, service, holders)
    deposits = Deposits(instance.archive, unpack, holders, adoptions)
    drafts = build_drafts(instance, deposits)
    auditing = build_audits(instance, log_damage)
    copies, copy_work = build_copies(instance)
    transfers = build_transfers(instance, service)
    tasks, long_work = build_tasks(instance, auditing, copy_work)
    people = build_people(settings, catalogue, clock)
    authorizer = build_authorizer(settings, catalogue, clock, people)
    searches = SearchQueue(Search(instance.archive))
    citations = Citations(settings.published_by, clock)
    secret = catalogue.settings.keep("urlkeys", secrets.token_hex(32))
    harvest = build_harvest(instance.archive, settings, urls, secret)
    # This is the order of starts and stops, and of hourly calls.
    capabilities = (
        deposits_capability(instance, deposits, urls),
        drafts_capability(instance, drafts, urls),
        items_capability(instance, urls, holders, citations, searches),
        _administration_capability(instance, urls, linking, health, authorizer.tokens),
        exchange_capability(instance, deposits, service),
        long_work,
        transfers_capability(transfers),
        digest_capability(instance, service),
        Capability(apis=(harvest.api,), services=(harvest_backfill(instance.archive),)),
        search_capability(instance, searches, urls, metrics),
        dump_capability(instance, urls),
        fixity_capability(instance, auditing, tasks),
        copies_capability(instance, copies, copy_work, tasks),
    )
    metrics.watch_damage(auditing.damages)
    metrics.watch_copies(copies)
    keys = UrlKeys(bytes.fromhex(secret))
    answering = ArchiveService(catalogue, urls.identity, keys, clock, urls.lands)
    templates = build_pages(settings, urls)
    pages = ItemPages(templates, urls, clock, citations)
    clients = ClientAddresses(settings.trusted_proxies, "full")
    readers = ReaderAccess(clients, authorizer, transfers.is_ticket)
    counter = UsageCounter(catalogue.statistics)
    usage = UsageRecorder(clients, clock, secret, counter.count)
    recording = FiguresWriter(catalogue.figures, clock, settings.folder)
    readings = ArchiveReadings(
        instance.archive,
        metrics,
        auditing.damages,
        counter,
        lambda: instance.minting().given,
        counts_requests=not has_readers,
    )
    figures = FiguresRecorder(readings.read, recording.add)
    accounts = build_account_pages(instance, people, templates, clients, authorizer.tokens)
    own = draft_pages(instance, drafts, holders, transfers, tasks, templates)
    admin = build_admin_pages(instance, templates, health, linking, tasks, auditing)
    accounts = replace(accounts, handlers=(*accounts.handlers, *own, *admin))
    landing = build_landing(settings, catalogue)
    public = PublicRoutes(instance.archive, answering, urls, pages, readers, landing, usage)
    app = archive_application(
        (*_apis(capabilities), accounts.api, _status(instance, metrics)),
        authorizer,
        _running(answering, usage, figures, capabilities),
        accounts,
        reading_routes(settings, instance.archive, urls, templates, searches, harvest, public),
        pages,
        metrics,
    )
    notices = {USAGE: counter.count_encoded, FIGURES: recording.add_encoded}
    app.state.on_notice = Notices(notices).handle
    return app, announcer


def _status(instance: Instance, metrics: ArchiveMetrics) -> StatusApi:
    settings, version = instance.settings, metadata.version("ibi")
    folders = (settings.folder, settings.root)
    return archive_status(instance.catalogue.items, metrics, version, folders)


def build_urls(
    settings: ArchiveSettings, catalogue: Catalogue, service: Forms, resolver: Callable[[], str]
) -> ArchiveUrls:
    """Return the URLs of an archive; `resolver` returns the address of one that includes it."""
    software = Forms.of(settings.platform_software) if settings.platform_software else None
    identity = Identity(settings.address, service, software, OFFERED)
    lands = build_landing(settings, catalogue).may_differ
    return ArchiveUrls(catalogue.items, identity, resolver, lands)


def build_authorizer(
    settings: ArchiveSettings,
    catalogue: Catalogue,
    clock: Clock,
    people: People,
    *,
    trusted_for: int = STALE_TIME,
) -> Authorizer:
    """Return the authorizer of requests to an archive."""
    tokens = Tokens(
        catalogue.tokens,
        clock,
        SCOPES,
        trusted_for=trusted_for,
        is_allowed=people.accounts.allows_token,
    )
    limits = TokenLimits(clock, settings.requests_a_second, peer_of)
    return Authorizer(Authenticator(tokens, clock), limits, sessions=people.access)


def build_pages(settings: ArchiveSettings, urls: ArchiveUrls) -> Pages:
    """Return the pages of an archive."""
    return Pages(identity_of(settings), settings.address, lambda: urls.persistent_base)


def build_landing(settings: ArchiveSettings, catalogue: Catalogue) -> LandingPages:
    """Return the pages on which people land who follow labels."""
    return LandingPages(catalogue.items, settings.address, settings.landing)


def _apis(capabilities: tuple[Capability, ...]) -> list[object]:
    return [api for capability in capabilities for api in capability.apis]


def _running(
    answering: ArchiveService,
    usage: UsageRecorder,
    figures: FiguresRecorder,
    capabilities: tuple[Capability, ...],
) -> Running:
    services = [service for capability in capabilities for service in capability.services]
    rounds = [each for capability in capabilities for each in capability.rounds]
    return Running(answering.counting, usage, figures, services, Housekeeping(rounds))


def _announcer(
    instance: Instance,
    links: CatalogueLinks,
    service: Forms,
    observers: tuple[Callable[[Link], None], ...],
) -> Announcer:
    def observe(link: Link) -> None:
        for each in observers:
            each(link)

    return Announcer(
        links,
        HttpResolverClient(),
        partial(_record, instance.settings, service),
        instance.clock,
        observe=observe,
        jitter=random.random,
    )


def _administration_capability(
    instance: Instance,
    urls: ArchiveUrls,
    linking: Linking,
    health: Health,
    tokens: Tokens,
) -> Capability:
    """Build the administration of the archive, its links and tokens."""
    archive, settings = instance.archive, instance.settings
    service = urls.identity.service
    signing = SigningKey(instance.catalogue.settings)
    rep, ibip = (str(label or "") for label in (service.rep, service.ibip))
    about = ArchiveAnswer(
        settings.name,
        settings.address,
        Labels(rep, ibip),
        0,
        [*OFFERED],
        metadata.version("ibi"),
        signing.public(),
        instance.identity(),
    )
    return Capability(
        apis=(
            AdministrationApi(archive, urls, linking, about),
            HealthApi(health),
            DomainRegistrationApi(settings.address, service, signing.public, signing.sign),
            TokensApi(archive.catalogue.tokens, tokens, token_history(archive), UnknownError),
            FiguresApi(archive.catalogue.figures, archive.clock, BOUNDS),
        )
    )


def _check_linkable(settings: ArchiveSettings) -> None:
    """Raise ArchiveRequestError if a setting is missing that resolvers require."""
    missing = missing_for_linking(settings)
    if missing:
        raise ArchiveRequestError(missing)


def _record(settings: ArchiveSettings, service: Forms) -> ArchiveRecord:
    _check_linkable(settings)
    return ArchiveRecord(
        settings.address.partition("://")[2],
        service.label,
        settings.ip,
        f"ibi-{metadata.version('ibi')}",
        settings.administrator,
    )
