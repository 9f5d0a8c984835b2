"""Collections: items of the type Collection, to which an archive adds other items.

The membership is in the manifest of the member: a collection of a million items costs no more than
one of ten, and each manifest alone tells to what its item belongs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from ibi.archive.rules.item_transitions import Draft
from ibi.errors import DeletedError, Sentence, StateError, UnknownError
from ibi.identifier.label import Label
from ibi.model.item import Item, State
from ibi.model.label_pair import Forms
from ibi.model.metadata_record import MetadataRecord

MOST_COLLECTIONS: Final = 20
"""The most collections that one item belongs to."""
TYPE: Final = "Collection"
"""The type of a collection, a term of the DCMI Type Vocabulary."""
_MOST_ANCESTORS: Final = 1000
"""The most collections of collections that are followed to find a loop."""


def is_collection(item: Item, record: MetadataRecord | None) -> bool:
    """Return whether other items can be added to an item."""
    return (
        item.kind == "data"
        and item.state is not State.DELETED
        and record is not None
        and any(each.strip().casefold() == TYPE.casefold() for each in record.types)
    )


def check_number(item: Item) -> None:
    """Raise if an item belongs to too many collections."""
    if len(item.collections) > MOST_COLLECTIONS:
        msg = Sentence(
            "%(label)s would be in more than %(most)s collections.",
            label=item.forms.label,
            most=MOST_COLLECTIONS,
        )
        raise StateError(msg)


def find_collection(draft: Draft, label: Label) -> Item:
    """Return the collection with a label; raise if this archive has none."""
    item = draft.find(Forms.of(label))
    if item is None:
        raise UnknownError("collection", label.spelling)
    if item.state is State.DELETED:
        raise DeletedError(label.spelling)
    metadata = draft.find(item.metadata) if item.metadata else None
    if not is_collection(item, metadata.record if metadata else None):
        raise StateError(
            Sentence(
                "%(label)s is not a collection: an item of the type %(type)s is one.",
                label=label,
                type=repr(TYPE),
            )
        )
    return item


def add(draft: Draft, collection: Item, member: Item) -> None:
    """Add an item to a collection; nothing changes if it belongs to it already."""
    if member.kind != "data":
        raise StateError(
            Sentence(
                "%(label)s cannot be in a collection: only data can.", label=member.forms.label
            )
        )
    if member.state is State.DELETED:
        raise DeletedError(member.forms.label.spelling)
    if _belongs(member, collection.forms):
        return
    _check_loop(draft, collection, member)
    after = replace(member, collections=(*member.collections, collection.forms))
    check_number(after)
    draft.mark(after)


def remove(draft: Draft, collection: Forms, member: Item) -> None:
    """Remove an item from a collection; nothing changes if it does not belong to it."""
    kept = tuple(each for each in member.collections if not each.names(collection))
    draft.mark(replace(member, collections=kept))


def _belongs(member: Item, collection: Forms) -> bool:
    return any(each.names(collection) for each in member.collections)


def _check_loop(draft: Draft, collection: Item, member: Item) -> None:
    """Raise if the collection is the member itself, or is in it."""
    waiting, seen = [collection.forms], set[str]()
    while waiting and len(seen) < _MOST_ANCESTORS:
        forms = waiting.pop()
        if forms.names(member.forms):
            one, other = member.forms.label, collection.forms.label
            raise StateError(
                Sentence(
                    "%(one)s cannot be in %(other)s, which would then be in itself.",
                    one=one,
                    other=other,
                )
            )
        if forms.label.canonical not in seen:
            seen.add(forms.label.canonical)
            found = draft.find(forms)
            waiting += found.collections if found else ()
