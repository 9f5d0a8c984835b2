"""Accesses: how many readers were sent, how many archives were told of, and how many are counted.

Nothing is believed of what resolvers say but how many accesses they speak of. A key is good for
what was said with it first: who says it again, because the answer was lost or the message was
doubled, adds nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from ibi.identifier.label import parse
from ibi.identifier.persistent_url import PersistentUrl
from ibi.wire.requests import Acknowledgment

if TYPE_CHECKING:
    from tests.simulation.programs.archive_host import ArchiveHost

Reader = tuple[str, ...]
"""What archives are told of him."""
Counts = Counter[tuple[str, str]]
"""By the name of an archive, and by label."""

_COUNTED: Final = (
    "SELECT i.label, sum(a.count) FROM archive_access a "
    "JOIN archive_item i ON i.id = a.item GROUP BY i.label"
)


class Accesses:
    """Counts what was, and holds against it what is said."""

    def __init__(self, violate: Callable[[str], None], name: Callable[[str], str]) -> None:
        """Begin with none; `name` tells what a person calls an item."""
        self._violate = violate
        self._name = name
        self._sent: Counter[tuple[str, str, str, Reader]] = Counter()
        self._told: Counter[tuple[str, str, str, Reader]] = Counter()
        self._sent_in_all: Counter[tuple[str, str, str]] = Counter()
        self._told_in_all: Counter[tuple[str, str, str]] = Counter()
        """By resolver, archive and label: on a sheet it does not stand of whom they are."""
        self._keys: dict[tuple[str, str], tuple[tuple[str, int], ...]] = {}
        """Accesses by the key that archives were told of them with."""
        self.sent: Counts = Counter()
        self.told: Counts = Counter()

    def send(self, resolver: str, host: ArchiveHost, label: str, reader: Reader) -> None:
        """See a resolver send a reader to an archive."""
        self._sent[resolver, host.name, label, reader] += 1
        self._sent_in_all[resolver, host.name, label] += 1
        self.sent[host.name, label] += 1

    def tell(self, host: ArchiveHost, said: Acknowledgment) -> None:
        """See an archive be told of accesses: there are no more than readers were sent there."""
        read = PersistentUrl.parse(said.persistent_url)
        resolver, label = read.resolver, read.label.canonical
        others = ((parse(spelling).canonical, count) for spelling, count in said.others)
        counts = ((label, said.accesses), *others)
        key = host.name, said.key.text
        before = self._keys.setdefault(key, counts)
        if before is not counts:
            if before != counts:
                self._violate(f"{host.name} is told of {before}, then {counts}, by one key")
            return
        whose = resolver, host.name, label, said.clients
        self._told[whose] += said.accesses
        if self._told[whose] > self._sent[whose]:
            self._violate(
                f"{resolver} told {host.name} of {self._told[whose]} accesses of a reader "
                f"to {self._name(label)}, and sent him there {self._sent[whose]} times"
            )
        for each, count in counts:
            self._tell(resolver, host.name, each, count)

    def _tell(self, resolver: str, host: str, label: str, count: int) -> None:
        self.told[host, label] += count
        key = resolver, host, label
        self._told_in_all[key] += count
        if self._told_in_all[key] > self._sent_in_all[key]:
            self._violate(
                f"{resolver} told {host} of {self._told_in_all[key]} accesses to "
                f"{self._name(label)}, and sent {self._sent_in_all[key]} readers there"
            )

    def counted(self, host: ArchiveHost) -> Counts:
        """Return what an archive has counted: no more than it was told of."""
        counts = {
            (host.name, label): int(count) for label, count in host.catalogue_disk.look(_COUNTED)
        }
        for (_, label), count in counts.items():
            told = self.told[host.name, label]
            if count > told:
                self._violate(
                    f"{host.name} counted {count} accesses to {self._name(label)}, "
                    f"and was told of {told}"
                )
        return Counter(counts)
