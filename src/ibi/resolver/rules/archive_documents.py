"""Documents of archives in JSON, as values: their names, results of searches, and tombstones.

Any server may be at the address of an archive, and may send anything. What cannot be read is left
out, every text is cut to a length, and nothing of it is used as an address: labels are parsed, and
pages link to them through the resolver.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Final, TypeVar

import msgspec

from ibi.errors import LabelError
from ibi.identifier.label import Label, parse
from ibi.identifier.limits import MAX_TEXT

LARGEST_DOCUMENT: Final = 256 * 1024
"""Bytes of the longest document: five times a page of results with long titles."""
MAX_ITEMS: Final = 5
"""Items of one archive that a search shows."""
MAX_CREATORS: Final = 5
"""Creators that are shown of one item."""
MAX_COUNT: Final = 1_000_000_000
"""The largest number of hits that is repeated."""
_LONGEST_NAME: Final = 120
_LONGEST_TITLE: Final = 300
_LONGEST_TEXT: Final = 600
# Characters that reorder the text around them (Unicode, 23.2) have no place in a title.
_REORDERING: Final = dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)))
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{5,8}Z")

_Read = TypeVar("_Read")


@dataclass(frozen=True, slots=True)
class FoundItem:
    """An item that an archive found."""

    label: Label
    title: str = ""
    creators: tuple[str, ...] = ()
    year: str = ""
    snippet: str = ""


@dataclass(frozen=True, slots=True)
class FoundItems:
    """The first items that an archive found, and how many it has."""

    count: int = 0
    is_cut: bool = False
    """Whether there are more than `count`."""
    items: tuple[FoundItem, ...] = ()


@dataclass(frozen=True, slots=True)
class Tombstone:
    """What an archive says of an item that it deleted."""

    title: str = ""
    """The title that the item had; empty if the archive does not say it."""
    deleted: str = ""
    """The time, as ISO 8601; empty if it is not said so."""
    who: str = ""
    reason: str = ""
    replaced_by: Label | None = None
    metadata: Label | None = None
    """The label of its metadata, if they stay."""
    replacement_title: str = ""
    """The title of the item that replaces it; empty if the archive does not say it."""


class _Labels(msgspec.Struct):
    rep: object = ""
    ibip: object = ""


class _FoundItem(_Labels):
    title: object = ""
    creators: object = ()
    year: object = ""
    snippet: object = ""


class _SearchAnswer(msgspec.Struct):
    items: list[_FoundItem]
    count: object = 0
    more: object = False


class _TombstoneAnswer(msgspec.Struct):
    type: str
    item_title: object = ""
    deleted: object = ""
    who: object = ""
    reason: object = ""
    replaced_by: _Labels | None = None
    metadata: _Labels | None = None
    replacement_title: object = ""


class _ArchiveAnswer(msgspec.Struct):
    name: object = ""


_DELETED: Final = "urn:ibi:problem:deleted"


def read_name(octets: bytes) -> str:
    """Return the name that an archive gives itself; "" if there is none in the document."""
    answer = _decoded(octets, _ArchiveAnswer)
    return "" if answer is None else _text(answer.name, _LONGEST_NAME)


def read_found_items(octets: bytes) -> FoundItems | None:
    """Return the results in an archive's answer to a search; None if it is no such answer."""
    answer = _decoded(octets, _SearchAnswer)
    if answer is None:
        return None
    items = [item for each in answer.items if (item := _item(each)) is not None]
    count = answer.count if isinstance(answer.count, int) else 0
    return FoundItems(
        min(max(count, len(items)), MAX_COUNT), answer.more is True, tuple(items[:MAX_ITEMS])
    )


def read_tombstone(octets: bytes) -> Tombstone | None:
    """Return the tombstone in a problem document of an archive; None if there is none."""
    answer = _decoded(octets, _TombstoneAnswer)
    if answer is None or answer.type != _DELETED:
        return None
    deleted = answer.deleted if isinstance(answer.deleted, str) else ""
    return Tombstone(
        _text(answer.item_title, _LONGEST_TITLE),
        deleted if _DATE.fullmatch(deleted) else "",
        _text(answer.who, _LONGEST_NAME),
        _text(answer.reason, _LONGEST_TEXT),
        _label(answer.replaced_by),
        _label(answer.metadata),
        _text(answer.replacement_title, _LONGEST_TITLE),
    )


def _item(given: _FoundItem) -> FoundItem | None:
    label = _label(given)
    if label is None:
        return None
    creators = given.creators if isinstance(given.creators, list) else []
    names = [_text(each, _LONGEST_NAME) for each in creators[:MAX_CREATORS]]
    return FoundItem(
        label,
        _text(given.title, _LONGEST_TITLE),
        tuple(name for name in names if name),
        _text(given.year, len("2026")),
        _text(given.snippet, _LONGEST_TEXT),
    )


def _label(given: _Labels | None) -> Label | None:
    """Return the short form of a label, or the other one; None if neither can be read."""
    for form in () if given is None else (given.ibip, given.rep):
        if isinstance(form, str) and 0 < len(form) <= MAX_TEXT:
            try:
                return parse(form, strict=True)
            except LabelError:
                continue
    return None


def _text(given: object, longest: int) -> str:
    """Return a text as one line without control characters, cut to a length."""
    if not isinstance(given, str):
        return ""
    # Four times as many characters as are shown, so that a long run of blanks is cut early.
    plain = given[: 4 * longest].translate(_REORDERING)
    shown = "".join(" " if unicodedata.category(each)[0] == "C" else each for each in plain)
    line = " ".join(shown.split())
    return line if len(line) <= longest else f"{line[: longest - 1].rstrip()}…"


def _decoded(octets: bytes, kind: type[_Read]) -> _Read | None:
    try:
        return msgspec.json.decode(octets, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
