"""Who is included by which resolver, by what stands on its disk, and since when."""

from __future__ import annotations

from collections.abc import Callable

from ibi.adapters.registry_documents import read_archive
from simulation.disks import MemoryDatabase


class Inclusions:
    """Sees every commit of registries; whatever their processes have in mind is not asked."""

    def __init__(self, now: Callable[[], float]) -> None:
        """Have seen nobody."""
        self._now = now
        self._since: dict[str, dict[str, float]] = {}

    def watch(self, database: MemoryDatabase) -> None:
        """Look at a registry whenever an archive in it changes."""
        changed: list[int] = []

        def row(_kind: int, _database: str, table: str, number: int) -> None:
            if table == "resolver_archive":
                changed.append(number)

        def commit() -> None:
            if changed:
                changed.clear()
                self._look(database)

        database.watch(row)
        database.on_commit = commit

    def _look(self, database: MemoryDatabase) -> None:
        before = self._since.get(database.name, {})
        rows = database.look("SELECT id, document FROM resolver_archive ORDER BY id")
        included = [name for name, document in rows if read_archive(document).inclusion is not None]
        self._since[database.name] = {name: before.get(name, self._now()) for name in included}

    def since(self, database: MemoryDatabase, moment: float) -> list[str]:
        """Return who was included at a moment, and is still."""
        since = self._since.get(database.name, {})
        return [name for name, began in since.items() if began <= moment]
