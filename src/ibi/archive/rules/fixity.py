"""Fixity: whether stored files are still what was deposited.

A file is intact if its size and both its checksums equal those of the catalogue; its modification
time is ignored. A manifest is intact if it equals what the catalogue would write, byte for byte.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ibi.archive.ports.catalogue import ManifestItem, StoredItem
from ibi.archive.rules.manifest import manifest, read_kept
from ibi.errors import StorageError
from ibi.model.clock import SECOND
from ibi.model.item import File, Item
from ibi.model.pace import Pace

MANIFEST: Final = "ibi.json"
"""The file name of a manifest, in the folder of its item."""
DOC: Final = "doc"
_FOLDERS: Final = frozenset({DOC, "old"})
_MEGABYTE: Final = 1_000_000

MISSING: Final = "it is not there"
NOBODYS: Final = "nobody deposited it: look what it is, and take it away"
UNKNOWN_ITEM: Final = "the catalogue knows no such item: 'ibi archive rebuild' brings it back"


@dataclass(frozen=True, slots=True)
class Found:
    """Size and checksums of a file, read from the first byte to the last."""

    size: int
    sha256: str
    sha512: str


def file_fault(file: File, found: Found | None) -> str:
    """Return the fault of a file, empty if it is intact; `found` is None if it is missing."""
    if found is None:
        return MISSING
    if found.size != file.size:
        return f"it has {found.size} bytes instead of {file.size}"
    for name in ("sha256", "sha512"):
        before, now = getattr(file, name), getattr(found, name)
        if before != now:
            return f"its bytes have changed: {name} was {before[:16]}… and is {now[:16]}…"
    return ""


def manifest_fault(text: bytes | None, held: StoredItem, files: Sequence[File]) -> str:
    """Return the fault of a manifest, empty if it agrees with the catalogue."""
    if text is None:
        return MISSING
    try:
        kept = read_kept(text)
    except StorageError as fault:
        return fault.reason
    if not _is_as_written(text, kept):
        return "it is not as it was written"
    numbers = ((kept.number, held.id), (kept.version, held.version))
    is_same = all(found in {0, expected} for found, expected in numbers)
    if not is_same or _text(kept.item, kept.files) != _text(held.item, files):
        return "it says other things than the catalogue"
    return ""


def is_ahead(text: bytes, held: StoredItem, files: Sequence[File]) -> bool:
    """Return whether a manifest records a change that the catalogue lacks.

    Damage may change any field. But only a real change, made before the catalogue was restored from
    an older copy, alters the state, or the time or version together with something else.
    """
    try:
        kept = read_kept(text)
    except StorageError:
        return False
    if not _is_as_written(text, kept):
        return False
    item = held.item
    is_later = kept.version > held.version or kept.item.updated > item.updated
    same_time = replace(kept.item, updated=item.updated)
    is_other = _text(same_time, kept.files) != _text(item, files)
    return kept.item.state != item.state or (is_later and is_other)


def _is_as_written(text: bytes, kept: ManifestItem) -> bool:
    """Return whether a manifest equals its re-encoding, byte for byte.

    The decoder skips unknown fields, and one flipped bit can turn a field into an unknown one.
    """
    return manifest(kept.item, kept.files, kept.number, kept.version) == text


def _text(item: Item, files: Sequence[File]) -> bytes:
    """Return a manifest with its files in a fixed order, whatever their order was."""
    return manifest(item, sorted(files, key=lambda file: file.path))


def owners(key: str) -> Iterator[tuple[str, str]]:
    """Yield the item folders that a key of the store may belong to, with the rest of the key.

    There may be more than one: one label can be a prefix of another.
    """
    parts = key.split("/")
    for number, part in enumerate(parts):
        is_manifest = part == MANIFEST and number == len(parts) - 1
        if number and (is_manifest or part in _FOLDERS):
            yield "/".join(parts[:number]), "/".join(parts[number:])


def is_known(name: str, paths: frozenset[str]) -> bool:
    """Return whether a name in the folder of an item belongs to the item."""
    folder, _, path = name.partition("/")
    return path in paths if folder == DOC else folder in {MANIFEST, *_FOLDERS}


def read_pace(megabytes: float) -> Pace:
    """Return a pace in megabytes a second; 0 means no limit.

    After a pause, as much as a tenth of a second allows may be read at once.
    """
    return Pace(megabytes * _MEGABYTE, slack=SECOND // 10)
