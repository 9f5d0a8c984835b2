"""What archives are told of accesses, and what is done next about each (004, Table 6.11).

An access is told at most once, whatever fails and whenever. What makes it so is the key: it is kept
with the accesses before it is sent for the first time, no other is ever sent for them, and an
archive counts by a key once. Here are the rules; `acknowledging` carries them out.
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
from ibi.model.item import ContentType, State
from ibi.model.label_pair import Forms
from ibi.model.registration import ArchiveState, RegisteredArchive
from ibi.model.relation import Relation
from ibi.resolver.ports.store import PendingAcknowledgment
from ibi.wire import requests
from ibi.wire.access_counts import MOST_ACCESSES
from ibi.wire.requests import Acknowledgment, UrlRequest
from ibi.wire.url_list import Related, UrlList

SECOND: Final = 1_000_000_000
KEY_LIFE: Final = 14 * 60 * SECOND
"""Our archives take keys for a minute longer: none is sent that may be forgotten there."""
LONGEST_WAIT: Final = 7 * 24 * 3600 * SECOND
"""For an archive to come back."""
OUR_PLATFORM: Final = "ibi-"
"""Begins the version of archives that know the pair `accesses`."""

Subject: TypeAlias = tuple[str, str, str]
"""All that accesses have in common which one acknowledgment may tell of."""


@dataclass(frozen=True, slots=True)
class Referral:
    """A URL that a reader was sent to."""

    archive: str
    """The id of the archive whose URL it is."""
    request: UrlRequest
    """What the archive was asked: a fresh key is only good for the same clients."""
    content: ContentType
    url: str
    """As the archive listed it."""
    persistent_url: str
    state: State | None = None
    forms: Forms | None = None
    key: UrlKey | None = None
    """That of the answer, if nobody was sent anywhere by it yet."""
    # Referrals are counted for every reader, and a hot one for very many.
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Reckon the hash once."""
        parts = (self.archive, self.request, self.url, self.persistent_url, self.key)
        object.__setattr__(self, "_hash", hash(parts))

    def __hash__(self) -> int:
        """Return it."""
        return self._hash

    @property
    def again(self) -> Referral:
        """The same for the next reader, for whom there is no key yet."""
        return self if self.key is None else replace(self, key=None)


class _Document(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is kept of an acknowledgment, but for what stands in the request."""

    content: str
    url: str
    persistent_url: str
    state: str = ""
    forms: str = ""
    key: str = ""
    others: tuple[tuple[str, int], ...] = ()
    """Of other items how many, by their labels; they are told by the same key."""


def pending(referral: Referral, count: int, since: int) -> list[PendingAcknowledgment]:
    """Return what is to be kept of so many readers: the first by its key, the others without."""
    if count < 1:  # an acknowledgment tells of one access at the least
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


def gathered(
    noted: Iterable[tuple[Referral, int]],
    since: int,
    growing: Mapping[Subject, PendingAcknowledgment],
    longest: int,
) -> list[PendingAcknowledgment]:
    """Return the rows for so many readers of each, those first that have a number.

    Accesses without a key are added to a row that is growing, for the longest time that it may.
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
    """Return what tells accesses apart that have no key yet."""
    return row.archive, row.request, row.acknowledgment


def is_sheet(row: PendingAcknowledgment) -> bool:
    """Tell whether a row is of many items, each of which says by itself what was asked."""
    return not row.request


def is_keyed(row: PendingAcknowledgment) -> bool:
    """Tell whether its key is decided."""
    return not is_sheet(row) and bool(_document(row).key)


def request_of(row: PendingAcknowledgment) -> UrlRequest:
    """Return the request that finds the URL again."""
    request = requests.decode(row.request)
    if not isinstance(request, UrlRequest):
        raise MessageError("bad-value", "What is kept of an access is no urlRequest.")
    return request


def acknowledgment_of(row: PendingAcknowledgment) -> Acknowledgment:
    """Return what is sent, of a row that has its key."""
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
    """What is to be done about a row."""

    WAIT = auto()
    ASK = auto()
    """For a key."""
    SEND = auto()
    GIVE_UP = auto()


def next_step(row: PendingAcknowledgment, now: int, *, ready: bool) -> NextStep:
    """Decide about a row; `ready` if its archive can be spoken to, and neither has to rest.

    The time of a row is that of its key, once it has one.
    """
    try:
        keyed = is_keyed(row)
    except MessageError:  # kept by a version that wrote otherwise
        return NextStep.GIVE_UP
    if now - row.since >= (KEY_LIFE if keyed else LONGEST_WAIT):
        return NextStep.GIVE_UP
    if not ready:
        return NextStep.WAIT
    return NextStep.SEND if keyed else NextStep.ASK


def left_to_gather(row: PendingAcknowledgment, gather: int, now: int) -> int:
    """Return how long accesses without a key are gathered still: one key tells of many.

    Whoever noted them by a clock that was set back since does not wait until it is that late again.
    """
    try:
        if is_keyed(row):
            return 0
    except MessageError:  # as above
        return 0
    left = row.since + gather - now
    return left if 0 < left <= gather else 0


def is_there(archive: RegisteredArchive | None) -> bool:
    """Tell whether an archive can be spoken to."""
    return archive is not None and archive.state is ArchiveState.INCLUDED


def is_ours(archive: RegisteredArchive) -> bool:
    """Tell whether an archive runs this software, and counts many accesses by one key."""
    included = archive.inclusion
    return included is not None and included.platform_version.startswith(OUR_PLATFORM)


def max_accesses(archive: RegisteredArchive) -> int:
    """Return how many accesses one acknowledgment to an archive may tell of."""
    return MOST_ACCESSES if is_ours(archive) else 1


def refreshed(row: PendingAcknowledgment, listed: UrlList | None) -> str:
    """Return the acknowledgment of a row with the key of a fresh list.

    It is empty if nobody would be sent to that URL any more, or there is no key. What else the
    list says of the URL goes with its key.
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
    """Give a row its key; beyond what one key is good for, the rest stays as it was and is first.

    The row keeps its number, or it is the rest that does: both are written in one step.
    """
    if row.count <= most:
        return [replace(row, acknowledgment=acknowledgment, since=now)]
    rest = replace(row, count=row.count - most)
    return [rest, replace(row, id=0, acknowledgment=acknowledgment, count=most, since=now)]


def with_others(acknowledgment: str, others: Iterable[tuple[str, int]]) -> str:
    """Return an acknowledgment that tells of other items too."""
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
        raise MessageError("bad-value", "What is kept of an access cannot be read.") from None
