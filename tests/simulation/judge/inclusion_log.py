"""Which resolver has included which archive, and since when, by the database of the resolver."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING

from ibi.resolver.storage.documents import read_archive
from tests.simulation.world.disks import MemoryDatabase

if TYPE_CHECKING:
    from ibi.model.registration import RegisteredArchive


class InclusionLog:
    """Reads the registries after every commit, not the memory of their processes."""

    def __init__(self, now: Callable[[], float], violate: Callable[[str], None]) -> None:
        self._now = now
        self._violate = violate
        self._since: defaultdict[str, dict[str, float]] = defaultdict(dict)
        self._versions: defaultdict[tuple[str, str], list[RegisteredArchive]] = defaultdict(list)
        """All records of an archive in order, by registry and id."""
        self._served: dict[tuple[str, str], list[int]] = {}
        """Number of requests of an archive, and number of those being served."""
        self._told: dict[tuple[str, str], str] = {}
        """Address at which an archive was told that it is included, until its next request."""

    def watch(self, database: MemoryDatabase) -> None:
        """Read the record of an archive after every commit that changes it."""
        changed: dict[int, None] = {}

        def row(_kind: int, _database: str, table: str, number: int) -> None:
            if table == "resolver_archive":
                changed[number] = None

        def commit() -> None:
            numbers = list(changed)
            changed.clear()
            for number in numbers:
                self._read_row(database, number)

        database.watch(row)
        database.on_commit = commit

    def _read_row(self, database: MemoryDatabase, number: int) -> None:
        rows = database.inspect("SELECT document FROM resolver_archive WHERE rowid = $1", number)
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
        """Check that the record of an archive agrees with the last answer to it."""
        told = self._told.get((registry, archive.id), "")
        if told and told != archive.address:
            self._violate(
                f"{registry} told {archive.id} that it is included at {told}, and has on record "
                f"{archive.address or 'nothing'}"
            )

    def since(self, database: MemoryDatabase, moment: float) -> list[str]:
        """Return the ids of archives that have been included since before a moment."""
        since = self._since[database.name]
        return [name for name, began in since.items() if began <= moment]

    def version(self, database: MemoryDatabase, archive: RegisteredArchive) -> int:
        """Return the number of this record among all of its archive; the last if it recurs."""
        versions = self._versions[database.name, archive.id]
        for number in reversed(range(len(versions))):
            if versions[number] == archive:
                return number
        return len(versions)

    def begin(self, database: MemoryDatabase, archive: str) -> int:
        """Note a request in the name of an archive; return its number."""
        served = self._served.setdefault((database.name, archive), [0, 0])
        served[0] += 1
        served[1] += 1
        self._told.pop((database.name, archive), None)
        return served[0]

    def end(self, database: MemoryDatabase, archive: str, number: int, told: str) -> None:
        """Note the answer to a request; `told` is the confirmed address, if any."""
        key = database.name, archive
        self._served[key][1] -= 1
        is_alone = self._served[key] == [number, 0]
        if told and is_alone:
            self._told[key] = told
