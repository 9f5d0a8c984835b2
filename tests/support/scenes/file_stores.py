"""Where the tests of file stores take place: a folder, or a bucket of a real object store."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self, TypeAlias

import obstore

from ibi.archive.storage.files.folder_store import FolderStore
from ibi.archive.storage.object_store.store import ObjectStore
from tests.support.failures.syscalls import ON_DISK, Place
from tests.support.scenes.small_archive import contents
from tests.support.servers.object_store import ObjectServer

AStore: TypeAlias = FolderStore | ObjectStore

SENT: tuple[Place, ...] = tuple((obstore, name) for name in ("put", "copy", "delete"))
"""Where steps are taken that change an object store."""
ASKED: tuple[Place, ...] = (*SENT, *((obstore, name) for name in ("get", "head", "list")))
"""Where an object store can fail."""


class StoreSetup(Protocol):
    """What a store lies on."""

    folder: Path
    steps: tuple[Place, ...]
    """Where whoever works on it can be killed."""
    failing: tuple[Place, ...]
    """Where it can fail."""
    least: int
    """Steps that the changes of these tests take at least."""

    def store(self, *, keep: bool = True) -> AStore:
        """Open the store, as after a restart."""
        ...

    def contents(self, prefix: str) -> dict[str, bytes]:
        """Return what lies beneath a folder, by its path from there."""
        ...

    def left(self) -> list[str]:
        """Return what is left of changes that are not finished."""
        ...

    def put(self, key: str, content: bytes) -> None:
        """Put something there behind the back of the store."""
        ...

    def copied(self, folder: Path) -> Self:
        """Return another one that is alike."""
        ...


@dataclass
class FolderSetup:
    """A folder."""

    folder: Path
    steps = failing = ON_DISK
    least = 60

    def store(self, *, keep: bool = True) -> FolderStore:
        """Open the store, as after a restart."""
        return FolderStore(self.folder, keep_replaced=keep)

    def contents(self, prefix: str) -> dict[str, bytes]:
        """Return what lies beneath a folder; no empty one is left there."""
        return contents(self.folder / prefix)

    def left(self) -> list[str]:
        """Return what is left of changes."""
        return [path.name for path in (self.folder / "incoming").glob("change-*")]

    def put(self, key: str, content: bytes) -> None:
        """Put something there."""
        path = self.folder / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    def copied(self, folder: Path) -> FolderSetup:
        """Return another one that is alike."""
        shutil.copytree(self.folder, folder)
        return FolderSetup(folder)


@dataclass
class ObjectStoreSetup:
    """A bucket, and a folder for files on their way in."""

    folder: Path
    server: ObjectServer
    steps = SENT
    failing = ASKED
    least = 10

    def __post_init__(self) -> None:
        """Begin with nothing."""
        self.objects = self.server.objects()

    def store(self, *, keep: bool = True) -> ObjectStore:
        """Open the store, as after a restart."""
        return ObjectStore(self.objects, self.folder / "incoming", keep_replaced=keep)

    def contents(self, prefix: str) -> dict[str, bytes]:
        """Return what lies beneath a folder."""
        found = [key for key, _ in self.objects.keys(prefix)]
        return {key.removeprefix(f"{prefix}/"): self.objects.get(key) for key in found}

    def left(self) -> list[str]:
        """Return what is left of changes."""
        return [key for key, _ in self.objects.keys("incoming")]

    def put(self, key: str, content: bytes) -> None:
        """Put something there."""
        self.objects.put(key, content)

    def copied(self, folder: Path) -> ObjectStoreSetup:
        """Return another one that is alike."""
        shutil.copytree(self.folder, folder)
        other = ObjectStoreSetup(folder, self.server)
        for key, _ in self.objects.keys(""):
            file = self.objects.open(key)
            other.objects.put(key, file.read(0, file.size), file.size, file.attributes)
        return other
