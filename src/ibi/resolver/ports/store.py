"""The stores of a resolver: archives, conflicts, owners, acknowledgments and digests.

A write is durable when its method returns. Every method raises StorageError when the database does
not answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol, TypeAlias

from ibi.model.conflict import Conflict
from ibi.model.registration import RegisteredArchive
from ibi.wire.digest import DigestPage


@dataclass(frozen=True, slots=True)
class Owner:
    """The archive that has the Original of an item, as far as this resolver has seen."""

    archive: str
    since: int
    """Nanoseconds of POSIX time."""
    settled: bool = False
    """Whether the operator settled it: then rival claims are ignored."""


@dataclass(frozen=True, slots=True)
class PendingAcknowledgment:
    """Accesses that are still to be reported to an archive."""

    id: int
    """0 before the row is stored."""
    archive: str
    request: str
    """The query of the urlRequest that finds the URL again, for a fresh key."""
    acknowledgment: str
    """The acknowledgment as JSON; once it has a key, no other is ever sent in its place."""
    count: int
    since: int
    """Nanoseconds of POSIX time."""


@dataclass(frozen=True, slots=True)
class Challenge:
    """A registration that waits for proof of control of a domain name."""

    token: str
    service: str
    host: str
    administrator: str
    made: int
    until: int


@dataclass(frozen=True, slots=True)
class RegistryEvent:
    """An entry of the history of a resolver, which only grows."""

    number: int
    """0 before the entry is stored."""
    at: int
    who: str
    act: str
    archive: str
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventChoice:
    """Which entries of the history are wanted; an empty field does not restrict them."""

    who: str = ""
    act: str = ""
    archive: str = ""
    """The id of an archive."""


EVERY_EVENT: Final = EventChoice()


@dataclass(frozen=True, slots=True)
class ArchiveChange:
    """The new state of a registered archive, and the event to record."""

    archive: RegisteredArchive | None
    """None if the archive is removed."""
    event: RegistryEvent | None = None


ChangeArchive: TypeAlias = Callable[[RegisteredArchive | None], ArchiveChange | None]
"""Called with the stored archive, or None if there is none; returns the change to store, None for
no change, or raises. It runs inside a transaction in which all other writers wait, and must have no
other effect."""


class ArchiveLookup(Protocol):
    """The registered archives."""

    def find(self, id: str) -> RegisteredArchive | None:  # noqa: A002  # named as everywhere
        """Return an archive by its id."""
        ...


class ArchiveStore(Protocol):
    """Registered archives, and their history. Every change is added to the change feed."""

    def archives(self, names: Sequence[str] | None = None) -> list[RegisteredArchive]:
        """Return the archives with these ids, or all, by id."""
        ...

    def change_archive(self, name: str, change: ChangeArchive) -> RegisteredArchive | None:
        """Change an archive in a transaction of its own; return it as it is stored then.

        A change that confirms a registration gives the archive its seniority: the number of the
        change in the feed.
        """
        ...

    def note(self, event: RegistryEvent, labels: Sequence[str]) -> None:
        """Add to the history, and add these labels to the change feed."""
        ...

    def removed(self) -> list[str]:
        """Return the ids of all archives that were ever removed."""
        ...

    def newest_events(
        self, before: int, limit: int, choice: EventChoice = EVERY_EVENT
    ) -> list[RegistryEvent]:
        """Return the history, the newest first; before a number, or from the end if it is 0."""
        ...

    def acts(self) -> list[str]:
        """Return the acts that the history has, by their names."""
        ...

    def events(self, after: int, limit: int) -> list[RegistryEvent]:
        """Return the history, the oldest first, numbered later than `after`."""
        ...


class ChallengeStore(Protocol):
    """Registrations that wait for proof of control of a domain name."""

    def keep_challenge(self, challenge: Challenge) -> None:
        """Store a challenge."""
        ...

    def take_challenge(self, token: str) -> Challenge | None:
        """Return a challenge and delete it."""
        ...

    def challenge(self, token: str) -> Challenge | None:
        """Return a challenge."""
        ...

    def forget_challenges(self, before: int) -> int:
        """Delete the challenges that ended before a time; return how many are left."""
        ...


@dataclass(frozen=True, slots=True)
class ConflictChange:
    """The new state of a conflict, and what is stored in the same step."""

    conflict: Conflict
    news: tuple[str, ...] = ()
    """Labels that all processes drop from their caches."""
    owners: tuple[tuple[str, Owner], ...] = ()
    event: RegistryEvent | None = None


class ConflictStore(Protocol):
    """Rival claims to Originals."""

    def conflicts(self, after: int, limit: int, *, only_open: bool) -> list[Conflict]:
        """Return conflicts by number, later than `after`."""
        ...

    def change_conflict(
        self,
        which: int | str,
        change: Callable[[Conflict | None], ConflictChange | None],
    ) -> Conflict | None:
        """Change a conflict, by number or the newest of a label; return it as it is stored then.

        The transaction excludes all other writers. The changed conflict replaces the one with its
        number; a conflict with number 0 is stored as a new one.
        """
        ...

    def count_conflicts(self) -> int:
        """Return how many conflicts are open."""
        ...


class OwnerStore(Protocol):
    """Owners: which archive has which Original."""

    def owner(self, label: str) -> Owner | None:
        """Return the owner of an item by its canonical label."""
        ...

    def keep_owners(self, owners: Sequence[tuple[str, Owner]]) -> None:
        """Store owners, replacing earlier ones, in one step.

        A settled owner is replaced only by another settled one.
        """
        ...


class AcknowledgmentStore(Protocol):
    """Acknowledgments that are still to be sent: each row belongs to the process that wrote it.

    A process that counts as gone can no longer write.
    """

    def pending(self, keeper: str, after: int, limit: int) -> list[PendingAcknowledgment]:
        """Return the rows of a keeper by number, later than `after`."""
        ...

    def keep_pending(
        self, keeper: str, turn: int, pending: Sequence[PendingAcknowledgment]
    ) -> list[int] | None:
        """Store new rows (number 0), or replace those with the same numbers; return the numbers.

        Rows that were written in the same turn before are not written again. None if the keeper
        counts as gone.
        """
        ...

    def last_turn(self, keeper: str) -> int | None:
        """Return the last turn of a keeper, even if it is gone; None if it is not stored."""
        ...

    def drop_pending(self, keeper: str, ids: Sequence[int]) -> bool:
        """Delete rows that were sent, or given up; return False if the keeper counts as gone."""
        ...

    def count_pending(self, keeper: str) -> int:
        """Return the number of accesses in the rows of a keeper."""
        ...


class DigestRefusal(StrEnum):
    """Why a digest is refused: its archive counts as one that publishes none."""

    TOO_MANY_NAMES = "it lists more names than digest_names allows"
    ENDLESS = "it has no end"
    INCONSISTENT = "its pages do not follow one another"


@dataclass(frozen=True, slots=True)
class DigestProgress:
    """How much of an archive's digest is stored."""

    archive: str
    number: int
    """The number under which the fingerprints of the archive are stored; a new one when the digest
    begins anew."""
    epoch: str = ""
    last: int = 0
    """The cursor after which the next page is to be requested."""
    whole: bool = False
    """Whether all pages have been stored once: since then only changes come."""
    confirmed: int = 0
    """When the archive last reported the end of its digest, in nanoseconds of POSIX time."""
    count: int = 0
    """The number of fingerprints."""
    refusal: DigestRefusal | None = None
    """Why the digest was refused; nothing of it is stored then."""


