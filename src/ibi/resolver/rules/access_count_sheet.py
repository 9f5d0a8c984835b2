"""Access sheets: the accesses of many items in one stored row instead of hundreds.

Where very many items are read, or the same item by very many clients, nearly every access is the
only one of its item and client. Such accesses are stored in the order in which they come, many on a
sheet. An archive that runs this software receives one message for a sheet, with the key of its
first line; for other archives a sheet is divided into a row for each line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

import msgspec

from ibi.errors import LabelError, MessageError
from ibi.identifier.label import parse
from ibi.model.item import ContentType, State
from ibi.resolver.ports.store import PendingAcknowledgment
from ibi.resolver.rules.acknowledgment import Referral, pending, with_others
from ibi.resolver.rules.redirect_entry import CachedRedirect, Terms
from ibi.wire.access_counts import LONGEST_OTHERS
from ibi.wire.requests import UrlRequest

Clients: TypeAlias = tuple[str, ...]
_NUMBER: Final = 4
"""Bytes that the count of a line adds to a message at most, less the slash before the label, which
the message omits."""


class Line(msgspec.Struct, frozen=True, array_like=True):
    """Accesses of one item by one client."""

    path: str
    """A slash and the label."""
    url: str
    """The URL as the archive listed it."""
    count: int
    reader: int
    """The index of the clients."""
    received: str = ""
    """Path and query of the persistent URL as received, if they differ from the path."""


class _Sheet(msgspec.Struct, frozen=True):
    resolver: str
    content: str
    state: str
    clients: Sequence[Clients]
    lines: Sequence[Line]


@dataclass(slots=True)
class OpenSheet:
    """A sheet that is being written, of items that have their terms in common."""

    terms: Terms
    lines: list[Line] = field(default_factory=list)
    count: int = 0
    _clients: dict[Clients, int] = field(default_factory=dict)

    def add(
        self, known: CachedRedirect, clients: Clients, count: int, received: bytes = b""
    ) -> None:
        """Add a line."""
        reader = self._clients.setdefault(clients, len(self._clients))
        path, url = known.path.decode(), known.url.decode()
        self.lines.append(Line(path, url, count, reader, received.decode()))
        self.count += count

    def row(self, since: int) -> PendingAcknowledgment:
        """Return the row that stores the sheet."""
        terms, clients = self.terms, list(self._clients)
        written = _Sheet(terms.resolver, terms.content, terms.state or "", clients, self.lines)
        return _kept(PendingAcknowledgment(0, terms.archive, "", "", 0, since), written)


def divided(row: PendingAcknowledgment) -> list[PendingAcknowledgment]:
    """Return a row for each line of a sheet; the first one takes the id of the sheet."""
    sheet = _read(row)
    rows = list(_rows(row, sheet, sheet.lines))
    return [replace(rows[0], id=row.id), *rows[1:]] if rows else []


def first(row: PendingAcknowledgment) -> PendingAcknowledgment:
    """Return the row that the first line alone would have."""
    sheet = _read(row)
    found = list(_rows(row, sheet, sheet.lines[:1]))
    if not found:
        raise _unreadable()
    return found[0]


def keyed(
    row: PendingAcknowledgment, acknowledgment: str, most: int, now: int
) -> list[PendingAcknowledgment]:
    """Give a sheet the key of its first line; a remainder keeps the sheet's id, and comes first."""
    sheet = _read(row)
    number = _fitting(sheet.lines, most)
    sent, rest = sheet.lines[:number], sheet.lines[number:]
    others = ((line.path[1:], line.count) for line in sent[1:])
    with_key = replace(
        first(row),
        id=row.id,
        acknowledgment=with_others(acknowledgment, others),
        count=_sum(sent),
        since=now,
    )
    if not rest:
        return [with_key]
    left = _kept(row, msgspec.structs.replace(sheet, lines=rest))
    return [left, replace(with_key, id=0)]


def _fitting(lines: Sequence[Line], most: int) -> int:
    """Return how many lines fit into one message; the first always does."""
    count, octets = lines[0].count, 0
    for number, line in enumerate(lines[1:], 1):
        count += line.count
        octets += len(line.path) + _NUMBER
        if count > most or octets > LONGEST_OTHERS:
            return number
    return len(lines)


def _kept(row: PendingAcknowledgment, sheet: _Sheet) -> PendingAcknowledgment:
    text = msgspec.json.encode(sheet).decode()
    return replace(row, acknowledgment=text, count=_sum(sheet.lines))


def _sum(lines: Iterable[Line]) -> int:
    return sum(line.count for line in lines)


def _read(row: PendingAcknowledgment) -> _Sheet:
    try:
        return msgspec.json.decode(row.acknowledgment, type=_Sheet)
    except msgspec.MsgspecError:
        raise _unreadable() from None


def _rows(
    row: PendingAcknowledgment, sheet: _Sheet, lines: Sequence[Line]
) -> Iterator[PendingAcknowledgment]:
    try:
        for line in lines:
            referral = Referral(
                archive=row.archive,
                request=UrlRequest(sheet.clients[line.reader], parse(line.path[1:], strict=True)),
                content=ContentType(sheet.content),
                url=line.url,
                persistent_url=sheet.resolver + (line.received or line.path),
                state=State(sheet.state) if sheet.state else None,
            )
            yield from pending(referral, line.count, row.since)
    except (LabelError, ValueError, IndexError):
        raise _unreadable() from None


def _unreadable() -> MessageError:
    return MessageError("bad-value", "A stored sheet of accesses cannot be read.")
