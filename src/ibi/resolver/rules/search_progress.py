"""Which archives a search asks next: a pure function of replies, time and a random number.

The candidates, which probably have the item, are asked first, and all other archives are held back
(docs/adr/0028). These are its homes, its recorded owner, every archive whose digest has it, and
every archive that publishes no digest, of which nothing is known before it is asked. A digest may
be out of date, so the others are only held back. Those whose digest cannot be, because its log is
followed (`rules.followed_logs`), have answered without being asked: they are not awaited.

Each reader of a search has a question of their own, for another language or for the Original alone.
If one of these questions needs the archives that were held back, they are asked as well; no archive
is asked twice. The same rules hold after all readers have left.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Final, Protocol

from ibi.identifier.label import Label
from ibi.identifier.language_preference import LanguagePreference
from ibi.resolver.ports.outbound import ArchiveReply, NoReply, Reply
from ibi.resolver.ports.store import Owner
from ibi.resolver.rules.decision import Widen, decide
from ibi.resolver.rules.evidence import Evidence
from ibi.resolver.rules.ownership import waits_for_all
from ibi.wire.question import Question

CLAIM_GRACE_SECONDS: Final = 0.3
"""Seconds for which other archives may still claim an item that a stranger was first to claim."""
ASK_BATCH: Final = 32
"""Archives that a search with readers asks before other tasks of the event loop run."""
IDLE_BATCH: Final = 8
"""Archives that a search without readers asks between two rests; more if there are many archives,
so that all rests together take no longer than three seconds."""
IDLE_PAUSE_SECONDS: Final = 0.05
"""Seconds that a search without readers rests after each batch."""
_MAX_PAUSES: Final = 60
"""Rests of a search without readers at most, whatever the number of archives."""
FULL_SEARCH_SHARE: Final = 0.01
"""The share of searches that ask all archives in any case. So rival claims are noticed that no
digest lists, and an archive that is asked for an item it does not have cannot infer that a reader
wants the Original. Among more than a hundred archives the share is smaller: full searches cost one
message a search on average."""
MAX_RECORD_ASKS: Final = 100
"""Archives that are asked only to record an owner, for one search on average."""
MAX_IDLE_SEARCHES: Final = 2
"""Searches that may ask archives at the same time only to record an owner."""
NOT_AWAITED_ANY_MORE: Final = "its answer was not waited for"


class LocationIndex(Protocol):
    """Which archives hold which item, by the digests that archives publish."""

    def publishes(self, archive: str) -> bool:
        """Return whether the whole digest of an archive is known, and is not old."""
        ...

    async def holders(self, label: Label) -> frozenset[str] | None:
        """Return the archives whose digests have an item; None if that cannot be read."""
        ...


@dataclass(frozen=True, slots=True)
class Candidates:
    """The archives that probably have an item."""

    first: frozenset[str]
    """The archives that are asked first; not all of them need to be included."""
    listed: frozenset[str]
    """Those of them whose digest has the item."""
    unfollowed: AbstractSet[str] | None = None
    """Archives whose digest does not stand for an answer: all others that are not asked first have
    answered that they do not have the item. None if no digest stands for an answer."""


def candidates_for(
    homes: AbstractSet[str],
    owner: str | None,
    unpublished: AbstractSet[str],
    holders: AbstractSet[str],
    unfollowed: AbstractSet[str] | None = None,
) -> Candidates:
    """Return the candidates for an item; `unpublished` are the archives that publish no digest."""
    on_record = () if owner is None else (owner,)
    first = frozenset().union(homes, on_record, unpublished, holders)
    return Candidates(first, frozenset(holders), unfollowed)


class NextAsk(Enum):
    """Which archives a search asks next."""

    UNDECIDED = auto()
    """No further ones for now: the replies that are awaited may be enough."""
    OTHERS = auto()
    """All that were held back, because a reader needs them."""
    NONE_NEEDED = auto()
    """No reader needs the others."""
    OTHERS_FOR_RECORD = auto()
    """No reader needs the others, but without them no owner can be recorded."""
    NONE_LEFT = auto()
    """No archive is held back."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """What is known of an item before any archive is asked."""

    owner: Owner | None = None
    switched_off: tuple[NoReply, ...] = ()
    """Why the owner, homes and archives whose digest has the item will not answer, if they are
    switched off."""
    is_on_record: bool = True
    """Whether the recorded owner could be read."""
    candidates: Candidates | None = None
    """None if there are no digests, or none can be read: then all archives are asked at once."""
    are_digests_read: bool = True
    """Whether it could be read which digests have the item."""


class SearchProgress:
    """The replies to one question so far, and the archives still to be asked. It has no clock."""

    def __init__(self, question: Question, homes: frozenset[str], ranks: Mapping[str, int]) -> None:
        """Begin a search that has asked no archive yet."""
        self.question = question.bare
        self.is_started = False
        """Whether the first archives to ask are known; nothing can be decided before."""
        self.grace_ends = 0.0
        """The time up to which other archives may still claim the item."""
        self.trusted = homes
        """Archives that are trusted whatever others claim: homes, and the recorded owner."""
        self.decisive = homes
        """Archives whose reply may decide: the trusted ones, and those whose digest has the
        item."""
        self._homes = homes
        self._ranks = ranks
        self._beginning = Beginning(is_on_record=False)
        self._questions: set[Question] = set()
        self._asks_all = False
        self._first: frozenset[str] = frozenset()
        self._awaited: set[str] = set()
        self._answers: list[ArchiveReply] = []
        self._silences: list[NoReply] = []
        self._held = False
        self._asked_first: frozenset[str] | None = None
        self._unfollowed: AbstractSet[str] | None = None
        self._listed: frozenset[str] = frozenset()
        self._now = 0.0

    @property
    def awaits(self) -> bool:
        """Whether an archive may still answer."""
        return bool(self._awaited) or not self.is_started

    def evidence(self) -> Evidence:
        """Return the evidence as of the last time that was passed."""
        return Evidence(
            answers=tuple(self._answers),
            silences=tuple(self._silences),
            awaited=frozenset(self._awaited),
            in_grace=self._now < self.grace_ends,
            owner=self._beginning.owner,
            is_on_record=self._beginning.is_on_record,
            are_digests_read=self._beginning.are_digests_read,
            homes=self._homes,
            ranks=self._ranks,
            others_held_back=self._held,
            asked_first=self._asked_first,
            listed=self._listed,
        )

    def add_question(self, question: Question, *, ask_all: bool = False) -> None:
        """Add the question of a reader; `ask_all` if no archive may be held back from them."""
        indifferent = question.preference if question.depends_on_reader else LanguagePreference()
        self._questions.add(replace(question, preference=indifferent))
        self._asks_all = self._asks_all or ask_all

    def start(self, known: Beginning, included: Collection[str], now: float) -> tuple[str, ...]:
        """Return the archives to ask first, of all that are included; decisive ones lead."""
        self.is_started = True
        self._beginning = known
        self._silences += known.switched_off
        if known.owner is not None:
            self.trusted |= {known.owner.archive}
        likely = known.candidates
        if likely is not None:
            self._listed = likely.listed
        self.decisive = self.trusted | self._listed
        rest = included if likely is None else sorted(likely.first - self.decisive)
        order = dict.fromkeys((*sorted(self.decisive), *rest))
        first = tuple(name for name in order if name in included)
        self._first = frozenset(first)
        if likely is not None and len(first) < len(included):
            self._asked_first = likely.first
            self._unfollowed = likely.unfollowed
            others = included if likely.unfollowed is None or self._asks_all else likely.unfollowed
            self._held = any(name in included and name not in self._first for name in others)
        self._await(first, now)
        return first

    def held_back(self, included: Collection[str]) -> tuple[str, ...]:
        """Return the archives that may be asked next, of all that are included.

        An archive whose digest stands for its answer is asked only if the whole search is to be
        explained.
        """
        unfollowed = None if self._asks_all else self._unfollowed
        if unfollowed is None:
            return tuple(name for name in included if name not in self._first)
        return tuple(name for name in sorted(unfollowed - self._first) if name in included)

    def widen(self, others: Iterable[str], now: float, *, has_readers: bool = True) -> None:
        """Await the archives that were held back, which are asked from now on."""
        self._held = False
        self._await(others, now)
        if not has_readers:
            self.grace_ends = now

    def _await(self, names: Iterable[str], now: float) -> None:
        self._awaited.update(names)
        self.pass_time(now)
        self.grace_ends = self._now + CLAIM_GRACE_SECONDS

    def add(self, reply: Reply, now: float) -> bool:
        """Add the reply of one archive; return whether it may change a decision."""
        self.pass_time(now)
        self._awaited.discard(reply.archive)
        if isinstance(reply, ArchiveReply):
            self._answers.append(reply)
        else:
            self._silences.append(reply)
        has_item = isinstance(reply, ArchiveReply) and reply.listed is not None
        return has_item or reply.archive in self.decisive or not self._awaited

    def pass_time(self, now: float) -> None:
        """Pass the time; it never goes back."""
        self._now = max(self._now, now)

    def next_ask(self) -> NextAsk:
        """Return which archives are to be asked next."""
        if not self._held:
            return NextAsk.NONE_LEFT
        evidence = self.evidence()
        needed = (isinstance(decide(each, evidence), Widen) for each in self._questions)
        if self._asks_all or any(needed):
            return NextAsk.OTHERS
        if self._awaited:
            return NextAsk.UNDECIDED
        is_owner_open = waits_for_all(self.question, evidence)
        return NextAsk.OTHERS_FOR_RECORD if is_owner_open else NextAsk.NONE_NEEDED

    def end(self, included: Collection[str]) -> None:
        """Await no archive any more; those that have not answered count as silent."""
        if self.awaits:
            replied = {answer.archive for answer in self._answers}
            replied |= {silence.archive for silence in self._silences}
            missing = sorted({*self.held_back(included), *self._first, *self._awaited} - replied)
            self._silences += (NoReply(name, NOT_AWAITED_ANY_MORE) for name in missing)
            self._held = False
        self._awaited.clear()
        self.grace_ends = self._now
        self.is_started = True


def full_search_share(archives: int) -> float:
    """Return the share of searches that ask all archives in any case, among so many."""
    return min(FULL_SEARCH_SHARE, 1 / max(1, archives))


def asks_others_anyway(lot: float, archives: int, idle: int, *, for_record: bool) -> bool:
    """Return whether a search asks the archives that none of its readers needs.

    `lot` is a random number between 0 and 1; `idle` searches do so already. To record an owner they
    are asked more often than otherwise.
    """
    if lot < full_search_share(archives):
        return True
    return for_record and lot * archives < MAX_RECORD_ASKS and idle < MAX_IDLE_SEARCHES


def rest_before(number: int, archives: int, *, has_readers: bool) -> float | None:
    """Return for how many seconds a search rests before its n-th ask; None if it does not."""
    if has_readers:
        return None if number % ASK_BATCH else 0.0
    batch = max(IDLE_BATCH, archives // _MAX_PAUSES)
    return None if number % batch else IDLE_PAUSE_SECONDS
