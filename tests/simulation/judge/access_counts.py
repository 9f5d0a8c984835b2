"""Counts of redirects, of acknowledged accesses, and of accesses that archives have counted.

None may exceed the one before it: no resolver acknowledges more accesses than it made redirects,
and no archive counts more than were acknowledged. A key is valid for its first acknowledgment; the
same one again, because its answer was lost or the message was duplicated, adds nothing.
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

DisclosedAddresses = tuple[str, ...]
"""The client addresses of a reader that a resolver discloses to archives."""
Counts = Counter[tuple[str, str]]
"""Number of accesses by name of archive and label."""

_COUNTED: Final = (
    "SELECT i.label, sum(a.count) FROM archive_access a "
    "JOIN archive_item i ON i.id = a.item GROUP BY i.label"
)


class AccessCounts:
    """Compares redirects, acknowledgments and counts."""

    def __init__(self, violate: Callable[[str], None], name: Callable[[str], str]) -> None:
        """Start with none; `name` returns a readable name of an item."""
        self._violate = violate
        self._name = name
        self._sent: Counter[tuple[str, str, str, DisclosedAddresses]] = Counter()
        self._told: Counter[tuple[str, str, str, DisclosedAddresses]] = Counter()
        self._sent_in_all: Counter[tuple[str, str, str]] = Counter()
        self._told_in_all: Counter[tuple[str, str, str]] = Counter()
        """By resolver, archive and label, as a sheet does not name the readers."""
        self._keys: dict[tuple[str, str], tuple[tuple[str, int], ...]] = {}
        """Accesses by archive and key of the acknowledgment."""
        self.sent: Counts = Counter()
        self.told: Counts = Counter()

    def note_redirect(
        self, resolver: str, host: ArchiveHost, label: str, reader: DisclosedAddresses
    ) -> None:
        """Note that a resolver redirected a reader to an archive."""
        self._sent[resolver, host.name, label, reader] += 1
        self._sent_in_all[resolver, host.name, label] += 1
        self.sent[host.name, label] += 1

    def note_acknowledgment(self, host: ArchiveHost, said: Acknowledgment) -> None:
        """Check that no more accesses are acknowledged than redirects were made."""
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
            self._note(resolver, host.name, each, count)

    def _note(self, resolver: str, host: str, label: str, count: int) -> None:
        self.told[host, label] += count
        key = resolver, host, label
        self._told_in_all[key] += count
        if self._told_in_all[key] > self._sent_in_all[key]:
            self._violate(
                f"{resolver} told {host} of {self._told_in_all[key]} accesses to "
                f"{self._name(label)}, and sent {self._sent_in_all[key]} readers there"
            )

    def counted(self, host: ArchiveHost) -> Counts:
        """Return the counts of an archive; none may exceed the acknowledged accesses."""
        counts = {
            (host.name, label): int(count)
            for label, count in host.catalogue_database.inspect(_COUNTED)
        }
        for (_, label), count in counts.items():
            told = self.told[host.name, label]
            if count > told:
                self._violate(
                    f"{host.name} counted {count} accesses to {self._name(label)}, "
                    f"and was told of {told}"
                )
        return Counter(counts)
