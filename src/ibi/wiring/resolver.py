"""A running resolver."""

from __future__ import annotations

from importlib import metadata
from typing import TYPE_CHECKING

from ibi.adapters.clock import SystemClock
from ibi.settings import ResolverSettings
from ibi.wiring.databases import open_resolver_store

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from ibi.ports import Mailer, Owner
    from ibi.web.bounded_http import BoundedHttp


class ResolverInstance:
    """A resolver's database, and what must be closed when it stops."""

    def __init__(self, settings: ResolverSettings) -> None:
        """Open the database."""
        self.settings = settings
        self.clock = SystemClock()
        self.store = open_resolver_store(settings)

    def close(self) -> None:
        """Let go of the database."""
        self.store.close()


def resolver_app(  # noqa: PLR0915  # its parts, one after the other
    instance: ResolverInstance,
) -> tuple[Starlette, type[BoundedHttp]]:
    """Return a resolver's application, and the protocol that answers what is known before it."""
    from ibi.adapters.archive_client import HttpArchiveClient
    from ibi.adapters.mailbox import messages
    from ibi.adapters.outbound_guard import OutboundGuard
    from ibi.adapters.text_records import DnsTexts
    from ibi.resolver.acknowledging import Acknowledging
    from ibi.resolver.bookkeeping import Bookkeeping
    from ibi.resolver.conflicts import Conflicts
    from ibi.resolver.domain_proof import DomainProof
    from ibi.resolver.inclusion import InclusionService
    from ibi.resolver.memory import Memory
    from ibi.resolver.owners import Owners
    from ibi.resolver.registration_key import Guesses
    from ibi.resolver.registry import Registry
    from ibi.resolver.resolution import Resolving
    from ibi.resolver.searching import Searching
    from ibi.resolver.watch import Watch
    from ibi.web.clients import Clients
    from ibi.web.doorkeeper import Doorkeeper
    from ibi.web.inclusion_door import InclusionDoor
    from ibi.web.open_registration import OpenRegistration
    from ibi.web.rate_limit import RateLimit
    from ibi.web.register_page import RegisterPage
    from ibi.web.registrations_api import Notices, RegistrationsApi
    from ibi.web.registry_api import RegistryApi
    from ibi.web.resolver_app import ResolverApp, Running
    from ibi.web.resolver_door import ResolverDoor
    from ibi.web.resolver_messages import ResolverAnswer
    from ibi.web.resolver_metrics import ResolverMetrics
    from ibi.web.resolver_pages import ResolverPages
    from ibi.web.resolver_reading import ResolverReading
    from ibi.web.resolving import ResolvingDoor
    from ibi.web.tokens import RESOLVER_SCOPES, Tokens
    from ibi.web.warm_path import WarmAnswers, warm_http

    settings, store, clock = instance.settings, instance.store, instance.clock
    version = metadata.version("ibi")
    registry = Registry(store, clock)
    client = HttpArchiveClient(OutboundGuard(settings.allowed_networks))
    memory = Memory(
        lambda: registry.version,
        hot_seconds=settings.hot_seconds,
        absent_seconds=settings.absent_seconds,
    )
    owners = Owners(store, quick=store.quick)

    def settled(label: str, owner: Owner) -> None:
        owners.learn(label, owner)
        memory.forget(label)

    conflicts = Conflicts(store, store, registry, clock, settled)
    bookkeeping = Bookkeeping(owners, conflicts, registry, clock, memory.forget)
    searching = Searching(
        registry, client, owners, bookkeeping.learn, seconds=settings.archive_seconds
    )
    clients = Clients(settings.trusted_proxies, settings.client_address)
    warm = WarmAnswers(
        lambda: registry.version,
        clients.told_of_peer,
        reads_forwarded=clients.believes_anybody,
    )
    acknowledging = Acknowledging(store, client, registry, clock)
    rate = settings.searches_a_second
    resolving = ResolvingDoor(
        settings.address,
        Resolving(searching),
        memory,
        warm,
        acknowledging,
        clients,
        RateLimit(clock, rate, 10 * rate),
    )
    inclusion = InclusionDoor(
        InclusionService(registry, client, Guesses(), clock), settings.service_label, clients
    )
    metrics = ResolverMetrics()
    tokens = Tokens(store, clock, RESOLVER_SCOPES)
    door = ResolverDoor(Doorkeeper(tokens, clock), clients, clock, settings.requests_a_second)
    notices = Notices(_mailer(settings), settings.address)
    about = ResolverAnswer(settings.name, settings.address, settings.service, version)
    is_private = bool(settings.allowed_networks)
    proof = DomainProof(store, client, DnsTexts(), clock, allow_private=is_private)
    opening = OpenRegistration(registry, proof, door, is_open=settings.open_registration)
    pages = ResolverPages(settings.name, settings.address)
    reading = ResolverReading(
        settings.address,
        settings.gateways,
        resolving,
        inclusion,
        registry,
        store,
        clock,
        pages,
        metrics,
    )
    running = Running(
        registry,
        searching,
        owners,
        conflicts,
        bookkeeping,
        acknowledging,
        Watch(registry, client, clock),
        client,
    )
    app = ResolverApp(
        running,
        (
            RegistryApi(registry, conflicts, store, door, notices, about),
            RegistrationsApi(registry, opening, door, notices, messages, about),
            RegisterPage(registry, opening, door, pages, settings.address, settings.service_label),
        ),
        reading,
        metrics,
        warm,
        store,
        version,
    )
    return app.asgi(), warm_http(warm)


def _mailer(settings: ResolverSettings) -> Mailer:
    from ibi.adapters.mail import NoMailer, SmtpMailer

    return SmtpMailer(settings.smtp, settings.mail_from) if settings.smtp else NoMailer()
