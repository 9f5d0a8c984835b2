"""The registry: what searches read of it, what acts change, and what survives."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from ibi.errors import NotOnRecordError, RegistrationKeyError, ResolverRequestError, StorageError
from ibi.identifier.instant import Instant
from ibi.identifier.label import Label, parse
from ibi.identifier.repository_name import RepositoryName
from ibi.model.clock import SECOND
from ibi.model.registration import ArchiveState, Inclusion, RegisteredArchive
from ibi.resolver.registry.registration_key import matches
from ibi.resolver.registry.registry import Registry, SerialExecutor
from ibi.resolver.rules.archive_roster import Roster
from ibi.resolver.rules.archive_transitions import KEY_GRACE, good_keys, read_hosts
from ibi.resolver.rules.home_places import Place, homes_for, places_of
from ibi.resolver.rules.outage import (
    MAX_SILENCES,
)
from tests.support.doubles.minting_machine import FakeClock
from tests.support.doubles.resolver_store import KEY, RECORD, SERVICE, MemoryResolverStore, until

ID = SERVICE.canonical


class Desk:
    """A registry on a shelf, and its clock."""

    def __init__(self) -> None:
        """Begin with nobody registered."""
        self.shelf = MemoryResolverStore()
        self.clock = FakeClock()
        self.registry = Registry(self.shelf, self.shelf, self.clock, jitter=lambda: 1.0)

    async def register(
        self, service: Label = SERVICE, *, pending: bool = False
    ) -> RegisteredArchive:
        """Register an archive."""
        archive, _ = await self.registry.register(
            service, KEY, "a@example.org", [], "operator", "operator", pending=pending
        )
        return archive

    async def include(self) -> RegisteredArchive:
        """Include it."""
        return await self.registry.include(ID, RECORD, confirmed=True)

    async def reopen(self) -> None:
        """Start anew on the same shelf."""
        await self.registry.close()
        self.registry = Registry(self.shelf, self.shelf, self.clock, jitter=lambda: 1.0)
        await self.registry.open()

    @property
    def archive(self) -> RegisteredArchive:
        """The archive as the registry shows it."""
        found = self.registry.find(ID)
        assert found is not None
        return found

    @property
    def kept(self) -> RegisteredArchive:
        """The archive as it is kept."""
        (found,) = (each for each in self.shelf.archives() if each.id == ID)
        return found

    @property
    def acts(self) -> list[str]:
        """What happened."""
        return [event.act for event in self.shelf.history]

    def fall_silent(self, times: int = MAX_SILENCES) -> None:
        """Let the archive not answer."""
        for _ in range(times):
            self.registry.note_reply(ID, "nobody answers")


@asynccontextmanager
async def desk() -> AsyncIterator[Desk]:
    made = Desk()
    await made.registry.open()
    try:
        yield made
    finally:
        made.shelf.free.set()
        await made.registry.close()


async def test_an_archive_is_registered_included_excluded_and_removed() -> None:
    async with desk() as at:
        archive = await at.register()
        assert archive == at.archive == at.kept
        assert archive.state is ArchiveState.EXCLUDED
        assert at.registry.included() == ()
        at.clock.true += SECOND
        included = await at.include()
        assert included == at.archive == at.kept
        assert included.inclusion == Inclusion(
            address=RECORD.address,
            ip=RECORD.ip,
            platform_version=RECORD.platform_version,
            administrator=RECORD.administrator,
            since=at.clock.wall(),
            seen=at.clock.wall(),
            confirmed=True,
        )
        assert at.registry.included() == (included,)
        assert at.registry.find_service(SERVICE) is included
        assert at.registry.is_asked(ID)
        at.clock.true += SECOND
        excluded = await at.registry.exclude(ID)
        assert excluded == at.archive == at.kept
        assert excluded.since == at.clock.wall()
        assert at.registry.included() == ()
        assert not at.registry.is_asked(ID)
        await at.registry.remove(ID, "somebody")
        assert at.registry.find(ID) is None
        assert at.registry.all() == ()
        assert at.shelf.archives() == []
        assert at.acts == ["register", "include", "exclude", "remove"]
        assert [event.who for event in at.shelf.history] == [
            "operator",
            "archive",
            "archive",
            "somebody",
        ]


async def test_all_is_there_again_after_a_restart() -> None:
    async with desk() as at:
        await at.register()
        await at.include()
        before = at.archive
        await at.reopen()
        assert at.registry.included() == (before,)
        assert at.registry.homes(SERVICE) == {ID}
        assert at.registry.ranks() == {ID: 0}


async def test_an_archive_is_found_by_any_spelling() -> None:
    async with desk() as at:
        archive = await at.register()
        other = parse("SID.inpe.br/mtc-m21@80/2012/06.05.15.34.39.0")
        assert at.registry.find_service(other) is archive
        with pytest.raises(ResolverRequestError, match="registered already"):
            await at.register(other)


async def test_of_two_registrations_at_once_one_is_refused() -> None:
    async with desk() as at:
        both = await asyncio.gather(at.register(), at.register(), return_exceptions=True)
        assert [type(each) for each in both].count(ResolverRequestError) == 1
        assert at.acts == ["register"]


async def test_a_wish_overwrites_nothing_and_keeps_nobody_out() -> None:
    async with desk() as at:
        wish = await at.register(pending=True)
        assert wish.state is ArchiveState.PENDING
        assert at.registry.ranks() == {}
        with pytest.raises(RegistrationKeyError):
            await at.include()
        with pytest.raises(ResolverRequestError, match="registered already"):
            await at.register(pending=True)
        at.clock.true += SECOND
        good, key = await at.registry.register(
            SERVICE, None, "owner@inpe.br", [], "domain", "domain"
        )
        assert at.archive == at.kept == good
        assert good.state is ArchiveState.EXCLUDED
        assert matches(key, good.key)
        assert not matches(KEY, good.key)


async def test_a_wish_becomes_good_once() -> None:
    async with desk() as at:
        await at.register(pending=True)
        at.clock.true += SECOND
        good = await at.registry.confirm(ID, "operator")
        assert good.confirmed == at.clock.wall() == good.registered + SECOND
        at.clock.true += SECOND
        assert await at.registry.confirm(ID, "operator") == good
        assert at.acts == ["register", "confirm"]


async def test_the_key_before_a_rotation_is_good_for_a_day() -> None:
    async with desk() as at:
        before = await at.register()
        now = at.clock.wall()
        key = await at.registry.rotate(ID, "operator")
        after = at.archive
        assert after == at.kept
        assert matches(key, after.key)
        assert good_keys(after, now + KEY_GRACE - 1) == (after.key, before.key)
        assert good_keys(after, now + KEY_GRACE) == (after.key, "")
        await at.registry.rotate(ID, "operator")
        assert before.key not in good_keys(at.archive, now)


async def test_who_loses_the_key_is_out_at_once() -> None:
    async with desk() as at:
        await at.register()
        await at.registry.rotate(ID, "operator")
        fitted = at.archive.key
        await at.include()
        version = at.registry.version
        revoked = await at.registry.revoke(ID, "operator")
        assert revoked == at.archive == at.kept
        assert (revoked.key, revoked.previous_key, revoked.inclusion) == ("", "", None)
        assert good_keys(revoked, 0) == ("", "")
        assert at.registry.included() == ()
        assert at.registry.version > version
        with pytest.raises(RegistrationKeyError):
            await at.registry.include(ID, RECORD, confirmed=True, fitted=fitted)
        assert at.registry.included() == ()
        key = await at.registry.rotate(ID, "operator")
        assert good_keys(at.archive, 0) == (at.archive.key, "")
        assert matches(key, at.archive.key)


async def test_hosts_are_set_and_checked() -> None:
    async with desk() as at:
        await at.register()
        await at.include()
        version = at.registry.version
        await at.registry.allow_hosts(ID, ["Files.example.org:8080", "files.example.org"], "x")
        hosts = ("files.example.org:8080", "files.example.org")
        assert at.archive.hosts == at.kept.hosts == hosts
        assert at.registry.version > version
        assert at.shelf.history[-1].detail == " ".join(hosts)
        with pytest.raises(ResolverRequestError, match="no host"):
            await at.registry.allow_hosts(ID, ["*"], "x")
        assert at.archive.hosts == hosts


@pytest.mark.parametrize(
    "host",
    [
        "",
        "*",
        "*.example.org",
        "http://a.org",
        "a.org/",
        "u@a.org",
        "a b",
        "a:0",
        "a:65536",
        "é",
        "a\n.b",
    ],
)
def test_what_is_no_host_is_refused(host: str) -> None:
    with pytest.raises(ResolverRequestError, match="no host") as refused:
        read_hosts([host])
    assert str(refused.value).isprintable()


def test_there_are_not_too_many_hosts() -> None:
    assert len(read_hosts([f"h{number}.org" for number in range(100)])) == 100
    with pytest.raises(ResolverRequestError, match="100"):
        read_hosts([f"h{number}.org" for number in range(101)])


async def test_nothing_can_be_done_to_who_is_not_on_record() -> None:
    async with desk() as at:
        registry = at.registry
        for act in (
            registry.confirm(ID, "x"),
            registry.rotate(ID, "x"),
            registry.revoke(ID, "x"),
            registry.allow_hosts(ID, [], "x"),
            registry.remove(ID, "x"),
            registry.include(ID, RECORD, confirmed=True),
            registry.exclude(ID),
        ):
            with pytest.raises(NotOnRecordError):
                await act
        assert at.shelf.history == []


async def test_an_archive_that_announces_itself_again_makes_no_history() -> None:
    async with desk() as at:
        await at.register()
        first = await at.include()
        version = at.registry.version
        at.clock.true += 3600 * SECOND
        again = await at.include()
        assert first.inclusion is not None
        assert again.inclusion == replace(first.inclusion, seen=at.clock.wall())
        assert at.kept == again
        assert at.registry.version == version
        assert at.acts == ["register", "include"]
        await at.registry.include(ID, replace(RECORD, platform_version="2"), confirmed=True)
        assert at.acts == ["register", "include", "include"]


async def test_an_archive_that_moves_is_included_there_since_then() -> None:
    async with desk() as at:
        await at.register()
        await at.include()
        at.fall_silent()
        assert not at.registry.is_asked(ID)
        await until(lambda: at.acts[-1] == "down")
        version = at.registry.version
        at.clock.true += SECOND
        record = replace(RECORD, address="new.example.org:8801")
        moved = await at.registry.include(ID, record, confirmed=False)
        assert moved.since == at.clock.wall()
        assert moved.address == record.address
        assert moved.outage is None
        assert at.registry.version > version
        assert at.shelf.history[-1].detail == "new.example.org:8801, unconfirmed"


async def test_an_outage_is_seen_at_once_and_survives_a_restart() -> None:
    async with desk() as at:
        await at.register()
        await at.include()
        version = at.registry.version
        at.fall_silent(MAX_SILENCES - 1)
        assert at.registry.is_asked(ID)
        at.fall_silent(1)
        assert not at.registry.is_asked(ID)
        assert at.archive.state is ArchiveState.DOWN
        assert at.registry.included() == at.registry.down() == (at.archive,)
        assert at.registry.version == version
        await until(lambda: at.kept.outage is not None)
        await at.reopen()
        assert at.archive.outage == at.kept.outage
        assert not at.registry.is_asked(ID)
        at.registry.note_reply(ID, "")
        assert at.registry.is_asked(ID)
        assert at.registry.down() == ()
        await until(lambda: at.kept.outage is None)
        assert at.acts[2:] == ["down", "up"]
        assert {event.who for event in at.shelf.history[2:]} == {"resolver"}


async def test_an_answer_between_keeps_an_archive_up() -> None:
    async with desk() as at:
        await at.register()
        await at.include()
        for _ in range(10):
            at.fall_silent(MAX_SILENCES - 1)
            at.registry.note_reply(ID, "")
        assert at.registry.is_asked(ID)
        writes = at.shelf.writes
        await at.registry.close()
        assert at.shelf.writes == writes


async def test_tries_that_fail_are_not_written() -> None:
    async with desk() as at:
        await at.register()
        await at.include()
        at.fall_silent()
        await until(lambda: at.acts[-1] == "down")
        writes = at.shelf.writes
        for _ in range(5):
            assert at.archive.outage is not None
            at.clock.true = at.archive.outage.next_try
            at.fall_silent(1)
        assert at.archive.outage is not None
        assert at.archive.outage.failures == MAX_SILENCES + 5
        await at.registry.close()
        assert at.shelf.writes == writes


async def test_nothing_is_heard_of_who_is_not_included() -> None:
    async with desk() as at:
        at.fall_silent()
        await at.register()
        at.fall_silent()
        assert at.archive.outage is None
        await at.include()
        at.fall_silent()
        await at.registry.exclude(ID)
        assert at.archive.outage is None
        at.fall_silent(MAX_SILENCES - 1)
        await at.include()
        assert at.registry.is_asked(ID)


async def test_an_outage_that_the_store_did_not_take_is_written_when_it_does() -> None:
    async with desk() as at:
        await at.register()
        await at.include()
        at.shelf.fails = True
        at.fall_silent()
        with capture_logs() as said:
            await until(lambda: "an outage was not written" in [each["event"] for each in said])
        assert not at.registry.is_asked(ID)
        at.shelf.fails = False
        await at.registry.close()
        assert at.kept.outage == at.archive.outage is not None


async def test_what_the_store_does_not_take_is_not_shown() -> None:
    async with desk() as at:
        await at.register()
        before = at.archive
        at.shelf.fails = True
        for act in (
            at.registry.rotate(ID, "x"),
            at.registry.revoke(ID, "x"),
            at.registry.remove(ID, "x"),
            at.include(),
            at.register(parse("LK47B6W/362SFKH")),
        ):
            with pytest.raises(StorageError):
                await act
        assert at.registry.all() == (before,)
        at.shelf.fails = False


async def test_an_act_goes_on_when_who_asked_for_it_hangs_up() -> None:
    async with desk() as at:
        await at.register()
        at.shelf.free.clear()
        act = asyncio.create_task(at.include())
        await until(lambda: at.shelf.held == 1)
        act.cancel()
        with pytest.raises(asyncio.CancelledError):
            await act
        at.shelf.free.set()
        await until(lambda: at.archive.inclusion is not None)
        assert at.archive == at.kept


async def test_an_outage_that_begins_during_an_act_is_not_lost() -> None:
    async with desk() as at:
        await at.register()
        await at.include()
        at.shelf.free.clear()
        act = asyncio.create_task(at.registry.allow_hosts(ID, ["a.org"], "x"))
        await until(lambda: at.shelf.held == 1)
        at.fall_silent()
        at.shelf.free.set()
        await act
        assert at.archive.hosts == ("a.org",)
        assert at.archive.outage is not None
        await at.registry.close()
        assert at.kept == at.archive


async def test_seniority_counts_from_when_a_registration_became_good() -> None:
    async with desk() as at:
        early = parse("LK47B6W/362SFKH")
        await at.register(early, pending=True)
        at.clock.true += SECOND
        await at.register()
        assert at.registry.ranks() == {ID: 0}
        at.clock.true += SECOND
        await at.registry.confirm(early.canonical, "x")
        ranks = at.registry.ranks()
        assert ranks == {ID: 0, early.canonical: 1}
        await at.include()
        assert at.registry.ranks() is ranks


async def test_seniority_is_of_the_store_whatever_the_clock_says() -> None:
    async with desk() as at:
        first, second = parse("LK47B6W/362SFKH"), parse("J8LNKB5R7W/3FUQHC5")
        await at.register(first)
        await at.register(second, pending=True)
        at.clock.true -= 3600 * SECOND
        await at.register()
        await at.registry.confirm(second.canonical, "x")
        in_order = [first.canonical, ID, second.canonical]
        assert list(at.registry.ranks()) == in_order
        for act in (at.registry.rotate, at.registry.exclude, at.registry.revoke):
            await act(first.canonical, "x")
        await at.reopen()
        assert list(at.registry.ranks()) == in_order
        await at.registry.remove(first.canonical, "x")
        await at.register(first)
        assert list(at.registry.ranks()) == [ID, second.canonical, first.canonical]


SERVICES = [
    parse(text)
    for text in (
        "inpe.br/a/2001/01.01.00.00",
        "inpe.br/a/2002/01.01.00.00",
        "inpe.br/b.8080/2001/01.01.00.00",
        "LK47B6W/362SFKH",
        "8JMKD3MGP7W/3EPGUE5",
    )
]
ADDRESSES = ["a.inpe.br", "b.inpe.br:8080", "10.0.0.1", "c.org"]
LABELS = [
    *SERVICES,
    RepositoryName.mount("b.inpe.br", 80, Instant(1_000_000_000)),
    RepositoryName.mount("c.org", 80, Instant(1_000_000_000)),
]


def put(
    service: Label,
    address: str | None,
    confirmed: bool,  # noqa: FBT001  # drawn
    good: tuple[int, int],
    key: str,
) -> RegisteredArchive:
    inclusion = Inclusion(
        address=address or "",
        ip="10.0.0.1",
        platform_version="",
        administrator="",
        since=0,
        seen=0,
        confirmed=confirmed,
    )
    return RegisteredArchive(
        service=service,
        key=key,
        confirmed=good[0],
        seniority=good[1],
        inclusion=inclusion if address else None,
    )


@given(
    st.lists(
        st.builds(
            put,
            st.sampled_from(SERVICES),
            st.sampled_from([None, *ADDRESSES]),
            st.booleans(),
            st.tuples(st.integers(0, 3), st.integers(0, 2)),
            st.sampled_from(["", "key"]),
        )
        | st.sampled_from(SERVICES)
    )
)
def test_what_is_kept_ready_is_what_going_through_all_would_find(
    changes: list[RegisteredArchive | Label],
) -> None:
    roster, plain = Roster(), dict[str, RegisteredArchive]()
    for change in changes:
        before, version = standing(plain), roster.version
        if isinstance(change, RegisteredArchive):
            roster.put(change)
            plain[change.id] = change
        else:
            roster.drop(change.canonical)
            plain.pop(change.canonical, None)
        included = {
            each.id: each
            for each in plain.values()
            if each.state in {ArchiveState.INCLUDED, ArchiveState.DOWN}
        }
        assert {each.id: each for each in roster.included()} == included
        for label in LABELS:
            assert roster.homes(label) == {
                name
                for name, each in plain.items()
                if not places(each).isdisjoint(homes_for(label))
            }
        good = sorted(
            (each.seniority, each.confirmed, each.id) for each in plain.values() if each.confirmed
        )
        assert list(roster.ranks()) == [name for _, _, name in good]
        assert (roster.version != version) == (standing(plain) != before)


def standing(archives: dict[str, RegisteredArchive]) -> dict[str, tuple[object, ...]]:
    """Return what searches depend on: who is included, and where archives are at home."""
    included = {
        each.id: (each.address, each.inclusion.confirmed)
        for each in archives.values()
        if each.confirmed and each.inclusion is not None
    }
    return {
        each.id: (included.get(each.id), places(each))
        for each in archives.values()
        if each.id in included or places(each)
    }


def places(archive: RegisteredArchive) -> frozenset[Place]:
    """Return where an archive is at home: one that is switched off too."""
    return places_of(archive) if archive.confirmed and archive.key else frozenset()


def test_an_act_that_never_begins_is_closed() -> None:
    """The loop ends while an act waits for the one before it."""
    acts = SerialExecutor()
    waiting = asyncio.sleep(0)

    async def begin() -> None:
        first = asyncio.ensure_future(acts.run(asyncio.Event().wait()))
        second = asyncio.ensure_future(acts.run(waiting))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not first.done()
        assert not second.done()

    asyncio.run(begin())
    assert inspect.getcoroutinestate(waiting) == inspect.CORO_CLOSED
