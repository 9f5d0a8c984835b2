"""What harvesters get of an item: a line of the dump of all metadata, and an entry of a sitemap.

An item whose files are for some readers only is in neither. Of a deleted item the dump has the
tombstone alone, also if its description was kept.
"""

from __future__ import annotations

from typing import Any, Final

from ibi.archive.ports.public_dump import DumpIndex
from ibi.identifier.instant import Instant
from ibi.metadata.json_record import record_as_dict
from ibi.model.clock import SECOND
from ibi.model.item import Item, State
from ibi.model.label_pair import Forms

_DAY: Final = 86_400 * SECOND
SHORTEST: Final = 600 * SECOND
"""Nanoseconds from one run to the next, unless something is withdrawn."""
_SHARE: Final = 50
"""The part of the time that runs take at most: a fiftieth."""


def is_public(item: Item) -> bool:
    """Return whether harvesters may know an item: data for all readers."""
    return item.kind == "data" and not item.readers


def is_withdrawn(item: Item) -> bool:
    """Return whether an item must not be in a dump with its description."""
    return item.state is State.DELETED or not is_public(item)


def is_due(index: DumpIndex, history: int, base: str, now: int) -> bool:
    """Return whether to make everything anew, if nothing was withdrawn.

    `history` is the number of the newest line, `base` where persistent URLs begin.
    """
    if index.history == history and index.base == base:
        return False
    pause = max(SHORTEST, int(_SHARE * index.seconds * SECOND))
    return not 0 <= now - index.made < min(pause, _DAY)


def dumped(item: Item, metadata: Item | None, base: str, page: str) -> dict[str, Any]:
    """Return the line of an item; `base` begins persistent URLs, `page` is the URL of its page."""
    tombstone = item.tombstone
    always = {**_labels(item.forms), "persistent_url": _url(item.forms, base), "state": item.state}
    if tombstone is not None:
        replaced = _labels(tombstone.replaced_by) if tombstone.replaced_by else None
        gone = {"deleted": _moment(tombstone.deleted), "reason": tombstone.reason}
        return _filled({**always, **gone, "replaced_by": replaced})
    record = metadata.record if metadata else None
    return _filled(
        {
            **always,
            "page": page,
            "created": _moment(item.created),
            "updated": _moment(changed(item, metadata)),
            "language": str(item.language or ""),
            "previous_edition": _labels(item.previous_edition) if item.previous_edition else None,
            "next_edition": _labels(item.next_edition) if item.next_edition else None,
            "translations": {str(each): _labels(forms) for each, forms in item.translations},
            "collections": [_labels(forms) for forms in item.collections],
            "record": record_as_dict(record) if record else None,
        }
    )


def changed(item: Item, metadata: Item | None) -> int:
    """Return when an item or its description changed last, in nanoseconds of POSIX time."""
    return max(item.updated, metadata.updated if metadata else 0)


def _labels(forms: Forms) -> dict[str, str]:
    found = {"rep": forms.rep, "ibip": forms.ibip}
    return {name: label.spelling for name, label in found.items() if label is not None}


def _url(forms: Forms, base: str) -> str:
    return f"{base}/{forms.short.spelling}"


def _moment(nanoseconds: int) -> str:
    return Instant(nanoseconds // SECOND).iso8601


def _filled(every: dict[str, Any]) -> dict[str, Any]:
    return {name: part for name, part in every.items() if part}
