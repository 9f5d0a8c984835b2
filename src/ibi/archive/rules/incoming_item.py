"""Items that arrive in a bag: validation, and comparison with the local item.

The bag is not trusted: its manifests pass the same checks as those of another archive, and the
local state of an item decides what an import may change.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ibi.archive.rules.foreign_manifest import check_described, read_foreign
from ibi.archive.rules.transfer import digest
from ibi.errors import ArchiveRequestError, DeletedError, Sentence
from ibi.identifier.label import Label, parse
from ibi.model.item import File, Item, State, is_same

PREFIX: Final = "import"
"""The prefix of the ids of deposits that an import opens."""
_PLACE: Final = "the bag"


def is_import(deposit: str) -> bool:
    """Return whether a deposit belongs to an import, which completes it in its own way."""
    return deposit.startswith(PREFIX)


@dataclass(frozen=True, slots=True)
class IncomingItem:
    """An item with its files and its metadata item."""

    item: Item
    files: tuple[File, ...]
    metadata: Item | None

    @property
    def label(self) -> Label:
        """The label that names the folder of the item."""
        return self.item.forms.label

    @property
    def items(self) -> tuple[tuple[Item, tuple[File, ...]], ...]:
        """The item and its metadata item, each with its files."""
        first = ((self.item, self.files),)
        return first if self.metadata is None else (*first, (self.metadata, ()))

    @property
    def digest(self) -> str:
        """The digest of everything that two archives with the same item have in common."""
        return digest(self.items)

    @property
    def age(self) -> int:
        """When the item or its metadata was last changed."""
        return max(item.updated for item, _ in self.items)


def read_incoming(place: str, item: bytes, metadata: bytes | None) -> IncomingItem:
    """Decode and validate the manifests of an item and of its metadata, found at a place."""
    label = parse(place, strict=True)
    found, files = read_foreign(item, label, _PLACE)
    _check_place(found, label)
    if found.kind != "data":
        msg = Sentence(
            "%(label)s comes only with the item that it belongs to: its kind is %(kind)s.",
            label=label,
            kind=found.kind,
        )
        raise ArchiveRequestError(msg)
    if found.state is State.DELETED:
        raise DeletedError(label.spelling)
    return IncomingItem(found, files, _described(found, metadata))


def _described(item: Item, text: bytes | None) -> Item | None:
    if item.metadata is None or text is None:
        if item.metadata is not None or text is not None:
            msg = Sentence(
                "%(label)s and what describes it have to come together.", label=item.forms.label
            )
            raise ArchiveRequestError(msg)
        return None
    metadata, _ = read_foreign(text, item.metadata.label, _PLACE)
    _check_place(metadata, item.metadata.label)
    check_described(item, metadata, _PLACE)
    if metadata.state is State.DELETED:
        raise DeletedError(metadata.forms.label.spelling)
    return metadata


def _check_place(item: Item, label: Label) -> None:
    if item.forms.label.spelling != label.spelling:
        msg = Sentence(
            "At %(label)s lies the manifest of %(other)s.", label=label, other=item.forms.label
        )
        raise ArchiveRequestError(msg)


def is_news(incoming: IncomingItem, here: IncomingItem) -> bool:
    """Return whether the incoming item differs from the local Copy and is not older."""
    return here.age <= incoming.age and here.digest != incoming.digest


def needed(incoming: IncomingItem, here: IncomingItem | None) -> list[File]:
    """Return the files that this archive does not have yet."""
    files = () if here is None else here.files
    known = {file.path: file for file in files}
    return [file for file in incoming.files if not is_same(known.get(file.path), file)]
