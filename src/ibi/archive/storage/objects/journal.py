"""What a change of an object store leaves on record until it is finished.

An intent comes first, and says what is about to be sent; a line of the journal decides. An intent
without a line is of a change that nothing came of.
"""

from __future__ import annotations

from typing import Final

import msgspec

from ibi.archive.ports.catalogue import StoredChange
from ibi.archive.rules.manifest import manifest
from ibi.model.change import Change, ItemChange
from ibi.model.item import File


class Intent(msgspec.Struct, frozen=True):
    """What a change is about to bring: places and paths."""

    new: tuple[tuple[str, str], ...]
    """Of files that replace none, and are sent to where they will lie."""
    replacing: tuple[tuple[str, str], ...]
    """Of files that replace others: the n-th of them lies under its number until then."""


class JournalStep(msgspec.Struct, frozen=True):
    """What happens to one item."""

    place: str
    manifest: str
    removed: tuple[str, ...]
    cleared: bool
    dropped: bool


class JournalLine(msgspec.Struct, frozen=True):
    """A line of the journal: all that is needed to carry a change out, however often."""

    change: StoredChange
    steps: tuple[JournalStep, ...]
    replacing: tuple[tuple[str, str], ...]
    has_intent: bool
    """Whether anything was sent before."""


encode: Final = msgspec.json.Encoder().encode
decode_line: Final = msgspec.json.Decoder(JournalLine).decode
decode_intent: Final = msgspec.json.Decoder(Intent).decode


def line_of(change: Change, intent: Intent) -> JournalLine:
    """Write down a change that is to be decided, and of which all files were sent."""
    return JournalLine(
        StoredChange.of(change),
        tuple(map(_step, change.items)),
        intent.replacing,
        bool(intent.new or intent.replacing),
    )


def brought(change: Change) -> list[tuple[ItemChange, File]]:
    """Return the files that come by a change."""
    return [
        (each, file)
        for each in change.items
        for file in each.files
        if each.adopted or file.path in each.put
    ]


def _step(change: ItemChange) -> JournalStep:
    text = manifest(change.item, change.files, change.number, change.version + 1)
    return JournalStep(
        change.item.forms.label.spelling,
        text.decode(),
        change.removed,
        change.cleared,
        change.dropped,
    )
