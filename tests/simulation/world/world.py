"""The world of one scenario: its machines and people, and its run to the final checks."""

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
from tests.simulation.judge.final_checks import FinalChecks
from tests.simulation.judge.judge import Judge
from tests.simulation.programs.archive_host import ArchiveHost
from tests.simulation.programs.minter_host import MinterHost
from tests.simulation.programs.resolver_host import ResolverHost
from tests.simulation.scenarios.events import ARCHIVES, FAULTS, MINTERS, RESOLVERS, Scenario
from tests.simulation.world.disks import MemoryDatabase
from tests.simulation.world.fault_injector import FaultInjector
from tests.simulation.world.greenlet_threads import threads_as_greenlets
from tests.simulation.world.machines import SECOND, Host
from tests.simulation.world.network import Network, UnreachableError
from tests.simulation.world.seeded_random import SeededRandom, seeded_ids
from tests.simulation.world.trace import Trace, TraceLine
from tests.simulation.world.virtual_time import NoProgressError, Process, VirtualLoop, run_blocking

_ENDING: Final = 60
"""Seconds for all tasks to end, once the world is over."""
TIMING_OVERRIDES: Final = {
    "ibi.resolver.search.owners.FLUSH_SECONDS": 15.0,
    "ibi.resolver.acknowledgments.sender.FLUSH_SECONDS": 15.0,
    "ibi.resolver.acknowledgments.outbox.SMALL_BATCH": 2,
    "ibi.archive.transfers.transfers._THREADS": 2,
    "ibi.archive.transfers.step_scheduler._LOOK": 120 * SECOND,
}
"""Intervals and sizes that differ from the real ones, so that an hour is simulated faster.
A crash can only lose more by that."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a scenario."""

    scenario: Scenario
    violations: tuple[str, ...]
    lines: tuple[TraceLine, ...]
    digest: str
    """Hash of the trace."""
    checks: int
    messages: int
    seconds: float
    """Duration in virtual time."""


class World:
    """All machines, people, faults and checks of one run."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.seeded = SeededRandom(scenario.seed)
        self.loop = VirtualLoop(self.seeded.stream("threads").random)
        self.trace = Trace(self.loop.time)
        self.over: asyncio.Future[None] = self.loop.create_future()
        self.network: Network[Host] = Network(self.seeded, self.trace.log, self.violate)
        self.judge = Judge(self)
        self.outside = Process(self.loop, "outside", lambda: None, self.failed)
        self.server = MemoryDatabase("server/ledger")
        # In every other world the last archive publishes no digest.
        silent = ARCHIVES if scenario.seed % 2 == 0 else 0
        self.archives = [
            ArchiveHost(self, number, publishes=number != silent)
            for number in range(1, ARCHIVES + 1)
        ]
        self.resolvers = [ResolverHost(self, number + 1) for number in range(RESOLVERS - 1)]
        self.resolvers.append(ResolverHost(self, RESOLVERS, self.resolvers[-1]))
        self.minters = [MinterHost(self, number + 1, self.server) for number in range(MINTERS)]
        hosts: list[Host] = [*self.archives, *self.resolvers, *self.minters]
        self.hosts = {host.name: host for host in hosts}
        self.people = People(self)
        self.faults = FaultInjector(self)

    def archive(self, name: str) -> ArchiveHost:
        """Return an archive by its name."""
        return self.archives[int(name[1:]) - 1]

    def archive_of(self, service: str) -> ArchiveHost:
        """Return an archive by its service label."""
        return next(each for each in self.archives if each.id == service)

    def violate(self, what: str) -> None:
        """Record a violation, and end the world."""
        self.trace.violate(what)
        if not self.over.done():
            self.over.set_result(None)

    def failed(self, failure: BaseException, task: str) -> None:
        """Record an unexpected exception of a task; a named task must not end at all."""
        is_refusal = isinstance(failure, (IbiError, UnreachableError, TimeoutError))
        if not is_refusal or task.startswith("ibi-"):
            self.violate(f"something unforeseen happened in {task}: {failure!r}")

    def run(self) -> Outcome:
        """Run the scenario and the final checks."""
        loop = self.loop
        loop.set_exception_handler(self._on_unhandled)
        living = self.outside.spawn(self._run_scenario())
        try:
            loop.run_until_complete(
                asyncio.wait([living, self.over], return_when=asyncio.FIRST_COMPLETED)
            )
        except NoProgressError as fault:
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

    def _on_unhandled(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        failure = context.get("exception")
        self.violate(f"something unforeseen happened: {failure or context['message']!r}")

    def _end(self) -> None:
        for host in self.hosts.values():
            host.kill()
        self.outside.kill()
        with suppress(NoProgressError):
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

    async def _run_scenario(self) -> None:
        await self._begin()
        for event in self.scenario.events:
            await asyncio.sleep(max(0.0, event.at - self.loop.now))
            if isinstance(event, FAULTS):
                self.faults.inject(event)
            else:
                self.people.act(event)
        await FinalChecks(self).run()

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
        await run_blocking(archive.announcer.link, Link(resolver.base, key))


@contextmanager
def _fail_on_error_logs(world: World) -> Iterator[None]:
    """Record every log line of level error as a violation."""

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


def _fast_derivation(key: RegistrationKey, salt: bytes, *_: int) -> bytes:
    """Derive a key by a fast hash: its strength does not matter here."""
    return blake2b(key.text.encode(), salt=salt[:16], digest_size=32).digest()


def run(scenario: Scenario) -> Outcome:
    """Run a scenario in a new world."""
    with ExitStack() as stack:
        stack.enter_context(threads_as_greenlets())
        stack.enter_context(
            patch("ibi.resolver.registry.registration_key._derived", _fast_derivation)
        )
        for place, value in TIMING_OVERRIDES.items():
            stack.enter_context(patch(place, value))
        world = World(scenario)
        stack.enter_context(seeded_ids(world.seeded))
        stack.enter_context(_fail_on_error_logs(world))
        return world.run()
