"""Acknowledgments: how accesses are reported to archives (004, Table 6.11).

An access is reported at most once, whatever fails and whenever. The key ensures this: it is stored
with the accesses before it is sent for the first time, no other key is ever sent for them, and an
archive counts the accesses of a key once. Here are the rules; `ibi.resolver.acknowledgments`
carries them out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import Final, TypeAlias

import msgspec

from ibi.errors import MessageError
from ibi.model.archive_record import UrlKey
from ibi.model.clock import SECOND
from ibi.model.item import ContentType, State
from ibi.model.label_pair import Forms
from ibi.model.registration import ArchiveState, RegisteredArchive
from ibi.model.relation import Relation
from ibi.resolver.ports.store import PendingAcknowledgment
from ibi.wire import requests
from ibi.wire.access_counts import MOST_ACCESSES, proof
from ibi.wire.requests import Acknowledgment, UrlRequest
from ibi.wire.url_list import Related, UrlList

KEY_LIFETIME: Final = 14 * 60 * SECOND
"""Nanoseconds for which a key is sent. Our archives accept keys for a minute longer, so that no key
is sent that the archive may have forgotten."""
MAX_WAIT: Final = 7 * 24 * 3600 * SECOND
"""Nanoseconds for which accesses are kept for an archive that cannot be reached."""
OUR_PLATFORM: Final = "ibi-"
"""Prefix of the platform version of archives that run this software."""

Subject: TypeAlias = tuple[str, str, str]
"""Archive, request and acknowledgment: accesses that agree in them share one acknowledgment."""


@dataclass(frozen=True, slots=True)
class Referral:
    """A URL that a reader was sent to."""

    archive: str
    """The id of the archive that listed the URL."""
    request: UrlRequest
    """The request that the archive answered: a new key is valid for the same clients only."""
    content: ContentType
    url: str
    """The URL as the archive listed it."""
    persistent_url: str
    state: State | None = None
    forms: Forms | None = None
    key: UrlKey | None = None
    """The key of the answer, if no reader was sent to the URL by it yet."""
    # Referrals are counted for every reader, and those of a popular item for very many.
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Compute the hash once."""
        parts = (self.archive, self.request, self.url, self.persistent_url, self.key)
        object.__setattr__(self, "_hash", hash(parts))

    def __hash__(self) -> int:
        """Return the hash that was computed at the start."""
        return self._hash

    @property
    def without_key(self) -> Referral:
        """The same referral for the next reader, for whom there is no key yet."""
        return self if self.key is None else replace(self, key=None)


class _Document(msgspec.Struct, frozen=True, omit_defaults=True):
    """The stored acknowledgment, without the fields that are in the request."""

    content: str
    url: str
    persistent_url: str
    state: str = ""
    forms: str = ""
    key: str = ""
    others: tuple[tuple[str, int], ...] = ()
    """Labels and access counts of other items, which are reported with the same key."""


def pending(referral: Referral, count: int, since: int) -> list[PendingAcknowledgment]:
    """Return the rows of so many readers: the first with the key, the others without."""
    if count < 1:  # an acknowledgment reports at least one access
        return []
    document = _Document(
        referral.content,
        referral.url,
        referral.persistent_url,
        referral.state or "",
        "" if referral.forms is None else str(referral.forms),
    )
    request = requests.encode(referral.request)
    row = PendingAcknowledgment(0, referral.archive, request, _text(document), count, since)
    if referral.key is None:
        return [row]
    first = msgspec.structs.replace(document, key=str(referral.key))
    rows = [replace(row, acknowledgment=_text(first), count=1)]
    return rows if count == 1 else [*rows, replace(row, count=count - 1)]


def collected(
    noted: Iterable[tuple[Referral, int]],
    since: int,
    growing: Mapping[Subject, PendingAcknowledgment],
    longest: int,
) -> list[PendingAcknowledgment]:
    """Return the rows for all readers of each referral; rows that are stored already come first.

    Accesses without a key are added to a row in `growing`, if it is younger than `longest`.
    """
    keyed: list[PendingAcknowledgment] = []
    counts: Counter[Subject] = Counter()
    for referral, count in noted:
        for row in pending(referral, count, since):
            if is_keyed(row):
                keyed.append(row)
            else:
                counts[subject(row)] += row.count
    grown: list[PendingAcknowledgment] = []
    new: list[PendingAcknowledgment] = []
    for each, count in counts.items():
        known = growing.get(each)
        if known is not None and since - known.since < longest:
            grown.append(replace(known, count=known.count + count))
        else:
            new.append(PendingAcknowledgment(0, *each, count, since))
    return [*grown, *keyed, *new]


def subject(row: PendingAcknowledgment) -> Subject:
    """Return what accesses without a key have in common if they share a row."""
    return row.archive, row.request, row.acknowledgment


def is_sheet(row: PendingAcknowledgment) -> bool:
    """Return whether a row is a sheet of many items, whose lines contain their requests."""
    return not row.request


def is_keyed(row: PendingAcknowledgment) -> bool:
    """Return whether the row has its key."""
    return not is_sheet(row) and bool(_document(row).key)


