"""Fixity: whether what lies in the tree still is what was deposited, and how fast to look.

A file is whole if its size and both its checksums are those of the catalogue; when it was written
says nothing. A manifest is whole if every byte of it is what the catalogue would write.
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
"""The name of a manifest in the folder of its item."""
DOC: Final = "doc"
_FOLDERS: Final = frozenset({DOC, "old"})
_MEGABYTE: Final = 1_000_000

MISSING: Final = "it is not there"
NOBODYS: Final = "nobody deposited it: look what it is, and take it away"
UNKNOWN_ITEM: Final = "the catalogue knows no such item: 'ibi archive rebuild' brings it back"


@dataclass(frozen=True, slots=True)
class Found:
    """What a file is, read from its first byte to its last."""

    size: int
    sha256: str
    sha512: str


def file_fault(file: File, found: Found | None) -> str:
    """Say what is wrong with a file; empty if it is whole. None was found if it is not there."""
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
    """Say what is wrong with a manifest; empty if it says what the catalogue does."""
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
    """Tell whether a manifest tells of an act that the catalogue has forgotten.

    Damage may change any field. But only an act, which a catalogue that was restored from an older
    copy does not know, changes the state, or moves time or version and something else besides.
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
    """Tell whether we would write every byte of a manifest as it stands there.

    Names that nobody knows are passed over by who reads: one flipped bit makes such a name.
    """
    return manifest(kept.item, kept.files, kept.number, kept.version) == text


def _text(item: Item, files: Sequence[File]) -> bytes:
    """Write a manifest, whatever the order of its files: equal labels may be spelled otherwise."""
    return manifest(item, sorted(files, key=lambda file: file.path))


def owners(key: str) -> Iterator[tuple[str, str]]:
    """Return to which places a key of the tree may belong, and what it is called there.

    More than one place can be: a label may go on where another one ends.
    """
    parts = key.split("/")
    for number, part in enumerate(parts):
        is_manifest = part == MANIFEST and number == len(parts) - 1
        if number and (is_manifest or part in _FOLDERS):
            yield "/".join(parts[:number]), "/".join(parts[number:])


def is_known(name: str, paths: frozenset[str]) -> bool:
    """Tell whether what lies in the folder of an item belongs to it, by the paths of its files."""
    folder, _, path = name.partition("/")
    return path in paths if folder == DOC else folder in {MANIFEST, *_FOLDERS}


def read_pace(megabytes: float) -> Pace:
    """Return the pace of so many megabytes a second; 0 is as fast as can be.

    After a pause, a tenth of a second's worth may be read at once.
    """
    return Pace(megabytes * _MEGABYTE, slack=SECOND // 10)
