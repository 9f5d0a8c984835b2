"""A resolver over HTTP: its endpoints, its API and its pages, on the services of the builders."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from importlib import metadata

from ibi.errors import NotOnRecordError
from ibi.foundation.accounts.people import People
from ibi.foundation.figures.recorder import FiguresRecorder, FiguresWriter
from ibi.foundation.pages.identity import identity_of
from ibi.foundation.system.dns import DnsTexts
from ibi.foundation.system.mailbox import messages
from ibi.foundation.system.signatures import is_signed
from ibi.foundation.system.smtp import NoMailer, SmtpMailer
from ibi.foundation.web.authorization import Authenticator, Authorizer
from ibi.foundation.web.figures_api import FiguresApi
from ibi.foundation.web.rate_limit import RateLimit
from ibi.foundation.web.tokens import STALE_TIME, Tokens
from ibi.foundation.web.tokens_api import TokensApi
from ibi.model.registration import ArchiveState
from ibi.resolver.digests.meant_labels import MeantLabels
from ibi.resolver.ports.outbound import Mailer
from ibi.resolver.registry.domain_proof import DomainProof
from ibi.resolver.registry.inclusion import InclusionService
from ibi.resolver.registry.registration_key import KeyGuessLimit
from ibi.resolver.registry.registry import Registry
from ibi.resolver.rules.scopes import SCOPES
from ibi.resolver.search.word_search import WordSearch
from ibi.resolver.settings import ResolverSettings
from ibi.resolver.web.app import ResolverApp
from ibi.resolver.web.authorization import resolver_authorizer
from ibi.resolver.web.changes_api import ChangesApi
from ibi.resolver.web.explanation_builder import explain
from ibi.resolver.web.fast_redirects import FastRedirects
from ibi.resolver.web.figures import ResolverReadings
from ibi.resolver.web.handles.endpoint import HandlesApi
from ibi.resolver.web.messages import ResolverAnswer
from ibi.resolver.web.metrics import BOUNDS, ResolverMetrics
from ibi.resolver.web.outcome_details import OutcomeDetails
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
from ibi.resolver.web.search_limits import SearchLimits
from ibi.resolver.web.search_page import SearchPage
from ibi.resolver.wiring.background import BackgroundServices
from ibi.resolver.wiring.builders import Base, Digests, Searches, Workers
from ibi.resolver.wiring.people import build_account_pages, build_admin_pages, build_people
from ibi.resolver.workers.leases import HEALTH_CHECK


@dataclass(frozen=True, slots=True)
class Access:
    """The tokens of the API, and the authorization by them."""

    tokens: Tokens
    authorizer: Authorizer
    people: People


def build_access(base: Base, *, is_one_of_several: bool) -> Access:
    """Build tokens and authorization."""
    settings, clock = base.settings, base.clock
    # A token that another worker made or removed takes effect at once.
    trusted_for = 0 if is_one_of_several else STALE_TIME
    people = build_people(base)
    tokens = Tokens(
        base.store.tokens,
        clock,
        SCOPES,
        trusted_for=trusted_for,
        is_allowed=people.accounts.allows_token,
    )
    authorizer = resolver_authorizer(
        Authenticator(tokens, clock),
        base.clients,
        clock,
        settings.requests_a_second,
        is_open=settings.open_registration,
        sessions=people.access,
    )
    return Access(tokens, authorizer, people)


def build_fast_redirects(base: Base, workers: Workers, digests: Digests) -> FastRedirects:
    """Build the fast path, which answers cached redirects before the application."""
    return FastRedirects(
        digests.cache.drop_stale,
        workers.acknowledgments.note_known,
        base.clients,
        most=base.settings.known,
    )


@dataclass(frozen=True, slots=True)
class Endpoints:
    """The routes of readers and archives, which need no token."""

    redirects: RedirectEndpoint
    inclusion: InclusionEndpoint
    changes: ChangesApi
    words: WordSearch
    details: OutcomeDetails
    limits: SearchLimits


def build_endpoints(
    base: Base, workers: Workers, digests: Digests, searches: Searches, fast: FastRedirects
) -> Endpoints:
    """Build the redirects of readers, and the inclusion of archives."""
    settings, clock, leases = base.settings, base.clock, workers.leases
    rate = settings.messages_a_second
    budget = RateLimit(clock, rate, 10 * rate)
    redirects = RedirectEndpoint(
        settings.address,
        searches.resolver,
        digests.cache,
        fast,
        workers.acknowledgments,
        base.clients,
        budget,
    )
    limits = SearchLimits(base.clients, budget)
    guesses = KeyGuessLimit(lambda: leases.processes)
    service = InclusionService(base.registry, base.client, guesses, clock)
    return Endpoints(
        redirects,
        InclusionEndpoint(service, settings.service_label, base.clients),
        ChangesApi(base.registry, digests.notices.take, base.clients, budget),
        searches.words,
        OutcomeDetails(
            searches.names,
            searches.tombstones,
            MeantLabels(digests.locations),
            limits,
            lambda: [(each, digests.locations.count(each.id)) for each in searches.words.largest()],
        ),
        limits,
    )


def build_metrics(services: BackgroundServices, base: Base, fast: FastRedirects) -> ResolverMetrics:
    """Build the metrics of the resolver."""
    metrics, registry, client = ResolverMetrics(), base.registry, base.client
    acknowledgments, locations = services.acknowledgments, services.locations
    digests = services.digests
    metrics.watch("digest_octets", "Octets of digests fetched", lambda: client.page_octets)
    metrics.watch_states(
        lambda state: sum(archive.state == state for archive in registry.all()),
        tuple(ArchiveState),
    )
    for name, what, read in (
        ("warm_answers", "Redirections given again at once", lambda: fast.given),
        ("warm_targets", "Addresses whose redirection is known", lambda: len(fast)),
        ("logs_read", "Archives whose changes are followed", lambda: len(services.log_follower)),
        ("searches", "Searches begun", lambda: services.searching.begun),
        ("searches_under_way", "Searches", lambda: len(services.searching)),
        (
            "accesses_told",
            "Accesses that archives were told of",
            lambda: acknowledgments.accesses_reported,
        ),
        ("accesses_waiting", "Accesses to tell archives of", lambda: acknowledgments.waiting),
        ("accesses_given_up", "Accesses that nobody was told of", lambda: acknowledgments.given_up),
        ("accesses_lost", "Accesses for which there was no room", lambda: acknowledgments.lost),
        ("digests", "Digests that are here as a whole", lambda: locations.whole),
        ("logs_followed", "Digests that stand for an answer", lambda: digests.standing),
        ("digest_names", "Fingerprints in digests", lambda: locations.names),
        ("digest_age_seconds", "Since the oldest was confirmed", lambda: locations.age),
    ):
        metrics.watch(name, what, read)
    return metrics


def build_figures(
    base: Base,
    endpoints: Endpoints,
    services: BackgroundServices,
    metrics: ResolverMetrics,
    fast: FastRedirects,
) -> FiguresRecorder:
    """Build the recorder of figures; of several processes one records what they have in common."""
    readings = ResolverReadings(
        metrics,
        fast,
        endpoints.redirects,
        base.registry,
        services.locations,
        services.change_feed.catch_up,
        services.conflicts.count_open,
        lambda: services.worker_leases.holds(HEALTH_CHECK),
    )
    writer = FiguresWriter(base.store.figures, base.clock, base.settings.folder)
    return FiguresRecorder(readings.read, writer.add)


def build_app(  # noqa: PLR0913, PLR0917  # all capabilities
    base: Base,
    access: Access,
    endpoints: Endpoints,
    services: BackgroundServices,
    metrics: ResolverMetrics,
    figures: FiguresRecorder,
) -> ResolverApp:
    """Build the application: the API, the pages, and the background services."""
    settings, registry, conflicts = base.settings, base.registry, services.conflicts
    version = metadata.version("ibi")
    about = ResolverAnswer(settings.name, settings.address, settings.service, version)
    notices = AdministratorNotices(_mailer(settings), settings.address)
    opening = OpenRegistration(registry, _domain_proof(base), is_open=settings.open_registration)
    pages = ResolverPages(identity_of(settings), settings.address)
    words, limits = endpoints.words, endpoints.limits
    accounts = build_account_pages(base, access.people, pages, access.tokens)
    admin = build_admin_pages(base, pages, services, endpoints.details.names, notices)
    accounts = replace(accounts, handlers=(*accounts.handlers, *admin))
    search = SearchPage(settings.address, words, endpoints.details, limits, base.clock, pages)

    @asynccontextmanager
    async def run() -> AsyncIterator[None]:
        async with services.open():
            figures.open()
            try:
                yield
            finally:
                await figures.close()

    return ResolverApp(
        run,
        conflicts,
        (
            RegistryApi(registry, conflicts, notices, about, services.locations.digest),
            RegistrationsApi(registry, opening, notices, messages, about),
            endpoints.changes,
            _handles(settings, registry, endpoints),
            search,
            FiguresApi(base.store.figures, base.clock, BOUNDS),
            TokensApi(base.store.tokens, access.tokens, log_token, NotOnRecordError),
        ),
        access.authorizer,
        RegisterPage(opening, access.authorizer, pages, settings.address, settings.service_label),
        search,
        ResolverPublicRoutes(
            settings.address,
            settings.gateways,
            endpoints.redirects,
            endpoints.inclusion,
            registry,
            conflicts,
            endpoints.details,
            base.clock,
            pages,
            metrics,
        ),
        accounts,
        metrics,
        version,
        settings.folder,
    )


def _handles(settings: ResolverSettings, registry: Registry, endpoints: Endpoints) -> HandlesApi:
    return HandlesApi(
        settings.address,
        settings.service_label,
        endpoints.redirects,
        endpoints.details,
        lambda resolution: explain(resolution, registry.find, endpoints.details.names.of),
    )


def _domain_proof(base: Base) -> DomainProof:
    is_private = bool(base.settings.allowed_networks)
    return DomainProof(
        base.store.challenges,
        base.client,
        DnsTexts(),
        base.clock,
        resolver=base.settings.address,
        is_signed=is_signed,
        allow_private=is_private,
    )


def _mailer(settings: ResolverSettings) -> Mailer:
    return SmtpMailer(settings.smtp, settings.mail_from) if settings.smtp else NoMailer()
