"""Rival claims to an Original, stored with their evidence until the operator settles them.

004, section 6.2: if two archives claim one Original, an investigation is needed. A reader who asked
for the Original is informed; the operator needs the answers of all claimants, and their times.
"""

from __future__ import annotations

import asyncio
import re
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

import structlog

from ibi.errors import IbiError, NotOnRecordError, ResolverRequestError, Sentence, shown
from ibi.identifier.label import parse
from ibi.model.clock import SECOND, Clock
from ibi.model.conflict import Claim, Conflict
from ibi.model.relation import Relation
from ibi.resolver.ports.outbound import ArchiveReply
from ibi.resolver.ports.store import ConflictChange, ConflictStore, Owner, RegistryEvent
from ibi.resolver.registry.registry import Registry
from ibi.wire.responses import decode, encode
from ibi.wire.url_list import Related, UrlList

WRITE_INTERVAL: Final = 60 * SECOND
"""Nanoseconds between two writes of a conflict that is seen again and again."""
MAX_SIGHTINGS: Final = 10_000
"""Conflicts in memory that were written recently."""
_NUMBER: Final = re.compile("[0-9]{1,18}")
_LOG: Final = structlog.get_logger()

MAX_EVIDENCE: Final = 4096
"""Characters of a stored answer: enough for a person to judge it."""


@dataclass(slots=True)
class _Sighting:
    """A conflict that was written recently, and how often it was seen since."""

    written: int
    claimants: frozenset[str]
    first: str
    """The most trusted of them, when the conflict was seen last."""
    since: int = 0


class Conflicts:
    """The conflicts that a resolver has seen."""

    def __init__(  # its collaborators
        self,
        conflicts: ConflictStore,
        registry: Registry,
        clock: Clock,
        learn: Callable[[str, Owner], None],
    ) -> None:
        """Store conflicts; `learn` is called with the owner for whom one was settled."""
        self._learn = learn
        self._conflicts = conflicts
        self._registry = registry
        self._clock = clock
        self._sightings: OrderedDict[str, _Sighting] = OrderedDict()

    def is_news(
        self, label: str, contending: tuple[ArchiveReply, ...], incumbents: tuple[str, ...] = ()
    ) -> bool:
        """Return whether the claimants differ from those of the last time.

        They do if one of them is new, or another one is trusted most. An archive that claims an
        item now and then is new once.
        """
        seen = self._sightings.get(label)
        if seen is None:
            return True
        is_same = contending[0].archive == seen.first
        return not (is_same and _contenders(contending, incumbents) <= seen.claimants)

    async def record(
        self, label: str, contending: tuple[ArchiveReply, ...], incumbents: tuple[str, ...] = ()
    ) -> None:
        """Record that archives claim the same item, the most trusted one's answer first.

        The incumbents come before them: archives that are trusted with the item rather than any
        claimant, and did not claim it in this search. If the store fails, the record is lost, which
        affects no reader.
        """
        claimants, first = _contenders(contending, incumbents), contending[0].archive
        now = self._clock.uptime()
        seen = self._sightings.get(label)
        if seen is not None:
            seen.first = first
        if seen is not None and now - seen.written < WRITE_INTERVAL and claimants <= seen.claimants:
            seen.since += 1
            return
        count = 1 + (seen.since if seen is not None else 0)
        known = seen.claimants if seen is not None else frozenset()
        self._sightings[label] = _Sighting(now, claimants | known, first)
        self._sightings.move_to_end(label)
        if len(self._sightings) > MAX_SIGHTINGS:
            self._sightings.popitem(last=False)
        await self._write(label, self._claims(label, contending, incumbents), count)

    async def close(self) -> None:
        """Write how often conflicts were seen since they were written."""
        sightings, self._sightings = self._sightings, OrderedDict()
        for label, seen in sightings.items():
            if seen.since:
                await self._write(label, (), seen.since)

    async def listed(self, after: int, limit: int, *, only_open: bool = True) -> list[Conflict]:
        """Return conflicts by number, later than `after`."""
        return await asyncio.to_thread(self._conflicts.conflicts, after, limit, only_open=only_open)

    async def count_open(self) -> int:
        """Return how many are not settled."""
        return await asyncio.to_thread(self._conflicts.count_conflicts)

    async def settle(self, which: int | str, owner_archive: str, who: str, note: str) -> Conflict:
        """Settle a conflict, given by number or label, for one of the archives.

        A wrong settlement is corrected by another one.
        """
        name = _canonical(owner_archive)
        is_on_record = await self._registry.fresh(name) is not None
        now = self._clock.wall()

        def settled(found: Conflict | None) -> ConflictChange:
            if found is None:
                raise NotOnRecordError("conflict", str(which))
            if not is_on_record and name not in _claimants(found):
                raise ResolverRequestError(
                    Sentence(
                        "%(name)s is no archive that claims the item or is registered.",
                        name=shown(name),
                    )
                )
            owner, labels = Owner(name, now, settled=True), sorted(labels_of(found, name))
            detail = f"conflict {found.id}, {found.label}"
            return ConflictChange(
                replace(found, settled=now, owner=name, note=note),
                tuple(labels),
                tuple((label, owner) for label in labels),
                RegistryEvent(0, now, who, "settle", name, detail) if is_on_record else None,
            )

        conflict = await asyncio.to_thread(self._conflicts.change_conflict, _meant(which), settled)
        if conflict is None:
            raise NotOnRecordError("conflict", str(which))
        for label in labels_of(conflict, name):
            self._learn(label, Owner(name, conflict.settled, settled=True))
        _LOG.info("conflict settled", label=conflict.label, owner=name, who=who)
        return conflict

    async def _write(self, label: str, claims: tuple[Claim, ...], count: int) -> None:
        try:
            await asyncio.to_thread(self._merge, label, claims, count)
        except IbiError as failure:
            _LOG.warning("a conflict was not recorded", label=label, error=str(failure))
            seen = self._sightings.get(label)
            if seen is not None:
                seen.since += count

    def _merge(self, label: str, claims: tuple[Claim, ...], count: int) -> None:
        now = self._clock.wall()

        def seen(known: Conflict | None) -> ConflictChange | None:
            after = merged(known, label, claims, count, now)
            if after is None:
                return None
            is_news = known is None or _claimants(known) != _claimants(after)
            return ConflictChange(after, (label,) if is_news else ())

        self._conflicts.change_conflict(label, seen)

    def _claims(
        self, label: str, contending: tuple[ArchiveReply, ...], incumbents: tuple[str, ...]
    ) -> tuple[Claim, ...]:
        now = self._clock.wall()
        unclaimed = (self._claim(archive, label, None, now) for archive in incumbents)
        claims = (self._claim(answer.archive, label, answer.listed, now) for answer in contending)
        return (*unclaimed, *claims)

    def _claim(self, archive: str, label: str, listed: UrlList | None, now: int) -> Claim:
        registered = self._registry.find(archive)
        address = registered.address if registered is not None else ""
        claimed = _claimed(listed, label) if listed is not None else Related()
        return Claim(
            archive=archive,
            address=address or (listed.address if listed is not None else ""),
            url=claimed.url,
            timestamp=claimed.timestamp,
            first_seen=now,
            last_seen=now,
            answer=_evidence_of(listed) if listed is not None else "",
        )


