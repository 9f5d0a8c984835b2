"""A file store in an object store, whose keys are the paths of a folder store.

    col/sid.inpe.br/mtc-m19/2013/09.04.12.27.57/doc/Report.pdf
                                               /ibi.json       the manifest
                                               /old/<change>/  files that were replaced, if kept
    incoming/change-<change>/intent.json                       files that a change is about to send
                            /<number>                          files that will replace others
    journal/<change>.json                                      decided, unfinished changes
    reserved/<list>.json                                       reserved labels

Received files stay on a local disk until their deposit is completed. A change is decided when its
line in the journal is written. All files are sent before; those that replace none go to their final
keys, as they are invisible until the catalogue names them. Only copies within the store follow,
each of which can be repeated (docs/adr/0025).
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock

import msgspec

from ibi.archive.ports.catalogue import StoredChange
from ibi.archive.rules.fixity import MANIFEST
from ibi.archive.rules.manifest import read_manifest
from ibi.archive.storage.files.staging import Staging
from ibi.archive.storage.object_store import bucket as keys
from ibi.archive.storage.object_store.bucket import PART, Objects
from ibi.archive.storage.object_store.file import MODIFIED, ObjectFile
from ibi.archive.storage.object_store.journal import (
    Intent,
    JournalLine,
    JournalStep,
    brought,
    decode_intent,
    decode_line,
    encode,
    line_of,
)
from ibi.errors import FileNameError, Sentence, StorageError, UnknownError
from ibi.foundation.system.disk import disk_errors
from ibi.foundation.system.private_files import make_private
from ibi.model.change import Change
from ibi.model.item import File

Headers = Callable[[File], Mapping[str, str]]
"""Returns the headers with which the object store serves a file to a browser."""


def attributes(file: File, headers: Headers) -> dict[str, str]:
    """Return the attributes of the object of a file."""
    facts = {"sha256": file.sha256} if file.sha256 else {}
    return {MODIFIED: str(file.modified), **facts, **headers(file)}


class ObjectFiles:
    """All objects of an archive, for a move of the store."""

    def __init__(self, objects: Objects, headers: Headers = lambda _: {}) -> None:
        """Use a bucket."""
        self.name = objects.name
        self._objects = objects
        self._headers = headers

    def keys(self, prefix: str) -> Iterator[tuple[str, int]]:
        """Yield the keys in a folder and its subfolders, each with its size in bytes."""
        return self._objects.keys(prefix)

    def open(self, key: str) -> ObjectFile:
        """Open an object for reading; raise UnknownError if there is none."""
        try:
            return self._objects.open(key)
        except FileNotFoundError:
            raise UnknownError("file", key) from None

    def write(self, key: str, pieces: Iterator[bytes], file: File) -> None:
        """Write or replace an object."""
        if len(key.encode()) > self._objects.longest_key:
            raise FileNameError(key, Sentence("it is too long for an object store"))
        self._objects.put(key, pieces, file.size, attributes(file, self._headers))

    def remove(self, keys: Sequence[str]) -> None:
        """Remove objects."""
        self._objects.delete(keys)


class ObjectStore:
    """A file store in an object store."""

    quick = False

    def __init__(
        self,
        objects: Objects,
        incoming: Path,
        *,
        keep_replaced: bool = True,
        presigned: bool = False,
        headers: Headers = lambda _: {},
    ) -> None:
        """Use a bucket, which must answer, and a folder for received files."""
        self.staging = Staging(incoming)
        with disk_errors(str(incoming)):
            make_private(incoming)
        self.name = objects.name
        self._objects = objects
        self._keep = keep_replaced
        self._presigned = presigned
        self._headers = headers
        self._intents: dict[str, Intent] = {}
        self._counting = Lock()
        self._sent: dict[str, int] = {}
        """Bytes of deposits that are being sent to the bucket."""
        self._done: JournalLine | None = None
        """The line that was carried out last, so that `finish` need not read it again."""
        objects.check()

    def discard(self, deposit: str) -> None:
        """Remove all files of a deposit."""
        self.staging.discard(deposit)

    def prepare(self, change: Change) -> None:
        """Send the files of a change, which may take long; this decides nothing."""
        files = {
            (each.item.forms.label.spelling, file.path): (file, bool(each.adopted))
            for each, file in brought(change)
        }
        for place, path in files:
            keys.check_key(place, path, self._objects.longest_key)
        places = {place for (place, _), (_, is_new_item) in files.items() if is_new_item}
        # A new item where one exists is refused by the catalogue: nothing may be overwritten.
        free = {place for place in places if not self._objects.has(keys.manifest(place))}
        there = self._there([name for name in files if name[0] not in free])
        intent = Intent(
            tuple(name for name in files if name not in there),
            tuple(name for name in files if name in there),
        )
        sent = [(files[name][0], keys.doc(*name)) for name in intent.new]
        sent += [
            (files[name][0], keys.waiting(change.id, number))
            for number, name in enumerate(intent.replacing)
        ]
        if sent:
            self._objects.put(keys.intent(change.id), encode(intent))
            try:
                self._objects.each(lambda each: self._send(change.deposit, *each), sent)
            finally:
                self._sent.pop(change.deposit, None)
        self._intents[change.id] = intent

    def stored(self, deposit: str) -> int:
        """Return how many bytes of a deposit were sent to the bucket by now."""
        return self._sent.get(deposit, 0)

    def _there(self, names: list[tuple[str, str]]) -> set[tuple[str, str]]:
        """Return the places and paths among `names` that have a file."""
        found = set()

        def look(name: tuple[str, str]) -> None:
            if self._objects.has(keys.doc(*name)):
                found.add(name)

        self._objects.each(look, names)
        return found

    def _send(self, deposit: str, file: File, key: str) -> None:
        content = self._counted(deposit, self.staging.files_of(deposit) / file.path)
        self._objects.put(key, content, file.size, attributes(file, self._headers))

    def _counted(self, deposit: str, path: Path) -> Iterator[bytes]:
        """Yield the parts of a file, and count each when the next one is wanted."""
        with disk_errors(str(path)), path.open("rb") as file:
            while piece := file.read(PART):
                yield piece
                with self._counting:
                    self._sent[deposit] = self._sent.get(deposit, 0) + len(piece)

    def decide(self, change: Change) -> None:
        """Make a change durable as a decision, then carry it out on the objects."""
        if change.id not in self._intents:
            self.prepare(change)
        line = line_of(change, self._intents.pop(change.id))
        # This object decides the change.
        self._objects.put(keys.journal(change.id), encode(line))
        self._carry_out(line)
        self._done = line

    def _carry_out(self, line: JournalLine) -> None:
        id_ = line.change.id
        removed = [(step.place, path) for step in line.steps for path in step.removed]
        self._objects.each(lambda each: self._remove(id_, *each), removed)
        replacing = list(enumerate(line.replacing))
        self._objects.each(lambda each: self._replace(id_, each[0], *each[1]), replacing)
        # Manifests come last, so that the files that they name exist.
        self._objects.each(self._describe, line.steps)

    def _describe(self, step: JournalStep) -> None:
        if step.dropped:
            self._objects.delete([keys.manifest(step.place)])
        else:
            self._objects.put(keys.manifest(step.place), step.manifest.encode())

    def _remove(self, change: str, place: str, path: str) -> None:
        self._keep_old(change, place, path)
        self._objects.delete([keys.doc(place, path)])

    def _replace(self, change: str, number: int, place: str, path: str) -> None:
        self._keep_old(change, place, path)
        with suppress(FileNotFoundError):  # it was carried out before, and finished in part
            self._objects.copy(keys.waiting(change, number), keys.doc(place, path))

    def _keep_old(self, change: str, place: str, path: str) -> None:
        # Only once: at a repetition, the key may have the new file already.
        if self._keep and not self._objects.has(keys.old(change, place, path)):
            with suppress(FileNotFoundError):
                self._objects.copy(keys.doc(place, path), keys.old(change, place, path))

    def finish(self, id: str) -> None:  # noqa: A002  # what it is called everywhere
        """Remove a decision from the journal, once the catalogue has the change."""
        line, self._done = self._done, None
        if line is None or line.change.id != id:
            try:
                line = self._line(keys.journal(id))
            except FileNotFoundError:
                return
        for step in line.steps:
            if step.cleared or step.dropped:
                for part in ("doc", "old"):
                    self._delete_below(f"col/{step.place}/{part}")
        # The intent is removed before the line: alone, it would mean an undecided change.
        if line.has_intent:
            waiting = [keys.waiting(id, number) for number in range(len(line.replacing))]
            self._objects.delete([keys.intent(id), *waiting])
        if line.change.deposit:
            self.discard(line.change.deposit)
        self._objects.delete([keys.journal(id)])

    def _delete_below(self, prefix: str) -> None:
        self._objects.delete([key for key, _ in self._objects.keys(prefix)])

    def _line(self, key: str) -> JournalLine:
        try:
            return decode_line(self._objects.get(key))
        except msgspec.MsgspecError as fault:
            place = f"{self.name}/{key}"
            raise StorageError(place, "this line of the journal is damaged") from fault

    def decided(self) -> Iterator[StoredChange]:
        """Carry out unfinished decisions on the objects, and yield each."""
        self._intents.clear()
        lines = [self._line(key) for key, _ in self._objects.keys("journal")]
        known = {line.change.id for line in lines}
        for id_ in self._begun() - known:
            self._undo(id_)
        for line in sorted(lines, key=lambda line: line.change.at):
            self._carry_out(line)
            yield line.change

    def _begun(self) -> set[str]:
        found = (key.split("/")[1] for key, _ in self._objects.keys("incoming"))
        return {name.removeprefix("change-") for name in found if name.startswith("change-")}

    def _undo(self, change: str) -> None:
        """Remove the files that an undecided change has sent."""
        with suppress(FileNotFoundError):
            intent = decode_intent(self._objects.get(keys.intent(change)))
            named = {place: self._named(place) for place in {place for place, _ in intent.new}}
            # In any case, no file that a manifest names is removed.
            new = [name for name in intent.new if name[1] not in named[name[0]]]
            self._objects.delete([keys.doc(*name) for name in new])
        self._delete_below(f"incoming/change-{change}")

    def _named(self, place: str) -> set[str]:
        try:
            text = self._objects.get(keys.manifest(place))
        except FileNotFoundError:
            return set()
        return {file.path for file in read_manifest(text, place)[1]}

    def manifest(self, place: str) -> bytes:
        """Return the manifest of an item."""
        try:
            return self._objects.get(keys.manifest(place))
        except FileNotFoundError:
            raise StorageError(f"{self.name}/{keys.manifest(place)}", "it is not there") from None

    def manifests(self) -> Iterator[tuple[str, bytes]]:
        """Yield the place and the manifest of every item; an empty one if it is unreadable."""
        owners: dict[str, bool] = {}
        for key, _ in self._objects.keys("col"):
            place, _, name = key.removeprefix("col/").rpartition("/")
            if name == MANIFEST and not self._is_among_files(place, owners):
                try:
                    yield place, self.manifest(place)
                except StorageError:
                    yield place, b""

    def _is_among_files(self, place: str, owners: dict[str, bool]) -> bool:
        """Return whether a key named like a manifest is a current or old file of an item."""
        parts = place.split("/")
        above = ["/".join(parts[:at]) for at, part in enumerate(parts) if part in {"doc", "old"}]
        for owner in above:
            if owner not in owners:
                owners[owner] = self._objects.has(keys.manifest(owner))
        return any(owners[owner] for owner in above)

    def keep_reservations(self, text: bytes) -> None:
        """Store a list of reserved labels, from which a lost catalogue can be rebuilt."""
        self._objects.put(f"reserved/{uuid.uuid4().hex}.json", text)

    def reservations(self) -> Iterator[bytes]:
        """Yield all lists of reserved labels."""
        for key, _ in self._objects.keys("reserved"):
            yield self._objects.get(key)

    def open(self, place: str, path: str) -> ObjectFile:
        """Open a file of an item for reading; raise UnknownError if there is none."""
        keys.check_key(place, path, self._objects.longest_key)
        try:
            return self._objects.open(keys.doc(place, path))
        except FileNotFoundError:
            raise UnknownError("file", path) from None

    def link(self, place: str, path: str, method: str) -> str:
        """Return a temporary URL of a file at the object store; empty if the archive serves it."""
        return self._objects.link(keys.doc(place, path), method) if self._presigned else ""

    def keys(self, place: str = "") -> Iterator[str]:
        """Yield the key of each file of a place or of the whole store, known or stray."""
        for key, _ in self._objects.keys(f"col/{place}".rstrip("/")):
            yield key.removeprefix("col/")

    def mend(self, place: str, file: File, deposit: str) -> None:
        """Replace a damaged file by a complete file of a deposit."""
        self._send(deposit, file, keys.doc(place, file.path))
        self._sent.pop(deposit, None)

    def mend_manifest(self, place: str, text: bytes) -> None:
        """Replace the damaged manifest of an item."""
        self._objects.put(keys.manifest(place), text)
