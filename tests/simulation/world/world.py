"""The world of one scenario: everybody in it, and how it goes on until all is well again."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final
from unittest.mock import patch

import structlog

from ibi.archive.rules.announcement import Link
from ibi.errors import IbiError
from ibi.model.archive_record import RegistrationKey
from tests.simulation.actors.people import People
from tests.simulation.judge.final_checks import Aftermath
from tests.simulation.judge.judge import Judge
from tests.simulation.programs.archive_host import ArchiveHost
from tests.simulation.programs.minter_host import PressHost
from tests.simulation.programs.resolver_host import ResolverHost
from tests.simulation.scenarios.events import ARCHIVES, FAULTS, PRESSES, RESOLVERS, Scenario
from tests.simulation.world.disks import MemoryDatabase
from tests.simulation.world.fault_injector import Calamities
from tests.simulation.world.greenlet_threads import strands_for_threads
from tests.simulation.world.machines import SECOND, Host
from tests.simulation.world.network import Network, UnreachableError
from tests.simulation.world.seeded_random import Chance, no_other_chance
from tests.simulation.world.trace import Line, Trace
from tests.simulation.world.virtual_time import Process, RestlessError, VirtualLoop, strand

_ENDING: Final = 60
"""Seconds that everybody has to end, once the world is over."""
PACE: Final = {
    "ibi.resolver.search.owners.FLUSH": 15.0,
    "ibi.resolver.acknowledgments.sender.FLUSH_SECONDS": 15.0,
    "ibi.resolver.acknowledgments.outbox.SMALL_BATCH": 2,
    "ibi.archive.transfers.transfers._THREADS": 2,
    "ibi.archive.transfers.step_scheduler._LOOK": 120 * SECOND,
}
"""What only has to do with pace: half a second takes longer here, so that an hour passes quicker.
A crash can lose more by that, and no less."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a scenario."""

    scenario: Scenario
    violations: tuple[str, ...]
    lines: tuple[Line, ...]
    digest: str
    """Of all that happened."""
    checks: int
    messages: int
    seconds: float
    """How long it took, in the time of the world."""


