"""Editions as versions in time (RFC 7089): which edition was current at a moment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from ibi.identifier.instant import Instant
from ibi.model.item import Item, State
from ibi.model.label_pair import Forms

_MOST: Final = 10_000
"""Editions that are followed in one direction."""


@dataclass(frozen=True, slots=True)
class Memento:
    """An edition with its time: that of its label, which an adopted item keeps."""

    forms: Forms
    at: int
    """Seconds of POSIX time."""


def has_editions(item: Item) -> bool:
    """Return whether an item is one of several editions."""
    is_live = item.kind == "data" and item.state is not State.DELETED
    return is_live and bool(item.previous_edition or item.next_edition)


def memento_of(forms: Forms) -> Memento:
    """Return an edition with the time of its label, without the fraction of a second."""
    return Memento(forms, forms.label.instant.seconds)


def mementos(item: Item, find: Callable[[Forms], Item | None]) -> list[Memento]:
    """Return the editions of an item, the oldest first, without those that were deleted.

    An edition in another archive is the last one that is known in its direction.
    """
    earlier = _chain(item, lambda each: each.previous_edition, find)
    later = _chain(item, lambda each: each.next_edition, find)
    itself = [] if item.state is State.DELETED else [item.forms]
    found = [memento_of(forms) for forms in (*reversed(earlier), *itself, *later)]
    return sorted(found, key=lambda each: each.at)


def _chain(
    item: Item, step: Callable[[Item], Forms | None], find: Callable[[Forms], Item | None]
) -> list[Forms]:
    found: list[Forms] = []
    forms = step(item)
    for _ in range(_MOST):
        if forms is None:
            break
        held = find(forms)
        if held is None or held.state is not State.DELETED:
            found.append(forms)
        forms = step(held) if held else None
    return found


def current_at(editions: Sequence[Memento], at: Instant | None) -> int:
    """Return the place of the edition that was current at a moment, the newest if that is None.

    Before the first edition this is the first one (RFC 7089, 4.5.3).
    """
    if at is None:
        return len(editions) - 1
    past = [place for place, each in enumerate(editions) if each.at <= at.seconds]
    return past[-1] if past else 0
