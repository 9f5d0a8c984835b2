"""A resolver of the simulated world: the real code on a simulated machine and network."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from starlette.requests import Request
from starlette.responses import Response

from ibi.errors import IbiError, StorageError, TooManyRequestsError
from ibi.foundation.web.client_address import ClientAddresses
from ibi.foundation.web.rate_limit import RateLimit
from ibi.identifier.label import Label
from ibi.identifier.persistent_url import PersistentUrl
from ibi.model.archive_record import RegistrationKey
from ibi.resolver.acknowledgments.sender import AcknowledgmentSender
from ibi.resolver.digests.change_notices import ChangeNotices
from ibi.resolver.digests.fetcher import DigestFetcher
from ibi.resolver.digests.locations import Locations
from ibi.resolver.digests.log_follower import LogFollower
from ibi.resolver.digests.log_relay import LogRelay
from ibi.resolver.ports.store import Owner
from ibi.resolver.ports.workers import DIGESTS
from ibi.resolver.registry.health_check import HealthCheck
from ibi.resolver.registry.inclusion import InclusionService
from ibi.resolver.registry.registration_key import KeyGuessLimit
from ibi.resolver.rules.redirect_cache import LastingRedirects, RedirectCache
from ibi.resolver.search.conflicts import Conflicts
from ibi.resolver.search.owners import Owners
from ibi.resolver.search.plausibility import Plausibility
from ibi.resolver.search.pool import SearchPool
from ibi.resolver.search.recorder import SearchRecorder
from ibi.resolver.search.unfollowed_archives import UnfollowedArchives
from ibi.resolver.storage.migrations import RESOLVER_MIGRATIONS
from ibi.resolver.storage.store import SqlResolverStore
from ibi.resolver.web.fast_redirects import FastRedirects
from ibi.resolver.web.protocol import InclusionEndpoint
from ibi.resolver.wiring.background import BackgroundServices
from ibi.resolver.workers.change_feed import ChangeFeed
from ibi.resolver.workers.leases import HEALTH_CHECK, WorkerIdentity, WorkerLeases
from ibi.wire import requests, responses
from ibi.wire.requests import DEFAULT_SERVICE, ExclusionRequest, InclusionRequest
from ibi.wire.responses import InclusionStatus
from tests.simulation.programs.instrumented_resolver import (
    InstrumentedFollowedLogs,
    InstrumentedHopResolver,
    InstrumentedRedirect,
    InstrumentedRegistry,
)
from tests.simulation.programs.resolver_transport import SimulatedArchives
from tests.simulation.world.disks import MemoryDatabase
from tests.simulation.world.machines import Host
from tests.simulation.world.network import UnreachableError

if TYPE_CHECKING:
    from tests.simulation.programs.archive_host import ArchiveHost
    from tests.simulation.world.world import World

CACHE_SECONDS: Final = 20.0
"""Seconds for which a redirect is cached."""
LEASE_SECONDS: Final = 90.0
"""Seconds for which a redirect is cached while the log of its archive is followed."""
NEGATIVE_CACHE_SECONDS: Final = 2.0
REQUEST_TIMEOUT: Final = 2.0
FEED_INTERVAL: Final = 5.0
"""Seconds between two reads of the change feed."""
_BEAT: Final = 8.0
_TICK: Final = 15.0
_RATE: Final = 1000
_MOST: Final = 10_000


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to a reader."""

    location: str
    """The target of the redirect, or "" if there is none."""
    outcome: str
    """Name of the outcome, or of the error."""