def _contenders(
    contending: tuple[ArchiveReply, ...], incumbents: tuple[str, ...]
) -> frozenset[str]:
    return frozenset(answer.archive for answer in contending).union(incumbents)


def labels_of(conflict: Conflict, owner: str) -> set[str]:
    """Return the labels of the item: the one asked for, and those in its owner's answer."""
    labels = {conflict.label}
    for claim in conflict.claims:
        if claim.archive == owner and claim.answer:
            with suppress(IbiError):  # it may have been truncated
                listed = decode(claim.answer)
                if isinstance(listed, UrlList) and listed.forms is not None:
                    labels |= {label.canonical for label in listed.forms}
    return labels


def merged(
    known: Conflict | None, label: str, claims: tuple[Claim, ...], count: int, now: int
) -> Conflict | None:
    """Return the new state of a conflict that was seen; None if there is nothing to store.

    A settled conflict stays settled while the same archives make the same claims: the operator
    knows them. A new claimant makes a new conflict.
    """
    newcomers = {claim.archive for claim in claims}
    if known is not None:
        newcomers -= {claim.archive for claim in known.claims}
    if known is None or (known.settled and newcomers):
        if not claims:
            return None
        return Conflict(id=0, label=label, claims=claims, opened=now, last_seen=now, seen=count)
    seen = replace(known, seen=known.seen + count, last_seen=now)
    return seen if known.settled else replace(seen, claims=_joined(known.claims, claims))


def _joined(known: tuple[Claim, ...], claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
    """Join claims: today's incumbent first, of each archive the evidence that came first."""
    before = {claim.archive: claim for claim in known}
    joined = {claim.archive: _evidence(before.get(claim.archive), claim) for claim in claims}
    return tuple(
        (joined | {name: joined.get(name, claim) for name, claim in before.items()}).values()
    )


def _evidence(before: Claim | None, claim: Claim) -> Claim:
    if before is None:
        return claim
    first = before if before.answer else replace(claim, first_seen=before.first_seen)
    return replace(first, last_seen=claim.last_seen)


def _claimed(listed: UrlList, label: str) -> Related:
    """Return the part of an answer that is about the item itself."""
    for relation, each in listed.related.items():
        forms = each.forms if relation.steps else listed.forms
        if forms is not None and any(form.canonical == label for form in forms):
            return each
    return listed.related.get(Relation(), Related())


def _evidence_of(listed: UrlList) -> str:
    # The key of an answer counts an access, and must not be disclosed.
    return encode(replace(listed, key=None))[:MAX_EVIDENCE]


def _claimants(conflict: Conflict) -> set[str]:
    return {claim.archive for claim in conflict.claims}


def _meant(which: int | str) -> int | str:
    """Return the number of a conflict, or the label that it is about."""
    if isinstance(which, str) and _NUMBER.fullmatch(which) is None:
        return _canonical(which)
    return int(which)


def _canonical(text: str) -> str:
    return parse(text, strict=True).canonical
