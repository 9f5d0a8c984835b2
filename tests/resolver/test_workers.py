"""Many processes that serve one resolver: what each learns of others, and what one does for all.

Each is a registry, duties or owners of its own, on records that they share.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from ibi.errors import NotOnRecordError, RegistrationKeyError, ResolverRequestError, StorageError
from ibi.foundation.sql.sqlite import Sqlite
from ibi.model.clock import SECOND
from ibi.model.registration import RegisteredArchive
from ibi.resolver.ports.store import Owner, PendingAcknowledgment
from ibi.resolver.ports.workers import DIGESTS
from ibi.resolver.registry.availability import RECENT
from ibi.resolver.registry.health_check import HealthCheck
from ibi.resolver.registry.inclusion import InclusionService
from ibi.resolver.registry.registration_key import KeyGuessLimit
from ibi.resolver.registry.registry import Registry
from ibi.resolver.rules.liveness import MAX_MISSED_BEATS, Liveness
from ibi.resolver.rules.outage import (
    MAX_SILENCES,
)
from ibi.resolver.search.owners import Owners
from ibi.resolver.storage.store import SqlResolverStore
from ibi.resolver.workers import leases as duties_module
from ibi.resolver.workers.change_feed import ChangeFeed
from ibi.resolver.workers.leases import (
    ACKNOWLEDGE,
    ALL,
    HEALTH_CHECK,
    HEARTBEAT_SECONDS,
    LEASE_TIME,
    WorkerLeases,
)
from ibi.wire.requests import ExclusionRequest, InclusionRequest
from tests.support.doubles.minting_machine import FakeClock
from tests.support.doubles.resolver_store import (
    KEY,
    RECORD,
    SERVICE,
    FakeArchives,
    MemoryResolverStore,
    until,
)
from tests.support.scenes.resolver_database import KEEPER, keep_pending, made

ID = SERVICE.canonical


class Machine:
    """A process of a resolver, as far as its registry goes."""

    def __init__(
        self, shelf: MemoryResolverStore, clock: FakeClock, archives: FakeArchives
    ) -> None:
        """Share records, the time and the world with others."""
        self.registry = Registry(shelf, shelf, clock, jitter=lambda: 1.0)
        self.forgotten: list[str] = []
        self.following = ChangeFeed(shelf, self.registry, self.forgotten.append)
        self.service = InclusionService(self.registry, archives, KeyGuessLimit(), clock)

    @property
    def archive(self) -> RegisteredArchive:
        """The archive as this process has it."""
        found = self.registry.find(ID)
        assert found is not None
        return found

    def fall_silent(self, times: int = MAX_SILENCES) -> None:
        """Let the archive not answer this process."""
        for _ in range(times):
            self.registry.note_reply(ID, "nobody answers")


class House:
    """Three processes on one shelf."""

    def __init__(self) -> None:
        """Begin with nobody registered."""
        self.shelf = MemoryResolverStore()
        self.clock = FakeClock()
        self.archives = FakeArchives(RECORD.address)
        self.machines = [Machine(self.shelf, self.clock, self.archives) for _ in range(3)]

    async def follow(self) -> None:
        """Let all follow, once what was seen is written."""
        for machine in self.machines:
            await machine.registry._outages.drain()  # noqa: SLF001  # what else writes in a moment
            await machine.registry.follow([])  # after whatever is being written
        for machine in self.machines:
            await machine.following.apply_all()

    @property
    def acts(self) -> list[str]:
        """What happened."""
        return [event.act for event in self.shelf.history]


@asynccontextmanager
async def house() -> AsyncIterator[House]:
    made_house = House()
    first = made_house.machines[0].registry
    for machine in made_house.machines:
        await machine.registry.open()
    await first.register(SERVICE, KEY, "", [], "operator", "operator")
    await first.include(ID, RECORD, confirmed=True)
    await made_house.follow()
    try:
        yield made_house
    finally:
        for machine in made_house.machines:
            await machine.registry.close()


# --- registry -------------------------------------------------------------------------------------


async def test_all_follow_what_one_changes() -> None:
    async with house() as at:
        one, *others = at.machines
        assert all(each.archive == one.archive for each in others)
        for act in (
            one.registry.allow_hosts(ID, ["a.org"], "x"),
            one.registry.rotate(ID, "x"),
            one.registry.exclude(ID),
            one.registry.include(ID, RECORD, confirmed=False),
        ):
            await act
            versions = [each.registry.version for each in others]
            await at.follow()
            assert all(each.archive == one.archive for each in others)
        assert [each.registry.version for each in others] > versions
        await one.registry.remove(ID, "x")
        await at.follow()
        assert [each.registry.all() for each in at.machines] == [(), (), ()]


async def test_what_makes_no_history_is_followed_too() -> None:
    async with house() as at:
        one, other, _ = at.machines
        events = len(at.shelf.history)
        at.clock.true += 3600 * SECOND
        await one.registry.include(ID, RECORD, confirmed=True)
        assert len(at.shelf.history) == events
        await at.follow()
        assert other.archive == one.archive


async def test_changes_in_two_processes_do_not_overwrite_each_other() -> None:
    async with house() as at:
        one, other, third = at.machines
        before = one.archive.key
        await one.registry.rotate(ID, "x")
        await other.registry.allow_hosts(ID, ["a.org"], "x")
        third.fall_silent()
        await at.follow()
        for machine in at.machines:
            assert machine.archive.previous_key == before != machine.archive.key
            assert machine.archive.hosts == ("a.org",)
            assert machine.archive.outage is not None
        assert at.shelf.archives() == [one.archive]


async def test_who_acts_on_what_another_did_a_moment_ago_need_not_wait() -> None:
    async with house() as at:
        one, other, third = at.machines
        await one.registry.remove(ID, "x")
        with pytest.raises(NotOnRecordError):
            await other.registry.allow_hosts(ID, [], "x")
        await one.registry.register(SERVICE, KEY, "", [], "operator", "x")
        with pytest.raises(ResolverRequestError, match="registered already"):
            await other.registry.register(SERVICE, None, "", [], "operator", "x")
        await third.service.serve(InclusionRequest(RECORD, KEY), "192.0.2.1")
        assert third.registry.is_asked(ID)


async def test_a_key_that_was_revoked_elsewhere_is_good_for_nothing() -> None:
    async with house() as at:
        one, other, _ = at.machines
        fitted = one.archive.key
        await one.registry.revoke(ID, "x")
        with pytest.raises(RegistrationKeyError):
            await other.registry.include(ID, RECORD, confirmed=True, fitted=fitted)
        with pytest.raises(RegistrationKeyError):
            await other.service.serve(InclusionRequest(RECORD, KEY), "192.0.2.1")


async def test_an_archive_that_is_switched_off_elsewhere_meanwhile_stays_off() -> None:
    async with house() as at:
        one, other, _ = at.machines
        at.archives.free[RECORD.address] = asyncio.Event()
        including = asyncio.create_task(
            one.service.serve(InclusionRequest(RECORD, KEY), "192.0.2.1")
        )
        await until(lambda: len(at.archives.asked) == 1)
        at.clock.true += SECOND
        await other.service.serve(ExclusionRequest(RECORD, KEY), "192.0.2.1")
        at.archives.free[RECORD.address].set()
        await including
        await at.follow()
        assert all(each.archive.inclusion is None for each in at.machines)


async def test_who_missed_too_much_or_sees_an_earlier_state_begins_anew() -> None:
    async with house() as at:
        one, other, third = at.machines
        await one.registry.allow_hosts(ID, ["a.org"], "x")
        at.shelf.forget_news()
        await one.registry.allow_hosts(ID, ["b.org"], "x")
        version = other.registry.version
        with capture_logs() as logs:
            await other.following.apply_all()
        assert [each["event"] for each in logs] == [
            "changes are missing: all archives are read again"
        ]
        assert other.archive.hosts == ("b.org",)
        assert other.registry.version > version
        third.registry.followed = 10**6
        await third.following.apply_all()
        assert third.registry.followed == at.shelf.newest()
        assert third.archive.hosts == ("b.org",)
        await third.following.apply_all()


async def test_labels_of_which_no_memory_holds_are_forgotten_by_all() -> None:
    async with house() as at:
        one, other, third = at.machines
        at.shelf.note(at.shelf.history[0], ["x", "y"])
        await at.follow()
        assert one.forgotten == other.forgotten == third.forgotten == ["x", "y"]


def test_while_the_store_is_down_all_go_on_and_then_they_catch_up() -> None:
    async def run() -> None:
        async with house() as at:
            one, other, _ = at.machines
            other.following = ChangeFeed(at.shelf, other.registry, lambda _: None, interval=0.001)
            following = asyncio.create_task(other.following.run())
            at.shelf.fails = True
            refused = at.shelf.refused
            with capture_logs() as logs:
                await until(lambda: at.shelf.refused > refused + 5)
            assert [each["event"] for each in logs] == ["changes cannot be read"]
            assert other.registry.is_asked(ID)
            at.shelf.fails = False
            await one.registry.exclude(ID)
            await until(lambda: not other.registry.is_asked(ID))
            following.cancel()
            with suppress(asyncio.CancelledError):
                await following

    asyncio.run(run())


# --- outages --------------------------------------------------------------------------------------


async def test_an_outage_that_one_sees_is_believed_by_all_and_its_end_too() -> None:
    async with house() as at:
        one, other, third = at.machines
        one.fall_silent()
        await at.follow()
        assert [each.registry.is_asked(ID) for each in at.machines] == [False] * 3
        other.registry.note_reply(ID, "")
        await at.follow()
        assert [each.registry.is_asked(ID) for each in at.machines] == [True] * 3
        assert at.acts[2:] == ["down", "up"]
        # What was held against it is, until it answers.
        third.fall_silent(1)
        assert not third.registry.is_asked(ID)


async def test_of_many_who_see_an_outage_one_tells() -> None:
    async with house() as at:
        for machine in at.machines:
            machine.fall_silent()
        await at.follow()
        assert at.acts[2:] == ["down"]
        for machine in at.machines:
            machine.registry.note_reply(ID, "")
        await at.follow()
        assert at.acts[2:] == ["down", "up"]
        assert at.shelf.archives()[0].outage is None


async def test_who_has_answers_neither_believes_in_an_outage_nor_contradicts() -> None:
    """One machine reaches the archive and another does not: they must not say so in turn."""
    async with house() as at:
        one, other, third = at.machines
        for _ in range(20):
            one.registry.note_reply(ID, "")
            other.fall_silent()
            await at.follow()
        assert at.acts[2:] == ["down"]
        asked = [each.registry.is_asked(ID) for each in at.machines]
        assert asked == [True, False, False]
        # Who is on duty tries it all the same; when it confirms, all believe that.
        [down] = one.registry.down()
        assert down.outage is not None
        at.clock.true = down.outage.next_try
        one.registry.note_confirmation(ID)
        await at.follow()
        assert at.acts[2:] == ["down", "up"]
        assert third.registry.is_asked(ID)


async def test_who_has_no_answers_any_more_believes_in_the_outage() -> None:
    async with house() as at:
        one, other, _ = at.machines
        one.registry.note_reply(ID, "")
        other.fall_silent()
        await at.follow()
        assert one.registry.is_asked(ID)
        at.clock.true += RECENT
        await at.follow()
        assert not one.registry.is_asked(ID)
        assert len(one.registry.down()) == 1
        assert at.acts[2:] == ["down"]


async def test_tries_that_are_known_here_alone_are_not_forgotten_by_what_others_change() -> None:
    async with house() as at:
        one, other, _ = at.machines
        one.fall_silent()
        await at.follow()
        outage = one.archive.outage
        assert outage is not None
        at.clock.true = outage.next_try
        one.fall_silent(1)
        await other.registry.allow_hosts(ID, ["a.org"], "x")
        await at.follow()
        assert one.archive.hosts == ("a.org",)
        assert one.archive.outage is not None
        assert one.archive.outage.failures == outage.failures + 1


def test_only_who_is_on_duty_watches() -> None:
    async def run() -> None:
        async with house() as at:
            one, other, _ = at.machines
            one.fall_silent()
            await at.follow()
            on_duty, looks = False, 0

            def is_on_duty() -> bool:
                nonlocal looks
                looks += 1
                return on_duty

            watch = HealthCheck(other.registry, at.archives, at.clock, 0.001, is_on_duty)
            at.clock.true += 60 * SECOND
            watching = asyncio.create_task(watch.run())
            await until(lambda: looks > 3)
            assert at.archives.asked == []
            on_duty = True
            await until(lambda: other.registry.is_asked(ID))
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)

    asyncio.run(run())


# --- duties ---------------------------------------------------------------------------------------


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlResolverStore]:
    with made(str(tmp_path / "registry.sqlite")) as place:
        opened = place()
        opened.processes.unregister(KEEPER)
        yield opened


def test_who_shows_no_beat_in_so_many_looks_is_gone() -> None:
    attendance = Liveness()
    for beat in (5, 6, 6, 6, 7, *[7] * (MAX_MISSED_BEATS - 1)):
        attendance.observe({"a": beat, "b": 1})
        assert "a" not in attendance.gone()
    attendance.observe({"a": 7})
    assert attendance.gone() == {"a": 7}
    attendance.observe({"a": 8})
    assert attendance.gone() == {}
    attendance.observe({})
    attendance.observe({"a": 8})
    assert attendance.gone() == {}


def test_others_wait_for_longer_than_a_duty_is_counted_on() -> None:
    assert MAX_MISSED_BEATS * HEARTBEAT_SECONDS * SECOND >= 1.5 * LEASE_TIME
    assert LEASE_TIME > 3 * HEARTBEAT_SECONDS * SECOND


async def test_of_many_processes_one_has_a_duty_and_the_next_when_it_leaves(
    store: SqlResolverStore,
) -> None:
    clock = FakeClock()
    one, other = (
        WorkerLeases(store.processes, clock, beat=3600),
        WorkerLeases(store.processes, clock, beat=3600),
    )
    assert not one.holds(HEALTH_CHECK)
    await one.open()
    await other.open()
    assert [one.holds(duty) for duty in ALL] == [True] * 3
    assert [other.holds(duty) for duty in ALL] == [False] * 3
    await one.heartbeat()
    assert one.processes == other.processes == 2
    await one.close()
    assert not one.holds(HEALTH_CHECK)
    await other.heartbeat()
    assert [other.holds(duty) for duty in (ACKNOWLEDGE, DIGESTS, HEALTH_CHECK)] == [True] * 3
    assert other.processes == 1
    await other.close()


def test_who_stops_to_beat_loses_its_duties_and_its_rows_and_begins_anew(
    store: SqlResolverStore,
) -> None:
    async def run() -> None:
        clock = FakeClock()
        adopted: list[int | None] = []
        asleep = WorkerLeases(store.processes, clock, beat=3600)
        awake = WorkerLeases(store.processes, clock, beat=3600, on_adoption=adopted.append)
        await asleep.open()
        await awake.open()
        name = asleep.process
        store.acknowledgments.keep_pending(name, 1, [])
        for _ in range(MAX_MISSED_BEATS + 1):
            assert (
                asleep.is_alive
                == asleep.holds(HEALTH_CHECK)
                == (clock.uptime() < began + LEASE_TIME)
            )
            await awake.heartbeat()
            clock.true += int(HEARTBEAT_SECONDS * SECOND)
        assert awake.holds(HEALTH_CHECK)
        assert not asleep.holds(HEALTH_CHECK)
        assert store.acknowledgments.keep_pending(name, 2, []) is None
        await asleep.heartbeat()
        assert asleep.process != name
        await asleep.heartbeat()
        assert asleep.is_alive
        assert not asleep.holds(HEALTH_CHECK)
        assert awake.holds(HEALTH_CHECK)
        assert adopted == []
        await asleep.close()
        await awake.close()

    began = FakeClock().uptime()
    asyncio.run(run())


async def test_rows_of_who_is_gone_are_adopted(store: SqlResolverStore) -> None:
    store.processes.register(KEEPER, ALL)
    keep_pending(store, [])
    clock = FakeClock()
    adopted: list[int | None] = []
    duties = WorkerLeases(store.processes, clock, beat=3600, on_adoption=adopted.append)
    await duties.open()
    keep_pending(store, [PendingAcknowledgment(0, "a", "q", "k", 5, 1)])
    for _ in range(MAX_MISSED_BEATS + 1):
        assert adopted == []
        await duties.heartbeat()
    assert adopted == [5]
    await duties.heartbeat()
    assert adopted == [5]
    assert store.acknowledgments.count_pending(duties.process) == 5
    await duties.close()


async def test_rows_are_told_of_though_nobody_was_told_that_they_were_adopted(
    store: SqlResolverStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    adopt = store.processes.adopt_pending

    def broken_off(process: str) -> int:
        adopt(process)
        raise StorageError("of the resolver", "the connection broke off")

    store.processes.register(KEEPER, ALL)
    adopted: list[int | None] = []
    duties = WorkerLeases(store.processes, FakeClock(), beat=3600, on_adoption=adopted.append)
    await duties.open()
    keep_pending(store, [PendingAcknowledgment(0, "a", "q", "k", 5, 1)])
    store.processes.unregister(KEEPER)
    monkeypatch.setattr(store.processes, "adopt_pending", broken_off)
    with pytest.raises(StorageError):
        await duties.heartbeat()
    assert store.acknowledgments.count_pending(duties.process) == 5
    monkeypatch.setattr(store.processes, "adopt_pending", adopt)
    for _ in range(2):
        await duties.heartbeat()
    assert adopted == [None]
    await duties.close()


class CountedClock(FakeClock):
    """A clock that counts how often its uptime was looked at: once in each beat of a process."""

    looks = 0

    def uptime(self) -> int:
        """Return how long the machine has been on."""
        self.looks += 1
        return super().uptime()


async def test_a_store_that_is_down_makes_nobody_seem_gone(tmp_path: Path) -> None:
    """While nobody can beat nobody counts."""
    with made(str(tmp_path / "registry.sqlite")) as place:
        store = place()
        clock = CountedClock()
        one, other = (
            WorkerLeases(store.processes, clock, beat=3600),
            WorkerLeases(store.processes, clock, beat=0.001),
        )
        await one.open()
        await other.open()
        name = one.process
        handle = store._handle  # noqa: SLF001
        database = handle.database  # taken away
        handle.database = Sqlite(tmp_path / "empty.sqlite")
        looks = clock.looks
        with capture_logs() as logs:
            await until(lambda: clock.looks > looks + 3)
        assert len(logs) == 1
        handle.database.close()
        handle.database = database
        await one.heartbeat()
        assert one.process == name
        await one.close()
        await other.close()


async def test_beats_go_on_by_themselves(
    store: SqlResolverStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(duties_module, "LEASE_TIME", 10**18)

    one, other = (
        WorkerLeases(store.processes, FakeClock(), beat=0.001),
        WorkerLeases(store.processes, FakeClock(), beat=3600),
    )
    await other.open()
    await one.open()
    await until(lambda: one.holds(HEALTH_CHECK))  # the other never beats again
    await other.close()
    await one.close()


# --- owners, and keys -----------------------------------------------------------------------------


@pytest.mark.parametrize("quick", [True, False])
async def test_who_was_settled_by_another_process_counts_at_once(quick: bool) -> None:  # noqa: FBT001  # a case
    shelf = MemoryResolverStore()
    one, other = Owners(shelf, quick=quick), Owners(shelf, quick=quick)
    settled = Owner("good", 2, settled=True)
    one.learn("x", settled)
    await one.keep()
    # By a search that began before.
    other.learn("x", Owner("rogue", 3))
    assert await other.owner("x") == (settled, True)
    await other.keep()
    assert shelf.owned == {"x": settled}
    other.learn("y", Owner("a", 1))
    assert await other.owner("y") == (Owner("a", 1), True)
    shelf.fails = True
    assert await other.owner("z") == (None, False)
    other.learn("w", Owner("b", 1))
    assert await other.owner("w") == (Owner("b", 1), True)
    shelf.fails = False
    await one.close()
    await other.close()


def tries(guesses: list[KeyGuessLimit], minutes: int) -> int:
    """Return how many of the keys are looked at that somebody tries every minute, everywhere."""
    looked = 0
    for minute in range(minutes):
        now = minute * 60 * SECOND
        for each in guesses:
            while each.admit("192.0.2.1", "archive", now) == 0:
                each.failed("192.0.2.1", "archive", now)
                looked += 1
    return looked


@pytest.mark.parametrize("processes", [2, 3, 5, 16])
def test_many_processes_admit_about_as_many_guesses_as_one(processes: int) -> None:
    """In the long run as many, one in an hour; at first each must let somebody try."""
    hours = [24, 48]
    alone = [tries([KeyGuessLimit()], hour * 60) for hour in hours]
    many = [
        tries([KeyGuessLimit(lambda: processes) for _ in range(processes)], hour * 60)
        for hour in hours
    ]
    assert many[1] - many[0] <= alone[1] - alone[0] + processes
    assert many[0] <= alone[0] * processes
