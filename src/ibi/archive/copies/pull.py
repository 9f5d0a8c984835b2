"""Pulls an item of another archive, with its files and its metadata, and verifies it.

The files are staged in a deposit of their own, which is found again by its name after a broken
connection or a restart. They become part of the item by one change, which completes the deposit.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

import msgspec

from ibi.archive.archive import Archive
from ibi.archive.copies.fetch import FileFetcher
from ibi.archive.ports.catalogue import StoredItem
from ibi.archive.ports.deposits import Deposit
from ibi.archive.ports.maintenance import PeerArchive
from ibi.archive.rules.copies import check_same
from ibi.archive.rules.foreign_manifest import check_described, read_foreign
from ibi.errors import DeletedError, InProgressError, Sentence, StateError, StorageFullError
from ibi.identifier.label import Label
from ibi.model.change import ItemChange
from ibi.model.clock import SECOND
from ibi.model.item import File, Item, State, content, is_same


def named_deposit(archive: Archive, prefix: str, facts: str, who: str, request: bytes) -> str:
    """Return the id of the deposit that was begun before, or open a new one.

    The caller holds the lock for changes, so that no other thread begins the same deposit.
    """
    catalogue = archive.catalogue
    ids = (_id(prefix, facts, number) for number in itertools.count())
    rows = ((id_, catalogue.deposits.get(id_)) for id_ in ids)
    id_, known = next((id_, row) for id_, row in rows if row is None or not row.completed)
    if known is None:
        catalogue.deposits.open(Deposit(id_, archive.clock.wall(), who, request.decode()))
    return id_


def _id(prefix: str, facts: str, number: int) -> str:
    return prefix + hashlib.sha256(f"{facts} {number}".encode()).hexdigest()[:40]


Report: TypeAlias = Callable[[int, int], None]
"""Called with the bytes received so far and the bytes in all; an exception ends the pull."""
_Manifest: TypeAlias = tuple[Item, tuple[File, ...]]
Manifests: TypeAlias = tuple[_Manifest, ...]
"""The manifests of an item and of its metadata item, if it has one."""

_PREFIX: Final = "copy"
_WHO: Final = "archive"
_DAY: Final = 86_400 * SECOND


def is_pull(deposit: str) -> bool:
    """Return whether a deposit belongs to a pull: depositors have no access to it."""
    return deposit.startswith(_PREFIX)


@dataclass(frozen=True, slots=True)
class PulledItem:
    """An item that was pulled into the staging area."""

    items: Manifests
    """The manifests, as the source sent them."""
    deposit: str = ""
    """The deposit with the staged files, to be completed by the change; empty if there are none."""


class ItemPuller:
    """Pulls items into one archive; threads may share it."""

    def __init__(self, archive: Archive) -> None:
        """Take the archive."""
        self._archive = archive
        self._deposits = archive.catalogue.deposits
        self._items = archive.catalogue.items
        self._store = archive.store
        self._staging = archive.store.staging
        self._fetcher = FileFetcher(archive)

    def pull(
        self,
        source: PeerArchive,
        label: Label,
        *,
        report: Report = lambda _done, _total: None,
        looked: Manifests = (),
    ) -> PulledItem:
        """Stage the missing files of an item; for a metadata item, of the item that it describes.

        If this raises, the local item is unchanged and the staged bytes stay for the next attempt.
        `looked` are the manifests, if the caller has read them already.
        """
        items = looked or self.look(source, label)
        item, files = items[0]
        held, *_ = [self._held(each) for each, _ in items]
        here = self._here(held)
        missing = [file for file in files if not is_same(here.get(file.path), file)]
        if not missing:
            return PulledItem(items)
        deposit = self._opened(item.forms.label, held.version if held else 0)
        with self._staging.busy(deposit):
            self._tidy(deposit, missing)
            try:
                self._stage(source, item, missing, here, deposit, report)
            except StorageFullError:
                self._store.discard(deposit)  # free the disk
                raise
            self._renew(deposit)
        return PulledItem(items, deposit)

    @staticmethod
    def look(source: PeerArchive, label: Label) -> Manifests:
        """Return the manifests that a source has of an item and of its metadata item."""
        item, files = _manifest(source, label)
        if item.kind == "metadata" and item.describes is not None:
            item, files = _manifest(source, item.describes.label)
        if item.kind != "data":
            msg = Sentence(
                "%(label)s is the service of another archive: it has no copies.",
                label=item.forms.label,
            )
            raise StateError(msg)
        if item.state is State.DELETED:
            raise DeletedError(str(item.forms.label))
        if item.metadata is None:
            return ((item, files),)
        metadata, none = _manifest(source, item.metadata.label)
        check_described(item, metadata, source.address)
        return (item, files), (metadata, none)

    def _held(self, item: Item) -> StoredItem | None:
        """Return the local item; raise StateError if its labels name different local items."""
        held = self._items.find(item.forms.label.canonical)
        if held is not None:
            check_same(held.item, item)
        return held

    def _here(self, held: StoredItem | None) -> dict[str, File]:
        files = () if held is None else self._archive.files(held)
        return {file.path: file for file in files}

    def _opened(self, label: Label, version: int) -> str:
        """Return the deposit of this pull, begun before or new."""
        with self._archive.changing():
            self._archive.settle()
            request = msgspec.json.encode({"copy": label.canonical})
            facts = f"{label.canonical} {version}"
            return named_deposit(self._archive, _PREFIX, facts, _WHO, request)

    def _renew(self, id_: str) -> None:
        """Renew the age of a deposit after progress, so that the sweep keeps it."""
        known = self._deposits.get(id_)
        now = self._archive.clock.wall()
        if known is not None and now - known.opened > _DAY:
            self._deposits.drop(id_)
            self._deposits.open(replace(known, opened=now))

    def _tidy(self, deposit: str, wanted: Sequence[File]) -> None:
        """Remove staged files that the item no longer has at the source."""
        self._renew(deposit)
        paths = {file.path for file in wanted}
        for staged in self._staging.staged(deposit):
            if staged.path not in paths:
                self._staging.unstage(deposit, staged.path)

    def _stage(  # noqa: PLR0913, PLR0917  # what, from where and to where
        self,
        source: PeerArchive,
        item: Item,
        files: Sequence[File],
        here: dict[str, File],
        deposit: str,
        report: Report,
    ) -> None:
        label = item.forms.label
        total = sum(file.size for file in files)
        alike = {content(file): file.path for file in here.values()}
        done = 0

        def arrived(come: int) -> None:
            report(done + come, total)

        for file in files:
            arrived(0)
            path = alike.get(content(file))
            if path is None or not self._fetcher.take(label, path, file, deposit):
                self._fetcher.fetch(source, label, file, deposit, arrived)
            done += file.size
        arrived(0)

    def sealed(self, pulled: PulledItem) -> AbstractContextManager[None]:
        """Seal the deposit of this pull; raise InProgressError if another pull has sealed it."""
        return self._staging.sealed(pulled.deposit) if pulled.deposit else nullcontext()

    def changes(self, pulled: PulledItem, items: Sequence[Item]) -> list[ItemChange]:
        """Return the changes that store these items with the files that were pulled."""
        come = self._staging.staged(pulled.deposit) if pulled.deposit else []
        staged = {each.path: each.file for each in come if each.file is not None}
        changes = []
        for item, (_, files) in zip(items, pulled.items, strict=True):
            held = self._held(item)
            here = self._here(held)
            # Metadata items have no files: all staged files belong to the described item.
            new = {path: file for path, file in staged.items() if item.kind == "data"}
            after = [new.get(file.path) or here.get(file.path) for file in files]
            paths = {file.path for file in files}
            is_other = any(not is_same(file, each) for file, each in zip(after, files, strict=True))
            # Another pull may have stored another version meanwhile.
            if is_other or not new.keys() <= paths:
                msg = Sentence(
                    "%(label)s was changed meanwhile: pull it again.", label=item.forms.label
                )
                raise InProgressError(msg)
            changes.append(
                ItemChange(
                    item=item,
                    files=tuple(sorted(filter(None, after), key=lambda file: file.path)),
                    version=held.version if held else 0,
                    adopted=pulled.deposit if held is None and new else "",
                    put=tuple(new) if held else (),
                    removed=tuple(path for path in here if path not in paths),
                )
            )
        return changes


def _manifest(source: PeerArchive, label: Label) -> _Manifest:
    return read_foreign(source.manifest(label.spelling), label, source.address)
