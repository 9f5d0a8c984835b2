"""Adoption of items: the checks before an item comes in under its own labels.

    prefix and instant  ->  not in use here  ->  no Original elsewhere  ->  entered in the ledger

Only then the item is created. If that fails, the labels stay in the ledger, bound to this archive,
and the next attempt finds them so.
"""

from __future__ import annotations

from collections.abc import Callable

from ibi.archive.holder_check import HolderCheck
from ibi.archive.ports.catalogue import Catalogue
from ibi.archive.rules.adoption import AdoptablePrefixes, Adoption
from ibi.errors import Sentence, StateError
from ibi.identifier.instant import instant_of
from ibi.identifier.label import Label
from ibi.model.clock import Clock


class Adoptions:
    """Checks labels that items bring along, and enters them in the ledger."""

    def __init__(
        self,
        catalogue: Catalogue,
        holders: HolderCheck,
        clock: Clock,
        prefixes: AdoptablePrefixes,
        enter: Callable[[Label], None],
    ) -> None:
        """Adopt labels of some prefixes; `enter` makes sure that the ledger never issues one."""
        self._catalogue = catalogue
        self._holders = holders
        self._clock = clock
        self._prefixes = prefixes
        self._enter = enter

    def check(self, adoption: Adoption) -> None:
        """Raise if this archive may not adopt the labels, or has given them to an item."""
        now = instant_of(self._clock.wall())
        for label in adoption.labels:
            self._prefixes.check(label, now)
            if self._catalogue.items.find(label.canonical) is not None:
                msg = Sentence(
                    "%(label)s names another item already: no label is given twice.", label=label
                )
                raise StateError(msg)
            if self._catalogue.reservations.find(label.canonical) is not None:
                msg = Sentence(
                    "%(label)s is reserved in this archive, for an item that comes later.",
                    label=label,
                )
                raise StateError(msg)

    def check_elsewhere(self, adoption: Adoption) -> dict[str, object]:
        """Raise if another archive has an Original; return what the history says of the check."""
        if adoption.offline:
            return {"offline": True}
        asked = [self._holders.check_adoptable(label) for label in adoption.labels]
        return {"resolvers": list(asked[0])}

    def enter(self, adoption: Adoption) -> None:
        """Enter the labels in the ledger, durably."""
        for label in adoption.labels:
            self._enter(label)
