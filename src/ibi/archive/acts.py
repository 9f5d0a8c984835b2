"""What each act makes of the items that it touches: pure, the time is an argument."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from ibi.archive.deposit_request import Description
from ibi.errors import ArchiveRequestError, DeletedError, StateError, shown
from ibi.identifier.language import Language
from ibi.model.forms import Forms
from ibi.model.item import Item, State, Tombstone
from ibi.model.record import Record

METADATA_TARGET: Final = "metadata"
"""The page that describes an item; `?choice=` and a format ask for it in another form."""

_LONGEST_REASON: Final = 2000
_MOST_EDITIONS: Final = 10_000


def new_items(
    forms: Forms, metadata: Forms, description: Description, target: str, now: int
) -> tuple[Item, Item]:
    """Return a new item, and the one that describes it."""
    item = Item(
        forms=forms,
        further_names=description.further_names,
        language=description.language,
        target=target,
        runs_at=description.runs_at,
        created=now,
        updated=now,
        metadata=metadata,
        list_public=description.list_public,
    )
    return item, describing(item, metadata, description.record, now)


def describing(item: Item, forms: Forms, record: Record, now: int) -> Item:
    """Return the item that describes another."""
    return Item(
        forms=forms,
        kind="metadata",
        target=METADATA_TARGET,
        created=now,
        updated=now,
        describes=item.forms,
        record=record,
    )


def service_items(forms: Forms, metadata: Forms, record: Record, now: int) -> tuple[Item, Item]:
    """Return the archive service's own item, an Original that is never transferred (004, 3.2)."""
    service = Item(
        forms=forms,
        kind="service",
        transferable=False,
        created=now,
        updated=now,
        metadata=metadata,
        list_public=False,
    )
    return service, describing(service, metadata, record, now)


def check_editable(item: Item) -> None:
    """Refuse whoever would change what is not theirs to change."""
    if item.state is State.DELETED:
        raise DeletedError(str(item.forms.label))
    if item.state is State.COPY:
        msg = f"{item.forms.label} is a Copy here: it is changed where its Original is."
        raise StateError(msg)


def is_editable(item: Item) -> bool:
    """Tell whether an item may be changed here."""
    return item.state is State.ORIGINAL


def edition_of(item: Item, previous: Forms) -> Item:
    """Return a new item that is the next edition of another."""
    return replace(item, previous_edition=previous)


def revised(item: Item, target: str, now: int) -> Item:
    """Return an item whose files were changed."""
    return replace(item, target=target, updated=now)


def succeeded(item: Item, by: Forms, now: int, find: Callable[[Forms], Item | None]) -> Item:
    """Return an item that has a next edition from now on."""
    check_editable(item)
    if item.next_edition is not None:
        if item.next_edition.names(by):
            return item
        msg = f"{item.forms.label} has a next edition already: {item.next_edition.label}."
        raise StateError(msg)
    if item.kind != "data":
        msg = f"{item.forms.label} is not an item that has editions."
        raise StateError(msg)
    _check_chain(item, by, find)
    return replace(item, next_edition=by, updated=now)


def _check_chain(item: Item, by: Forms, find: Callable[[Forms], Item | None]) -> None:
    """Refuse an edition that would lead back to the item."""
    forms: Forms | None = by
    for _ in range(_MOST_EDITIONS):
        if forms is None:
            return
        if forms.names(item.forms):
            msg = f"{by.label} cannot be the next edition of {item.forms.label}: it leads back."
            raise StateError(msg)
        found = find(forms)
        forms = None if found is None else found.next_edition


def with_translation(item: Item, language: Language, forms: Forms | None, now: int) -> Item:
    """Return an item that has a translation into a language, or none any more."""
    check_editable(item)
    if forms is not None and language == item.language and not forms.names(item.forms):
        msg = f"{item.forms.label} is in {language} itself: {forms.label} is no translation of it."
        raise StateError(msg)
    others = [(into, other) for into, other in item.translations if into != language]
    if forms is not None:
        others.append((language, forms))
    translations = tuple(sorted(others, key=lambda each: str(each[0])))
    return (
        item
        if translations == item.translations
        else replace(item, translations=translations, updated=now)
    )


def translated(group: Sequence[Item], new: Item, now: int) -> tuple[tuple[Item, ...], Item]:
    """Make each item of a group know the new translation, and it know each of them."""
    assert new.language is not None  # noqa: S101  # a translation is asked for its language first
    for item in group:
        if any(language == new.language for language, _ in item.translations) or (
            item.language == new.language
        ):
            msg = f"{item.forms.label} has a translation into {new.language} already."
            raise StateError(msg)
    known = tuple(with_translation(item, new.language, new.forms, now) for item in group)
    theirs = [(item.language, item.forms) for item in group if item.language is not None]
    # Their translations that are held elsewhere belong to the group too.
    theirs += [pair for item in group for pair in item.translations]
    for language, forms in theirs:
        if all(language != into for into, _ in new.translations) and not forms.names(new.forms):
            new = with_translation(new, language, forms, now)
    return known, new


def deleted(item: Item, who: str, reason: str, replaced_by: Forms | None, now: int) -> Item:
    """Return the tombstone of an item: its names stay, and who, when, why, what replaces it."""
    check_editable(item)
    if item.kind == "service":
        msg = "The archive service's own item cannot be deleted."
        raise StateError(msg)
    text = reason.strip()
    if not text or len(text) > _LONGEST_REASON or not text.isprintable():
        msg = f"A deletion needs a reason, of at most {_LONGEST_REASON} characters in one line."
        raise ArchiveRequestError(msg)
    if replaced_by is not None and replaced_by.names(item.forms):
        msg = f"{shown(item.forms.label.spelling)} cannot be replaced by itself."
        raise StateError(msg)
    return replace(
        item,
        state=State.DELETED,
        target="",
        runs_at="",
        updated=now,
        tombstone=Tombstone(now, who, text, replaced_by),
    )


def silenced(metadata: Item) -> Item:
    """Return a deleted metadata item that says nothing any more."""
    return replace(metadata, record=None)
