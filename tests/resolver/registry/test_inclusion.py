"""Archives switched on and off, and the watch over those that are on (004, section 5.2)."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from urllib.parse import urlsplit

import pytest
from structlog.testing import capture_logs

from ibi.errors import NotOnRecordError, RegistrationKeyError, TooManyRequestsError
from ibi.identifier.ibip import Ibip
from ibi.identifier.instant import Instant
from ibi.identifier.label import Label, parse
from ibi.model.archive_record import ArchiveRecord, RegistrationKey
from ibi.model.clock import SECOND
from ibi.model.registration import RegisteredArchive
from ibi.resolver.registry import registration_key
from ibi.resolver.registry.health_check import MAX_IDLE, HealthCheck
from ibi.resolver.registry.inclusion import InclusionService
from ibi.resolver.registry.registration_key import ALLOWED_BY_CLIENT, KeyGuessLimit
from ibi.resolver.registry.registry import Registry
from ibi.resolver.rules.archive_transitions import KEY_GRACE
from ibi.resolver.rules.outage import (
    MAX_SILENCES,
)
from ibi.wire.requests import ExclusionRequest, InclusionRequest
from ibi.wire.responses import ExclusionStatus, InclusionStatus
from tests.support.doubles.minting_machine import FakeClock
from tests.support.doubles.resolver_store import (
    KEY,
    RECORD,
    SERVICE,
    FakeArchives,
    MemoryResolverStore,
    until,
)

ID = SERVICE.canonical
PEER = "150.163.34.239"
WRONG = RegistrationKey("9876543210")
ELSEWHERE = replace(RECORD, address="elsewhere.example.org:8801")
STRANGER = parse("inpe.br/stranger/2012/06.05.15.34")
ON, OFF = InclusionRequest(RECORD, KEY), ExclusionRequest(RECORD, KEY)


@pytest.fixture(autouse=True)
def cheap_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """How long it takes to look at a key is no matter here; `test_registration_key` sees to it."""
    monkeypatch.setattr(registration_key, "_N", 2)


class Resolver:
    """What a resolver has to include archives by, with one registered."""

    def __init__(self) -> None:
        """Begin."""
        self.shelf = MemoryResolverStore()
        self.clock = FakeClock()
        self.archives = FakeArchives(RECORD.address)
        self.registry = Registry(self.shelf, self.shelf, self.clock, jitter=lambda: 1.0)
        self.service = InclusionService(self.registry, self.archives, KeyGuessLimit(), self.clock)

    async def register(self, service: Label = SERVICE) -> None:
        """Register an archive."""
        await self.registry.register(service, KEY, "", [], "operator", "operator")

    async def serve(
        self, request: InclusionRequest | ExclusionRequest, peer: str = PEER
    ) -> InclusionStatus | ExclusionStatus:
        """Serve a request."""
        return await self.service.serve(request, peer)

    @property
    def archive(self) -> RegisteredArchive:
        """The archive."""
        found = self.registry.find(ID)
        assert found is not None
        return found


@asynccontextmanager
async def resolver() -> AsyncIterator[Resolver]:
    made = Resolver()
    await made.registry.open()
    await made.register()
    try:
        yield made
    finally:
        await made.registry.close()


@asynccontextmanager
async def watched(at: Resolver) -> AsyncIterator[None]:
    task = asyncio.create_task(HealthCheck(at.registry, at.archives, at.clock, tick=0.001).run())
    try:
        yield
    finally:
        assert not task.done()
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def test_an_archive_is_included_and_excluded() -> None:
    async with resolver() as at:
        assert await at.serve(ON) == InclusionStatus(confirmed=True)
        assert at.archive.address == RECORD.address
        assert at.archive.inclusion is not None
        assert at.archive.inclusion.confirmed
        assert await at.serve(OFF) == ExclusionStatus()
        assert at.registry.included() == ()
        assert [urlsplit(each).netloc for each in at.archives.asked] == [
            RECORD.address,
            f"{RECORD.ip}:80",
        ]
        # Its registration is kept, to be included again when it is switched on again.
        assert await at.serve(ON) == InclusionStatus(confirmed=True)


OURS = replace(RECORD, platform_version="ibi-1.0")


async def secret_of(at: Resolver, key: RegistrationKey = KEY) -> str:
    """Return the secret of the link that an archive of this software receives."""
    status = await at.serve(InclusionRequest(OURS, key))
    assert isinstance(status, InclusionStatus)
    assert status.link_secret not in repr((status, at.archive))
    return status.link_secret


async def test_an_archive_of_ours_receives_the_secret_of_the_link() -> None:
    async with resolver() as at:
        secret = await secret_of(at)
        assert re.fullmatch(r"[0-9a-f]{64}", secret)
        assert await secret_of(at) == secret == at.archive.link_secret
        at.archives.there.clear()
        assert await secret_of(at) == secret
        # Another software receives the status of the standard, and nothing more.
        at.archives.there.add(RECORD.address)
        assert await at.serve(ON) == InclusionStatus(confirmed=True)
        await at.serve(OFF)
        assert await secret_of(at) == secret


async def test_another_key_brings_another_secret() -> None:
    async with resolver() as at:
        secret = await secret_of(at)
        new = await at.registry.rotate(at.archive.id, "operator")
        assert at.archive.link_secret == ""
        second = await secret_of(at, new)
        assert second not in {secret, ""}
        await at.registry.revoke(at.archive.id, "operator")
        assert at.archive.link_secret == ""


async def test_an_archive_that_cannot_be_reached_is_included_all_the_same() -> None:
    async with resolver() as at:
        at.archives.there.clear()
        assert await at.serve(ON) == InclusionStatus(confirmed=False)
        assert at.registry.included() == (at.archive,)
        assert at.archive.inclusion is not None
        assert not at.archive.inclusion.confirmed
        assert at.archives.patience == [3.0]


@pytest.mark.parametrize("request_of", [InclusionRequest, ExclusionRequest])
async def test_nobody_is_called_and_nothing_changes_by_a_wrong_key(
    request_of: type[InclusionRequest | ExclusionRequest],
) -> None:
    async with resolver() as at:
        await at.serve(ON)
        before, asked = at.shelf.archives(), list(at.archives.asked)
        evil = replace(RECORD, address="127.0.0.1:22")
        with capture_logs() as logs, pytest.raises(RegistrationKeyError) as refused:
            await at.serve(request_of(evil, WRONG))
        assert at.archives.asked == asked
        assert at.shelf.archives() == before
        assert WRONG.text not in f"{logs} {refused.value}"
        assert logs[0]["event"] == "registration key refused"


async def test_who_is_not_registered_is_told_no_more_than_who_has_the_wrong_key() -> None:
    async with resolver() as at:
        pending = parse("inpe.br/pending/2012/06.05.15.34")
        await at.registry.register(pending, KEY, "", [], "mail", "mail", pending=True)
        told = set()
        for service, key in ((SERVICE, WRONG), (STRANGER, KEY), (pending, KEY)):
            record = replace(RECORD, service=service)
            with pytest.raises(RegistrationKeyError) as refused:
                await at.serve(InclusionRequest(record, key))
            told.add(str(refused.value))
        assert len(told) == 1
        assert at.archives.asked == []


@pytest.mark.parametrize("state", ["unknown", "pending", "registered", "rotated", "revoked"])
def test_a_wrong_key_costs_the_same_whoever_it_is_tried_on(
    state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[str] = []

    def matches(key: RegistrationKey, kept: str) -> bool:
        del key
        looks.append(kept)
        return False

    async def run() -> None:
        async with resolver() as at:
            service = STRANGER if state in {"unknown", "pending"} else SERVICE
            if state == "pending":
                await at.registry.register(service, KEY, "", [], "mail", "mail", pending=True)
            elif state == "rotated":
                await at.registry.rotate(ID, "x")
            elif state == "revoked":
                await at.registry.revoke(ID, "x")
            monkeypatch.setattr("ibi.resolver.registry.inclusion.matches", matches)
            with pytest.raises(RegistrationKeyError):
                await at.serve(InclusionRequest(replace(RECORD, service=service), WRONG))

    asyncio.run(run())
    assert len(looks) == 2


async def test_who_guesses_is_shut_out_before_the_key_is_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with resolver() as at:
        for _ in range(ALLOWED_BY_CLIENT):
            with pytest.raises(RegistrationKeyError):
                await at.serve(InclusionRequest(RECORD, WRONG))
        with monkeypatch.context() as patch:
            patch.delattr("ibi.resolver.registry.inclusion.matches")
            with pytest.raises(TooManyRequestsError) as refused:
                await at.serve(ON)
        assert refused.value.retry_after >= 1
        assert await at.serve(ON, "203.0.113.9") == InclusionStatus(confirmed=True)
        at.clock.true += refused.value.retry_after * SECOND
        assert await at.serve(ON) == InclusionStatus(confirmed=True)


@pytest.mark.parametrize(
    ("first", "second", "together"),
    [
        ("2001:db8::1", "2001:db8::ffff:1", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("203.0.113.1", "203.0.113.2", False),
        ("203.0.113.1", "::ffff:203.0.113.1", True),
        ("a socket", "a socket", True),
    ],
)
async def test_the_addresses_of_one_network_guess_together(
    first: str,
    second: str,
    together: bool,  # noqa: FBT001  # a column
) -> None:
    async with resolver() as at:
        for _ in range(ALLOWED_BY_CLIENT):
            with pytest.raises(RegistrationKeyError):
                await at.serve(InclusionRequest(RECORD, WRONG), first)
        expected = TooManyRequestsError if together else RegistrationKeyError
        with pytest.raises(expected):
            await at.serve(InclusionRequest(RECORD, WRONG), second)


async def test_a_flood_of_keys_is_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ibi.resolver.registry.inclusion.MAX_WAITING", 4)
    services = [parse(f"a.br/b/{year}/01.01.00.00") for year in range(2000, 2020)]

    async with resolver() as at:
        requests = (
            at.serve(InclusionRequest(replace(RECORD, service=service), WRONG), f"client {number}")
            for number, service in enumerate(services)
        )
        ends = await asyncio.gather(*requests, return_exceptions=True)
        kinds = [type(each) for each in ends]
        assert kinds.count(RegistrationKeyError) == 4
        assert kinds.count(TooManyRequestsError) == 16
        assert await at.serve(ON) == InclusionStatus(confirmed=True)


async def test_after_a_rotation_both_keys_are_good_for_a_day() -> None:
    async with resolver() as at:
        new = await at.registry.rotate(ID, "operator")
        assert await at.serve(ON) == InclusionStatus(confirmed=True)
        assert await at.serve(InclusionRequest(RECORD, new)) == InclusionStatus(confirmed=True)
        at.clock.true += KEY_GRACE
        with pytest.raises(RegistrationKeyError):
            await at.serve(ON)
        assert await at.serve(InclusionRequest(RECORD, new)) == InclusionStatus(confirmed=True)


async def served_while(at: Resolver, request: InclusionRequest) -> asyncio.Task[object]:
    """Begin to serve a request; it waits for the confirmation."""
    address = request.record.address
    at.archives.free[address] = asyncio.Event()
    asked = len(at.archives.asked)
    task: asyncio.Task[object] = asyncio.create_task(at.serve(request))
    await until(lambda: len(at.archives.asked) > asked)
    return task


async def test_who_loses_the_key_meanwhile_is_not_included() -> None:
    async with resolver() as at:
        task = await served_while(at, ON)
        await at.registry.revoke(ID, "operator")
        at.archives.free[RECORD.address].set()
        with pytest.raises(RegistrationKeyError):
            await task
        assert at.registry.included() == ()


async def test_who_is_removed_meanwhile_is_not_included() -> None:
    async with resolver() as at:
        task = await served_while(at, ON)
        await at.registry.remove(ID, "operator")
        at.archives.free[RECORD.address].set()
        with pytest.raises(NotOnRecordError):
            await task
        assert at.registry.included() == ()


async def test_an_archive_that_is_switched_off_meanwhile_stays_off() -> None:
    async with resolver() as at:
        task = await served_while(at, ON)
        assert await at.serve(OFF) == ExclusionStatus()
        at.archives.free[RECORD.address].set()
        await task
        assert at.archive.inclusion is None


async def test_what_an_archive_said_last_counts() -> None:
    async with resolver() as at:
        at.archives.there.add(ELSEWHERE.address)
        task = await served_while(at, ON)
        await at.serve(InclusionRequest(ELSEWHERE, KEY))
        at.archives.free[RECORD.address].set()
        await task
        assert at.archive.address == ELSEWHERE.address


@pytest.mark.parametrize("is_there", [True, False])
async def test_an_archive_counts_where_it_confirms_after_another_request_was_served(
    *, is_there: bool
) -> None:
    """Another process serves an earlier request, or a later one, while a request is served."""
    async with resolver() as at:
        at.archives.there.add(ELSEWHERE.address)
        task = await served_while(at, InclusionRequest(ELSEWHERE, KEY))
        other = replace(RECORD, address="other.example.org")
        await at.registry.include(ID, other, confirmed=False)
        confirm = at.archives.confirm

        async def confirm_once(address: str, service: Label, seconds: float) -> str:
            # The archive has left the address after its first confirmation.
            return await confirm(address if is_there else "", service, seconds)

        at.archives.confirm = confirm_once  # type: ignore[method-assign]
        at.archives.free[ELSEWHERE.address].set()
        status = await task
        assert status == InclusionStatus(is_there)
        assert at.archive.address == (ELSEWHERE.address if is_there else other.address)


async def test_nobody_waits_for_the_confirmation_of_another() -> None:
    async with resolver() as at:
        task = await served_while(at, ON)
        other = replace(RECORD, service=STRANGER, address="stranger.inpe.br")
        await at.register(STRANGER)
        await at.serve(InclusionRequest(other, KEY))
        assert not task.done()
        assert at.registry.find(STRANGER.canonical) in at.registry.included()
        at.archives.free[RECORD.address].set()
        await task


@pytest.mark.parametrize(
    ("was_confirmed", "old_answers", "new_answers", "ends_at"),
    [
        (True, True, True, ELSEWHERE),
        (True, False, True, ELSEWHERE),
        (True, False, False, ELSEWHERE),
        (True, True, False, RECORD),
        (False, True, False, ELSEWHERE),
        (False, True, True, ELSEWHERE),
        (False, False, False, ELSEWHERE),
    ],
)
async def test_an_archive_has_moved_unless_it_is_found_where_it_was_and_not_where_it_says(
    was_confirmed: bool,  # noqa: FBT001  # a column
    old_answers: bool,  # noqa: FBT001  # a column
    new_answers: bool,  # noqa: FBT001  # a column
    ends_at: ArchiveRecord,
) -> None:
    async with resolver() as at:
        at.archives.there = {RECORD.address} if was_confirmed else set()
        await at.serve(ON)
        at.archives.there = set()
        if old_answers:
            at.archives.there.add(RECORD.address)
        if new_answers:
            at.archives.there.add(ELSEWHERE.address)
        with capture_logs() as logs:
            status = await at.serve(InclusionRequest(ELSEWHERE, KEY))
        assert status == InclusionStatus(new_answers)
        assert at.archive.address == ends_at.address
        assert at.archive.inclusion is not None
        stays = ends_at is RECORD
        assert at.archive.inclusion.confirmed is (new_answers or stays)
        assert [each["event"] for each in logs] == ["unconfirmed address set aside"] * stays


async def test_an_archive_that_is_not_found_where_it_was_confirmed_is_asked_there_once() -> None:
    async with resolver() as at:
        await at.serve(ON)
        at.archives.there.clear()
        at.archives.asked.clear()
        assert await at.serve(ON) == InclusionStatus(confirmed=False)
        assert len(at.archives.asked) == 1
        assert at.archive.inclusion is not None
        assert not at.archive.inclusion.confirmed


AT_NAME = parse("sid.inpe.br/mtc-m21.8080/2020/01.01.00.00")
AT_NUMBER = Ibip.mount(RECORD.ip, 800, Instant(1_700_000_000))
OTHER = parse("example.org/other/2020/01.01.00.00")


async def test_an_archive_is_the_home_of_both_forms_of_label_where_it_confirms() -> None:
    async with resolver() as at:
        await at.serve(ON)
        assert at.registry.homes(AT_NAME) == {ID}
        assert at.registry.homes(AT_NUMBER) == frozenset()
        at.archives.there.add(f"{RECORD.ip}:80")
        await at.serve(ON)
        assert at.registry.homes(AT_NUMBER) == {ID}
        # It is so while it is switched off, and when it is switched on before it listens.
        await at.serve(OFF)
        assert at.registry.homes(AT_NAME) == at.registry.homes(AT_NUMBER) == {ID}
        at.archives.there.clear()
        await at.serve(ON)
        assert at.registry.homes(AT_NAME) == at.registry.homes(AT_NUMBER) == {ID}


async def test_an_archive_at_some_port_is_the_home_of_labels_of_that_port() -> None:
    async with resolver() as at:
        await at.register(OTHER)
        address = f"{RECORD.address}:23250"
        at.archives.there = {address, f"{RECORD.ip}:23250"}
        await at.serve(InclusionRequest(replace(RECORD, address=address, service=OTHER), KEY))
        assert at.registry.homes(AT_NAME) == at.registry.homes(AT_NUMBER) == frozenset()
        for label in (
            parse("sid.inpe.br/mtc-m21.23250/2020/01.01.00.00"),
            Ibip.mount(RECORD.ip, 23250, Instant(1_700_000_000)),
        ):
            assert at.registry.homes(label) == {OTHER.canonical}


async def test_a_server_that_confirms_every_archive_proves_only_what_is_free() -> None:
    async with resolver() as at:
        at.archives.there = at.archives.undiscerning = {RECORD.address, f"{RECORD.ip}:80"}
        await at.serve(ON)
        assert at.registry.homes(AT_NAME) == at.registry.homes(AT_NUMBER) == {ID}
        await at.register(OTHER)
        # Confirmed, and not at home: another archive is, at every port of the host.
        for port in ("", ":443", ":23250"):
            at.archives.there |= {f"{RECORD.address}{port}", f"{RECORD.ip}{port}"}
            record = replace(RECORD, service=OTHER, address=f"{RECORD.address}{port}")
            status = await at.serve(InclusionRequest(record, KEY))
            assert status == InclusionStatus(confirmed=True)
            assert at.registry.homes(AT_NAME) == at.registry.homes(AT_NUMBER) == {ID}


async def test_only_an_answer_at_the_host_too_proves_the_ip_address() -> None:
    async with resolver() as at:
        at.archives.there = {f"{RECORD.ip}:80"}
        await at.serve(ON)
        assert at.registry.homes(AT_NUMBER) == frozenset()


async def test_silences_from_before_a_confirmation_do_not_count() -> None:
    async with resolver() as at:
        await at.serve(ON)
        for _ in range(MAX_SILENCES - 1):
            at.registry.note_reply(ID, "x")
        await at.serve(ON)
        at.registry.note_reply(ID, "x")
        assert at.registry.is_asked(ID)
        at.registry.note_reply(ID, "x")
        at.registry.note_reply(ID, "x")
        assert not at.registry.is_asked(ID)


async def test_an_inclusion_ends_an_outage() -> None:
    async with resolver() as at:
        await at.serve(ON)
        for _ in range(MAX_SILENCES):
            at.registry.note_reply(ID, "x")
        assert not at.registry.is_asked(ID)
        at.archives.there.clear()
        await at.serve(ON)
        assert not at.registry.is_asked(ID)
        at.archives.there.add(RECORD.address)
        await at.serve(ON)
        assert at.registry.is_asked(ID)


async def test_an_archive_that_is_down_is_asked_until_it_is_up() -> None:
    async with resolver() as at:
        await at.serve(ON)
        at.archives.there.clear()
        for _ in range(MAX_SILENCES):
            at.registry.note_reply(ID, "x")
        at.archives.asked.clear()
        async with watched(at):
            for tries in (1, 2, 3):
                at.clock.true += 64 * SECOND
                await until(lambda tries=tries: len(at.archives.asked) == tries)  # type: ignore[misc]
                failures = MAX_SILENCES + tries
                await until(
                    lambda failures=failures: (  # type: ignore[misc]
                        at.archive.outage is not None and at.archive.outage.failures == failures
                    )
                )
            at.archives.there.add(RECORD.address)
            at.clock.true += 64 * SECOND
            await until(lambda: at.registry.is_asked(ID))
            assert len(at.archives.asked) == 4


async def test_an_archive_that_nobody_asks_is_asked() -> None:
    async with resolver() as at:
        await at.serve(ON)
        at.archives.asked.clear()
        async with watched(at):
            at.clock.true += MAX_IDLE
            await until(lambda: len(at.archives.asked) == 1)
            assert at.registry.is_asked(ID)
            at.archives.there.clear()
            at.clock.true += MAX_IDLE
            await until(lambda: not at.registry.is_asked(ID))
            assert len(at.archives.asked) == 1 + MAX_SILENCES


async def test_an_archive_that_searches_ask_is_left_alone() -> None:
    async with resolver() as at:
        quiet = replace(RECORD, service=STRANGER, address="stranger.inpe.br")
        at.archives.there.add(quiet.address)
        await at.register(STRANGER)
        await at.serve(ON)
        await at.serve(InclusionRequest(quiet, KEY))
        at.archives.asked.clear()
        async with watched(at):
            for count in range(1, 6):
                at.clock.true += MAX_IDLE
                at.registry.note_reply(ID, "")
                await until(lambda count=count: len(at.archives.asked) == count)  # type: ignore[misc]
        assert all("stranger" in each for each in at.archives.asked)


def test_those_that_nobody_asks_are_not_asked_all_at_once() -> None:
    async def run() -> None:
        async with resolver() as at:
            for year in range(2000, 2005):
                service = parse(f"a.br/b/{year}/01.01.00.00")
                await at.register(service)
                record = replace(RECORD, service=service)
                await at.registry.include(service.canonical, record, confirmed=True)
            at.clock.true += MAX_IDLE
            seen: list[int] = []
            watch = HealthCheck(at.registry, at.archives, at.clock, tick=0.001)
            task = asyncio.create_task(watch.run())
            for turns in range(1, 6):
                at.clock.true += MAX_IDLE // 5 + 1
                await until(lambda turns=turns: len(at.archives.asked) == turns)  # type: ignore[misc]
                seen.append(len(set(at.archives.asked)))
            assert seen == [1, 2, 3, 4, 5]
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    asyncio.run(run())


async def test_turns_come_round_again() -> None:
    async with resolver() as at:
        for service in (SERVICE, STRANGER, parse("a.br/b/2000/01.01.00.00")):
            if service is not SERVICE:
                await at.register(service)
            record = replace(RECORD, service=service)
            await at.registry.include(service.canonical, record, confirmed=True)
        at.clock.true += MAX_IDLE
        async with watched(at):
            for step, asked in ((2 * MAX_IDLE // 3 + 1, 2), (MAX_IDLE, 5), (MAX_IDLE, 8)):
                await asyncio.sleep(0)
                at.clock.true += step
                await until(lambda asked=asked: len(at.archives.asked) == asked)  # type: ignore[misc]


async def test_what_a_watch_hears_of_where_an_archive_was_is_not_held_against_it() -> None:
    async with resolver() as at:
        await at.serve(ON)
        for _ in range(MAX_SILENCES):
            at.registry.note_reply(ID, "x")
        at.archives.there = {ELSEWHERE.address}
        at.archives.free[RECORD.address] = asyncio.Event()
        at.archives.asked.clear()
        async with watched(at):
            at.clock.true += 64 * SECOND
            await until(lambda: len(at.archives.asked) == 1)
            await at.serve(InclusionRequest(ELSEWHERE, KEY))
            for _ in range(MAX_SILENCES - 1):
                at.registry.note_reply(ID, "x")
            at.archives.free[RECORD.address].set()
            for _ in range(10):  # no thread is in it: the answer goes all its way
                await asyncio.sleep(0)
            assert at.registry.is_asked(ID)


async def test_a_watch_does_not_die_of_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    async with resolver() as at:
        await at.serve(ON)
        for _ in range(MAX_SILENCES):
            at.registry.note_reply(ID, "x")
        at.archives.asked.clear()

        async def confirm(*_: object) -> str:
            at.archives.asked.append("")
            raise ZeroDivisionError

        with capture_logs() as logs, monkeypatch.context() as patch:
            patch.setattr(at.archives, "confirm", confirm)
            patch.setattr(at.registry, "included", None)
            async with watched(at):
                at.clock.true += 64 * SECOND
                await until(lambda: len(at.archives.asked) > 1)
        assert {each["event"] for each in logs} == {
            "the health check failed",
            "an archive could not be checked",
        }