class World:
    """Everybody."""

    def __init__(self, scenario: Scenario) -> None:
        """Make machines, all of them switched off."""
        self.scenario = scenario
        self.chance = Chance(scenario.seed)
        self.loop = VirtualLoop(self.chance.of("threads").random)
        self.trace = Trace(self.loop.time)
        self.over: asyncio.Future[None] = self.loop.create_future()
        self.network: Network[Host] = Network(self.chance, self.trace.say, self.violate)
        self.judge = Judge(self)
        self.outside = Process(self.loop, "outside", lambda: None, self.failed)
        self.server = MemoryDatabase("server/ledger")
        self.archives = [ArchiveHost(self, number + 1) for number in range(ARCHIVES)]
        self.resolvers = [ResolverHost(self, number + 1) for number in range(RESOLVERS - 1)]
        self.resolvers.append(ResolverHost(self, RESOLVERS, self.resolvers[-1]))
        self.presses = [PressHost(self, number + 1, self.server) for number in range(PRESSES)]
        everybody: list[Host] = [*self.archives, *self.resolvers, *self.presses]
        self.hosts = {host.name: host for host in everybody}
        self.people = People(self)
        self.calamities = Calamities(self)

    def archive(self, name: str) -> ArchiveHost:
        """Return an archive by its name."""
        return self.archives[int(name[1:]) - 1]

    def archive_of(self, service: str) -> ArchiveHost:
        """Return an archive by what resolvers know it by."""
        return next(each for each in self.archives if each.id == service)

    def violate(self, what: str) -> None:
        """Write down what must never be, and end the world."""
        self.trace.violate(what)
        if not self.over.done():
            self.over.set_result(None)

    def failed(self, failure: BaseException, task: str) -> None:
        """Hear of what a task raised; those that have names work for as long as a program runs."""
        is_refusal = isinstance(failure, (IbiError, UnreachableError, TimeoutError))
        if not is_refusal or task.startswith("ibi-"):
            self.violate(f"something unforeseen happened in {task}: {failure!r}")

    def run(self) -> Outcome:
        """Let all of it happen."""
        loop = self.loop
        loop.set_exception_handler(self._lost)
        living = self.outside.spawn(self._live())
        try:
            loop.run_until_complete(
                asyncio.wait([living, self.over], return_when=asyncio.FIRST_COMPLETED)
            )
        except RestlessError as fault:
            self.violate(str(fault))
        if living.done() and not living.cancelled() and living.exception() is not None:
            self.violate(f"something unforeseen happened: {living.exception()!r}")
        seconds = loop.now
        digest, lines = self.trace.digest, tuple(self.trace.lines)
        self._end()
        return Outcome(
            self.scenario,
            tuple(self.trace.violations),
            lines,
            digest,
            self.judge.checks,
            self.network.messages,
            seconds,
        )

    def _lost(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        failure = context.get("exception")
        self.violate(f"something unforeseen happened: {failure or context['message']!r}")

    def _end(self) -> None:
        for host in self.hosts.values():
            host.kill()
        self.outside.kill()
        with suppress(RestlessError):
            for _ in range(_ENDING):
                left = asyncio.all_tasks(self.loop)
                if not left:
                    break
                for task in left:
                    task.cancel()
                self.loop.run_until_complete(asyncio.sleep(1.0))
        for host in self.hosts.values():
            host.disk.close()
        for database in {id(each.database): each.database for each in self.resolvers}.values():
            database.end()
        self.server.end()
        self.loop.close()

    async def _live(self) -> None:
        await self._begin()
        for event in self.scenario.events:
            await asyncio.sleep(max(0.0, event.at - self.loop.now))
            if isinstance(event, FAULTS):
                self.calamities.befall(event)
            else:
                self.people.act(event)
        await Aftermath(self).see()

    async def _begin(self) -> None:
        for host in self.hosts.values():
            host.start()
        await asyncio.gather(*(host.ready.wait() for host in self.hosts.values()))
        for resolver in (each for each in self.resolvers if not each.is_second):
            for archive in self.archives:
                assert resolver.process is not None
                key = await resolver.process.spawn(resolver.register(archive))
                assert archive.process is not None
                await archive.process.spawn(self._link(archive, resolver, key))

    @staticmethod
    async def _link(archive: ArchiveHost, resolver: ResolverHost, key: RegistrationKey) -> None:
        await strand(archive.announcer.link, Link(resolver.base, key))


@contextmanager
def _logs(world: World) -> Iterator[None]:
    """Hear what the programs say of themselves: an error is one of ours."""

    def hear(_: object, method: str, said: Any) -> Any:  # noqa: ANN401  # of structlog
        if method in {"error", "exception", "critical"}:
            world.violate(f"something unforeseen happened: {said}")
        raise structlog.DropEvent

    before = structlog.get_config()
    structlog.configure(processors=[hear], cache_logger_on_first_use=False)
    try:
        yield
    finally:
        structlog.configure(**before)


def _derived(key: RegistrationKey, salt: bytes, *_: int) -> bytes:
    """Keep a key in no time: how hard it is to guess is not what this is about."""
    return blake2b(key.text.encode(), salt=salt[:16], digest_size=32).digest()


def run(scenario: Scenario) -> Outcome:
    """Let a scenario happen."""
    with ExitStack() as stack:
        stack.enter_context(strands_for_threads())
        stack.enter_context(patch("ibi.resolver.registry.registration_key._derived", _derived))
        for place, value in PACE.items():
            stack.enter_context(patch(place, value))
        world = World(scenario)
        stack.enter_context(no_other_chance(world.chance))
        stack.enter_context(_logs(world))
        return world.run()
