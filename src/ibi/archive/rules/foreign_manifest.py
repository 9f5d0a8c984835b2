"""Validation of manifests that other archives send.

Another archive may be damaged, hostile, or not an archive at all. Fields of its manifest become
names of folders and files, addresses and networks here, so they must pass the same rules as a
deposit.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from ibi.archive.rules.access import networks
from ibi.archive.rules.collections.membership import check_number
from ibi.archive.rules.file_path import FilePaths, check_path
from ibi.archive.rules.manifest import document, read_manifest
from ibi.errors import IbiError, Sentence, StateError, StorageError, shown
from ibi.identifier.label import Label
from ibi.metadata.json_record import record_as_dict, record_from
from ibi.model.item import File, Item, State
from ibi.wire.addresses import is_web_address

_SHA256: Final = re.compile("[0-9a-f]{64}")
_SHA512: Final = re.compile("[0-9a-f]{128}")
_MEDIA_TYPE: Final = re.compile(r"(?:[!#$&^_.+\w-]{1,127}/[!#$&^_.+\w-]{1,127})?", re.ASCII)
_MOST: Final = 1 << 63
"""The end of the range of integers in a database: of nanoseconds and of bytes."""
_LARGEST_ITEM: Final = 2 << 20
"""Bytes of the largest encoded item, without its files: each lookup reads all of them."""


def read_foreign(text: bytes, asked: Label, address: str) -> tuple[Item, tuple[File, ...]]:
    """Decode and validate a manifest of another archive; raise StateError if it is invalid."""
    try:
        item, files = read_manifest(text)
        if asked not in tuple(item.names):
            raise StateError(Sentence("it is that of %(label)s", label=item.forms.label))
        _check_item(item)
        _check_files(item, files)
    except StorageError as fault:
        raise _refusal(asked, address, fault.reason) from fault
    except (IbiError, ValueError) as fault:
        raise _refusal(asked, address, str(fault).rstrip(".")) from fault
    return item, files


def _refusal(asked: Label, address: str, reason: str) -> StateError:
    return StateError(
        Sentence(
            "The manifest of %(asked)s at %(address)s cannot be used: %(reason)s.",
            asked=asked,
            address=address,
            reason=reason,
        )
    )


def check_described(item: Item, metadata: Item, address: str) -> None:
    """Raise unless the metadata item describes the item."""
    if metadata.kind != "metadata" or metadata.describes is None:
        raise _refusal(metadata.forms.label, address, Sentence("it is not that of metadata"))
    if not metadata.describes.names(item.forms):
        raise _refusal(
            metadata.forms.label,
            address,
            Sentence("it does not describe %(label)s", label=item.forms.label),
        )


def _check_item(item: Item) -> None:
    if item.runs_at and not is_web_address(item.runs_at):
        raise StateError(
            Sentence("%(address)s is not the address of a web service", address=shown(item.runs_at))
        )
    if not (0 <= item.created < _MOST and 0 <= item.updated < _MOST):
        raise StateError(Sentence("its times are none"))
    if item.target:
        check_path(item.target)
    networks(item.readers)
    check_number(item)
    if item.record is not None:
        record_from(record_as_dict(item.record))
    _check_state(item)
    if len(document(item)) > _LARGEST_ITEM:
        raise StateError(Sentence("it says more of the item than anybody would read"))


def _check_state(item: Item) -> None:
    is_there = item.state is not State.DELETED
    if (item.kind == "metadata") != (item.describes is not None):
        raise StateError(Sentence("only metadata describe something, and all of them do"))
    if is_there and item.kind == "metadata" and item.record is None:
        raise StateError(Sentence("it says nothing of what it describes"))
    if is_there and item.tombstone is not None:
        raise StateError(Sentence("it has a tombstone, and was not deleted"))


def _check_files(item: Item, files: Sequence[File]) -> None:
    paths = FilePaths()
    seen = set()
    for file in files:
        if check_path(file.path) != file.path or file.path in seen:
            raise StateError(
                Sentence(
                    "%(path)s is not written as it should be, or stands twice",
                    path=shown(file.path),
                )
            )
        clash = paths.clash(file.path)
        if clash is not None:
            raise StateError(
                Sentence(
                    "%(path)s and %(clash)s cannot lie side by side",
                    path=shown(file.path),
                    clash=shown(clash),
                )
            )
        paths.add(file.path)
        seen.add(file.path)
        if file.size < 0 or not (_SHA256.fullmatch(file.sha256) and _SHA512.fullmatch(file.sha512)):
            raise StateError(
                Sentence("size and checksums of %(path)s are none", path=shown(file.path))
            )
        if _MEDIA_TYPE.fullmatch(file.media_type) is None:
            raise StateError(Sentence("the media type of %(path)s is none", path=shown(file.path)))
    if sum(file.size for file in files) >= _MOST:
        raise StateError(Sentence("its files are larger than any disk"))
    if files and (item.kind != "data" or item.runs_at or item.state is State.DELETED):
        raise StateError(Sentence("it has files, and should have none"))
    if item.kind == "data" and item.target and item.target not in seen:
        raise StateError(
            Sentence("it does not say which files the item has; perhaps they are not public")
        )
