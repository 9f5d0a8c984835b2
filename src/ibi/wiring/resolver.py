"""A running resolver."""

from __future__ import annotations

from dataclasses import replace
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
    from ibi.adapters.archive_client import HttpArchiveClient
    from ibi.adapters.mailbox import messages
    from ibi.adapters.outbound_guard import OutboundGuard
    from ibi.adapters.text_records import DnsTexts
    from ibi.resolver.acknowledging import Acknowledging
    from ibi.resolver.bookkeeping import Bookkeeping
    from ibi.resolver.conflicts import Conflicts
    from ibi.resolver.digests import Digests
    from ibi.resolver.domain_proof import DomainProof
    from ibi.resolver.duties import DIGESTS, WATCH, Duties
    from ibi.resolver.following import Following
    from ibi.resolver.inclusion import InclusionService
    from ibi.resolver.locations import Locations
    from ibi.resolver.memory import Memory
    from ibi.resolver.owners import Owners
    from ibi.resolver.registration_key import Guesses
    from ibi.resolver.registry import Registry
    from ibi.resolver.resolution import Resolving
    from ibi.resolver.searching import Searching
    from ibi.resolver.vigil import Vigil
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
    from ibi.web.tokens import RESOLVER_SCOPES, STALE, Tokens
    from ibi.web.warm_path import WarmAnswers, warm_http

    settings, store, clock = instance.settings, instance.store, instance.clock
    version = metadata.version("ibi")
    registry = Registry(store, clock)
    client = HttpArchiveClient(OutboundGuard(settings.allowed_networks))
    memory = Memory(
        lambda: registry.version,
        hot_seconds=settings.hot_seconds,
        absent_seconds=settings.absent_seconds,
        most_known=settings.known,
    )
    owners = Owners(store, quick=store.quick)
    locations = Locations(store, clock, quick=store.quick)

    vigil = Vigil(
        client,
        registry,
        locations,
        memory.forget_lasting,
        seconds=settings.hot_seconds,
        longest=settings.known_seconds,
    )
    memory.leases = vigil
    locations.on_news.append(vigil.forget)

    def settled(label: str, owner: Owner) -> None:
        owners.learn(label, owner)
        memory.forget(label)

    conflicts = Conflicts(store, registry, clock, settled)
    bookkeeping = Bookkeeping(owners, conflicts, registry, clock, memory.forget)
    searching = Searching(
        registry,
        client,
        owners,
        bookkeeping.learn,
        seconds=settings.archive_seconds,
        locations=locations,
    )
    clients = Clients(settings.trusted_proxies, settings.client_address)
    duties = Duties(store, clock)
    acknowledging = Acknowledging(store, client, registry, clock, lambda: duties.process)
    duties.on_adoption.append(acknowledging.adopted)
    warm = WarmAnswers(memory.keep_up, acknowledging.note_known, clients, most=settings.known)
    following = Following(store, registry, memory.forget)
    rate = settings.searches_a_second
    resolving = ResolvingDoor(
        settings.address,
        Resolving(searching, following.catch_up),
        memory,
        warm,
        acknowledging,
        clients,
        RateLimit(clock, rate, 10 * rate),
    )
    inclusion = InclusionDoor(
        InclusionService(registry, client, Guesses(lambda: duties.processes), clock),
        settings.service_label,
        clients,
    )
    digests = Digests(
        registry,
        client,
        store,
        locations,
        clock,
        seconds=settings.digest_seconds,
        most_names=settings.digest_names,
        on_duty=lambda: duties.holds(DIGESTS),
    )
    metrics = ResolverMetrics()
    metrics.watch("digest_octets", "Octets of digests fetched", lambda: client.page_octets)
    # One that another worker made or removed is so at once.
    trusted_for = 0 if instance.is_one_of_several else STALE
    tokens = Tokens(store, clock, RESOLVER_SCOPES, trusted_for=trusted_for)
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
        duties,
        following,
        searching,
        owners,
        conflicts,
        bookkeeping,
        acknowledging,
        Watch(registry, client, clock, on_duty=lambda: duties.holds(WATCH)),
        locations,
        digests,
        vigil,
        client,
    )
    app = ResolverApp(
        running,
        (
            RegistryApi(registry, conflicts, store, door, notices, about, locations.digest),
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
