"""The logs of archives, read on for as long as answers last: what else than their pages matters."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Final

import pytest

from ibi.model.registration import RegisteredArchive
from ibi.resolver.digests import log_follower as module
from ibi.resolver.digests.log_follower import FORGET_BATCH, READS_PER_LEASE, LogFollower
from ibi.resolver.ports.outbound import NoReply
from ibi.resolver.ports.store import DigestProgress
from ibi.wire.digest import DigestPage
from tests.simulation.world.virtual_time import VirtualLoop
from tests.support.doubles.archive_client import UnusedArchiveClient
from tests.support.values.resolutions import FIRST, archive

HOT: Final = 9.0
LONGEST: Final = 60.0
EPOCH: Final = "a" * 32


@dataclass
class Desk:
    """One archive, what is known of its digest, and what was forgotten."""

    say: Callable[[int], DigestPage | NoReply | None]
    archive: RegisteredArchive | None = field(
        default_factory=lambda: archive(FIRST, "first.example")
    )
    is_published: bool = True
    asked: list[tuple[float, int, float]] = field(default_factory=list)
    """When, after which number, and how long it had for an answer."""
    forgotten: dict[int, float] = field(default_factory=dict)

    def find(self, id: str) -> RegisteredArchive | None:  # noqa: A002  # as it is called
        """Return the archive."""
        del id
        return self.archive

    def publishes(self, archive: str) -> bool:
        """Tell whether its digest is here."""
        return self.is_published and archive == FIRST

    def digest(self, archive: str) -> DigestProgress:
        """Return how much of it is here."""
        return DigestProgress(archive, 1, EPOCH, 7, whole=True)

    async def read(
        self, archive: RegisteredArchive, epoch: str, after: int, seconds: float
    ) -> DigestPage | NoReply | None:
        """Read out the log."""
        del archive
        assert epoch == EPOCH
        self.asked.append((asyncio.get_running_loop().time(), after, seconds))
        await asyncio.sleep(0.01)
        return self.say(after)

    def forget(self, print_: int, now: float) -> None:
        """Note what is forgotten."""
        self.forgotten[print_] = now


@dataclass
class Client(UnusedArchiveClient):
    """Speaks with the archive of a desk."""

    desk: Desk

    async def digest(
        self, archive: RegisteredArchive, epoch: str, after: int, seconds: float
    ) -> DigestPage | NoReply | None:
        """Read out the log."""
        return await self.desk.read(archive, epoch, after, seconds)


def page(
    after: int,
    last: int | None = None,
    held: tuple[int, ...] = (),
    dropped: tuple[int, ...] = (),
    *,
    more: bool = False,
) -> DigestPage:
    return DigestPage(EPOCH, after, after if last is None else last, more, held, dropped)


def run(desk: Desk, work: Callable[[LogFollower], Awaitable[None]]) -> None:
    loop = VirtualLoop(lambda: 0.5)
    loop.now = 1.0

    async def begin() -> None:
        log_follower = LogFollower(
            Client(desk), desk, desk, desk.forget, seconds=HOT, longest=LONGEST
        )
        await work(log_follower)
        await log_follower.close()
        assert not len(log_follower)

    try:
        loop.run_until_complete(begin())
    finally:
        loop.close()


def lasts(log_follower: LogFollower) -> bool:
    now = asyncio.get_running_loop().time()
    lease = log_follower.lease(FIRST, now, now)
    return lease is not None and lease.until > now


async def begun(log_follower: LogFollower) -> None:
    assert not lasts(log_follower)
    await asyncio.sleep(0.1)
    assert lasts(log_follower)


def test_what_is_held_and_what_is_dropped_is_forgotten() -> None:
    desk = Desk(page)

    async def work(log_follower: LogFollower) -> None:
        await begun(log_follower)
        desk.say = lambda after: page(after, 9, (1, 2), (3,)) if after < 9 else page(after)
        await asyncio.sleep(HOT)
        assert desk.forgotten.keys() == {1, 2, 3}
        assert {after for _, after, _ in desk.asked} == {7, 9}
        assert lasts(log_follower)

    run(desk, work)


def test_a_log_is_read_often_enough_and_never_waited_for_too_long() -> None:
    desk = Desk(page)

    async def work(log_follower: LogFollower) -> None:
        await begun(log_follower)
        await asyncio.sleep(3 * HOT)
        assert len(desk.asked) == 3 * READS_PER_LEASE + 1
        assert {seconds for _, _, seconds in desk.asked} == {HOT / READS_PER_LEASE}

    run(desk, work)


def test_readers_get_their_turn_while_a_long_page_is_gone_through() -> None:
    desk = Desk(page)
    turns: list[int] = []

    def forget(print_: int, now: float) -> None:
        desk.forgotten[print_] = now
        if len(desk.forgotten) % FORGET_BATCH == 1:
            asyncio.get_running_loop().call_soon(lambda: turns.append(len(desk.forgotten)))

    async def work(log_follower: LogFollower) -> None:
        await begun(log_follower)
        desk.say = lambda after: page(after, 9, tuple(range(4 * FORGET_BATCH)))
        await asyncio.sleep(HOT / READS_PER_LEASE)
        assert turns == [FORGET_BATCH, 2 * FORGET_BATCH, 3 * FORGET_BATCH, 4 * FORGET_BATCH]

    desk.forget = forget  # type: ignore[method-assign]
    run(desk, work)


def test_all_pages_that_there_are_are_read_in_one_go() -> None:
    desk = Desk(page)

    async def work(log_follower: LogFollower) -> None:
        await begun(log_follower)
        desk.asked.clear()
        desk.say = lambda after: page(after, min(after + 1, 10), (after,), more=after < 9)
        await asyncio.sleep(HOT / READS_PER_LEASE)
        assert [after for _, after, _ in desk.asked] == [7, 8, 9]
        assert desk.forgotten.keys() == {7, 8, 9}

    run(desk, work)


def test_a_log_without_an_end_is_read_a_part_at_a_time_and_nothing_lasts() -> None:
    desk = Desk(page)

    async def work(log_follower: LogFollower) -> None:
        await begun(log_follower)
        before = len(desk.asked)
        desk.say = lambda after: page(after, after + 1, (after,), more=True)
        await asyncio.sleep(HOT + 2)
        assert not lasts(log_follower)
        assert 0 < len(desk.asked) - before <= (READS_PER_LEASE + 1) * module.MAX_PAGES

    run(desk, work)


@pytest.mark.parametrize("what", ["gone", "excluded", "refuses", "another log"])
def test_what_was_given_ends_at_once_with_what_it_was_given_for(what: str) -> None:
    desk = Desk(page)

    async def work(log_follower: LogFollower) -> None:
        await begun(log_follower)
        now = asyncio.get_running_loop().time()
        lease = log_follower.lease(FIRST, now, now)
        assert lease is not None
        assert desk.archive is not None
        if what == "gone":
            desk.archive = None
        elif what == "excluded":
            desk.archive = replace(desk.archive, inclusion=None)
        else:
            desk.say = lambda after: None if what == "refuses" else page(0, after)
        await asyncio.sleep(HOT / READS_PER_LEASE + 0.1)
        assert lease.until == 0
        before = len(desk.asked)
        # Who is refused does not ask again at once, but for those who read later.
        assert not lasts(log_follower)
        await asyncio.sleep(1)
        assert len(desk.asked) == before
        await asyncio.sleep(HOT / READS_PER_LEASE)
        assert not len(log_follower)

    run(desk, work)


def test_what_one_archive_makes_the_library_do_is_no_end() -> None:
    desk = Desk(page)

    def trip(_: int) -> DigestPage:
        raise ZeroDivisionError

    async def work(log_follower: LogFollower) -> None:
        await begun(log_follower)
        desk.say = trip
        await asyncio.sleep(2 * HOT)
        assert not lasts(log_follower)
        desk.say = page
        await asyncio.sleep(HOT)
        assert lasts(log_follower)

    run(desk, work)


def test_a_log_of_which_nothing_is_wanted_any_more_is_not_read() -> None:
    desk = Desk(page)

    async def work(log_follower: LogFollower) -> None:
        await begun(log_follower)
        await asyncio.sleep(LONGEST - HOT)
        assert len(log_follower) == 1
        assert lasts(log_follower)
        await asyncio.sleep(LONGEST - HOT)
        assert len(log_follower) == 1
        await asyncio.sleep(3 * HOT)
        assert not len(log_follower)
        read = len(desk.asked)
        await asyncio.sleep(LONGEST)
        assert len(desk.asked) == read

    run(desk, work)


def test_who_is_not_published_and_what_is_not_hot_does_not_last() -> None:
    desk = Desk(page, is_published=False)

    async def work(log_follower: LogFollower) -> None:
        assert not lasts(log_follower)
        await asyncio.sleep(1)
        assert not lasts(log_follower)
        cold = LogFollower(Client(desk), desk, desk, desk.forget, seconds=0)
        desk.is_published = True
        assert not lasts(cold)
        await asyncio.sleep(1)
        assert not desk.asked
        await begun(log_follower)
        desk.is_published = False
        assert not lasts(log_follower)

    run(desk, work)


def test_all_that_was_given_can_be_ended_and_is_when_it_closes() -> None:
    async def work(log_follower: LogFollower) -> None:
        await begun(log_follower)
        now = asyncio.get_running_loop().time()
        lease = log_follower.lease(FIRST, now, now)
        assert lease is not None
        log_follower.release()
        assert lease.until == 0
        assert lasts(log_follower)
        again = log_follower.lease(FIRST, now, now)
        assert again is not None
        await log_follower.close()
        assert again.until == 0

    run(Desk(page), work)


def test_how_often_others_were_wanted_is_not_remembered_without_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MAX_LOGS", 1)
    monkeypatch.setattr(module, "_MAX_WANTED", 3)
    desk = Desk(page)

    async def work(log_follower: LogFollower) -> None:
        await begun(log_follower)
        for _ in range(100):
            assert lasts(log_follower)
        monkeypatch.setattr(desk, "publishes", lambda _: True)
        now = asyncio.get_running_loop().time()
        for number in range(10):
            assert log_follower.lease(f"another {number}", now, now) is None
        wanted = log_follower._wanted  # noqa: SLF001  # nobody else can see it
        assert 0 < len(wanted) <= 3
        while len(desk.asked) < 2:
            assert log_follower.lease("another", now, now) is None
            await asyncio.sleep(0.02)
        assert "another" not in wanted

    run(desk, work)