class LocationStore(Protocol):
    """Which archive holds which item, by the digests."""

    def digests(self) -> list[DigestProgress]:
        """Return how much of each archive's digest is stored."""
        ...

    def begin_digest(self, archive: str, most: int) -> DigestProgress | None:
        """Begin a digest anew; its old fingerprints are ignored, and deleted later.

        None, and it is not begun, while more than `most` fingerprints wait to be deleted.
        """
        ...

    def keep_page(self, digest: DigestProgress, page: DigestPage, at: int) -> DigestProgress | None:
        """Store a page that was received at a time, and return the progress of the digest.

        After an interruption, store the same page again. None, and nothing more of the page is
        stored, if another process changed the digest: its cursor is another one, or it began anew.
        """
        ...

    def drop_digest(self, archive: str) -> None:
        """Drop a digest; its fingerprints are deleted later."""
        ...

    def refuse_digest(self, archive: str, refusal: DigestRefusal) -> DigestProgress:
        """Drop a digest, and store why it was refused."""
        ...

    def sweep_digests(self, after: int) -> int:
        """Delete some fingerprints of dropped digests, from a fingerprint on.

        Return the fingerprint from which to continue; 0 at the end.
        """
        ...

    def holders(self, fingerprint: int) -> list[int]:
        """Return the numbers of the digests that have a fingerprint."""
        ...

    def holders_of_each(self, fingerprints: Sequence[int]) -> list[tuple[int, int]]:
        """Return which of the fingerprints are in which digests, by the numbers of these."""
        ...
