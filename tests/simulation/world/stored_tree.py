"""The content of the disk of an archive: files, manifests, journal and staged files."""

from __future__ import annotations

from dataclasses import dataclass, field

from ibi.archive.ports.catalogue import StoredChange
from ibi.model.change import ItemChange
from ibi.model.item import File


@dataclass(frozen=True, slots=True)
class StoredBytes:
    """The bytes of a file, and when they were written."""

    octets: bytes
    modified: int


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """An entry of the journal."""

    change: StoredChange
    steps: tuple[tuple[ItemChange, bytes], ...]


@dataclass(slots=True)
class StoredTree:
    """The content of the disk."""

    items: dict[str, dict[str, StoredBytes]] = field(default_factory=dict)
    manifests: dict[str, bytes] = field(default_factory=dict)
    parts: dict[str, dict[str, bytes]] = field(default_factory=dict)
    whole: dict[str, dict[str, tuple[StoredBytes, File]]] = field(default_factory=dict)
    notes: dict[str, list[str]] = field(default_factory=dict)
    journal: dict[str, JournalEntry] = field(default_factory=dict)
    reserved: list[bytes] = field(default_factory=list)

    def lose_power(self) -> None:
        """Drop what was not durable."""
        for parts in self.parts.values():
            for path, octets in parts.items():
                parts[path] = octets[: len(octets) // 2]

    def snapshot(self) -> StoredTree:
        """Return a copy."""
        return StoredTree(
            {place: dict(files) for place, files in self.items.items()},
            dict(self.manifests),
            {deposit: dict(parts) for deposit, parts in self.parts.items()},
            {deposit: dict(whole) for deposit, whole in self.whole.items()},
            {deposit: list(paths) for deposit, paths in self.notes.items()},
            dict(self.journal),
            list(self.reserved),
        )
