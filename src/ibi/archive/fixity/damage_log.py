"""The log of known damage, kept in the catalogue until it is repaired."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock, RLock

from ibi.archive.ports.maintenance import Damage, DamageStore


class DamageLog:
    """Known damage and its count; threads may share it."""

    def __init__(
        self, store: DamageStore, observe: Callable[[Damage], None] = lambda _: None
    ) -> None:
        """Keep the log in a catalogue; `observe` is called with each new damage."""
        self._store = store
        self._observe = observe
        self.judging = RLock()
        """Held while a fault is judged, so that no repair happens before it is in the log."""
        self._lock = Lock()
        self._known: set[tuple[str, str]] = set()

    @property
    def count(self) -> int:
        """The number of entries, as far as this process knows."""
        return len(self._known)

    def load(self) -> None:
        """Load the log from the catalogue."""
        with self._lock:
            self._known = {(damage.label, damage.path) for damage in self._store.page()}

    def keep(self, damage: Damage) -> None:
        """Add an entry, or replace the one of the same file."""
        with self._lock:
            self._store.keep(damage)
            is_new = (damage.label, damage.path) not in self._known
            self._known.add((damage.label, damage.path))
        if is_new:
            self._observe(damage)

    def drop(self, label: str, path: str) -> None:
        """Remove an entry, if there is one."""
        with self._lock:
            if (label, path) in self._known:
                self._store.drop(label, path)
                self._known.discard((label, path))

    def among(self, labels: Sequence[str]) -> int:
        """Return the number of entries of these labels; of all if none is given."""
        with self._lock:
            return sum(not labels or label in labels for label, _ in self._known)

    def known(self, label: str) -> list[str]:
        """Return the damaged paths of a label."""
        with self._lock:
            return [path for each, path in self._known if each == label]

    def labels(self) -> set[str]:
        """Return the labels that have entries."""
        with self._lock:
            return {label for label, _ in self._known}
