"""Staged files of open deposits in memory, which implements the port.

The bytes of an incomplete file are not durable: a power loss drops half of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Final

from ibi.archive.ports.file_store import Staged
from ibi.errors import ChecksumError, InProgressError, StateError, UnknownError, shown
from ibi.model.clock import Clock
from ibi.model.item import File
from tests.simulation.world.stored_tree import StoredBytes, StoredTree
from tests.simulation.world.virtual_time import PROCESS

_ALGORITHMS: Final = ("sha256", "sha512")


class MemoryStaging:
    """The staged files of one process, on a tree."""

    def __init__(self, tree: StoredTree, clock: Clock) -> None:
        self._tree = tree
        self._clock = clock
        self._busy: set[tuple[str, str]] = set()
        self._sealed: set[str] = set()
        self._replacing: dict[tuple[str, str], bytes] = {}
        """Received bytes of what is to replace complete files."""

    @contextmanager
    def busy(self, deposit: str, path: str = "") -> Iterator[None]:
        """Lock a file of a deposit; InProgressError if it is locked or the deposit is sealed."""
        key = (deposit, path)
        if deposit in self._sealed or key in self._busy:
            raise InProgressError("This deposit is at work already.")
        self._busy.add(key)
        try:
            yield
        finally:
            self._busy.discard(key)

    @contextmanager
    def sealed(self, deposit: str) -> Iterator[None]:
        """Lock all files of a deposit."""
        if deposit in self._sealed or any(owner == deposit for owner, _ in self._busy):
            raise InProgressError("A file of this deposit is on its way: wait for its end.")
        self._sealed.add(deposit)
        try:
            yield
        finally:
            self._sealed.discard(deposit)

    def receive(self, deposit: str, path: str, offset: int) -> AbstractContextManager[Reception]:
        """Receive bytes of a file from an offset on; 0 starts it again."""
        return self._receiving(deposit, path, offset)

    @contextmanager
    def _receiving(self, deposit: str, path: str, offset: int) -> Iterator[Reception]:
        if not deposit.isalnum():
            raise UnknownError("deposit", deposit)
        with self.busy(deposit, path):
            parts = self._tree.parts.setdefault(deposit, {})
            here = len(parts.get(path, b""))
            if offset not in {0, here}:
                msg = f"Of {shown(path)} there are {here} bytes here: go on from there."
                raise StateError(msg)
            PROCESS.get().write()
            if not offset and path in self._tree.whole.get(deposit, {}):
                self._replacing[deposit, path] = b""
            elif not offset:
                parts[path] = b""
            try:
                yield Reception(self, deposit, path)
            finally:
                self._replacing.pop((deposit, path), None)

    def append(self, deposit: str, path: str, data: bytes) -> None:
        """Append bytes to a file."""
        PROCESS.get().write()
        if (deposit, path) in self._replacing:
            self._replacing[deposit, path] += data
        else:
            self._tree.parts[deposit][path] += data

    def suspend(self, deposit: str, path: str) -> None:
        """Keep the bytes of a file, even if they are to replace a complete one."""
        PROCESS.get().write()
        if (deposit, path) in self._replacing:
            self._tree.parts[deposit][path] = self._replacing.pop((deposit, path))

    def settle(
        self, deposit: str, path: str, media_type: str, checksum: tuple[str, str] | None
    ) -> File:
        """Check the sums of a file, and make it durable."""
        replacing = self._replacing.get((deposit, path))
        octets = self._tree.parts[deposit][path] if replacing is None else replacing
        sums = {name: hashlib.new(name, octets).hexdigest() for name in _ALGORITHMS}
        if checksum is not None and sums[checksum[0]] != checksum[1]:
            if replacing is None:
                del self._tree.parts[deposit][path]
            raise ChecksumError(path, checksum[1], sums[checksum[0]])
        modified = self._clock.wall()
        file = File(path, len(octets), sums["sha256"], sums["sha512"], modified, media_type)
        PROCESS.get().write()
        self._tree.parts[deposit].pop(path, None)
        self._tree.whole.setdefault(deposit, {})[path] = StoredBytes(octets, modified), file
        return file

    def staged(self, deposit: str) -> list[Staged]:
        """Return the files of an open deposit, in the order of their paths."""
        PROCESS.get().check()
        paths = {*self._tree.parts.get(deposit, {}), *self._tree.whole.get(deposit, {})}
        found = (self.staged_file(deposit, path) for path in sorted(paths))
        return [each for each in found if each is not None]

    def staged_file(self, deposit: str, path: str) -> Staged | None:
        """Return one of them."""
        PROCESS.get().check()
        part = self._tree.parts.get(deposit, {}).get(path)
        if part is not None:
            return Staged(path, len(part), None)
        whole = self._tree.whole.get(deposit, {}).get(path)
        return None if whole is None else Staged(path, whole[1].size, whole[1])

    def unfinished(self, deposit: str) -> bool:
        """Tell whether a file of a deposit is incomplete."""
        PROCESS.get().check()
        return bool(self._tree.parts.get(deposit))

    def unstage(self, deposit: str, path: str) -> bool:
        """Remove a file of an open deposit; False if it is not there."""
        with self.busy(deposit, path):
            PROCESS.get().write()
            part = self._tree.parts.get(deposit, {}).pop(path, None)
            whole = self._tree.whole.get(deposit, {}).pop(path, None)
            return part is not None or whole is not None

    def note_unpacking(self, deposit: str, path: str) -> None:
        """Note that an unpacking is about to write a file."""
        PROCESS.get().write()
        self._tree.notes.setdefault(deposit, []).append(path)

    def unpacking(self, deposit: str) -> list[str]:
        """Return the files that an unfinished unpacking may have written."""
        PROCESS.get().check()
        return list(self._tree.notes.get(deposit, ()))

    def end_unpacking(self, deposit: str, source: str = "") -> None:
        """Note that an unpacking has ended."""
        if source:
            self.unstage(deposit, source)
        PROCESS.get().write()
        self._tree.notes.pop(deposit, None)

    def open_staged(self, deposit: str, path: str) -> int:
        """Raise NotImplementedError: no file is unpacked here."""
        raise NotImplementedError(deposit, path)

    def discard(self, deposit: str) -> None:
        """Remove everything of a deposit."""
        PROCESS.get().write()
        self._tree.parts.pop(deposit, None)
        self._tree.whole.pop(deposit, None)
        self._tree.notes.pop(deposit, None)

    def deposits(self) -> list[str]:
        """Return the deposits that have staged files or notes."""
        PROCESS.get().check()
        return sorted({*self._tree.parts, *self._tree.whole, *self._tree.notes})


@dataclass(slots=True)
class Reception:
    """Receives the bytes of one file."""

    _staging: MemoryStaging
    _deposit: str
    _path: str

    def write(self, data: bytes) -> None:
        """Append bytes."""
        self._staging.append(self._deposit, self._path, data)

    def suspend(self) -> None:
        """Keep the received bytes, whose rest will follow."""
        self._staging.suspend(self._deposit, self._path)

    def finish(self, media_type: str = "", checksum: tuple[str, str] | None = None) -> File:
        """Make the file durable; if the checksum differs, remove it and raise ChecksumError."""
        return self._staging.settle(self._deposit, self._path, media_type, checksum)
