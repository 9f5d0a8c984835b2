"""Twins: archives with one safeguard switched off, whose violations the suite must find.

A missing sync cannot be shown by a kill, as written bytes stay in the kernel's memory.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import Any, Final

import msgspec

from ibi.archive.archive import Archive, ItemWithMetadata
from ibi.archive.drafts.drafts import Drafts
from ibi.archive.ports.drafts import DepositDraft
from ibi.archive.ports.maintenance import TransferRecord
from ibi.archive.rules import transfer
from ibi.archive.rules.transfer_messages import TransferReply
from ibi.archive.storage.catalogue.drafts import SqlDrafts
from ibi.archive.storage.files.folder_store import FolderStore
from ibi.archive.transfers.sender import TransferSender
from ibi.errors import ArchiveUnreachableError
from ibi.model.change import Change
from ibi.model.item import Item

NO_JOURNAL, HASTY, IN_PLACE, UNHEALED = "no journal", "hasty", "in place", "unhealed"
POWERED, CARELESS = "powered", "careless"
SELFISH, FORGETFUL = "selfish", "forgetful"
IN_MEMORY, TWICE = "in memory", "twice"

_HALF: Final = 0.02
"""Seconds for which a file written in place is incomplete."""


def _no_journal() -> None:
    """Carry out changes without an entry in the journal."""
    decide = FolderStore.decide

    def undecided(self: FolderStore, change: Change) -> None:
        carry_out = self._carry_out  # the safeguard stands before it

        def forgotten(line: Any) -> None:  # noqa: ANN401  # its line of the journal
            (self._journal / f"{change.id}.json").unlink()
            carry_out(line)

        self._carry_out = forgotten  # type: ignore[method-assign]
        try:
            decide(self, change)
        finally:
            self._carry_out = carry_out  # type: ignore[method-assign]

    FolderStore.decide = undecided  # type: ignore[method-assign]


def _hasty() -> None:
    """Acknowledge a change or deletion, and carry it out later."""
    make = Archive.make

    def later(self: Archive, change: Change) -> None:
        if change.act in {"deposit", "revise", "found"}:
            make(self, change)
            return

        def work() -> None:
            time.sleep(_HALF)
            make(self, change)

        Thread(target=work, daemon=True).start()

    Archive.make = later  # type: ignore[method-assign]


def _in_place() -> None:
    """Overwrite files in place."""

    def put(self: FolderStore, change: Any, folder: Path, path: str) -> None:  # noqa: ANN401  # as there
        source, target = self.staging.files_of(change.deposit) / path, folder / "doc" / path
        if not source.exists():
            return
        if target.exists():
            kept = folder / "old" / change.id / path
            kept.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(target, kept)
        target.parent.mkdir(parents=True, exist_ok=True)
        content = source.read_bytes()
        with target.open("wb") as file:
            file.write(content[: len(content) // 2])
            file.flush()
            time.sleep(_HALF)
            file.write(content[len(content) // 2 :])
        shutil.copystat(source, target)
        source.unlink()

    FolderStore._put = put  # type: ignore[method-assign]  # noqa: SLF001  # the safeguard is in it


def _unhealed() -> None:
    """Do not finish the journal after a failure."""
    settle = Archive.settle

    def once(self: Archive) -> None:
        if not hasattr(self, "_was_settled"):
            settle(self)
            self._was_settled = True  # type: ignore[attr-defined]

    Archive.settle = once  # type: ignore[method-assign]


def _selfish() -> None:
    """Take back an Original that was handed over if the receiver does not answer."""
    say = TransferSender.say

    def alone(self: TransferSender, exchange: TransferRecord, *, undo: bool) -> TransferReply:
        try:
            return say(self, exchange, undo=undo)
        except ArchiveUnreachableError:
            item = self._pair(exchange).item  # the safeguard is about it
            known = None if item is None else item.transfer
            if known is None or known.phase != "handed":
                raise
            return TransferReply(state="undone", receipt=known.receipt)

    TransferSender.say = alone  # type: ignore[method-assign]


def _forgetful() -> None:
    """Accept an Original without recording the transfer."""
    accepted = transfer.accepted

    def forgotten(item: Item, id_: str) -> Item:
        return replace(accepted(item, id_), custody=())

    transfer.accepted = forgotten


def _in_memory() -> None:
    """Keep what is saved of drafts in memory, until they are published."""
    saved: dict[str, tuple[str, int]] = {}
    get = SqlDrafts.get

    def remember(*arguments: Any) -> bool:  # noqa: ANN401  # as there
        _, id_, version, fields, *_ = arguments
        saved[id_] = (fields, version + 1)
        return True

    def remembered(self: SqlDrafts, id_: str) -> DepositDraft | None:
        found = get(self, id_)
        if found is None or id_ not in saved:
            return found
        fields, version = saved[id_]
        return replace(found, fields=fields, version=version)

    SqlDrafts.save = remember  # type: ignore[assignment,method-assign]
    SqlDrafts.get = remembered  # type: ignore[assignment,method-assign]


def _twice() -> None:
    """Publish a draft that is published as another item."""
    publish = Drafts._publish  # noqa: SLF001  # the safeguard is in it

    def again(self: Drafts, draft: DepositDraft, who: str, version: int | None) -> ItemWithMetadata:
        if not draft.item:
            return publish(self, draft, who, version)
        request = msgspec.structs.replace(self.check(draft), label="", target="")
        deposits = self._deposits
        return deposits.complete(deposits.open(request, who).id, who)

    Drafts._publish = again  # type: ignore[method-assign]  # noqa: SLF001


TWINS: Final[dict[str, Callable[[], None]]] = {
    NO_JOURNAL: _no_journal,
    HASTY: _hasty,
    IN_PLACE: _in_place,
    UNHEALED: _unhealed,
    SELFISH: _selfish,
    FORGETFUL: _forgetful,
    IN_MEMORY: _in_memory,
    TWICE: _twice,
}
