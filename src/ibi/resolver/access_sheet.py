"""Accesses of many items on one sheet: one row to keep where there would be hundreds.

Where hundreds of thousands of items are read at random, nearly every access is the only one of its
item. They are kept as they come, many on a sheet, and a sheet is only divided into rows when the
archive is told of them: that takes a key for each, and far longer than to write them down.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeAlias

import msgspec

from ibi.errors import LabelError, MessageError
from ibi.identifier.label import parse
from ibi.model.item import ContentType, State
from ibi.ports import PendingAcknowledgment
from ibi.resolver.acknowledgment import Referral, pending
from ibi.resolver.known import Terms
from ibi.wire.requests import UrlRequest

Line: TypeAlias = tuple[str, str, int]
"""The path of a persistent URL, the URL that it led to, and how often."""


class _Sheet(msgspec.Struct, frozen=True):
    resolver: str
    clients: tuple[str, ...]
    content: str
    state: str
    lines: Sequence[Line]


def sheet(
    terms: Terms, clients: tuple[str, ...], lines: Sequence[Line], since: int
) -> PendingAcknowledgment:
    """Return the row for accesses by the same clients, of items that have their terms in common."""
    written = _Sheet(terms.resolver, clients, terms.content, terms.state or "", lines)
    count = sum(count for _, _, count in lines)
    text = msgspec.json.encode(written).decode()
    return PendingAcknowledgment(0, terms.archive, "", text, count, since)


def divided(row: PendingAcknowledgment) -> list[PendingAcknowledgment]:
    """Return a row for each line of a sheet; the first takes its place."""
    try:
        found = msgspec.json.decode(row.acknowledgment, type=_Sheet)
        rows = list(_rows(row, found))
    except (msgspec.MsgspecError, LabelError, ValueError):
        raise MessageError("bad-value", "What is kept of accesses cannot be read.") from None
    return [replace(rows[0], id=row.id), *rows[1:]] if rows else []


def _rows(row: PendingAcknowledgment, found: _Sheet) -> Iterable[PendingAcknowledgment]:
    for path, url, count in found.lines:
        referral = Referral(
            archive=row.archive,
            request=UrlRequest(found.clients, parse(path[1:], strict=True)),
            content=ContentType(found.content),
            url=url,
            persistent_url=found.resolver + path,
            state=State(found.state) if found.state else None,
        )
        yield from pending(referral, count, row.since)
