"""Editions: an item may have one next edition, in this archive or another (spec part 4)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from ibi.archive.rules import item_transitions
from ibi.archive.rules.item_transitions import Draft
from ibi.errors import Sentence, StateError
from ibi.model.item import Item, State
from ibi.model.label_pair import Forms

_MOST: Final = 10_000


def check_last(item: Item, find: Callable[[Forms], Item | None]) -> None:
    """Raise if an item cannot get a next edition; a deleted next edition does not count."""
    item_transitions.check_editable(item)
    _check_data(item)
    after = None if item.next_edition is None else find(item.next_edition)
    if item.next_edition is not None and (after is None or after.state is not State.DELETED):
        msg = Sentence(
            "%(label)s has a next edition already: %(next)s.",
            label=item.forms.label,
            next=item.next_edition.label,
        )
        raise StateError(msg)


def _check_data(item: Item) -> None:
    if item.kind != "data":
        msg = Sentence("%(label)s is not an item that has editions.", label=item.forms.label)
        raise StateError(msg)


def join(draft: Draft, earlier: Forms, later: Forms) -> None:
    """Make one item the next edition of another, in whichever of the two this archive has."""
    _check_chain(earlier, later, draft.find)
    first, second = draft.editable(earlier), draft.editable(later)
    if first is not None and not _names(first.next_edition, later):
        check_last(first, draft.find)
        draft.put(replace(first, next_edition=later))
    if second is not None and not _names(second.previous_edition, earlier):
        _check_data(second)
        if second.previous_edition is not None:
            label = second.previous_edition.label
            raise StateError(
                Sentence(
                    "%(label)s is the next edition of %(earlier)s already.",
                    label=later.label,
                    earlier=label,
                )
            )
        draft.put(replace(second, previous_edition=earlier))


def part(draft: Draft, earlier: Forms, later: Forms) -> None:
    """Undo `join`, in whichever of the two items this archive has."""
    first, second = draft.editable(earlier), draft.editable(later)
    if first is not None and _names(first.next_edition, later):
        draft.put(replace(first, next_edition=None))
    if second is not None and _names(second.previous_edition, earlier):
        draft.put(replace(second, previous_edition=None))


def _names(one: Forms | None, other: Forms) -> bool:
    return one is not None and one.names(other)


def _check_chain(earlier: Forms, later: Forms, find: Callable[[Forms], Item | None]) -> None:
    """Raise if the chain of editions would become a cycle."""
    forms: Forms | None = later
    for _ in range(_MOST):
        if forms is None:
            return
        if forms.names(earlier):
            msg = Sentence(
                "%(label)s cannot be the next edition of %(earlier)s: it leads back.",
                label=later.label,
                earlier=earlier.label,
            )
            raise StateError(msg)
        found = find(forms)
        forms = None if found is None else found.next_edition
