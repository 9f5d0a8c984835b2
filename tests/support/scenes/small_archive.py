"""A small archive on a real disk and a real catalogue, without a server; its time is told."""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

from ibi.archive.archive import Archive, ItemWithMetadata
from ibi.archive.deposits.deposits import Deposits
from ibi.archive.ports.catalogue import Catalogue
from ibi.archive.ports.file_store import FileStore
from ibi.archive.rules.deposit_request import DepositRequest
from ibi.archive.storage.catalogue.catalogue import sql_catalogue
from ibi.archive.storage.files.folder_store import FolderStore
from ibi.archive.storage.migrations import ARCHIVE_MIGRATIONS
from ibi.archive.storage.unpack.unpack import unpack
from ibi.foundation.sql.schema_version import is_newest
from ibi.foundation.sql.sqlite import Sqlite
from ibi.foundation.sql.upgrade import upgrade
from ibi.identifier.ibip import Ibip
from ibi.identifier.instant import Instant
from ibi.identifier.repository_name import RepositoryName
from ibi.model.item import File
from ibi.model.label_pair import Forms

SECOND = 1_000_000_000
START = 1_700_000_000
HOST = "archive.example.org"
IP = "150.163.34.243"


def forms(number: int, host: str = HOST) -> Forms:
    """Return the labels of an item that was minted so many seconds after the start."""
    instant = Instant(START + number)
    ip = IP if host == HOST else "150.163.34.244"
    return Forms(RepositoryName.mount(host, 80, instant), Ibip.mount(ip, 800, instant))


def file(path: str, content: bytes = b"bytes", modified: int = 5) -> File:
    """Return what is known of a file."""
    sha256, sha512 = (hashlib.new(name, content).hexdigest() for name in ("sha256", "sha512"))
    return File(path, len(content), sha256, sha512, modified)


class TickingClock:
    """Every look at it takes a second."""

    def __init__(self) -> None:
        """Begin after the labels of the start."""
        self.now = (START + 1_000_000) * SECOND

    def wall(self) -> int:
        """Return a later time than before."""
        self.now += SECOND
        return self.now

    def uptime(self) -> int:
        """Return what nobody asks for here."""
        return self.now

    def boot(self) -> str:
        """Return the one run of this clock."""
        return "boot"

    def sleep(self, nanoseconds: int) -> None:
        """Let time pass."""
        self.now += nanoseconds


def open_catalogue(path: Path) -> Catalogue:
    """Open or make a catalogue in a file."""
    database = Sqlite(path)
    if not is_newest(database, ARCHIVE_MIGRATIONS):
        upgrade(str(path), ARCHIVE_MIGRATIONS, postgresql=False)
    return sql_catalogue(database, quick=True)


class SmallArchive:
    """An archive in a folder; opened again, it is as after a restart."""

    def __init__(
        self,
        folder: Path,
        *,
        keep_replaced: bool = True,
        minted: int = 0,
        catalogue: Callable[[Path], Catalogue] = open_catalogue,
        store: Callable[[], FileStore] | None = None,
    ) -> None:
        """Make it, or use what is there, where so many labels were minted."""
        self.folder = folder
        self._open_catalogue = catalogue
        self.keep_replaced = keep_replaced
        self.clock = TickingClock()
        self.clock.now += minted * SECOND
        self._numbers = itertools.count(minted + 1)
        self.catalogue: Catalogue = catalogue(folder / "catalogue.sqlite")
        self._open_store = store or (lambda: FolderStore(folder, keep_replaced=keep_replaced))
        self.store: FileStore = self._open_store()
        self._open()

    def _open(self) -> None:
        self.archive = Archive(self.catalogue, self.store, self.mint, self.clock)
        self.deposits = Deposits(self.archive, unpack)

    def mint(self, count: int) -> list[Forms]:
        """Give out labels."""
        return [forms(next(self._numbers)) for _ in range(count)]

    def restart(self) -> None:
        """Forget all that is not on the disk, and settle what is."""
        self.catalogue.close()
        self.catalogue = self._open_catalogue(self.folder / "catalogue.sqlite")
        self.store = self._open_store()
        self._open()

    def lose_catalogue(self) -> None:
        """Delete the catalogue, and begin an empty one."""
        self.catalogue.close()
        for path in self.folder.glob("catalogue.sqlite*"):
            path.unlink()
        self.restart()

    def send(self, deposit: str, files: Mapping[str, bytes]) -> None:
        """Send files, whole."""
        for path, content in files.items():
            with self.deposits.receive(deposit, path, 0) as sink:
                sink.write(content)
                sink.finish()

    def open(self, files: Mapping[str, bytes], **request: Any) -> str:  # noqa: ANN401
        """Begin a deposit, and send its files."""
        if "item" not in request:
            request = {"metadata": {"title": "A title"}} | request
        deposit = self.deposits.open(DepositRequest(**request), "me").id
        self.send(deposit, files)
        return deposit

    def deposit(self, files: Mapping[str, bytes] | None = None, **request: Any) -> ItemWithMetadata:  # noqa: ANN401
        """Make an item, or change its files."""
        return self.deposits.complete(self.open(files or {}, **request), "me")

    def label(self, files: Mapping[str, bytes] | None = None, **request: Any) -> str:  # noqa: ANN401
        """Make an item, and return its label."""
        return str(self.deposit(files, **request).item.forms.label)

    def dump(self) -> tuple[dict[str, Any], dict[str, bytes]]:
        """Return all that the catalogue has and all that lies on the disk, to compare it later."""
        return tables(self.folder / "catalogue.sqlite"), tree(self.folder)

    def close(self) -> None:
        """Let go of the catalogue."""
        self.catalogue.close()


def tables(path: Path) -> dict[str, Any]:
    """Return every row of a catalogue."""
    connection = apsw.Connection(str(path), apsw.SQLITE_OPEN_READONLY)
    try:
        names = [
            name
            for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        return {
            name: sorted(connection.execute(f'SELECT * FROM "{name}"'), key=repr)  # noqa: S608
            for name in names
            if name.startswith("archive_") and not name.startswith("archive_history_of")
        }
    finally:
        connection.close()


def tree(folder: Path) -> dict[str, bytes]:
    """Return every file and empty folder beneath a folder, but for the databases."""
    found: dict[str, bytes] = {}
    for place, folders, names in os.walk(folder):
        here = Path(place).relative_to(folder)
        for name in names:
            if here.parts or "sqlite" not in name:
                found[(here / name).as_posix()] = (Path(place) / name).read_bytes()
        if not folders and not names:
            found[f"{here.as_posix()}/"] = b""
    return found


def contents(folder: Path) -> dict[str, bytes]:
    """Return the bytes of all files of a folder by their paths; no empty folder is among them."""
    found = tree(folder) if folder.exists() else {}
    assert not [path for path in found if path.endswith("/") and path != "./"]
    return {path: data for path, data in found.items() if not path.endswith("/")}


@contextmanager
def unchanged(small: SmallArchive) -> Iterator[None]:
    """See that nothing is changed meanwhile."""
    before = small.dump()
    try:
        yield
    finally:
        after = small.dump()
        assert after[0] == before[0]
        assert after[1] == before[1]
