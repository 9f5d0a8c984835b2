"""Rival claims: what is kept of them, and how they are settled."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from ibi.errors import NotOnRecordError, ResolverRequestError, StorageError
from ibi.identifier.label import Label, parse
from ibi.model.archive_record import UrlKey
from ibi.model.clock import SECOND
from ibi.model.conflict import Claim, Conflict
from ibi.model.item import ContentType, State
from ibi.model.label_pair import Forms
from ibi.model.relation import Relation
from ibi.resolver.ports.outbound import ArchiveReply
from ibi.resolver.ports.store import Owner
from ibi.resolver.registry.registry import Registry
from ibi.resolver.search.conflicts import MAX_SIGHTINGS, WRITE_INTERVAL, Conflicts, merged
from ibi.wire.responses import Related, UrlList, decode
from tests.support.doubles.minting_machine import FakeClock
from tests.support.doubles.resolver_store import KEY, RECORD, SERVICE, MemoryResolverStore, until

ITEM = parse("sid.inpe.br/mtc-m21/2012/07.01.00.00")
LABEL = ITEM.canonical
HOME = SERVICE.canonical
ROGUE, THIRD = "evil.org/rogue/2020/01.01.00.00", "evil.org/third/2020/01.01.00.00"
URLKEY = UrlKey("1426387214-9164566186556927")
TIMESTAMP = "2012-07-01T00:00:00Z"


def claim_of(archive: str, item: Label = ITEM) -> ArchiveReply:
    related = Related(
        Forms.of(item),
        f"http://{parse(archive).kind}.org/x",
        ContentType.DATA,
        State.ORIGINAL,
        TIMESTAMP,
    )
    listed = UrlList(
        "archive.example.org",
        Forms.of(archive),
        forms=Forms.of(item),
        key=URLKEY,
        related={Relation(): related},
    )
    return ArchiveReply(archive, listed)


class Office:
    """Conflicts on a shelf, and whoever is needed for them."""

    def __init__(self) -> None:
        """Begin without any."""
        self.shelf = MemoryResolverStore()
        self.clock = FakeClock()
        self.registry = Registry(self.shelf, self.shelf, self.clock)
        self.conflicts = Conflicts(
            self.shelf,
            self.registry,
            self.clock,
            lambda label, owner: self.learned.append((label, owner)),
        )
        self.learned: list[tuple[str, Owner]] = []

    async def see(self, *archives: str, owner: str = "") -> None:
        """Let archives claim the item."""
        answers = tuple(map(claim_of, archives))
        await self.conflicts.record(LABEL, answers, (owner,) if owner else ())

    @property
    def all(self) -> list[Conflict]:
        """All conflicts."""
        return self.shelf.conflicts(0, 100, only_open=False)

    @property
    def only(self) -> Conflict:
        """The one conflict."""
        (found,) = self.all
        return found

    def claimants(self, conflict: Conflict | None = None) -> list[str]:
        """Return who claims, in order."""
        return [claim.archive for claim in (conflict or self.only).claims]


@asynccontextmanager
async def office() -> AsyncIterator[Office]:
    made = Office()
    await made.registry.open()
    await made.registry.register(SERVICE, KEY, "", [], "operator", "operator")
    await made.registry.include(HOME, RECORD, confirmed=True)
    try:
        yield made
    finally:
        await made.registry.close()


async def test_a_conflict_is_kept_with_its_evidence() -> None:
    async with office() as at:
        await at.see(HOME, ROGUE)
        now = at.clock.wall()
        conflict = at.only
        assert conflict == Conflict(
            id=1, label=LABEL, claims=conflict.claims, opened=now, last_seen=now
        )
        home, rogue = conflict.claims
        assert home == Claim(
            archive=HOME,
            address=RECORD.address,  # where it is on record
            url="http://rep.org/x",
            timestamp=TIMESTAMP,
            first_seen=now,
            last_seen=now,
            answer=home.answer,
        )
        assert rogue.address == "archive.example.org"  # by its own words: it is not on record
        assert URLKEY.text not in home.answer + rogue.answer
        listed = claim_of(HOME).listed
        assert listed is not None
        assert decode(home.answer) == replace(listed, key=None)
        assert await at.conflicts.listed(0, 10) == [conflict]


async def test_the_evidence_is_that_of_the_item_in_dispute() -> None:
    async with office() as at:
        listed = claim_of(ROGUE, parse("a.org/b/2000/01.01.00.00")).listed
        assert listed is not None
        edition = Relation.parse(".lastedition")
        of_edition = Related(
            Forms.of(ITEM), "http://x.org/new", ContentType.DATA, State.ORIGINAL, "2020-01-01"
        )
        both = replace(listed, related={**listed.related, edition: of_edition})
        await at.conflicts.record(LABEL, (ArchiveReply(ROGUE, both), claim_of(THIRD)))
        assert [claim.url for claim in at.only.claims] == [
            "http://x.org/new",
            "http://rep.org/x",
        ]
        assert at.only.claims[0].timestamp == "2020-01-01"


async def test_an_owner_that_is_silent_is_a_claimant_without_an_answer() -> None:
    async with office() as at:
        await at.see(ROGUE, owner=HOME)
        assert at.claimants() == [HOME, ROGUE]
        home = at.only.claims[0]
        assert (home.answer, home.url, home.address) == ("", "", RECORD.address)
        opened = at.clock.wall()
        at.clock.true += WRITE_INTERVAL
        await at.see(HOME, ROGUE, owner=HOME)
        home = at.only.claims[0]
        assert home.answer
        assert (home.first_seen, home.last_seen) == (opened, opened + WRITE_INTERVAL)
        assert at.claimants() == [HOME, ROGUE]


async def test_a_flood_of_one_conflict_is_written_once_a_minute() -> None:
    async with office() as at:
        writes = at.shelf.writes
        for _ in range(1000):
            await at.see(HOME, ROGUE)
        assert at.shelf.writes == writes + 1
        assert at.only.seen == 1
        at.clock.true += WRITE_INTERVAL
        await at.see(HOME, ROGUE)
        assert at.shelf.writes == writes + 2
        assert at.only.seen == 1001
        assert at.only.last_seen == at.only.opened + WRITE_INTERVAL
        await at.see(HOME, ROGUE)
        await at.conflicts.close()
        assert at.only.seen == 1002
        assert at.claimants() == [HOME, ROGUE]


async def test_conflicts_at_once_are_one() -> None:
    async with office() as at:
        await asyncio.gather(*(at.see(HOME, rogue) for rogue in [ROGUE, THIRD] * 20))
        await at.conflicts.close()
        assert at.only.seen == 40
        assert set(at.claimants()) == {HOME, ROGUE, THIRD}


async def test_nobody_writes_between_what_another_reads_and_writes() -> None:
    async with office() as at:
        at.shelf.free.clear()
        first = asyncio.create_task(at.see(HOME, ROGUE))
        await until(lambda: at.shelf.held == 1)
        second = asyncio.create_task(at.see(HOME, THIRD))
        for _ in range(100):  # rounds of the loop, in which the second could read too early
            await asyncio.sleep(0)
        at.shelf.free.set()
        await asyncio.gather(first, second)
        assert at.only.seen == 2


async def test_who_claims_too_is_written_at_once() -> None:
    async with office() as at:
        await at.see(HOME, ROGUE)
        await at.see(HOME, THIRD)
        assert at.claimants() == [HOME, THIRD, ROGUE]
        assert at.only.seen == 2
        await at.see(ROGUE, THIRD)
        assert at.only.seen == 2  # both are known: it waits


async def test_what_was_said_first_stays_the_evidence() -> None:
    async with office() as at:
        await at.see(HOME, ROGUE)
        first = at.only.claims
        at.clock.true += WRITE_INTERVAL
        other = claim_of(ROGUE)
        assert other.listed is not None
        changed = replace(other, listed=replace(other.listed, address="other.example.org"))
        await at.conflicts.record(LABEL, (claim_of(HOME), changed))
        now = at.clock.wall()
        assert at.only.claims == tuple(replace(claim, last_seen=now) for claim in first)


async def test_no_reader_is_the_worse_for_a_store_that_fails() -> None:
    async with office() as at:
        at.shelf.fails = True
        with capture_logs() as logs:
            await at.see(HOME, ROGUE)
            await at.see(HOME, ROGUE)
        assert [each["event"] for each in logs] == ["a conflict was not recorded"]
        at.shelf.fails = False
        assert at.all == []
        at.clock.true += WRITE_INTERVAL
        await at.see(HOME, ROGUE)
        assert at.only.seen == 3


async def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MAX_SIGHTINGS == 10_000
    monkeypatch.setattr("ibi.resolver.search.conflicts.MAX_SIGHTINGS", 2)

    async with office() as at:
        writes = at.shelf.writes
        answers = (claim_of(HOME), claim_of(ROGUE))
        for label in ("a", "b", "c", "a", "a"):
            await at.conflicts.record(label, answers)
        assert at.shelf.writes == writes + 4


@pytest.mark.parametrize("which", [1, "1", LABEL, "SID.inpe.br/mtc-m21@80/2012/07.01.00.00"])
async def test_a_conflict_is_settled(which: int | str) -> None:
    async with office() as at:
        await at.see(HOME, ROGUE)
        at.clock.true += SECOND
        now = at.clock.wall()
        settled = await at.conflicts.settle(which, HOME, "ana", "asked both")
        assert settled == at.only
        assert (settled.settled, settled.owner, settled.note) == (now, HOME, "asked both")
        assert at.shelf.owned == {LABEL: Owner(HOME, now, settled=True)}
        assert await at.conflicts.listed(0, 10) == []
        event = at.shelf.history[-1]
        assert (event.who, event.act, event.archive) == ("ana", "settle", HOME)
        assert event.detail == f"conflict 1, {LABEL}"


async def test_a_conflict_may_be_settled_for_a_claimant_that_is_not_on_record() -> None:
    async with office() as at:
        await at.see(HOME, ROGUE)
        assert (await at.conflicts.settle(1, ROGUE, "ana", "")).owner == ROGUE
        # Whoever settled it wrongly settles it again.
        assert (await at.conflicts.settle(1, HOME, "ana", "")).owner == HOME
        assert at.shelf.owned[LABEL].archive == HOME


async def test_a_conflict_may_be_settled_for_a_third_archive_that_is_on_record() -> None:
    async with office() as at:
        await at.see(ROGUE, THIRD)
        assert (await at.conflicts.settle(LABEL, HOME, "ana", "")).owner == HOME


async def test_what_cannot_be_settled_is_refused_and_changes_nothing() -> None:
    async with office() as at:
        await at.see(HOME, ROGUE)
        before = at.only
        with pytest.raises(ResolverRequestError, match="no archive"):
            await at.conflicts.settle(1, THIRD, "ana", "")
        for which in (2, 0, "2", "a.org/b/2000/01.01.00.00"):
            with pytest.raises(NotOnRecordError):
                await at.conflicts.settle(which, HOME, "ana", "")
        at.shelf.fails = True
        with pytest.raises(StorageError):
            await at.conflicts.settle(1, HOME, "ana", "")
        at.shelf.fails = False
        assert at.only == before
        assert at.shelf.owned == {}


async def test_a_conflict_that_was_settled_is_not_opened_by_those_who_were_looked_into() -> None:
    async with office() as at:
        await at.see(HOME, ROGUE)
        settled = await at.conflicts.settle(1, HOME, "ana", "")
        at.clock.true += WRITE_INTERVAL
        await at.see(HOME, ROGUE)
        assert at.only == replace(settled, seen=2, last_seen=at.clock.wall())
        await at.see(HOME, ROGUE, THIRD)
        old, new = at.all
        assert old.settled
        assert new.is_open
        assert at.claimants(new) == [HOME, ROGUE, THIRD]
        assert new.seen == 1
        at.clock.true += WRITE_INTERVAL
        await at.see(HOME, ROGUE)
        assert [each.seen for each in at.all] == [2, 2]


def test_counts_alone_open_nothing() -> None:
    assert merged(None, LABEL, (), 5, 1) is None
