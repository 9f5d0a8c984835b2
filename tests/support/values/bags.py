"""Bags for tests, made of what a small archive has, without a server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import bagit  # type: ignore[import-untyped]  # it ships no types
import msgspec

from ibi.archive.exchange.bag_import import NOTHING, BagImporter, Brought
from ibi.archive.rules import bagit as bag
from ibi.archive.rules import item_transitions
from ibi.archive.rules.manifest import manifest
from ibi.archive.storage.bags.writer import BagWriter
from ibi.model.item import File, Item
from ibi.model.metadata_record import MetadataRecord, Text
from tests.support.scenes.small_archive import SmallArchive, forms
from tests.support.scenes.small_archive import file as facts_of

ORIGIN = "http://giver.example.org"


def manifests(small: SmallArchive, label: str) -> tuple[bytes, bytes | None]:
    """Return the manifests of an item and of what describes it, as an archive tells them."""
    look = small.archive.get_described(label)
    files = small.archive.files(look.held)
    described = None if look.metadata is None else _text(look.metadata.item, ())
    return _text(look.item, files), described


def _text(item: Item, files: tuple[File, ...]) -> bytes:
    return manifest(replace(item, transfer=None, origin=ORIGIN), files)


def brought(small: SmallArchive, label: str) -> Brought:
    """Return an item as somebody brings it."""
    item, metadata = manifests(small, label)
    place = small.archive.get(label).item.forms.label.spelling
    described = NOTHING if metadata is None else msgspec.Raw(metadata)
    return Brought(place, msgspec.Raw(item), described)


def contents(small: SmallArchive, label: str) -> dict[str, bytes]:
    """Return the files of an item."""
    held = small.archive.get(label)
    doc = small.folder / "col" / held.item.forms.label.spelling / "doc"
    return {file.path: (doc / file.path).read_bytes() for file in small.archive.files(held)}


def carry(small: SmallArchive, label: str, importing: BagImporter, key: str = "") -> str:
    """Bring an item of one archive to another; return what came of it."""
    [reception] = importing.open([brought(small, label)], key, "me")
    if reception.outcome != "open":
        return f"{reception.outcome}: {reception.detail}"
    files = contents(small, label)
    needed = {path: files[path] for path in reception.needed}
    ended = importing.complete(reception.deposit, needed, "me")
    return f"{ended.outcome}: {ended.detail}" if ended.detail else ended.outcome


def write_bag(
    folder: Path, small: SmallArchive, *labels: str, tags: Mapping[str, bytes] | None = None
) -> Path:
    """Write items into a bag."""
    writer = BagWriter(folder, {"items": labels})
    for label in labels:
        put_item(writer, small, label)
    writer.finish([("Source-Organization", "Arquivo de prova")], tags or {})
    return folder


def put_item(writer: BagWriter, small: SmallArchive, label: str) -> None:
    """Write one item."""
    look = small.archive.get_described(label)
    place = look.item.forms.label.spelling
    texts = manifests(small, label)
    writer.tidy(place, {file.path for file in small.archive.files(look.held)})
    listed = {}
    for file in small.archive.files(look.held):
        path = f"{bag.ITEMS}{place}{bag.DOC}{file.path}"
        writer.fetch(path, file, partial(_reading, small, place, file))
        listed[path] = (file.sha256, file.sha512, file.size)
    path = f"{bag.ITEMS}{place}/{bag.MANIFEST}"
    writer.enlist(place, {**listed, path: writer.write(path, texts[0])})
    if look.metadata is not None and texts[1] is not None:
        other = look.metadata.item.forms.label.spelling
        path = f"{bag.ITEMS}{other}/{bag.MANIFEST}"
        writer.enlist(other, {path: writer.write(path, texts[1])})


@contextmanager
def _reading(small: SmallArchive, place: str, file: File, offset: int) -> Iterator[Iterator[bytes]]:
    with (small.folder / "col" / place / "doc" / file.path).open("rb") as source:
        source.seek(offset)
        yield iter(lambda: source.read(1000), b"")


def judge(folder: Path) -> dict[str, Any]:
    """Have a bag validated by the program of the Library of Congress; return its bag-info."""
    found = bagit.Bag(str(folder))
    found.validate()
    info: dict[str, Any] = found.info
    return info


def is_bag(folder: Path) -> bool:
    """Tell whether that program takes a folder for a bag at all."""
    try:
        bagit.Bag(str(folder))
    except bagit.BagError:
        return False
    return True


def make_foreign_bag(folder: Path) -> None:
    """Make a bag of whatever is in a folder, as others do."""
    bagit.make_bag(str(folder), checksums=["sha256", "sha512"])


def make_again(folder: Path) -> None:
    """Have that program write all manifests of a bag anew."""
    found = bagit.Bag(str(folder))
    found.info["Contact-Name"] = "Somebody"
    found.save(manifests=True)


def write_many(folder: Path, count: int, content: bytes = b"small") -> list[str]:
    """Write a bag of so many small items, which no archive ever had; return their labels."""
    writer = BagWriter(folder, {"items": count})
    labels = []
    for number in range(count):
        item = Item(
            forms=forms(2 * number, "many.example.org"),
            metadata=forms(2 * number + 1, "many.example.org"),
            target="a.txt",
            created=1,
            updated=2,
        )
        assert item.metadata is not None
        record = MetadataRecord(titles=(Text(f"Number {number}"),))
        described = item_transitions.describing(item, item.metadata, record, 1)
        known = facts_of("a.txt", content)
        for each, files in ((item, (known,)), (described, ())):
            place = each.forms.label.spelling
            texts = {f"{bag.ITEMS}{place}/{bag.MANIFEST}": manifest(each, files)}
            texts |= {f"{bag.ITEMS}{place}{bag.DOC}{f.path}": content for f in files}
            writer.enlist(place, {path: writer.write(path, text) for path, text in texts.items()})
        labels.append(item.forms.label.spelling)
    writer.finish([], {})
    return labels
