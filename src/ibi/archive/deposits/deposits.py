"""Deposits: files are staged one by one, and become an item in one change.

    open  ->  receive files, one by one, resumable, or unpack them  ->  complete

Completing a deposit twice returns the same item.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from typing import Final

import msgspec

from ibi.archive.archive import Archive, ItemWithMetadata
from ibi.archive.copies.pull import is_pull
from ibi.archive.deposits.adoption import Adoptions
from ibi.archive.deposits.request_check import RequestCheck
from ibi.archive.deposits.unpack import Unpacking, unpack
from ibi.archive.holder_check import HolderCheck
from ibi.archive.ports.catalogue import StoredItem
from ibi.archive.ports.deposits import Deposit
from ibi.archive.ports.file_store import Sink, Staged
from ibi.archive.ports.holders import NoResolvers
from ibi.archive.rules import item_transitions
from ibi.archive.rules.amendment import relate_new
from ibi.archive.rules.deposit_request import DepositRequest, NewItem, Revision, read, target_of
from ibi.archive.rules.drafts.draft import DraftPurpose, is_draft
from ibi.archive.rules.file_path import FilePaths, check_path
from ibi.archive.rules.incoming_item import is_import
from ibi.errors import ArchiveRequestError, Sentence, StateError, UnknownError, shown
from ibi.identifier.label import Label
from ibi.model.change import Act, ItemChange
from ibi.model.clock import SECOND
from ibi.model.item import File
from ibi.model.label_pair import Forms

DAY: Final = 86_400 * SECOND
LIFE: Final = 7 * DAY
"""Nanoseconds for which an open deposit is kept; a large one may take days to send."""


class Deposits:
    """The deposits of one archive."""

    def __init__(
        self,
        archive: Archive,
        unpacking: Unpacking,
        holders: HolderCheck | None = None,
        adoptions: Adoptions | None = None,
    ) -> None:
        """Deposit into an archive; `unpacking` extracts zip and tar files.

        `holders` knows the items of other archives; without it, none are known. Without
        `adoptions`, no item keeps labels that it had before.
        """
        self._archive = archive
        known = holders or HolderCheck(archive.catalogue.items, NoResolvers(), archive.clock)
        self._requests = RequestCheck(archive, known, adoptions)
        self._unpacking = unpacking
        self._deposits = archive.catalogue.deposits
        self._store = archive.store
        self._staging = archive.store.staging

    def open(self, request: DepositRequest, who: str) -> Deposit:
        """Open a deposit; raise now if its request cannot be fulfilled."""
        request = self._requests.checked(request)
        deposit = Deposit(
            uuid.uuid4().hex,
            self._archive.clock.wall(),
            who,
            msgspec.json.encode(request).decode(),
        )
        self._deposits.open(deposit)
        return deposit

    def check_purpose(self, purpose: DraftPurpose) -> None:
        """Raise if a draft of this purpose could not be published, whatever its description."""
        self._requests.check_purpose(purpose)

    def revise(self, id: str, request: DepositRequest) -> None:  # noqa: A002
        """Replace the request of an open deposit; raise now if it cannot be fulfilled."""
        request = self._requests.checked(request, id)
        self._deposits.revise(self._opened(id).id, msgspec.json.encode(request).decode())

    def get(self, id: str) -> Deposit:  # noqa: A002  # what it is called everywhere
        """Return a deposit, open or completed, but not one of a pull."""
        deposit = self._deposits.get(id)
        if deposit is None or is_pull(id):
            raise UnknownError("deposit", id)
        return deposit

    def _opened(self, id: str) -> Deposit:  # noqa: A002
        self._archive.settle()  # its completion may be decided and not yet in the catalogue
        deposit = self.get(id)
        if deposit.completed:
            msg = Sentence("This deposit is completed: %(completed)s.", completed=deposit.completed)
            raise StateError(msg)
        return deposit

    def receive(self, id: str, path: str, offset: int) -> AbstractContextManager[Sink]:  # noqa: A002
        """Receive bytes of a file from an offset on; 0 replaces the file."""
        return self._receiving(self._opened(id).id, check_path(path), offset)

    @contextmanager
    def _receiving(self, id: str, path: str, offset: int) -> Iterator[Sink]:  # noqa: A002
        with self._staging.receive(id, path, offset) as sink:
            self._opened(id)  # it may have been completed before the lock was taken
            yield sink

    def staged(self, id: str) -> list[Staged]:  # noqa: A002
        """Return the staged files."""
        return self._staging.staged(self.get(id).id)

    def stored(self, id: str) -> int:  # noqa: A002
        """Return how many bytes of a deposit that is being completed are in the storage by now."""
        return self._store.stored(id)

    def staged_file(self, id: str, path: str) -> Staged:  # noqa: A002
        """Return one staged file."""
        found = self._staging.staged_file(self._opened(id).id, check_path(path))
        if found is None:
            raise UnknownError("file", path)
        return found

    def remove(self, id: str, path: str) -> None:  # noqa: A002
        """Remove a staged file."""
        if not self._staging.unstage(self._opened(id).id, check_path(path)):
            raise UnknownError("file", path)

    def unpack(self, id: str, path: str, folder: str = "") -> list[str]:  # noqa: A002
        """Replace a staged zip or tar file by the files in it; all of them or none."""
        within = f"{check_path(folder)}/" if folder else ""
        source = check_path(path)
        with self._staging.busy(id):
            self._opened(id)
            return unpack(self._staging, id, source, within, self._unpacking)

    def abandon(self, id: str) -> None:  # noqa: A002
        """Abandon a deposit."""
        with self._archive.changing(), self._staging.sealed(id):
            self._opened(id)
            self._deposits.drop(id)
            self._store.discard(id)

    def sweep(self) -> None:
        """Abandon deposits that were open for too long, and remove orphaned staged files."""
        for deposit in self._deposits.open_before(self._archive.clock.wall() - LIFE):
            if is_draft(deposit.id):
                continue  # drafts have a longer life of their own
            with suppress(StateError), self._alone(deposit.id):
                if self._deposits.get(deposit.id) == deposit:  # it was not renewed meanwhile
                    self._deposits.drop(deposit.id)
        for id_ in self._staging.deposits():
            if self._under_way(id_):
                continue  # a client is sending to it now
            with suppress(StateError), self._alone(id_):
                if not self._under_way(id_):
                    self._store.discard(id_)

    def _under_way(self, id: str) -> bool:  # noqa: A002
        known = self._deposits.get(id)
        return known is not None and not known.completed

    @contextmanager
    def _alone(self, id: str) -> Iterator[None]:  # noqa: A002
        """Lock a deposit; raise StateError while a file is being received."""
        with self._archive.changing(), self._staging.sealed(id):
            self._archive.settle()
            yield

    def complete(
        self,
        id: str,  # noqa: A002
        who: str,
        target: str = "",
        detail: Mapping[str, object] | None = None,
    ) -> ItemWithMetadata:
        """Create the item, or add the new files to the existing one.

        The target may be named only now, when the content of a zip file is known. The history shows
        the detail.
        """
        archive = self._archive
        # Resolvers are asked again: the deposit may have been opened days ago.
        checked = self._check_adoption(id) | dict(detail or {})
        with archive.changing(), self._staging.sealed(id):
            archive.settle()
            deposit = self.get(id)
            if deposit.completed:
                return archive.get_described(deposit.completed)
            if is_import(id):
                raise StateError(Sentence("What is imported is completed as an import."))
            self.check_whole(id)
            files = [staged.file for staged in self._staging.staged(id) if staged.file is not None]
            wanted = read(msgspec.json.decode(deposit.request, type=DepositRequest))
            if target:
                wanted = replace(wanted, target=check_path(target), target_chosen=True)
            if isinstance(wanted, Revision):
                label = self._revise(deposit, wanted, files, who)
            else:
                label = self._deposit(deposit, wanted, files, who, checked)
            return archive.get_described(label)

    def _check_adoption(self, id: str) -> dict[str, object]:  # noqa: A002
        """Raise if another archive has an item that is adopted; return how that was checked."""
        deposit = self.get(id)
        if deposit.completed or is_import(id):
            return {}
        wanted = read(msgspec.json.decode(deposit.request, type=DepositRequest))
        if not isinstance(wanted, NewItem) or wanted.adoption is None:
            return {}
        return self._requests.adopting().check_elsewhere(wanted.adoption)

    def check_whole(self, id: str) -> None:  # noqa: A002
        """Raise if a file of the deposit is incomplete."""
        if self._staging.unpacking(id):
            msg = Sentence(
                "A zip or tar file was taken apart only half: do it again, or give the deposit up."
            )
            raise StateError(msg)
        if self._staging.unfinished(id):
            parts = [staged.path for staged in self._staging.staged(id) if staged.file is None]
            names = ", ".join(map(shown, parts[:3])) or "a file"
            msg = Sentence(
                "This has not come whole: %(names)s. Send the rest, or remove it.", names=names
            )
            raise StateError(msg)

    def _deposit(
        self,
        deposit: Deposit,
        wanted: NewItem,
        files: Sequence[File],
        who: str,
        checked: dict[str, object],
    ) -> Label:
        archive = self._archive
        if wanted.runs_at and files:
            msg = Sentence("A web service that runs elsewhere has no files here.")
            raise ArchiveRequestError(msg)
        _check_clashes(paths := [file.path for file in files])
        self._requests.check(wanted, deposit.id)
        target = target_of(wanted.target, paths, is_chosen=wanted.target_chosen)
        now = archive.clock.wall()
        forms, metadata = self._labels(wanted, deposit.id)
        item, describing = item_transitions.new_items(forms, metadata, wanted, target, now)
        draft = archive.draft(now)
        item = relate_new(draft, item, wanted)
        changes = [
            ItemChange(item=item, files=tuple(files), adopted=deposit.id if files else ""),
            ItemChange(item=describing),
            *archive.drafted(draft),
        ]
        act: Act = "deposit" if wanted.adoption is None else "adopt"
        archive.make(
            archive.change(
                act, who, forms.label, changes, now, detail=checked or None, deposit=deposit.id
            )
        )
        return forms.label

    def _labels(self, wanted: NewItem, deposit: str) -> tuple[Forms, Forms]:
        """Return the labels of a new item and of its metadata."""
        mint = self._archive.mint
        if wanted.adoption is not None:
            self._requests.adopting().enter(wanted.adoption)
            return wanted.adoption.forms, wanted.adoption.metadata or mint(1)[0]
        if wanted.label is not None:
            return self._requests.reserved(wanted.label, deposit), mint(1)[0]
        forms, metadata = mint(2)
        return forms, metadata

    def _revise(self, deposit: Deposit, wanted: Revision, files: Sequence[File], who: str) -> Label:
        archive = self._archive
        held = self._requests.revisable(wanted.item)
        before = {file.path: file for file in archive.files(held)}
        put = {file.path: file for file in files}
        for path in wanted.removed:
            if path not in before or path in put:
                msg = Sentence(
                    "%(path)s cannot be removed: it is not there, or comes anew.", path=shown(path)
                )
                raise ArchiveRequestError(msg)
        if not put and not wanted.removed:
            msg = Sentence("Nothing comes and nothing goes: send a file, or say what to remove.")
            raise ArchiveRequestError(msg)
        after = {path: before[path] for path in before if path not in wanted.removed} | put
        _check_clashes(after)
        now = archive.clock.wall()
        is_chosen = bool(wanted.target) or held.item.target_chosen
        target = target_of(wanted.target or _kept(held, after), after, is_chosen=is_chosen)
        item = item_transitions.revised(held.item, target, now)
        change = ItemChange(
            item=item,
            files=tuple(after[path] for path in sorted(after)),
            version=held.version,
            put=tuple(put),
            removed=wanted.removed,
        )
        detail: dict[str, object] = {"put": sorted(put), "removed": list(wanted.removed)}
        label = held.item.forms.label
        archive.make(
            archive.change("revise", who, label, [change], now, detail=detail, deposit=deposit.id)
        )
        return label


def _kept(held: StoredItem, after: Iterable[str]) -> str:
    """Return the target as it was, if it still is there."""
    return held.item.target if held.item.target in set(after) else ""


def _check_clashes(paths: Iterable[str]) -> None:
    taken = FilePaths()
    for path in sorted(paths):
        clash = taken.clash(path)
        if clash is not None:
            msg = Sentence(
                "%(path)s and %(clash)s cannot lie side by side on every system.",
                path=shown(path),
                clash=shown(clash),
            )
            raise ArchiveRequestError(msg)
        taken.add(path)
