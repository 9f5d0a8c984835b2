"""Damage as disks do it: bytes change, and nothing else tells of it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from ibi.archive.fixity.audit_schedule import WHOLE, AuditSchedule
from ibi.archive.fixity.damage_log import DamageLog
from ibi.archive.ports.file_store import FileStore, pieces_of
from ibi.archive.ports.maintenance import Damage
from ibi.archive.storage.files.folder_store import FolderStore
from ibi.archive.tasks import TaskProgress
from ibi.errors import ArchiveUnreachableError
from ibi.identifier.label import Label
from ibi.model.task import Task
from tests.support.scenes.small_archive import SmallArchive


@contextmanager
def unnoticed(path: Path) -> Iterator[None]:
    """Keep the times of a file as they were, whatever happens to its bytes."""
    before = path.stat()
    yield
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def flip(path: Path, random: Random) -> int:
    """Flip one bit somewhere in a file that is not empty; return which byte it was in."""
    content = bytearray(path.read_bytes())
    at = random.randrange(len(content))
    content[at] ^= 1 << random.randrange(8)
    with unnoticed(path):
        path.write_bytes(content)
    return at


def truncate(path: Path, random: Random) -> None:
    """Lose the end of a file that is not empty."""
    with unnoticed(path):
        os.truncate(path, random.randrange(path.stat().st_size))


def grow(path: Path, random: Random) -> None:
    """Add something to a file."""
    with unnoticed(path), path.open("ab") as file:
        file.write(random.randbytes(random.randint(1, 100)))


def swap(one: Path, other: Path) -> None:
    """Let two files change places."""
    aside = one.with_name("aside")
    one.rename(aside)
    other.rename(one)
    aside.rename(other)


class RepairSource:
    """Another archive, of which the files are here to be read."""

    def __init__(self, address: str, store: FileStore | None) -> None:
        """Read from a store; without one it does not answer."""
        self.address = address
        self._known = store
        self.asked = 0
        self.closed = False

    @property
    def _store(self) -> FileStore:
        self.asked += 1
        if self._known is None:
            raise ArchiveUnreachableError(self.address, "connection refused")
        return self._known

    def manifest(self, label: str) -> bytes:
        """Return the manifest of an item."""
        return self._store.manifest(label)

    @contextmanager
    def read(self, place: str, path: str, offset: int) -> Iterator[Iterator[bytes]]:
        """Return the bytes of a file of an item from an offset on."""
        opened = self._store.open(place, path)
        try:
            yield pieces_of(opened, offset)
        finally:
            opened.close()

    def close(self) -> None:
        """Let go of nothing."""
        self.closed = True


class RepairSources:
    """Other archives, by their addresses; an address without one does not answer."""

    def __init__(self, holders: Mapping[str, FileStore | None]) -> None:
        """Know who has everything."""
        self._holders = holders
        self.sources: list[RepairSource] = []

    def connect(self, address: str) -> RepairSource:
        """Return an archive."""
        self.sources.append(RepairSource(address, self._holders.get(address)))
        return self.sources[-1]

    def holders(self, label: Label) -> list[str]:
        """Return who has an item."""
        del label
        return list(self._holders)


def copied(small: SmallArchive, folder: Path) -> FileStore:
    """Return the files of an archive as they are now, in another place."""
    shutil.copytree(small.folder / "col", folder / "col")
    return FolderStore(folder)


def audited(
    small: SmallArchive,
    elsewhere: RepairSources | None = None,
    source: str = "",
    news: list[Damage] | None = None,
    **request: Any,  # noqa: ANN401  # an AuditRequest
) -> Task:
    """Audit an archive, and return the task as it ended; the source is one to repair from.

    `news` is where damage is put that was not known before.
    """
    if source:
        request["from"] = source
    damages = DamageLog(
        small.catalogue.damages, news.append if news is not None else lambda _: None
    )
    auditing = AuditSchedule(small.archive, damages, elsewhere or RepairSources({}))
    wanted = msgspec.json.encode(request).decode()
    task = Task(id="1", kind=WHOLE, who="me", begun=1, request=wanted)
    progress = TaskProgress(task, small.catalogue.tasks.keep, small.clock, lambda _: None)
    auditing.audit(progress)
    return progress.task


def result(task: Task) -> dict[str, Any]:
    """Return what came of an audit."""
    found: dict[str, Any] = msgspec.json.decode(task.result)
    return found


def damaged(small: SmallArchive) -> dict[str, str]:
    """Return what is on the list: where it lies, and what is wrong."""
    return {f"{each.label}/{each.path}": each.what for each in small.catalogue.damages.page()}
