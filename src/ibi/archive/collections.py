"""The collections of an archive: items are added to them and removed from them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from ibi.archive.archive import Archive, ItemWithMetadata
from ibi.archive.item_list import described
from ibi.archive.rules.collections.membership import add, find_collection, is_collection, remove
from ibi.archive.rules.item_transitions import Draft
from ibi.archive.rules.search.query import SearchQuery
from ibi.errors import ArchiveRequestError, Sentence, UnknownError
from ibi.identifier.label import Label, parse
from ibi.model.item import Item, State
from ibi.model.label_pair import Forms

MOST_AT_ONCE: Final = 100
"""The most items that one request adds or removes: one change of the archive."""
_CHANGES_A_ROUND: Final = 100
"""The most changes by which one round of housekeeping releases members, within some seconds."""
_SOFTWARE: Final = "archive"
"""The name under which members are released, in the history."""


class Collections:
    """Changes and reads the collections of one archive."""

    def __init__(self, archive: Archive) -> None:
        """Act on an archive."""
        self._archive = archive
        self._items = archive.catalogue.items
        self._index = archive.catalogue.search

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

    def release_members(self) -> None:
        """Remove deleted collections from the manifests of their members, in many small changes.

        A collection may have a million members, too many for the change that deletes it. What one
        round of housekeeping leaves, the next one does.
        """
        left = _CHANGES_A_ROUND
        for forms in self._deleted():
            while left and self._release_some(forms):
                left -= 1

    def _deleted(self) -> Iterator[Forms]:
        """Yield the deleted collections of this archive that still have members."""
        after = ""
        while found := self._index.values("collection", after, MOST_AT_ONCE, last_first=False):
            after = found[-1].value
            names = [parse(each.value).canonical for each in found]
            for held in self._items.find_all(names).values():
                if held.item.state is State.DELETED:
                    yield held.item.forms

    def _release_some(self, collection: Forms) -> bool:
        """Release members by one change; return False if there is none."""
        members = SearchQuery(filters=(("collection", collection.short.spelling),))
        archive = self._archive
        with archive.changing():
            archive.settle()
            hits = self._index.find(members.clauses, "oldest", MOST_AT_ONCE)
            now = archive.clock.wall()
            draft = archive.draft(now)
            for held in self._items.numbered([hit.item for hit in hits]):
                found = draft.find(held.item.forms)
                if found is not None:
                    remove(draft, collection, found)
            changes = archive.drafted(draft)
            if changes:
                removed = [each.item.forms.label.spelling for each in changes]
                change = archive.change(
                    "collect",
                    _SOFTWARE,
                    collection.label,
                    changes,
                    now,
                    detail={"removed": removed},
                )
                archive.make(change)
            return bool(changes)

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
