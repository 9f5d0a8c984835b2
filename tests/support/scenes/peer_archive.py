"""Another archive, in the same process: what it tells others, and how it may fail them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from ibi.archive.archive import Archive
from ibi.archive.copies.pull import ItemPuller, PulledItem
from ibi.archive.ports.file_store import pieces_of
from ibi.archive.rules.manifest import manifest
from ibi.errors import ArchiveUnreachableError
from ibi.identifier.label import parse
from ibi.model.item import File, Item, State
from tests.support.scenes.small_archive import SmallArchive, contents

ADDRESS = "http://other.example.org"

Twist: TypeAlias = Callable[[Item, tuple[File, ...]], tuple[Item, tuple[File, ...]]]


class LocalPeer:
    """A source over an archive; a reading may be told to break, or to lie."""

    def __init__(self, archive: Archive, address: str = ADDRESS, piece: int = 4) -> None:
        """Tell the truth, a few bytes at a time."""
        self.archive = archive
        self.address = address
        self.piece = piece
        self.asked: list[str] = []
        """The manifests and the files, with their offsets, that were asked for."""
        self.before: Callable[[], None] = lambda: None
        """Is called before each manifest and each piece; what it raises is what happens."""
        self.twist: Twist = lambda item, files: (item, files)
        self.garble: Callable[[bytes], bytes] = lambda piece: piece

    def manifest(self, label: str) -> bytes:
        """Return the manifest of an item."""
        self.before()
        self.asked.append(label)
        held = self.archive.get(parse(label))
        item, files = self.twist(replace(held.item, transfer=None), self.archive.files(held))
        return manifest(item, files)

    @contextmanager
    def read(self, place: str, path: str, offset: int) -> Iterator[Iterator[bytes]]:
        """Return the bytes of a file."""
        self.asked.append(f"{path} {offset}")
        with closing(self.archive.store.open(place, path)) as file:
            yield self._pieces(pieces_of(file, offset, self.piece))

    def _pieces(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        for piece in pieces:
            self.before()
            yield self.garble(piece)

    def close(self) -> None:
        """Have nothing to let go of."""

    def breaks_at(self, *numbers: int) -> None:
        """Break the connection at the calls of these numbers, counted from 1."""
        calls = iter(range(1, 1 << 30))

        def before() -> None:
            if next(calls) in numbers:
                raise ArchiveUnreachableError(self.address, "the connection broke")

        self.before = before


class ArchivePair:
    """Two archives, of which one pulls from the other."""

    def __init__(self, folder: Path, files: Mapping[str, bytes]) -> None:
        """Make both, and an item there."""
        for name in ("there", "here"):
            (folder / name).mkdir()
        self.there = SmallArchive(folder / "there")
        self.here = SmallArchive(folder / "here", minted=1000)
        self.source = LocalPeer(self.there.archive)
        self.label = self.there.label(files, target=next(iter(files), ""))

    def pull(self) -> PulledItem:
        """Pull the item."""
        return ItemPuller(self.here.archive).pull(self.source, parse(self.label))

    def store(self, pulled: PulledItem) -> None:
        """Make a Copy of what was pulled."""
        archive = self.here.archive
        items = [replace(item, state=State.COPY) for item, _ in pulled.items]
        changes = ItemPuller(archive).changes(pulled, items)
        main, now = items[0].forms.label, archive.clock.wall()
        archive.make(archive.change("copy", "me", main, changes, now, deposit=pulled.deposit))

    def files(self) -> dict[str, bytes]:
        """Return the files of the item that are here."""
        return contents(self.here.folder / "col" / self.label / "doc")

    @property
    def fetched(self) -> list[str]:
        """The files that were asked for, and from which byte on."""
        return [each for each in self.source.asked if " " in each]

    def close(self) -> None:
        """Let go of both."""
        self.there.close()
        self.here.close()