def request_of(row: PendingAcknowledgment) -> UrlRequest:
    """Return the request that finds the URL without_key."""
    request = requests.decode(row.request)
    if not isinstance(request, UrlRequest):
        raise MessageError("bad-value", "The request of a stored access is no urlRequest.")
    return request


def acknowledgment_of(row: PendingAcknowledgment) -> Acknowledgment:
    """Return the message to send, for a row that has its key."""
    document = _document(row)
    return Acknowledgment(
        clients=request_of(row).clients,
        content=ContentType(document.content),
        url=document.url,
        persistent_url=document.persistent_url,
        key=UrlKey(document.key),
        forms=Forms.parse(document.forms) if document.forms else None,
        state=State(document.state) if document.state else None,
        accesses=row.count - sum(count for _, count in document.others),
        others=document.others,
    )


class NextStep(Enum):
    """What is to be done with a row."""

    WAIT = auto()
    ASK = auto()
    """Ask the archive for a key."""
    SEND = auto()
    GIVE_UP = auto()


def next_step(row: PendingAcknowledgment, now: int, *, ready: bool) -> NextStep:
    """Decide about a row; `ready` if its archive is included, and no rest is due.

    The age of a row counts from its key, once it has one.
    """
    try:
        keyed = is_keyed(row)
    except MessageError:  # stored by a version with another format
        return NextStep.GIVE_UP
    if now - row.since >= (KEY_LIFETIME if keyed else MAX_WAIT):
        return NextStep.GIVE_UP
    if not ready:
        return NextStep.WAIT
    return NextStep.SEND if keyed else NextStep.ASK


def collecting_time_left(row: PendingAcknowledgment, gather: int, now: int) -> int:
    """Return how long to go on collecting accesses without a key: one key serves many.

    If the clock was set back since the row was stored, the result is 0, not the whole difference.
    """
    try:
        if is_keyed(row):
            return 0
    except MessageError:  # stored by a version with another format
        return 0
    left = row.since + gather - now
    return left if 0 < left <= gather else 0


def is_reachable(archive: RegisteredArchive | None) -> bool:
    """Return whether an archive is included."""
    return archive is not None and archive.state is ArchiveState.INCLUDED


def is_ours(archive: RegisteredArchive) -> bool:
    """Return whether an archive runs this software."""
    included = archive.inclusion
    return included is not None and included.platform_version.startswith(OUR_PLATFORM)


def accepts_counts(archive: RegisteredArchive) -> bool:
    """Return whether an archive counts many accesses by one key: it has the secret of the link."""
    return is_ours(archive) and bool(archive.link_secret)


def max_accesses(archive: RegisteredArchive) -> int:
    """Return how many accesses one acknowledgment to an archive may report."""
    return MOST_ACCESSES if accepts_counts(archive) else 1


def proved(request: Acknowledgment, archive: RegisteredArchive) -> Acknowledgment:
    """Return an acknowledgment with the proof that more than one access need.

    The proof is made when it is sent, so that a link that was renewed meanwhile does no harm.
    """
    if request.total == 1 or not archive.link_secret:
        return request
    counts = request.accesses, request.others
    return replace(request, proof=proof(archive.link_secret, request.key.text, *counts))


def refreshed(row: PendingAcknowledgment, listed: UrlList | None) -> str:
    """Return the acknowledgment of a row with the key of a fresh list.

    It is empty if the list has no key, or no longer has the URL. The other facts that the list
    gives of the URL are stored with the key.
    """
    document = _document(row)
    if listed is None or listed.key is None:
        return ""
    found = _at(document.url, listed.related)
    if found is None:
        return ""
    relation, related = found
    forms = related.forms or (None if relation.steps else listed.forms)
    return _text(
        _Document(
            related.content or document.content,
            document.url,
            document.persistent_url,
            related.state or document.state,
            document.forms if forms is None else str(forms),
            str(listed.key),
        )
    )


def divided(
    row: PendingAcknowledgment, acknowledgment: str, most: int, now: int
) -> list[PendingAcknowledgment]:
    """Give a row its key; accesses beyond the limit of one key remain without one, and come first.

    The remainder keeps the id of the row, if there is one. Both rows are written in one step.
    """
    if row.count <= most:
        return [replace(row, acknowledgment=acknowledgment, since=now)]
    rest = replace(row, count=row.count - most)
    return [rest, replace(row, id=0, acknowledgment=acknowledgment, count=most, since=now)]


def with_others(acknowledgment: str, others: Iterable[tuple[str, int]]) -> str:
    """Return an acknowledgment that reports accesses of other items too."""
    document = msgspec.json.decode(acknowledgment, type=_Document)
    return _text(msgspec.structs.replace(document, others=tuple(others)))


def _at(url: str, listed: Mapping[Relation, Related]) -> tuple[Relation, Related] | None:
    return next(((relation, each) for relation, each in listed.items() if each.url == url), None)


def _text(document: _Document) -> str:
    return msgspec.json.encode(document).decode()


def _document(row: PendingAcknowledgment) -> _Document:
    try:
        return msgspec.json.decode(row.acknowledgment, type=_Document)
    except msgspec.MsgspecError:
        raise MessageError("bad-value", "A stored access cannot be read.") from None
