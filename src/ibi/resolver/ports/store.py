"""The records of a resolver: archives, conflicts, owners, acknowledgments and digests.

Whatever a method writes is durable when it returns. Every method raises StorageError when the
database does not answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from ibi.model.conflict import Conflict
from ibi.model.registration import RegisteredArchive
from ibi.wire.digest import DigestPage


@dataclass(frozen=True, slots=True)
class Owner:
    """Which archive has the Original of an item, as far as this resolver has seen."""

    archive: str
    since: int
    """In nanoseconds of POSIX time."""
    settled: bool = False
    """Whether the operator said so: then no rival claim counts any more."""


@dataclass(frozen=True, slots=True)
class PendingAcknowledgment:
    """Accesses that an archive is still to be told of."""

    id: int
    """0 before it is kept."""
    archive: str
    request: str
    """The query of the urlRequest that finds the URL again, for a fresh key."""
    acknowledgment: str
    """What is said, as JSON; once it has a key, no other is ever sent in its place."""
    count: int
    since: int
    """In nanoseconds of POSIX time."""


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
    """A line of the history of a resolver, which only grows."""

    number: int
    """0 before it is kept."""
    at: int
    who: str
    act: str
    archive: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class ArchiveChange:
    """What becomes of an archive on record."""

    archive: RegisteredArchive | None
    """None: it is forgotten."""
    event: RegistryEvent | None = None


ChangeArchive: TypeAlias = Callable[[RegisteredArchive | None], ArchiveChange | None]
"""Makes a change of what stands on record, None if nobody does; or none, or raises. It is called
while all others wait, and does nothing else."""


class ArchiveLookup(Protocol):
    """The archives that are on record."""

    def find(self, id: str) -> RegisteredArchive | None:  # noqa: A002  # as it is called
        """Return one by its id."""
        ...


class ArchiveStore(Protocol):
    """Registered archives, and what happened to them. Every change is news."""

    def archives(self, names: Sequence[str] | None = None) -> list[RegisteredArchive]:
        """Return those of these ids, or all, by id."""
        ...

    def change_archive(self, name: str, change: ChangeArchive) -> RegisteredArchive | None:
        """Change what stands there, alone; return what stands there then."""
        ...

    def note(self, event: RegistryEvent, labels: Sequence[str]) -> None:
        """Add to the history; these labels are news."""
        ...

    def events(self, after: int, limit: int) -> list[RegistryEvent]:
        """Return the history from a number on."""
        ...


class ChallengeStore(Protocol):
    """Registrations that wait for proof of control of a domain name."""

    def keep_challenge(self, challenge: Challenge) -> None:
        """Keep a challenge."""
        ...

    def take_challenge(self, token: str) -> Challenge | None:
        """Return a challenge and forget it."""
        ...

    def challenge(self, token: str) -> Challenge | None:
        """Return a challenge."""
        ...

    def forget_challenges(self, before: int) -> int:
        """Forget those that ended before a time; return how many are left."""
        ...


@dataclass(frozen=True, slots=True)
class ConflictChange:
    """What becomes of a conflict, and what is put on record with it."""

    conflict: Conflict
    news: tuple[str, ...] = ()
    """Labels of which no memory holds any more."""
    owners: tuple[tuple[str, Owner], ...] = ()
    event: RegistryEvent | None = None


class ConflictStore(Protocol):
    """Rival claims."""

    def conflicts(self, after: int, limit: int, *, only_open: bool) -> list[Conflict]:
        """Return conflicts by number, those later than `after`."""
        ...

    def change_conflict(
        self,
        which: int | str,
        change: Callable[[Conflict | None], ConflictChange | None],
    ) -> Conflict | None:
        """Change a conflict, by number or the newest about a label, alone; return it as it is then.

        What is changed is kept in the place of the one of its number, or is another if it has 0.
        """
        ...

    def count_conflicts(self) -> int:
        """Return how many are open."""
        ...


class OwnerStore(Protocol):
    """Who has which Original."""

    def owner(self, label: str) -> Owner | None:
        """Return the owner of an item by its canonical label."""
        ...

    def keep_owners(self, owners: Sequence[tuple[str, Owner]]) -> None:
        """Keep owners, in the place of those before, in one step.

        One that was settled gives way only to another that is settled.
        """
        ...


class AcknowledgmentStore(Protocol):
    """Acknowledgments that are still to be sent: each belongs to the process that keeps it.

    A process that counts as gone keeps nothing any more: what it writes is not written.
    """

    def pending(self, keeper: str, after: int, limit: int) -> list[PendingAcknowledgment]:
        """Return those of a keeper by number, later than `after`."""
        ...

    def keep_pending(
        self, keeper: str, turn: int, pending: Sequence[PendingAcknowledgment]
    ) -> list[int] | None:
        """Keep new ones (number 0), or in the place of those of their number; return numbers.

        What was written in the same turn before is not written again. None if it keeps no more.
        """
        ...

    def last_turn(self, keeper: str) -> int | None:
        """Return in which turn a keeper wrote last, be it gone; None if nobody knows."""
        ...

    def drop_pending(self, keeper: str, ids: Sequence[int]) -> bool:
        """Forget those that were sent, or given up; False if it keeps no more."""
        ...

    def count_pending(self, keeper: str) -> int:
        """Return how many accesses wait with a keeper."""
        ...


@dataclass(frozen=True, slots=True)
class DigestProgress:
    """How much of an archive's digest is here."""

    archive: str
    number: int
    """What stands for the archive where its fingerprints are kept; another after it began anew."""
    epoch: str = ""
    last: int = 0
    """The cursor after which the next page is to be asked for."""
    whole: bool = False
    """Whether all pages were here once: since then only changes come."""
    confirmed: int = 0
    """When the archive last said that this is all, in nanoseconds of POSIX time."""
    count: int = 0
    """Fingerprints."""


class LocationStore(Protocol):
    """Which archive holds what, as their digests say."""

    def digests(self) -> list[DigestProgress]:
        """Return how much is here of each archive's digest."""
        ...

    def begin_digest(self, archive: str, most: int) -> DigestProgress | None:
        """Begin a digest anew; what was kept of it counts no more, and is swept away later.

        None, and it is not begun, while more than `most` fingerprints wait to be swept away.
        """
        ...

    def keep_page(self, digest: DigestProgress, page: DigestPage, at: int) -> DigestProgress | None:
        """Keep what a page says that came at some time, and return how far the digest has come.

        Whoever is interrupted keeps the same page again. None, and no more of it is kept, if
        somebody else was at that digest: it is not as far as was said, or began anew.
        """
        ...

    def drop_digest(self, archive: str) -> None:
        """Forget a digest; its fingerprints are swept away later."""
        ...

    def sweep_digests(self, after: int) -> int:
        """Sweep away some fingerprints of digests that are forgotten, from a fingerprint on.

        Return from where to go on; 0 at the end.
        """
        ...

    def holders(self, fingerprint: int) -> list[int]:
        """Return the numbers of the digests that have a fingerprint."""
        ...
