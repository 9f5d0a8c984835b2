"""What is known to be damaged: kept in the catalogue until it is whole again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock, RLock

from ibi.archive.ports.maintenance import Damage, DamageStore


class DamageLog:
    """The list, and how long it is; threads may share it."""

    def __init__(
        self, store: DamageStore, observe: Callable[[Damage], None] = lambda _: None
    ) -> None:
        """Keep it in a catalogue; `observe` is told of what was whole until now."""
        self._store = store
        self._observe = observe
        self.judging = RLock()
        """Held by who judges what seems damaged: nobody repairs it before that is on the list."""
        self._lock = Lock()
        self._known: set[tuple[str, str]] = set()

    @property
    def count(self) -> int:
        """How much is damaged, as far as this process knows."""
        return len(self._known)

    def load(self) -> None:
        """Remember what the catalogue has."""
        with self._lock:
            self._known = {(damage.label, damage.path) for damage in self._store.page()}

    def keep(self, damage: Damage) -> None:
        """Put something on the list, in the place of what was known of it."""
        with self._lock:
            self._store.keep(damage)
            is_new = (damage.label, damage.path) not in self._known
            self._known.add((damage.label, damage.path))
        if is_new:
            self._observe(damage)

    def drop(self, label: str, path: str) -> None:
        """Take something from the list, if it is there."""
        with self._lock:
            if (label, path) in self._known:
                self._store.drop(label, path)
                self._known.discard((label, path))

    def among(self, labels: Sequence[str]) -> int:
        """Return how much is damaged under these labels; under all if there are none."""
        with self._lock:
            return sum(not labels or label in labels for label, _ in self._known)

    def known(self, label: str) -> list[str]:
        """Return the paths of what is damaged under a label."""
        with self._lock:
            return [path for each, path in self._known if each == label]

    def labels(self) -> set[str]:
        """Return under which labels something is damaged."""
        with self._lock:
            return {label for label, _ in self._known}
