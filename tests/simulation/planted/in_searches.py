"""Bugs planted in resolvers: searches, decisions, owners, digests and cached redirects."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any, Final

from ibi.identifier.label import Label
from ibi.model.conflict import Claim
from ibi.model.registration import RegisteredArchive
from ibi.resolver.digests.fetcher import DigestFetcher
from ibi.resolver.digests.locations import Locations
from ibi.resolver.digests.log_follower import LogFollower
from ibi.resolver.ports.store import Owner
from ibi.resolver.rules import archive_roster, decision
from ibi.resolver.rules.decision import Decision
from ibi.resolver.rules.evidence import Evidence, OfferedTarget
from ibi.resolver.rules.home_places import Place
from ibi.resolver.rules.redirect_cache import LastingRedirects, RecentChanges, RedirectCache
from ibi.resolver.rules.redirect_entry import CachedRedirect
from ibi.resolver.rules.redirect_lease import ArchiveLeases, Lease
from ibi.resolver.rules.search_progress import Candidates
from ibi.resolver.search.conflicts import Conflicts
from ibi.resolver.search.owners import Owners
from ibi.resolver.search.search import Search
from ibi.resolver.search.unfollowed_archives import UnfollowedArchives
from ibi.resolver.web.fast_redirects import FastRedirects
from ibi.wire.question import Question
from tests.simulation.planted.mutation import Mutation

_lease: Final = ArchiveLeases.lease
_nothing: Final = decision._nothing  # noqa: SLF001  # what is changed
_original: Final = decision._original  # noqa: SLF001
_places: Final = archive_roster._places  # noqa: SLF001
_owner: Final = Search._owner  # noqa: SLF001
_read_on: Final = LogFollower._read_on  # noqa: SLF001
_standing: Final = archive_roster._standing  # noqa: SLF001


def _sure(
    evidence: Evidence, doubted: Sequence[OfferedTarget], *, is_enough: bool = True
) -> Decision:
    return _nothing(replace(evidence, silences=()), doubted, is_enough=is_enough)


def _first_claim(question: Question, claims: Sequence[OfferedTarget]) -> list[OfferedTarget]:
    del question
    return [claims[0]]


def _no_rivals(question: Question, evidence: Evidence) -> None:
    del question, evidence


def _no_obstacles(self: Evidence, archive: str) -> tuple[str, ...]:
    del self, archive
    return ()


def _owner_and_listed(self: Evidence) -> frozenset[str]:
    return self._owners | self.listed


def _owner_and_homes(self: Evidence) -> frozenset[str]:
    return self._owners | self.homes


def _content(question: Question, evidence: Evidence, offers: Sequence[OfferedTarget]) -> Decision:
    """Decide after the candidates have answered, without asking the others."""
    del offers
    return decision.decide(question, replace(evidence, others_held_back=False))


class _LongMemory(RedirectCache):
    def __init__(self, *args: Any, hot_seconds: float, **options: Any) -> None:  # noqa: ANN401  # as it is
        super().__init__(*args, hot_seconds=10 * hot_seconds, **options)


def _unforgetting(self: LastingRedirects, print_: int, now: float) -> None:
    del self, print_, now


def _unmoved(self: RedirectCache) -> None:
    del self


async def _trusting(self: LogFollower, name: str, leases: ArchiveLeases) -> bool:
    """Renew leases although the log could not be read."""
    goes_on = await _read_on(self, name, leases)
    for lease, first in leases._given:  # noqa: SLF001
        lease.until = first + leases._longest  # noqa: SLF001
    return goes_on


def _only_who_answers(archive: RegisteredArchive | None) -> object:
    """Treat archives that are down as switched off."""
    return None if archive is None or archive.outage is not None else _standing(archive)


def _only_included(archive: RegisteredArchive | None) -> frozenset[Place]:
    """Treat an archive that is switched off as the home of no label."""
    return frozenset() if archive is None or archive.inclusion is None else _places(archive)


async def _only_who_is_on(self: Search) -> tuple[Owner | None, bool]:
    owner, is_read = await _owner(self)
    is_off = owner is not None and owner.archive not in self._registry.by_name
    return (None, True) if is_off else (owner, is_read)


def _impatient(question: Question, evidence: Evidence, offers: Sequence[OfferedTarget]) -> Decision:
    claims = [each for each in offers if each.claims]
    return _original(
        question, replace(evidence, awaited=frozenset()) if claims else evidence, offers
    )


def _unlearned(question: Question, evidence: Evidence, now: int) -> Owner | None:
    del question, now
    return evidence.owner


def _warm_for_ever(self: FastRedirects, target: bytes, now: float) -> CachedRedirect | None:
    del now
    return self._targets.known.get(target)


def _unread(self: ArchiveLeases, asked: float, now: float) -> Lease | None:
    """Give a lease for the longest time, whether the log is read or not."""
    lease = _lease(self, asked, now)
    if lease is not None:
        lease.until = asked + self._longest
        self._given.clear()
    return lease


def _settled(self: RecentChanges, print_: int, began: float) -> bool:
    del self, print_, began
    return False


def _without_holders(
    homes: AbstractSet[str],
    owner: str | None,
    unpublished: AbstractSet[str],
    holders: AbstractSet[str],
    unfollowed: AbstractSet[str] | None = None,
) -> Candidates:
    del holders, unfollowed
    on_record = () if owner is None else (owner,)
    return Candidates(frozenset().union(homes, on_record, unpublished), frozenset())


def _unpublished(self: Locations, archive: str) -> bool:
    del self, archive
    return False


def _all_followed(self: UnfollowedArchives, label: Label, now: float) -> AbstractSet[str]:
    """Take each digest for an answer, however old it is."""
    del self, label, now
    return frozenset()


def _never_due(self: DigestFetcher, now: float) -> None:
    del self, now


async def _kept_by_nobody(self: Owners) -> None:
    self._learned.clear()


async def _unwritten(self: Conflicts, label: str, claims: tuple[Claim, ...], count: int) -> None:
    del self, label, claims, count


IN_RESOLVERS: Final = (
    Mutation(
        "a lease runs whether the log is read or not",
        {"ibi.resolver.rules.redirect_lease.ArchiveLeases.lease": _unread},
    ),
    Mutation(
        "a redirect is cached that a change has overtaken",
        {"ibi.resolver.rules.redirect_cache.RecentChanges.since": _settled},
        within=90,
    ),
    Mutation(
        "archives whose digest lists the item are no candidates",
        {"ibi.resolver.search.search.candidates_for": _without_holders},
        within=150,
    ),
    Mutation(
        "a digest that was read is ignored",
        {"ibi.resolver.digests.locations.Locations.publishes": _unpublished},
    ),
    Mutation(
        "an old digest stands for an answer",
        {"ibi.resolver.search.unfollowed_archives.UnfollowedArchives.names": _all_followed},
    ),
    Mutation(
        "digests are not fetched",
        {"ibi.resolver.digests.fetcher.DigestFetcher._begin_due": _never_due},
    ),
    Mutation(
        "owners are dropped before they are stored",
        {"ibi.resolver.search.owners.Owners._flush": _kept_by_nobody},
    ),
    Mutation(
        "conflicts are not stored",
        {"ibi.resolver.search.conflicts.Conflicts._write": _unwritten},
    ),
    Mutation(
        "a resolver answers not found while an archive is silent",
        {"ibi.resolver.rules.decision._nothing": _sure},
    ),
    Mutation(
        "a resolver takes the first of two claims",
        {"ibi.resolver.rules.decision.of_one_item": _first_claim},
    ),
    Mutation(
        "a resolver asks the candidates only",
        {"ibi.resolver.rules.decision._decide_candidates": _content},
    ),
    Mutation(
        "a rival is not recorded",
        {"ibi.resolver.search.recorder.contention": _no_rivals},
    ),
    Mutation(
        "a claim is trusted while the owner is silent",
        {"ibi.resolver.rules.evidence.Evidence.obstacles": _no_obstacles},
    ),
    Mutation(
        "a claim is trusted while the home is silent",
        {"ibi.resolver.rules.evidence.Evidence.holders": property(_owner_and_listed)},
        within=150,
    ),
    Mutation(
        "a claim is trusted while an archive is silent whose digest lists the item",
        {"ibi.resolver.rules.evidence.Evidence.holders": property(_owner_and_homes)},
        within=150,
    ),
    Mutation(
        "a home that is switched off is ignored",
        {"ibi.resolver.rules.archive_roster._places": _only_included},
        within=150,
    ),
    Mutation(
        "a redirect is cached for too long",
        {"tests.simulation.programs.resolver_host.RedirectCache": _LongMemory},
    ),
    Mutation(
        "a redirect stays cached although the log names its item",
        {"ibi.resolver.rules.redirect_cache.LastingRedirects.note_change": _unforgetting},
    ),
    Mutation(
        "a redirect stays cached although its archive has moved",
        {"ibi.resolver.rules.redirect_cache.RedirectCache.drop_stale": _unmoved},
    ),
    Mutation(
        "a redirect stays cached although its archive is silent",
        {"ibi.resolver.digests.log_follower.LogFollower._read_on": _trusting},
    ),
    Mutation(
        "an archive that is down is ignored",
        {"ibi.resolver.rules.archive_roster._standing": _only_who_answers},
        within=150,
    ),
    Mutation(
        "an owner that is switched off is ignored",
        {"ibi.resolver.search.search.Search._owner": _only_who_is_on},
        within=150,
    ),
    Mutation(
        "a claim is trusted before all have answered",
        {"ibi.resolver.rules.decision._original": _impatient},
    ),
    Mutation(
        "no owner is recorded",
        {"ibi.resolver.search.recorder.owner_after": _unlearned},
    ),
    Mutation(
        "a settled owner is not trusted",
        {"ibi.resolver.rules.evidence.Evidence.is_settled": False},
    ),
    Mutation(
        "a cached redirect is given for ever",
        {"ibi.resolver.web.fast_redirects.FastRedirects.find": _warm_for_ever},
    ),
)
