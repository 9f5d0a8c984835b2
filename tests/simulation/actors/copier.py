"""Administrators who copy items, whatever is there of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ibi.model.item import State

if TYPE_CHECKING:
    from ibi.identifier.label import Label
    from tests.simulation.judge.ground_truth import Holding
    from tests.simulation.programs.archive_host import ArchiveHost


def copying(
    host: ArchiveHost, label: Label, here: Holding | None, others: Sequence[str]
) -> Callable[[], object]:
    """Return what copies an item, or refreshes a Copy; or would put one over the Original."""
    if here is None:
        return lambda: host.copy(label)
    if here.state is State.COPY:
        return lambda: host.refresh(label)
    return lambda: host.copy(label, others[0] if others else "")
