"""The file store in memory, which implements the port; each step of a change is one write.

`StoredTree` is the content of the disk, and outlives every process; a `MemoryStore` is how one
process works on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ibi.archive.ports.catalogue import StoredChange
from ibi.archive.rules.fixity import MANIFEST
from ibi.archive.rules.manifest import manifest
from ibi.errors import UnknownError
from ibi.model.change import Change
from ibi.model.clock import Clock
from ibi.model.item import File
from tests.simulation.world.memory_staging import MemoryStaging
from tests.simulation.world.stored_tree import JournalEntry, StoredBytes, StoredTree
from tests.simulation.world.virtual_time import PROCESS


class MemoryStore:
    """The file store of one process, on a tree."""

    quick = True

    def __init__(self, tree: StoredTree, clock: Clock) -> None:
        self._tree = tree
        self.staging = MemoryStaging(tree, clock)

    def discard(self, deposit: str) -> None:
        """Remove everything of a deposit."""
        self.staging.discard(deposit)

    def prepare(self, change: Change) -> None:
        """Do nothing: the bytes are in their place already."""

    def stored(self, deposit: str) -> int:  # noqa: ARG002  # nothing is sent anywhere
        """Return 0: nothing is sent."""
        return 0

    def decide(self, change: Change) -> None:
        """Make a change durable as a decision, and carry it out among the files."""
        steps = tuple(
            (each, manifest(each.item, each.files, each.number, each.version + 1))
            for each in change.items
        )
        line = JournalEntry(StoredChange.of(change), steps)
        PROCESS.get().write()
        self._tree.journal[change.id] = line
        self._carry_out(line)

    def _carry_out(self, line: JournalEntry) -> None:
        """Carry out each step; a step that was carried out before has no effect."""
        tree = self._tree
        for each, text in line.steps:
            place = each.item.forms.label.spelling
            PROCESS.get().write()
            files = tree.items.setdefault(place, {})
            if each.adopted and each.adopted in tree.whole:
                files |= {path: stored for path, (stored, _) in tree.whole[each.adopted].items()}
            for path in each.removed:
                files.pop(path, None)
            for path in each.put:
                PROCESS.get().write()
                staged = tree.whole.get(line.change.deposit, {}).get(path)
                if staged is not None:
                    files[path] = staged[0]
            PROCESS.get().write()
            if each.cleared or each.dropped:
                files.clear()
            if each.dropped:
                del tree.items[place]
                tree.manifests.pop(place, None)
            else:
                tree.manifests[place] = text

    def finish(self, id: str) -> None:  # noqa: A002  # what it is called everywhere
        """Remove a decision from the journal: the catalogue has it."""
        line = self._tree.journal.get(id)
        if line is not None:
            if line.change.deposit:
                self.discard(line.change.deposit)
            PROCESS.get().write()
            del self._tree.journal[id]

    def decided(self) -> Iterator[StoredChange]:
        """Carry out what was decided and not finished, and return each."""
        PROCESS.get().check()
        for line in sorted(self._tree.journal.values(), key=lambda each: each.change.at):
            self._carry_out(line)
            yield line.change

    def manifest(self, place: str) -> bytes:
        """Return the manifest of an item."""
        PROCESS.get().check()
        return self._tree.manifests[place]

    def manifests(self) -> Iterator[tuple[str, bytes]]:
        """Return every place and its manifest."""
        PROCESS.get().check()
        yield from sorted(self._tree.manifests.items())

    def keep_reservations(self, text: bytes) -> None:
        """Keep a list of reserved labels."""
        PROCESS.get().write()
        self._tree.reserved.append(text)

    def reservations(self) -> Iterator[bytes]:
        """Return all lists of reserved labels."""
        yield from list(self._tree.reserved)

    def open(self, place: str, path: str) -> MemoryFile:
        """Open a file of an item for reading; UnknownError if there is none."""
        PROCESS.get().check()
        stored = self._tree.items.get(place, {}).get(path)
        if stored is None:
            raise UnknownError("file", path)
        return MemoryFile(stored)

    def link(self, place: str, path: str, method: str) -> str:
        """Return "": readers get files from the archive itself."""
        del place, path, method
        return ""

    def keys(self, place: str = "") -> Iterator[str]:
        """Return the key of each file."""
        for where in sorted({*self._tree.items, *self._tree.manifests}):
            if not place or where == place:
                yield from (f"{where}/doc/{path}" for path in sorted(self._tree.items[where]))
                yield f"{where}/{MANIFEST}"

    def mend(self, place: str, file: File, deposit: str) -> None:
        """Replace a damaged file by a whole file of a deposit."""
        PROCESS.get().write()
        stored, _ = self._tree.whole[deposit].pop(file.path)
        self._tree.items[place][file.path] = replace(stored, modified=file.modified)

    def mend_manifest(self, place: str, text: bytes) -> None:
        """Replace a damaged manifest."""
        PROCESS.get().write()
        self._tree.manifests[place] = text


@dataclass(slots=True)
class MemoryFile:
    """A file of an item, open for reading."""

    _stored: StoredBytes
    fd: int | None = None

    @property
    def size(self) -> int:
        """How many bytes it has."""
        return len(self._stored.octets)

    @property
    def modified(self) -> int:
        """When it was written."""
        return self._stored.modified

    def read(self, offset: int, count: int) -> bytes:
        """Return bytes of it."""
        return self._stored.octets[offset : offset + count]

    def close(self) -> None:
        """Do nothing: there is no descriptor to close."""
