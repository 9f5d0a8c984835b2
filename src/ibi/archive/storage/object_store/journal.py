"""The records of an unfinished change in an object store: its intent and its line in the journal.

The intent is written first and lists the files that are about to be sent; the line of the journal
decides the change. An intent without a line belongs to a change that was never decided.
"""

from __future__ import annotations

from typing import Final

import msgspec

from ibi.archive.ports.catalogue import StoredChange
from ibi.archive.rules.manifest import manifest
from ibi.model.change import Change, ItemChange
from ibi.model.item import File


class Intent(msgspec.Struct, frozen=True):
    """The places and paths of the files that a change is about to send."""

    new: tuple[tuple[str, str], ...]
    """Files that replace none, which are sent to their final keys."""
    replacing: tuple[tuple[str, str], ...]
    """Files that replace others; the n-th has its number as key until the change is decided."""


class JournalStep(msgspec.Struct, frozen=True):
    """The part of a change that concerns one item."""

    place: str
    manifest: str
    removed: tuple[str, ...]
    cleared: bool
    dropped: bool


class JournalLine(msgspec.Struct, frozen=True):
    """A line of the journal: all data to carry a change out, even repeatedly."""

    change: StoredChange
    steps: tuple[JournalStep, ...]
    replacing: tuple[tuple[str, str], ...]
    has_intent: bool
    """Whether files were sent before, so that there is an intent to remove."""


encode: Final = msgspec.json.Encoder().encode
decode_line: Final = msgspec.json.Decoder(JournalLine).decode
decode_intent: Final = msgspec.json.Decoder(Intent).decode


def line_of(change: Change, intent: Intent) -> JournalLine:
    """Return the line that decides a change, all files of which were sent."""
    return JournalLine(
        StoredChange.of(change),
        tuple(map(_step, change.items)),
        intent.replacing,
        bool(intent.new or intent.replacing),
    )


def brought(change: Change) -> list[tuple[ItemChange, File]]:
    """Return the files that a change adds."""
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
