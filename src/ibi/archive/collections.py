"""The collections of an archive: items are added to them and removed from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ibi.archive.archive import Archive, ItemWithMetadata
from ibi.archive.item_list import described
from ibi.archive.rules.collections.membership import add, find_collection, is_collection, remove
from ibi.archive.rules.item_transitions import Draft
from ibi.errors import ArchiveRequestError, Sentence, UnknownError
from ibi.identifier.label import Label, parse
from ibi.model.item import Item
from ibi.model.label_pair import Forms

MOST_AT_ONCE: Final = 100
"""The most items that one request adds or removes: one change of the archive."""


class Collections:
    """Changes and reads the collections of one archive."""

    def __init__(self, archive: Archive) -> None:
        """Act on an archive."""
        self._archive = archive
        self._items = archive.catalogue.items

    def get(self, label: Label) -> ItemWithMetadata:
        """Return a collection with its description; raise if the item is none."""
        find_collection(self._archive.draft(0), label)
        return self._archive.get_described(label)

    def change(
        self, label: Label, who: str, added: Sequence[str] = (), removed: Sequence[str] = ()
    ) -> list[Item]:
        """Add items to a collection and remove others, all or none; return those that changed."""
        if len(added) + len(removed) > MOST_AT_ONCE:
            msg = Sentence(
                "At most %(most)s items are added or removed at a time.",
                most=MOST_AT_ONCE,
            )
            raise ArchiveRequestError(msg)
        archive = self._archive
        with archive.changing():
            archive.settle()
            now = archive.clock.wall()
            draft = archive.draft(now)
            collection = find_collection(draft, label)
            for text in added:
                add(draft, collection, _member(draft, text))
            for text in removed:
                remove(draft, collection.forms, _member(draft, text))
            changes = archive.drafted(draft)
            if changes:
                detail = {"added": list(added), "removed": list(removed)}
                kept: dict[str, object] = {name: each for name, each in detail.items() if each}
                main = collection.forms.label
                archive.make(archive.change("collect", who, main, changes, now, detail=kept))
            return [each.item for each in changes]

    def found_among(self, labels: Sequence[Forms]) -> list[ItemWithMetadata]:
        """Return those items that are collections of this archive, in the order of the labels."""
        names = [forms.label.canonical for forms in labels]
        found = self._items.find_all(names) if names else {}
        held = [found[name] for name in dict.fromkeys(names) if name in found]
        looks = described(self._archive, held)
        return [look for look in looks if is_collection(look.item, look.record)]


def _member(draft: Draft, text: str) -> Item:
    found = draft.find(Forms.of(parse(text)))
    if found is None:
        raise UnknownError("item", text)
    return found
