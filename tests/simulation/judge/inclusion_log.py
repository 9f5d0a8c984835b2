"""Who is included by which resolver, by what stands on its disk, and since when."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING

from ibi.resolver.storage.documents import read_archive
from tests.simulation.world.disks import MemoryDatabase

if TYPE_CHECKING:
    from ibi.model.registration import RegisteredArchive


class Inclusions:
    """Sees every commit of registries; whatever their processes have in mind is not asked."""

    def __init__(self, now: Callable[[], float], violate: Callable[[str], None]) -> None:
        """Have seen nobody."""
        self._now = now
        self._violate = violate
        self._since: defaultdict[str, dict[str, float]] = defaultdict(dict)
        self._versions: defaultdict[tuple[str, str], list[RegisteredArchive]] = defaultdict(list)
        """All that ever stood on record of an archive, by the registry and its id."""
        self._served: dict[tuple[str, str], list[int]] = {}
        """Requests of an archive that came, and that are being served."""
        self._told: dict[tuple[str, str], str] = {}
        """Where an archive was told that it is included, if it has said nothing since."""

    def watch(self, database: MemoryDatabase) -> None:
        """Look at a registry whenever an archive in it changes."""
        changed: dict[int, None] = {}

        def row(_kind: int, _database: str, table: str, number: int) -> None:
            if table == "resolver_archive":
                changed[number] = None

        def commit() -> None:
            numbers = list(changed)
            changed.clear()
            for number in numbers:
                self._look(database, number)

        database.watch(row)
        database.on_commit = commit

    def _look(self, database: MemoryDatabase, number: int) -> None:
        rows = database.look("SELECT document FROM resolver_archive WHERE rowid = $1", number)
        for (document,) in rows:
            archive = read_archive(document)
            self._versions[database.name, archive.id].append(archive)
            since = self._since[database.name]
            if archive.inclusion is None:
                since.pop(archive.id, None)
            else:
                since.setdefault(archive.id, self._now())
            self._compare(database.name, archive)

    def _compare(self, registry: str, archive: RegisteredArchive) -> None:
        """What an archive was told stands on record, until it says something else."""
        told = self._told.get((registry, archive.id), "")
        if told and told != archive.address:
            self._violate(
                f"{registry} told {archive.id} that it is included at {told}, and has on record "
                f"{archive.address or 'nothing'}"
            )

    def since(self, database: MemoryDatabase, moment: float) -> list[str]:
        """Return who was included at a moment, and is still."""
        since = self._since[database.name]
        return [name for name, began in since.items() if began <= moment]

    def version(self, database: MemoryDatabase, archive: RegisteredArchive) -> int:
        """Return which of all that ever stood on record of an archive this is; the last such."""
        versions = self._versions[database.name, archive.id]
        for number in reversed(range(len(versions))):
            if versions[number] == archive:
                return number
        return len(versions)

    def begin(self, database: MemoryDatabase, archive: str) -> int:
        """See a request of an archive come, or of somebody in its name; return its number."""
        served = self._served.setdefault((database.name, archive), [0, 0])
        served[0] += 1
        served[1] += 1
        self._told.pop((database.name, archive), None)
        return served[0]

    def end(self, database: MemoryDatabase, archive: str, number: int, told: str) -> None:
        """See it answered: `told` is where the archive was found, if it was told so."""
        key = database.name, archive
        self._served[key][1] -= 1
        is_alone = self._served[key] == [number, 0]
        if told and is_alone:
            self._told[key] = told