class ResolverHost(Host):
    """A machine with a process of a resolver; two processes may share a database."""

    def __init__(self, world: World, number: int, shared: ResolverHost | None = None) -> None:
        """Start with an empty database, or with that of `shared`."""
        super().__init__(world, f"r{number}", f"r{number}.example.net")
        self.is_second = shared is not None
        own = MemoryDatabase(f"{self.name}/db", RESOLVER_MIGRATIONS) if shared is None else None
        self.database: MemoryDatabase = own or shared.database  # type: ignore[union-attr]  # one of them is
        self.base: str = f"http://{self.address}" if shared is None else shared.base
        self._leaving = asyncio.Event()
        self._left: asyncio.Task[None] | None = None
        if own is not None:
            world.judge.inclusions.watch(own)

    def open(self) -> None:
        """Build the services as `ibi.resolver.wiring.builders` does."""
        clock, seeded = self.clock, self.world.seeded
        self.store = store = SqlResolverStore(self.database, quick=True)
        self.registry = registry = InstrumentedRegistry(
            store,
            clock,
            seeded.stream(f"jitter/{self.name}").random,
            lambda archive, shown: self.world.judge.check_registry_view(self, archive, shown),
        )
        client = SimulatedArchives(self.world.network, self)
        owners = Owners(store.owners, quick=store.quick)

        def changed(print_: int, at: float) -> None:
            memory.note_change(print_, at)

        self.locations = locations = Locations(
            store.locations, clock, quick=store.quick, on_change=changed
        )
        self.followed = followed = InstrumentedFollowedLogs(CACHE_SECONDS)
        log_follower = LogFollower(
            client,
            registry,
            locations,
            changed,
            seconds=CACHE_SECONDS,
            longest=LEASE_SECONDS,
        )
        memory = RedirectCache(
            lambda: registry.version,
            hot_seconds=CACHE_SECONDS,
            absent_seconds=NEGATIVE_CACHE_SECONDS,
            lasting=LastingRedirects(),
            leases=log_follower,
        )

        def settled(label: str, owner: Owner) -> None:
            owners.learn(label, owner)
            memory.forget(label)

        self.conflicts = Conflicts(store.conflicts, registry, clock, settled)
        recorder = SearchRecorder(owners, self.conflicts, registry, clock, memory.forget)
        digests = DigestFetcher(
            registry,
            client,
            store.locations,
            locations,
            clock,
            followed=followed,
            on_duty=lambda: duties.holds(DIGESTS),
            is_relaying=lambda: duties.processes > 1,
            tick=_TICK,
        )
        self.notices = ChangeNotices(digests, store.feed, clock, lambda: duties.holds(DIGESTS))
        searching = SearchPool(
            registry,
            client,
            owners,
            recorder.learn,
            seconds=REQUEST_TIMEOUT,
            locations=locations,
            unfollowed=UnfollowedArchives(registry, followed, clock),
            on_silence=self.notices.note_silence,
            chance=seeded.stream(f"searching/{self.name}").random,
        )
        clients = ClientAddresses((), "network")
        identity = WorkerIdentity()
        self.acknowledging = acknowledging = AcknowledgmentSender(
            store.acknowledgments, client, registry, clock, lambda: identity.name
        )
        duties = WorkerLeases(
            store.processes,
            clock,
            _BEAT,
            identity=identity,
            on_adoption=acknowledging.add_adopted,
        )
        self.warm = FastRedirects(memory.drop_stale, acknowledging.note_known, clients, most=_MOST)

        def follow(label: str) -> None:
            memory.forget(label)
            self.notices.follow(label, following.complete_at)

        following = ChangeFeed(store.feed, registry, follow, FEED_INTERVAL)
        self.redirects = InstrumentedRedirect(
            self.base,
            InstrumentedHopResolver(
                searching,
                following,
                Plausibility(registry, locations, clock),
                lambda found: self.world.judge.check_resolution(self, found),
            ),
            memory,
            self.warm,
            acknowledging,
            clients,
            RateLimit(clock, _RATE, 10 * _RATE),
        )
        guesses = KeyGuessLimit(lambda: duties.processes)
        service = InclusionService(registry, client, guesses, clock)
        self.inclusion = InclusionEndpoint(service, DEFAULT_SERVICE, clients)
        self._parts = BackgroundServices(
            registry,
            duties,
            following,
            searching,
            owners,
            self.conflicts,
            recorder,
            acknowledging,
            HealthCheck(registry, client, clock, _TICK, on_duty=lambda: duties.holds(HEALTH_CHECK)),
            locations,
            digests,
            log_follower,
            LogRelay(
                store.followed_logs,
                followed,
                locations,
                lambda: duties.process if duties.processes > 1 else "",
                following.apply_all,
            ),
            client,
        )

    async def begin(self) -> None:
        """Start the background work."""
        begun = asyncio.Event()
        self._leaving = asyncio.Event()
        assert self._running is not None
        self._left = self._running.spawn(self._work(begun))
        await asyncio.wait(
            [self._left, asyncio.ensure_future(begun.wait())], return_when=asyncio.FIRST_COMPLETED
        )
        if self._left.done():
            self._left.result()  # raises why it could not start

    async def _work(self, begun: asyncio.Event) -> None:
        async with self._parts.open():
            begun.set()
            await self._leaving.wait()

    async def end(self) -> None:
        """Stop in order."""
        self._leaving.set()
        if self._left is not None:
            await self._left

    async def register(self, archive: ArchiveHost) -> RegistrationKey:
        """Register an archive, as an operator does; return its key."""
        assert archive.service is not None
        service = archive.service.label
        _, key = await self.registry.register(
            service, None, "me@example.org", (), "operator", "operator"
        )
        return key

    # --- requests of other programs and readers ---

    async def include(self, query: str, peer: str) -> tuple[int, bytes]:
        """Answer an inclusion or exclusion request."""
        inclusions, said = self.world.judge.inclusions, requests.decode(query)
        assert isinstance(said, (InclusionRequest, ExclusionRequest))
        archive, told = said.record.service.canonical, ""
        number = inclusions.begin(self.database, archive)
        try:
            answer = await self.inclusion.serve(_request("/", query, peer))
            if isinstance(said, InclusionRequest) and answer.status_code == HTTPStatus.OK:
                status = responses.decode(bytes(answer.body))
                is_there = isinstance(status, InclusionStatus) and status.confirmed
                told = said.record.address if is_there else ""
        finally:
            inclusions.end(self.database, archive, number, told)
        self.world.judge.check_inclusions(self)
        return answer.status_code, bytes(answer.body)

    async def take_notice(self, archive: str) -> None:
        """Take a notice of an archive that its digest has changed, or refuse it for now."""
        if archive in self.registry.by_name:
            try:
                await self.notices.take(archive)
            except (StorageError, TooManyRequestsError) as refusal:
                raise UnreachableError(str(refusal)) from None
            self.world.judge.note_notice(self, archive)

    async def find_original(self, label: Label) -> str:
        """Return the address of the Original for an archive, or "" if it is unknown."""
        reply = await self.read(label, "192.0.2.9", original=True, counted=False)
        return reply.location

    async def read(
        self, label: Label, reader: str, *, original: bool = False, counted: bool = True
    ) -> Reply:
        """Answer a reader from the cache or by a search."""
        wanted = PersistentUrl(label, original_required=original)
        target = wanted.at("")
        judge = self.world.judge
        judge.note_question(self, label.canonical)
        told = self.warm.disclosed(reader, b"") if counted else None
        warm = self.warm.find(target.encode(), self.world.loop.now) if counted else None
        if warm is not None and told is not None:
            self.warm.note(target.encode(), warm, told)
            judge.check_redirect(
                self, label, warm, warm.url.decode(), original=original, reader=told
            )
            return Reply(warm.url.decode(), "Redirect")
        request = _request(target, "", reader, "GET" if counted else "HEAD")
        try:
            found = await self.redirects.answer(request, wanted)
        except IbiError as fault:
            return Reply("", type(fault).__name__)
        if isinstance(found, Response):
            known, location = self.redirects.known, found.headers["location"]
            judge.check_redirect(self, label, known, location, original=original, reader=told)
            return Reply(location, "Redirect")
        judge.check_reply(self, label, found)
        return Reply("", type(found.outcome).__name__)


def _request(path: str, query: str, peer: str, method: str = "GET") -> Request:
    target, _, asked = path.partition("?")
    return Request(
        {
            "type": "http",
            "method": method,
            "path": target,
            "raw_path": target.encode(),
            "query_string": (query or asked).encode(),
            "headers": [],
            "client": (peer, 1),
        }
    )
