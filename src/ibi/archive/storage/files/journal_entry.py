"""A change as the journal of a store has it."""

from __future__ import annotations

from ibi.archive.ports.catalogue import StoredChange
from ibi.model.change import Change


def stored_change(change: Change) -> StoredChange:
    """Return what is kept of a change until it is finished."""
    places = [(each.item.forms.label.spelling, each.dropped) for each in change.items]
    return StoredChange(
        change.id,
        change.at,
        change.who,
        change.act,
        change.label,
        change.detail,
        change.deposit,
        tuple(place for place, _ in places),
        tuple(place for place, dropped in places if dropped),
    )
