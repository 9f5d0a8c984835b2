"""A resolver without web server, database and peers, and archives that answer from a script."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

from ibi.foundation.system.clock import SystemClock
from ibi.identifier.label import Label, parse
from ibi.model.archive_record import ArchiveRecord
from ibi.model.registration import RegisteredArchive
from ibi.resolver.ports.outbound import NoReply, Reply
from ibi.resolver.registry.registry import Registry
from ibi.resolver.rules.decision import Redirect
from ibi.resolver.rules.followed_logs import FollowedLogs
from ibi.resolver.rules.resolution import Resolution
from ibi.resolver.search.conflicts import Conflicts
from ibi.resolver.search.hops import HopResolver
from ibi.resolver.search.owners import Owners
from ibi.resolver.search.pool import SearchPool
from ibi.resolver.search.recorder import SearchRecorder
from ibi.resolver.search.unfollowed_archives import UnfollowedArchives
from ibi.wire.digest import DigestPage
from ibi.wire.question import Question
from ibi.wire.requests import UrlRequest
from tests.simulation.world.virtual_time import VirtualLoop
from tests.support.doubles.archive_client import UnusedArchiveClient
from tests.support.doubles.resolver_store import KEY, MemoryResolverStore, until
from tests.support.values.archive_answers import unknown

CLIENTS = ("192.0.2.0",)
NAMES = ("a", "b", "c")
HOT_SECONDS = 10.0
SERVICES = {name: parse(f"{name}.example/archive/2012/06.05.15.34") for name in (*NAMES, "d", "e")}


@dataclass
class ScriptedArchives(UnusedArchiveClient):
    """Archives that say what they are told to, when they are told to."""

    sayings: dict[str, Callable[[UrlRequest], Reply]] = field(default_factory=dict)
    held: set[str] = field(default_factory=set)
    free: asyncio.Event = field(default_factory=asyncio.Event)
    requests: list[tuple[str, UrlRequest]] = field(default_factory=list)

    async def ask(self, archive: RegisteredArchive, request: UrlRequest, seconds: float) -> Reply:
        """Answer a urlRequest."""
        del seconds
        name = archive.address.partition(".")[0]
        self.requests.append((name, request))
        if name in self.held:
            await self.free.wait()
        heard = self.sayings[name](request) if name in self.sayings else unknown(name)
        return replace(heard, archive=archive.id)

    async def digest(
        self, archive: RegisteredArchive, epoch: str, after: int, seconds: float
    ) -> DigestPage | NoReply | None:
        """Publish none."""
        del archive, epoch, after, seconds
        return None


@dataclass
class MemoryDigests:
    """The digests of archives, by their short names; who has none publishes none."""

    digests: dict[str, set[Label]] = field(default_factory=dict)
    readable: bool = True

    def publishes(self, archive: str) -> bool:
        """Tell whether it has one."""
        return archive.partition(".")[0] in self.digests

    async def holders(self, label: Label) -> frozenset[str] | None:
        """Return whose digests have it."""
        held = (SERVICES[name] for name, labels in self.digests.items() if label in labels)
        return frozenset(each.canonical for each in held) if self.readable else None


@dataclass
class SearchScene:
    """The parts of a resolver that search, wired together."""

    archives: ScriptedArchives
    digests: MemoryDigests
    followed: FollowedLogs
    store: MemoryResolverStore
    registry: Registry
    searching: SearchPool
    resolving: HopResolver
    owners: Owners
    recorder: SearchRecorder
    forgotten: list[str]
    chance: float = 0.5

    async def resolve(self, asked: Question, *, ask_all: bool = False) -> Resolution:
        """Resolve a question of a reader."""
        return await self.resolving.resolve(asked, CLIENTS, ask_all=ask_all)

    def follow(self, *names: str) -> None:
        """Let the digests of archives stand for their answers."""
        now = asyncio.get_running_loop().time()
        for name in names:
            archive = SERVICES[name].canonical
            self.followed.note_page(archive, now, notifies=True)

    async def quiet(self) -> None:
        """Wait until no search is under way."""
        await until(lambda: not len(self.searching))
        await self.recorder.close()
        await self.owners.close()


def run_scene(
    work: Callable[[SearchScene], Awaitable[None]], names: tuple[str, ...] = NAMES
) -> None:
    async def run() -> None:
        store, clock, archives, digests = (
            MemoryResolverStore(),
            SystemClock(),
            ScriptedArchives(),
            MemoryDigests(),
        )
        registry = Registry(store, store, clock)
        await registry.open()
        for name in names:
            archive, _ = await registry.register(SERVICES[name], KEY, "", (), "operator", "test")
            record = ArchiveRecord(f"{name}.example", SERVICES[name], "192.0.2.1", "1", "a@b.c")
            await registry.include(archive.id, record, confirmed=True)
        followed = FollowedLogs(HOT_SECONDS)
        owners = Owners(store, quick=True)
        conflicts = Conflicts(store, registry, clock, owners.learn)
        forgotten: list[str] = []
        recorder = SearchRecorder(owners, conflicts, registry, clock, forgotten.append)
        searching = SearchPool(
            registry,
            archives,
            owners,
            recorder.learn,
            seconds=5,
            locations=digests,
            unfollowed=UnfollowedArchives(registry, followed, clock),
            on_silence=followed.drop,
            chance=lambda: scene.chance,
        )
        resolving = HopResolver(searching)
        scene = SearchScene(
            archives,
            digests,
            followed,
            store,
            registry,
            searching,
            resolving,
            owners,
            recorder,
            forgotten,
        )
        try:
            await work(scene)
        finally:
            archives.free.set()
            await searching.close()
            await registry.close()

    loop = VirtualLoop(lambda: 0.5)
    try:
        loop.run_until_complete(run())
    finally:
        loop.close()


def says(answer: Reply) -> Callable[[UrlRequest], Reply]:
    return lambda _: answer


def winner(resolution: Resolution) -> str:
    assert isinstance(resolution.outcome, Redirect)
    return resolution.outcome.answer.archive.partition(".")[0]
