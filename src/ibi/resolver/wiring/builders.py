"""The services of a resolver, built one capability after the other.

A builder gets the services that a capability needs and returns its own; none is changed afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass

from ibi.foundation.http_client.ssrf_guard import OutboundGuard
from ibi.foundation.web.client_address import ClientAddresses
from ibi.model.clock import Clock
from ibi.resolver.acknowledgments.sender import AcknowledgmentSender
from ibi.resolver.digests.change_notices import ChangeNotices
from ibi.resolver.digests.fetcher import DigestFetcher
from ibi.resolver.digests.locations import Locations
from ibi.resolver.digests.log_follower import LogFollower
from ibi.resolver.digests.log_relay import LogRelay
from ibi.resolver.peers.archive_client import HttpArchiveClient
from ibi.resolver.peers.documents import HttpDocumentClient
from ibi.resolver.ports.store import Owner
from ibi.resolver.ports.workers import DIGESTS
from ibi.resolver.registry.health_check import HealthCheck
from ibi.resolver.registry.registry import Registry
from ibi.resolver.rules.followed_logs import FollowedLogs
from ibi.resolver.rules.redirect_cache import LastingRedirects, RedirectCache
from ibi.resolver.search.archive_names import ArchiveNames
from ibi.resolver.search.conflicts import Conflicts
from ibi.resolver.search.hops import HopResolver
from ibi.resolver.search.owners import Owners
from ibi.resolver.search.plausibility import Plausibility
from ibi.resolver.search.pool import SearchPool
from ibi.resolver.search.recorder import SearchRecorder
from ibi.resolver.search.tombstones import Tombstones
from ibi.resolver.search.unfollowed_archives import UnfollowedArchives
from ibi.resolver.search.word_search import WordSearch
from ibi.resolver.settings import ResolverSettings
from ibi.resolver.storage.store import SqlResolverStore
from ibi.resolver.wiring.background import BackgroundServices
from ibi.resolver.workers.change_feed import ChangeFeed
from ibi.resolver.workers.leases import HEALTH_CHECK, WorkerIdentity, WorkerLeases


@dataclass(frozen=True, slots=True)
class Base:
    """The parts that all capabilities use: settings, stores, clock, archives and clients."""

    settings: ResolverSettings
    store: SqlResolverStore
    clock: Clock
    client: HttpArchiveClient
    documents: HttpDocumentClient
    registry: Registry
    clients: ClientAddresses


def build_base(settings: ResolverSettings, store: SqlResolverStore, clock: Clock) -> Base:
    """Build the registry of archives, and the client that asks them."""
    guard = OutboundGuard(settings.allowed_networks)
    return Base(
        settings,
        store,
        clock,
        HttpArchiveClient(guard),
        HttpDocumentClient(guard),
        Registry(store.archives, store.feed, clock),
        ClientAddresses(settings.trusted_proxies, settings.client_address),
    )


@dataclass(frozen=True, slots=True)
class Workers:
    """The duties of this process on behalf of all that serve the same resolver."""

    leases: WorkerLeases
    acknowledgments: AcknowledgmentSender
    """Sends acknowledgments, also those of processes that are gone."""


def build_workers(base: Base) -> Workers:
    """Build the acknowledgments, and the leases by which one process adopts those of another."""
    identity = WorkerIdentity()
    store, clock = base.store, base.clock
    acknowledgments = AcknowledgmentSender(
        store.acknowledgments, base.client, base.registry, clock, lambda: identity.name
    )
    leases = WorkerLeases(
        store.processes, clock, identity=identity, on_adoption=acknowledgments.add_adopted
    )
    return Workers(leases, acknowledgments)


@dataclass(frozen=True, slots=True)
class Digests:
    """The digests of archives, and the redirects that last because their logs are followed."""

    locations: Locations
    fetcher: DigestFetcher
    followed: FollowedLogs
    notices: ChangeNotices
    log_follower: LogFollower
    cache: RedirectCache


def build_digests(base: Base, leases: WorkerLeases) -> Digests:
    """Build the digests and the redirect cache; of several processes one fetches digests."""
    settings, store, registry = base.settings, base.store, base.registry

    def note_change(print_: int, at: float) -> None:
        cache.note_change(print_, at)

    locations = Locations(store.locations, base.clock, quick=store.quick, on_change=note_change)
    followed = FollowedLogs(settings.hot_seconds)
    fetcher = DigestFetcher(
        registry,
        base.client,
        store.locations,
        locations,
        base.clock,
        followed=followed,
        seconds=settings.digest_seconds,
        most_names=settings.digest_names,
        on_duty=lambda: leases.holds(DIGESTS),
        is_relaying=lambda: leases.processes > 1,
    )
    log_follower = LogFollower(
        base.client,
        registry,
        locations,
        note_change,
        seconds=settings.hot_seconds,
        longest=settings.known_seconds,
    )
    cache = RedirectCache(
        lambda: registry.version,
        hot_seconds=settings.hot_seconds,
        absent_seconds=settings.absent_seconds,
        lasting=LastingRedirects(settings.known),
        leases=log_follower,
    )
    notices = ChangeNotices(fetcher, store.feed, base.clock, lambda: leases.holds(DIGESTS))
    return Digests(locations, fetcher, followed, notices, log_follower, cache)


@dataclass(frozen=True, slots=True)
class Searches:
    """Searches, and what is recorded when they have ended."""

    owners: Owners
    conflicts: Conflicts
    recorder: SearchRecorder
    pool: SearchPool
    change_feed: ChangeFeed
    resolver: HopResolver
    words: WordSearch
    names: ArchiveNames
    tombstones: Tombstones


def build_searches(base: Base, digests: Digests) -> Searches:
    """Build the searches; when the owner of an item changes, its cached redirects are dropped."""
    store, registry, cache = base.store, base.registry, digests.cache
    owners = Owners(store.owners, quick=store.quick)

    def learn_settled(label: str, owner: Owner) -> None:
        owners.learn(label, owner)
        cache.forget(label)

    conflicts = Conflicts(store.conflicts, registry, base.clock, learn_settled)
    recorder = SearchRecorder(owners, conflicts, registry, base.clock, cache.forget)
    pool = SearchPool(
        registry,
        base.client,
        owners,
        recorder.learn,
        seconds=base.settings.archive_seconds,
        locations=digests.locations,
        unfollowed=UnfollowedArchives(registry, digests.followed, base.clock),
        on_silence=digests.notices.note_silence,
    )

    def follow(label: str) -> None:
        cache.forget(label)
        digests.notices.follow(label, change_feed.complete_at)

    change_feed = ChangeFeed(store.feed, registry, follow)
    plausibility = Plausibility(registry, digests.locations, base.clock)
    resolver = HopResolver(pool, change_feed.catch_up, plausibility)
    words = WordSearch(
        registry, base.documents, digests.locations.count, base.settings.archive_seconds
    )
    names = ArchiveNames(registry, base.documents)
    tombstones = Tombstones(registry, base.documents)
    return Searches(
        owners, conflicts, recorder, pool, change_feed, resolver, words, names, tombstones
    )


def build_background(
    base: Base, workers: Workers, digests: Digests, searches: Searches
) -> BackgroundServices:
    """Build the background services; of several processes one checks the health of archives."""
    leases = workers.leases
    return BackgroundServices(
        registry=base.registry,
        worker_leases=leases,
        change_feed=searches.change_feed,
        searching=searches.pool,
        owners=searches.owners,
        conflicts=searches.conflicts,
        recorder=searches.recorder,
        acknowledgments=workers.acknowledgments,
        watch=HealthCheck(
            base.registry, base.client, base.clock, on_duty=lambda: leases.holds(HEALTH_CHECK)
        ),
        locations=digests.locations,
        digests=digests.fetcher,
        log_follower=digests.log_follower,
        log_relay=LogRelay(
            base.store.followed_logs,
            digests.followed,
            digests.locations,
            lambda: leases.process if leases.processes > 1 else "",
            searches.change_feed.apply_all,
        ),
        client=base.client,
        documents=base.documents,
        names=searches.names,
    )
