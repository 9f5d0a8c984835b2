"""The feed of changes: which published items changed, in the order in which that became visible."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import msgspec

from ibi.archive.archive import Archive, ItemWithMetadata
from ibi.archive.item_list import described
from ibi.archive.ports.harvest import HarvestRow
from ibi.errors import ArchiveRequestError, Sentence
from ibi.identifier.instant import Instant
from ibi.identifier.label import parse
from ibi.metadata.json_record import record_as_dict
from ibi.model.item import State
from ibi.model.label_pair import Forms

_CURSOR: Final = re.compile(r"([0-9a-f]{16})-([0-9]{1,19})")


class ChangeLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """An item that changed."""

    cursor: str
    ibi: str
    """The shorter label."""
    state: str
    """`Original`, or `Deleted` if the archive publishes it no longer."""
    datestamp: str
    url: str
    """The persistent URL."""
    record: dict[str, object] | None = None


class EndLine(msgspec.Struct, frozen=True):
    """The last line of every page."""

    next: str
    more: bool
    """Whether there are further changes now."""


@dataclass(frozen=True, slots=True)
class ChangePage:
    """A page of the feed, as JSON lines."""

    body: bytes
    next: str


class ChangeFeed:
    """Pages of the changes of one archive."""

    def __init__(
        self, archive: Archive, publisher: str, persistent: Callable[[Forms], str]
    ) -> None:
        """Read the log of an archive; `persistent` returns the persistent URL of an item."""
        self._archive = archive
        self._log = archive.catalogue.harvest
        self._publisher = publisher
        self._persistent = persistent

    def is_whole(self) -> bool:
        """Return whether the log has all items; until then the order is not final."""
        return self._log.state().whole

    def page(self, since: str, limit: int) -> ChangePage:
        """Return the changes after a cursor; from the beginning, if it is empty."""
        state = self._log.state()
        after = _number(since, state.epoch, state.last) if since else 0
        rows = self._log.changes(after, limit + 1)
        shown = rows[:limit]
        next_ = f"{state.epoch}-{shown[-1].number if shown else after}"
        found = self._archive.catalogue.items.find_all([row.label for row in shown])
        looks = {
            look.item.forms.label.canonical: look
            for look in described(self._archive, [*found.values()])
        }
        lines: list[ChangeLine | EndLine] = [
            self._line(row, looks.get(row.label), state.epoch) for row in shown
        ]
        lines.append(EndLine(next_, len(rows) > limit))
        return ChangePage(b"".join(msgspec.json.encode(line) + b"\n" for line in lines), next_)

    def _line(self, row: HarvestRow, look: ItemWithMetadata | None, epoch: str) -> ChangeLine:
        is_here = not row.deleted and look is not None and look.item.state is State.ORIGINAL
        record = look.record if look is not None and is_here else None
        if look is not None and record is not None:
            record = look.item.published(record, self._publisher)
        return ChangeLine(
            f"{epoch}-{row.number}",
            row.name,
            str(State.ORIGINAL if is_here else State.DELETED),
            Instant(row.stamp).iso8601,
            self._persistent(Forms.of(parse(row.name, strict=True))),
            None if record is None else record_as_dict(record),
        )


def _number(cursor: str, epoch: str, last: int) -> int:
    """Return the number in a cursor; raise ArchiveRequestError if this log did not give it."""
    match = _CURSOR.fullmatch(cursor)
    if match is None or match[1] != epoch or int(match[2]) > last:
        raise ArchiveRequestError(
            Sentence("This log of changes gave no such cursor: begin without one.")
        )
    return int(match[2])
