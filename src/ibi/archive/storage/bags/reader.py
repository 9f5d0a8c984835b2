"""A reader of bags, which verifies a bag before any part of it is used.

The author of a bag may be hostile, and its disk may be damaged. A bag is valid only if every file
is in both manifests with the right checksums, and there are no other files; if no name leads out of
the folder, through a link or to a device; and if it consists of complete items of an archive.
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from ibi.archive.rules import bagit
from ibi.archive.rules.incoming_item import IncomingItem, read_incoming
from ibi.archive.rules.manifest import read_manifest
from ibi.archive.storage.bags.index import BagIndex
from ibi.errors import BagError, IbiError, shown
from ibi.foundation.system.disk import Checksums, disk_errors
from ibi.foundation.system.safe_open import open_beneath

LARGEST_MANIFEST: Final = 256 << 20
"""Bytes of the largest manifest of one item."""
_LARGEST_TAG_FILE: Final = 1 << 20
"""Bytes of the largest tag file."""
_MOST_TAG_FILES: Final = 100_000
_DEEPEST: Final = 60
"""Nested folders at most: those of a label and of the deepest file of an item."""
_PIECE: Final = 1 << 20
"""Bytes of one read."""
_THREADS: Final = 4
"""Threads that compute checksums."""
_AHEAD: Final = 256
"""Files at most that wait for a thread."""

Report = Callable[[int], None]
"""Called with the number of bytes that were verified since the last call."""


class BagFolder:
    """A bag in a folder; its items can be read once it is verified."""

    def __init__(self, folder: Path) -> None:
        """Read nothing before a method is called."""
        self.folder = folder
        self._index = BagIndex()
        self._version = bagit.NEW
        self.places: list[str] = []
        """The places of items of data in the order of labels, once the bag is verified."""

    def close(self) -> None:
        """Remove the temporary index."""
        self._index.close()

    def size(self) -> int:
        """Return the bytes that the bag declares, to show progress; 0 if it declares none."""
        text = self._text(bagit.INFO_FILE) if (self.folder / bagit.INFO_FILE).is_file() else ""
        found = dict(bagit.read_info(text)).get("Payload-Oxum", "").partition(".")[0]
        return int(found) if found.isascii() and found.isdigit() and len(found) < 20 else 0  # noqa: PLR2004  # 64 bits

    def verify(self, report: Report) -> None:
        """Verify the whole bag; raise BagError at the first fault."""
        with disk_errors(str(self.folder)):
            if not (self.folder / bagit.DECLARATION_FILE).is_file():
                raise BagError(f"there is no {bagit.DECLARATION_FILE} in {shown(str(self.folder))}")
            self._version = bagit.read_declaration(self._text(bagit.DECLARATION_FILE))
            if (self.folder / bagit.FETCH_FILE).exists():
                raise BagError(f"it has a {bagit.FETCH_FILE}: not all of it is here")
            self._verify_tags()
            self._list()
            self._verify_payload(report)
            self._verify_oxum()
            self._verify_items()

    def _text(self, name: str) -> str:
        """Return the text of a small tag file."""
        content = self._content(name, _LARGEST_TAG_FILE)
        try:
            return content.decode()
        except UnicodeDecodeError:
            raise BagError(f"{name} is not in UTF-8") from None

    def read(self, path: str) -> bytes:
        """Return the content of the manifest of an item."""
        with disk_errors(str(self.folder), path):
            return self._content(path, LARGEST_MANIFEST)

    def _content(self, path: str, largest: int) -> bytes:
        with self._opened(path) as file:
            content = file.read(largest + 1)
        if len(content) > largest:
            raise BagError(f"{bagit.named(path)} is too large")
        return content

    def _opened(self, path: str) -> BinaryIO:
        """Open a file; raise BagError if its path leads through a link."""
        if not bagit.is_inside(path):
            raise BagError(f"{bagit.named(path)} leads out of the bag")
        try:
            return os.fdopen(open_beneath(self.folder, path.split("/")), "rb")
        except FileNotFoundError:
            raise BagError(f"there is no file {bagit.named(path)}") from None

    def _lines(self, algorithm: str, *, tags: bool) -> Iterator[tuple[str, str]]:
        """Yield the lines of a manifest, with any line ending, without empty ones."""
        name = bagit.manifest_file(algorithm, tags=tags)
        with self._opened(name) as raw, open(raw.fileno(), encoding="utf-8", closefd=False) as text:
            count = 0
            try:
                while line := text.readline(bagit.LONGEST_LINE):
                    count += 1
                    if count > bagit.MOST_LINES:
                        raise BagError(f"{name} has more than {bagit.MOST_LINES} lines")
                    if line.strip():
                        yield bagit.read_line(line.rstrip("\n"), algorithm, self._version)
            except UnicodeDecodeError:
                raise BagError(f"{name} is not in UTF-8") from None

    def _verify_tags(self) -> None:
        """Verify the tag files by all tag manifests that the bag has."""
        known = [
            algorithm
            for algorithm in bagit.ALGORITHMS
            if (self.folder / bagit.manifest_file(algorithm, tags=True)).is_file()
        ]
        if not known:
            raise BagError("it has no manifest of its tag files, by sha256 or sha512")
        for algorithm in known:
            seen: set[str] = set()
            for checksum, path in self._lines(algorithm, tags=True):
                if path in seen or path.startswith(f"{bagit.PAYLOAD}/"):
                    raise BagError(
                        f"{bagit.named(path)} does not belong among the tag files, or twice"
                    )
                seen.add(path)
                if len(seen) > _MOST_TAG_FILES:
                    raise BagError(f"it has more than {_MOST_TAG_FILES} tag files")
                if getattr(self._sums(path), algorithm).hexdigest() != checksum:
                    raise BagError(
                        f"{bagit.named(path)} is not what it was: its {algorithm} differs"
                    )

    def _sums(self, path: str, report: Report = lambda _: None) -> Checksums:
        sums = Checksums()
        with self._opened(path) as file:
            while piece := file.read(_PIECE):
                sums.update(piece)
                report(len(piece))
        return sums

    def _list(self) -> None:
        """Read the manifests of the payload."""
        first, second = bagit.ALGORITHMS
        for checksum, path in self._lines(first, tags=False):
            if not bagit.is_inside(path) or not path.startswith(f"{bagit.PAYLOAD}/"):
                raise BagError(f"{bagit.named(path)} leads out of the bag")
            if bagit.divided(path) is None:
                raise BagError(
                    f"{bagit.named(path)} is no file of an item: only what 'ibi archive export' "
                    "made can be imported"
                )
            self._index.list_first(checksum, path)
        for checksum, path in self._lines(second, tags=False):
            self._index.list_second(checksum, path)
        if path := self._index.unlisted_in_second():
            raise BagError(f"{bagit.named(path)} is not in both manifests")

    def _verify_payload(self, report: Report) -> None:
        """Verify every file of the payload, several at once, and that none is missing."""
        waiting: list[Future[tuple[str, Checksums]]] = []
        ended = threading.Event()

        def advance(more: int) -> None:
            if ended.is_set():
                raise CancelledError
            report(more)

        with ThreadPoolExecutor(_THREADS, "sums") as threads:
            try:
                for path in self._walk():
                    if self._index.find(path) is None:
                        raise BagError(f"{bagit.named(path)} is there, and in no manifest")
                    waiting.append(threads.submit(lambda p: (p, self._sums(p, advance)), path))
                    if len(waiting) >= _AHEAD:
                        self._see(*waiting.pop(0).result())
                for each in waiting:
                    self._see(*each.result())
            finally:
                ended.set()  # so that threads stop reading large files
                threads.shutdown(cancel_futures=True)
        if path := self._index.unseen():
            raise BagError(f"{bagit.named(path)} is missing")

    def _see(self, path: str, sums: Checksums) -> None:
        listed = self._index.find(path)
        found = (sums.sha256.hexdigest(), sums.sha512.hexdigest())
        if listed is None or (listed.sha256, listed.sha512) != found:
            raise BagError(f"{bagit.named(path)} is not what it was: its checksums differ")
        self._index.see(path, sums.size)

    def _walk(self) -> Iterator[str]:
        """Yield the files of the payload; raise BagError if one is neither file nor folder."""
        if not stat.S_ISDIR(os.lstat(self.folder / bagit.PAYLOAD).st_mode):
            raise BagError(f"{bagit.PAYLOAD} is not a folder")
        folders = [bagit.PAYLOAD]
        while folders:
            folder = folders.pop()
            if folder.count("/") > _DEEPEST:
                raise BagError(f"{bagit.named(folder)} is deeper than anything in an archive")
            with os.scandir(self.folder / folder) as entries:
                for entry in entries:
                    path = f"{folder}/{entry.name}"
                    if not _is_text(path):
                        raise BagError(f"the name {bagit.named(path)} is not in UTF-8")
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(path)
                    elif entry.is_file(follow_symlinks=False):
                        yield path
                    else:
                        raise BagError(f"{bagit.named(path)} is a link or a device, and no file")

    def _verify_oxum(self) -> None:
        if not (self.folder / bagit.INFO_FILE).is_file():
            return
        said = dict(bagit.read_info(self._text(bagit.INFO_FILE))).get("Payload-Oxum")
        if said is not None and said != bagit.oxum(*self._index.total()):
            raise BagError("it has not as many files and bytes as it says (Payload-Oxum)")

    def _verify_items(self) -> None:
        """Verify that all files belong to items, and that all items are complete."""
        for path in self._index.paths_like(f"/{bagit.MANIFEST}"):
            found = bagit.divided(path)
            if found is not None and not found[1]:
                place = found[0].spelling
                if self._kind(place) != "metadata":
                    self._verify_item(place)
                    self.places.append(place)
        if path := self._index.unclaimed():
            raise BagError(f"{bagit.named(path)} belongs to no item in it")

    def _kind(self, place: str) -> str:
        path = f"{bagit.ITEMS}{place}/{bagit.MANIFEST}"
        with _wrong_manifest(path):
            item, _ = read_manifest(self._content(path, LARGEST_MANIFEST), path)
            return item.kind

    def item(self, place: str) -> tuple[IncomingItem, bytes, bytes | None]:
        """Return an item, its manifest, and the manifest of its metadata item."""
        text = self.read(f"{bagit.ITEMS}{place}/{bagit.MANIFEST}")
        with _wrong_manifest(place):
            item, _ = read_manifest(text, place)
            described = None
            if item.metadata is not None:
                path = f"{bagit.ITEMS}{item.metadata.label.spelling}/{bagit.MANIFEST}"
                described = self.read(path) if self._index.find(path) is not None else None
            return read_incoming(place, text, described), text, described

    def _verify_item(self, place: str) -> None:
        incoming, _, _ = self.item(place)
        for item, files in incoming.items:
            label = item.forms.label.spelling
            self._claim(f"{bagit.ITEMS}{label}/{bagit.MANIFEST}", place)
            for file in files:
                path = f"{bagit.ITEMS}{label}{bagit.DOC}{file.path}"
                listed = self._index.find(path)
                if listed is None:
                    raise BagError(f"{bagit.named(path)} is missing")
                if (listed.sha256, listed.sha512, listed.size) != (
                    file.sha256,
                    file.sha512,
                    file.size,
                ):
                    raise BagError(f"{bagit.named(path)} is not as the manifest of {label} says")
                self._claim(path, place)

    def _claim(self, path: str, place: str) -> None:
        if not self._index.claim(path):
            raise BagError(f"{bagit.named(path)} belongs to {place} and to another item")


@contextmanager
def _wrong_manifest(place: str) -> Iterator[None]:
    try:
        yield
    except BagError:
        raise
    except IbiError as fault:
        reason = str(fault).rstrip(".")
        raise BagError(f"what lies at {bagit.named(place)} is not an item: {reason}") from fault


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
