"""A running resolver."""

from __future__ import annotations

from dataclasses import replace
from importlib import metadata
from typing import TYPE_CHECKING

from ibi.errors import NotOnRecordError
from ibi.foundation.system.clock import SystemClock
from ibi.resolver.settings import ResolverSettings

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from ibi.foundation.web.bounded_http import BoundedHttp
    from ibi.resolver.ports.outbound import Mailer
    from ibi.resolver.ports.store import Owner
    from ibi.resolver.storage.store import SqlResolverStore


class ResolverInstance:
    """A resolver's database, and what must be closed when it stops."""

    def __init__(self, settings: ResolverSettings, workers: int = 1) -> None:
        """Open the database; one of several workers grants its share of what a client may ask."""
        self.is_one_of_several = workers > 1
        self.settings = replace(
            settings,
            searches_a_second=max(1, settings.searches_a_second // workers),
            requests_a_second=max(1, settings.requests_a_second // workers),
        )
        self.clock = SystemClock()
        self.store = open_resolver_store(settings)

    def close(self) -> None:
        """Let go of the database."""
        self.store.close()


def resolver_app(  # noqa: PLR0915  # its parts, one after the other
    instance: ResolverInstance,
) -> tuple[Starlette, type[BoundedHttp]]:
    """Return a resolver's application, and the protocol that answers what is known before it."""
    from ibi.foundation.http_client.ssrf_guard import OutboundGuard
    from ibi.foundation.system.dns import DnsTexts
    from ibi.foundation.system.mailbox import messages
    from ibi.foundation.web.authentication import Authenticator
    from ibi.foundation.web.client_address import ClientAddresses
    from ibi.foundation.web.rate_limit import RateLimit
    from ibi.foundation.web.tokens import STALE, Tokens
    from ibi.foundation.web.tokens_api import TokensApi
    from ibi.resolver.acknowledgments.sender import AcknowledgmentSender
    from ibi.resolver.digests.fetcher import DigestFetcher
    from ibi.resolver.digests.locations import Locations
    from ibi.resolver.digests.log_follower import LogFollower
    from ibi.resolver.peers.archive_client import HttpArchiveClient
    from ibi.resolver.registry.domain_proof import DomainProof
    from ibi.resolver.registry.health_check import HealthCheck
    from ibi.resolver.registry.inclusion import InclusionService
    from ibi.resolver.registry.registration_key import KeyGuessLimit
    from ibi.resolver.registry.registry import Registry
    from ibi.resolver.rules.redirect_cache import LastingRedirects, RedirectCache
    from ibi.resolver.rules.scopes import SCOPES
    from ibi.resolver.search.conflicts import Conflicts
    from ibi.resolver.search.hops import HopResolver
    from ibi.resolver.search.owners import Owners
    from ibi.resolver.search.pool import SearchPool
    from ibi.resolver.search.recorder import SearchRecorder
    from ibi.resolver.web.app import BackgroundServices, ResolverApp
    from ibi.resolver.web.authorization import resolver_authorizer
    from ibi.resolver.web.fast_redirects import FastRedirects, fast_redirect_http
    from ibi.resolver.web.messages import ResolverAnswer
    from ibi.resolver.web.metrics import ResolverMetrics
    from ibi.resolver.web.pages import ResolverPages
    from ibi.resolver.web.protocol import InclusionEndpoint
    from ibi.resolver.web.public_routes import ResolverPublicRoutes
    from ibi.resolver.web.redirect import RedirectEndpoint
    from ibi.resolver.web.register_page import RegisterPage
    from ibi.resolver.web.registrations_api import (
        AdministratorNotices,
        OpenRegistration,
        RegistrationsApi,
    )
    from ibi.resolver.web.registry_api import RegistryApi, log_token
    from ibi.resolver.workers.change_feed import ChangeFeed
    from ibi.resolver.workers.leases import DIGESTS, WATCH, WorkerIdentity, WorkerLeases

    settings, store, clock = instance.settings, instance.store, instance.clock
    version = metadata.version("ibi")
    registry = Registry(store.archives, store.feed, clock)
    client = HttpArchiveClient(OutboundGuard(settings.allowed_networks))
    lasting = LastingRedirects(settings.known)
    owners = Owners(store.owners, quick=store.quick)
    locations = Locations(store.locations, clock, quick=store.quick, on_change=lasting.note_change)

    log_follower = LogFollower(
        client,
        registry,
        locations,
        lasting.note_change,
        seconds=settings.hot_seconds,
        longest=settings.known_seconds,
    )
    memory = RedirectCache(
        lambda: registry.version,
        hot_seconds=settings.hot_seconds,
        absent_seconds=settings.absent_seconds,
        lasting=lasting,
        leases=log_follower,
    )

    def settled(label: str, owner: Owner) -> None:
        owners.learn(label, owner)
        memory.forget(label)

    conflicts = Conflicts(store.conflicts, registry, clock, settled)
    recorder = SearchRecorder(owners, conflicts, registry, clock, memory.forget)
    searching = SearchPool(
        registry,
        client,
        owners,
        recorder.learn,
        seconds=settings.archive_seconds,
        locations=locations,
    )
    clients = ClientAddresses(settings.trusted_proxies, settings.client_address)
    identity = WorkerIdentity()
    acknowledgments = AcknowledgmentSender(
        store.acknowledgments, client, registry, clock, lambda: identity.name
    )
    worker_leases = WorkerLeases(
        store.processes, clock, identity=identity, on_adoption=acknowledgments.adopted
    )
    warm = FastRedirects(memory.keep_up, acknowledgments.note_known, clients, most=settings.known)
    change_feed = ChangeFeed(store.feed, registry, memory.forget)
    rate = settings.searches_a_second
    resolving = RedirectEndpoint(
        settings.address,
        HopResolver(searching, change_feed.catch_up),
        memory,
        warm,
        acknowledgments,
        clients,
        RateLimit(clock, rate, 10 * rate),
    )
    inclusion = InclusionEndpoint(
        InclusionService(registry, client, KeyGuessLimit(lambda: worker_leases.processes), clock),
        settings.service_label,
        clients,
    )
    digests = DigestFetcher(
        registry,
        client,
        store.locations,
        locations,
        clock,
        seconds=settings.digest_seconds,
        most_names=settings.digest_names,
        on_duty=lambda: worker_leases.holds(DIGESTS),
    )
    metrics = ResolverMetrics()
    metrics.watch("digest_octets", "Octets of digests fetched", lambda: client.page_octets)
    # One that another worker made or removed is so at once.
    trusted_for = 0 if instance.is_one_of_several else STALE
    tokens = Tokens(store.tokens, clock, SCOPES, trusted_for=trusted_for)
    authorizer = resolver_authorizer(
        Authenticator(tokens, clock),
        clients,
        clock,
        settings.requests_a_second,
        is_open=settings.open_registration,
    )
    notices = AdministratorNotices(_mailer(settings), settings.address)
    about = ResolverAnswer(settings.name, settings.address, settings.service, version)
    is_private = bool(settings.allowed_networks)
    proof = DomainProof(store.challenges, client, DnsTexts(), clock, allow_private=is_private)
    opening = OpenRegistration(registry, proof, is_open=settings.open_registration)
    pages = ResolverPages(settings.name, settings.address)
    reading = ResolverPublicRoutes(
        settings.address,
        settings.gateways,
        resolving,
        inclusion,
        registry,
        conflicts,
        clock,
        pages,
        metrics,
    )
    running = BackgroundServices(
        registry,
        worker_leases,
        change_feed,
        searching,
        owners,
        conflicts,
        recorder,
        acknowledgments,
        HealthCheck(registry, client, clock, on_duty=lambda: worker_leases.holds(WATCH)),
        locations,
        digests,
        log_follower,
        client,
    )
    app = ResolverApp(
        running,
        (
            RegistryApi(registry, conflicts, notices, about, locations.digest),
            RegistrationsApi(registry, opening, notices, messages, about),
            TokensApi(store.tokens, tokens, log_token, NotOnRecordError),
        ),
        authorizer,
        RegisterPage(
            registry, opening, authorizer, pages, settings.address, settings.service_label
        ),
        reading,
        metrics,
        warm,
        version,
    )
    return app.asgi(), fast_redirect_http(warm)


def _mailer(settings: ResolverSettings) -> Mailer:
    from ibi.foundation.system.smtp import NoMailer, SmtpMailer

    return SmtpMailer(settings.smtp, settings.mail_from) if settings.smtp else NoMailer()


def open_resolver_store(settings: ResolverSettings) -> SqlResolverStore:
    """Open the database of a resolver, and bring it to the newest version."""
    from ibi.resolver.storage.store import SqlResolverStore

    return SqlResolverStore.open(settings.place)
