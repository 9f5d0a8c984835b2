"""Moves the files of an archive to another store while it serves.

All files are copied first. Items that change meanwhile are tracked and copied again, the last ones
while changes are locked out; then the archive switches to the other store. The old store stays as
it is. An interrupted move finds what it copied before, and so does a move back.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, closing, suppress
from dataclasses import dataclass
from typing import Final, Protocol

import msgspec

from ibi.archive.archive import Archive
from ibi.archive.ports.catalogue import HistoryChoice
from ibi.archive.ports.file_store import BulkFiles, OpenFile, pieces_of
from ibi.archive.rules.fixity import MANIFEST
from ibi.archive.rules.manifest import read_manifest
from ibi.archive.tasks import InterruptedTaskError, TaskProgress
from ibi.errors import IbiError, StateError, StorageError, UnknownError
from ibi.identifier.label import parse
from ibi.model.item import File

MARK: Final = "moving.json"
"""A file in both stores of a move: the name of the archive that may write there again."""
_AT_ONCE: Final = 8
"""Items that are copied at once."""
_BATCH: Final = 64
_FEW: Final = 16
"""The most items that are copied while changes are locked out."""
_ROUNDS: Final = 8
_TOLD: Final = 100
"""The most damaged files that the result names."""
_PIECE: Final = 4 << 20


class ChangeTracking(Protocol):
    """A file store that tracks changes."""

    def watch(self) -> None:
        """Begin to track changed item folders."""
        ...

    def unwatch(self) -> None:
        """Stop tracking."""
        ...

    def touched(self) -> dict[str, set[str]]:
        """Return the item folders changed since the last call, each with its repaired paths."""
        ...

    def still(self) -> AbstractContextManager[None]:
        """Lock out writes that are no change of items."""
        ...


@dataclass(frozen=True, slots=True)
class Destination:
    """The store that the files are moved to."""

    bulk_files: BulkFiles
    places: Callable[[], Iterable[str]]
    """Returns the folder of an item there."""
    enter: Callable[[], None]
    """Switches the archive to this store, now and after a restart."""


class StoreMigration:
    """One move."""

    def __init__(  # noqa: PLR0913, PLR0917  # from where, to where, and who is told
        self,
        archive: Archive,
        store: ChangeTracking,
        source: BulkFiles,
        destination: Destination,
        owner: str,
        progress: TaskProgress,
    ) -> None:
        """Move the files of an archive; its name is written to the mark."""
        self._archive = archive
        self._store = store
        self._source = source
        self._destination = destination
        self._target = destination.bulk_files
        self._owner = owner.encode()
        self._progress = progress
        self._stopping = threading.Event()
        self._files = self._bytes = self._items = 0
        # Damage that an interrupted run found stays in the result.
        self._damaged = set[str](progress.result.get("damaged", ()))
        self._counting = threading.Lock()

    def run(self) -> None:
        """Move everything; when this returns, the archive works on the other store."""
        was_here = self._claim()
        self._store.watch()
        try:
            self._copy_all()
            if was_here:
                self._sync(dict.fromkeys(self._forgotten(), frozenset[str]()))
                self._sync(self._mended())
            self._catch_up()
            with self._archive.changing(), self._store.still():
                self._archive.settle()
                self._sync(self._store.touched())
                self._copy_reservations()
                self._mark(self._source)
                self._report(note="")
                self._progress.keep()  # a killed process resumes here
                self._destination.enter()
        finally:
            self._store.unwatch()
        with suppress(StorageError):  # a mark that stays does no harm
            self._target.remove([MARK])
        names = {"from": self._source.name, "to": self._target.name}
        self._archive.note("move store", self._progress.task.who, {**names})

    def _claim(self) -> bool:
        """Raise if another archive writes there; return whether files of this archive are there."""
        mark = _content(self._target, MARK)
        if mark is None and next(self._target.keys("col"), None) is not None:
            msg = f"There are files in {self._target.name} already, and they are not of this move."
            raise StateError(msg)
        if mark is not None and mark != self._owner:
            msg = f"{self._target.name} belongs to {mark.decode(errors='replace')}."
            raise StateError(msg)
        if mark is None:
            self._mark(self._target)
        return mark is not None

    def _mark(self, bulk_files: BulkFiles) -> None:
        now = self._archive.clock.wall()
        bulk_files.write(MARK, iter([self._owner]), File(MARK, len(self._owner), "", "", now))

    def _copy_all(self) -> None:
        total = self._archive.catalogue.items.count()
        self._progress.report(total=total, done=0)
        last = 0
        while held := self._archive.catalogue.items.page(last, _BATCH):
            last = held[-1].id
            places = [each.item.forms.label.spelling for each in held]
            self._sync(dict.fromkeys(places, frozenset[str]()))
            self._items += sum(each.item.kind == "data" for each in held)
            self._report(done=min(self._items, total))

    def _catch_up(self) -> None:
        for _ in range(_ROUNDS):
            with self._archive.changing():
                touched = self._store.touched()
            self._sync(touched)
            if len(touched) <= _FEW:
                return

    def _forgotten(self) -> Iterator[str]:
        """Return the item folders of the other store that are not here any more."""
        for place in self._destination.places():
            with suppress(IbiError):
                if self._archive.catalogue.items.find(parse(place, strict=True).canonical) is None:
                    yield place

    def _mended(self) -> dict[str, set[str]]:
        """Return the files that were ever repaired: the other store may have damaged ones."""
        found: dict[str, set[str]] = {}
        last = 0
        while page := self._archive.catalogue.history.entries(
            last, _BATCH, HistoryChoice(act="repair")
        ):
            last = page[-1].number
            for entry in page:
                held = self._archive.catalogue.items.find(entry.label)
                path: str = msgspec.json.decode(entry.detail)["path"]
                if held is not None:
                    paths = found.setdefault(held.item.forms.label.spelling, set())
                    paths.add(path.removeprefix("doc/"))
        return found

    def _copy_reservations(self) -> None:
        there = {key for key, _ in self._target.keys("reserved")}
        for key, size in self._source.keys("reserved"):
            if key not in there:
                with closing(self._source.open(key)) as opened:
                    file = File(key, size, "", "", opened.modified)
                    self._target.write(key, pieces_of(opened), file)

    def _sync(self, places: Mapping[str, Iterable[str]]) -> None:
        """Copy some item folders, several at once."""
        with ThreadPoolExecutor(_AT_ONCE, "ibi-moving") as pool:
            calls = [
                pool.submit(self._sync_place, place, frozenset(mended))
                for place, mended in places.items()
            ]
            try:
                self._await(calls)
            except BaseException:
                self._stopping.set()
                for call in calls:
                    call.cancel()
                raise

    def _await(self, calls: Iterable[Future[None]]) -> None:
        left = set(calls)
        while left:
            ended, left = wait(left, timeout=1, return_when=FIRST_EXCEPTION)
            for call in ended:
                call.result()
            self._report()

    def _report(self, **facts: object) -> None:
        with self._counting:
            result = {
                **nothing_moved(self._target.name),
                "from": self._source.name,
                "items": self._items,
                "files": self._files,
                "bytes": self._bytes,
                "damaged": sorted(self._damaged)[:_TOLD],
            }
        self._progress.report(result=result, **facts)

    def _sync_place(self, place: str, mended: frozenset[str]) -> None:
        text = _content(self._source, f"col/{place}/{MANIFEST}")
        before = _content(self._target, f"col/{place}/{MANIFEST}")
        # A manifest is written last, so that the files that it names exist.
        if before == text and not mended:
            return
        there = dict(self._keys(self._target, place))
        here = dict(self._keys(self._source, place)) if text is not None else {}
        # Removals come first, so that a file can replace a folder, or a folder a file.
        self._target.remove([key for key in there if key not in here])
        if text is None:
            self._target.remove([f"col/{place}/{MANIFEST}"])
            return
        known = _files(text, place)
        with self._counting:
            old = {key for key in self._damaged if key.startswith(f"col/{place}/")}
            self._damaged -= old - known.keys()
            self._damaged |= known.keys() - here.keys()
        for key, size in here.items():
            forced = key.removeprefix(f"col/{place}/doc/") in mended
            self._copy(key, known.get(key), is_there=there.get(key) == size and not forced)
        file = File(MANIFEST, len(text), "", "", self._archive.clock.wall())
        self._target.write(f"col/{place}/{MANIFEST}", iter([text]), file)

    @staticmethod
    def _keys(bulk_files: BulkFiles, place: str) -> Iterator[tuple[str, int]]:
        for part in ("doc", "old"):
            yield from bulk_files.keys(f"col/{place}/{part}")

    def _copy(self, key: str, known: File | None, *, is_there: bool) -> None:
        """Copy a file, unless one of the same size and time exists there."""
        with suppress(UnknownError), closing(self._source.open(key)) as opened:
            file = known or File(key, opened.size, "", "", opened.modified)
            if is_there and self._modified(key) == file.modified:
                return
            digest = hashlib.sha256()
            self._target.write(key, self._pieces(opened, digest.update), file)
            with self._counting:
                self._files += 1
                # A file that is replaced meanwhile looks damaged too, until it is copied again.
                is_whole = digest.hexdigest() == file.sha256 or not file.sha256
                (self._damaged.discard if is_whole else self._damaged.add)(key)

    def _modified(self, key: str) -> int | None:
        try:
            with closing(self._target.open(key)) as opened:
                return opened.modified
        except UnknownError:
            return None

    def _pieces(self, file: OpenFile, seen: Callable[[bytes], None]) -> Iterator[bytes]:
        for piece in pieces_of(file, count=_PIECE):
            if self._stopping.is_set():
                raise InterruptedTaskError
            seen(piece)
            with self._counting:
                self._bytes += len(piece)
            yield piece


def nothing_moved(place: str) -> dict[str, object]:
    """Return the result of a move to the present store."""
    return {"from": place, "to": place, "items": 0, "files": 0, "bytes": 0, "damaged": []}


def _content(bulk_files: BulkFiles, key: str) -> bytes | None:
    try:
        with closing(bulk_files.open(key)) as opened:
            return b"".join(pieces_of(opened))
    except UnknownError:
        return None


def _files(text: bytes, place: str) -> dict[str, File]:
    return {f"col/{place}/doc/{file.path}": file for file in read_manifest(text, place)[1]}
