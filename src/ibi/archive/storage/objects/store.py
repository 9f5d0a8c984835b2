"""Items as objects, under the keys that are paths in a folder: `col/<label>/doc/<files>`.

    col/sid.inpe.br/mtc-m19/2013/09.04.12.27.57/doc/Report.pdf
                                               /ibi.json       the manifest
                                               /old/<change>/  files that were replaced, if kept
    incoming/change-<change>/intent.json                       what a change is about to bring
                            /<number>                          files that will replace others
    journal/<change>.json                                      what is decided and not finished
    reserved/<list>.json                                       labels of items that come later

Files on their way in stay on a disk of ours until their deposit is complete. A change is decided
when its line in the journal is there. All that takes long was sent before: files that replace none
to where they will lie, for nobody sees them before the catalogue names them. What follows are
copies within the store, each of which may be made again (docs/adr/0025).
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from ibi.archive.ports.catalogue import StoredChange
from ibi.archive.rules.fixity import MANIFEST
from ibi.archive.rules.manifest import read_manifest
from ibi.archive.storage.files.staging import Staging
from ibi.archive.storage.objects import bucket as keys
from ibi.archive.storage.objects.bucket import Objects
from ibi.archive.storage.objects.file import MODIFIED, ObjectFile
from ibi.archive.storage.objects.journal import (
    Intent,
    JournalLine,
    JournalStep,
    brought,
    decode_intent,
    decode_line,
    encode,
    line_of,
)
from ibi.errors import FileNameError, StorageError, UnknownError
from ibi.foundation.system.disk import disk_errors
from ibi.model.change import Change
from ibi.model.item import File

Headers = Callable[[File], Mapping[str, str]]
"""What a browser is told that gets a file from the store itself."""


def attributes(file: File, headers: Headers) -> dict[str, str]:
    """Return what is kept with the object of a file."""
    facts = {"sha256": file.sha256} if file.sha256 else {}
    return {MODIFIED: str(file.modified), **facts, **headers(file)}


class ObjectFiles:
    """All objects of an archive."""

    def __init__(self, objects: Objects, headers: Headers = lambda _: {}) -> None:
        """Use a bucket."""
        self.name = objects.name
        self._objects = objects
        self._headers = headers

    def keys(self, prefix: str) -> Iterator[tuple[str, int]]:
        """Yield the keys in a folder and its subfolders, each with its size in bytes."""
        return self._objects.keys(prefix)

    def open(self, key: str) -> ObjectFile:
        """Open an object for reading; UnknownError if there is none."""
        try:
            return self._objects.open(key)
        except FileNotFoundError:
            raise UnknownError("file", key) from None

    def write(self, key: str, pieces: Iterator[bytes], file: File) -> None:
        """Write an object, in the place of what was there."""
        if len(key.encode()) > self._objects.longest_key:
            raise FileNameError(key, "it is too long for an object store")
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
        """Use a bucket that answers, and a folder for files on their way in."""
        self.staging = Staging(incoming)
        with disk_errors(str(incoming)):
            incoming.mkdir(parents=True, exist_ok=True)
        self.name = objects.name
        self._objects = objects
        self._keep = keep_replaced
        self._presigned = presigned
        self._headers = headers
        self._intents: dict[str, Intent] = {}
        self._done: JournalLine | None = None
        """What was carried out last: it need not be read again."""
        objects.check()

    def discard(self, deposit: str) -> None:
        """Remove everything of a deposit."""
        self.staging.discard(deposit)

    def prepare(self, change: Change) -> None:
        """Send the files of a change, which may take long; nothing is decided by that."""
        files = {
            (each.item.forms.label.spelling, file.path): (file, bool(each.adopted))
            for each, file in brought(change)
        }
        for place, path in files:
            keys.check_key(place, path, self._objects.longest_key)
        places = {place for (place, _), (_, is_new_item) in files.items() if is_new_item}
        # Where an item lies, none is new: the catalogue refuses it, and nothing may have happened.
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
            folder = self.staging.files_of(change.deposit)
            self._objects.each(lambda each: self._send(folder, *each), sent)
        self._intents[change.id] = intent

    def _there(self, names: list[tuple[str, str]]) -> set[tuple[str, str]]:
        """Return those of some places and paths where a file lies."""
        found = set()

        def look(name: tuple[str, str]) -> None:
            if self._objects.has(keys.doc(*name)):
                found.add(name)

        self._objects.each(look, names)
        return found

    def _send(self, folder: Path, file: File, key: str) -> None:
        self._objects.put(key, folder / file.path, file.size, attributes(file, self._headers))

    def decide(self, change: Change) -> None:
        """Make a change durable as a decision, and carry it out among the objects."""
        if change.id not in self._intents:
            self.prepare(change)
        line = line_of(change, self._intents.pop(change.id))
        # When this is there, it is decided.
        self._objects.put(keys.journal(change.id), encode(line))
        self._carry_out(line)
        self._done = line

    def _carry_out(self, line: JournalLine) -> None:
        id_ = line.change.id
        removed = [(step.place, path) for step in line.steps for path in step.removed]
        self._objects.each(lambda each: self._remove(id_, *each), removed)
        replacing = list(enumerate(line.replacing))
        self._objects.each(lambda each: self._replace(id_, each[0], *each[1]), replacing)
        # Last: what a manifest names is there.
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
        with suppress(FileNotFoundError):  # all was carried out before, and half forgotten
            self._objects.copy(keys.waiting(change, number), keys.doc(place, path))

    def _keep_old(self, change: str, place: str, path: str) -> None:
        # Once: when it is done again, the new file may be where the old one was.
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
        # The intent goes before the line: alone, it would say that nothing came of the change.
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
        """Carry out among the objects what was decided and not finished, and return each."""
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
        """Remove what a change that never was decided has brought."""
        with suppress(FileNotFoundError):
            intent = decode_intent(self._objects.get(keys.intent(change)))
            named = {place: self._named(place) for place in {place for place, _ in intent.new}}
            # Whatever else went wrong: nothing that a manifest names is removed.
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
        """Return every place and its manifest; an empty one where the store does not let us."""
        owners: dict[str, bool] = {}
        for key, _ in self._objects.keys("col"):
            place, _, name = key.removeprefix("col/").rpartition("/")
            if name == MANIFEST and not self._is_among_files(place, owners):
                try:
                    yield place, self.manifest(place)
                except StorageError:
                    yield place, b""

    def _is_among_files(self, place: str, owners: dict[str, bool]) -> bool:
        """Tell whether what is called as a manifest is a file of an item, now or formerly."""
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
        """Return where readers get a file from the store itself; empty if they get it from us."""
        return self._objects.link(keys.doc(place, path), method) if self._presigned else ""

    def keys(self, place: str = "") -> Iterator[str]:
        """Return where each file lies, in the whole store or at a place, whoever put it there."""
        for key, _ in self._objects.keys(f"col/{place}".rstrip("/")):
            yield key.removeprefix("col/")

    def mend(self, place: str, file: File, deposit: str) -> None:
        """Put a whole file of a deposit in the place of a damaged one."""
        self._send(self.staging.files_of(deposit), file, keys.doc(place, file.path))

    def mend_manifest(self, place: str, text: bytes) -> None:
        """Replace the damaged manifest of an item."""
        self._objects.put(keys.manifest(place), text)
