"""The files of drafts: received in parts, replaced and removed, within the quota of their owner."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Final

from ibi.archive.archive import Archive
from ibi.archive.deposits.deposits import DAY, Deposits
from ibi.archive.drafts.drafts import Drafts
from ibi.archive.ports.drafts import DepositDraft
from ibi.archive.ports.file_store import Sink, Staged
from ibi.archive.rules.file_path import check_path

_TOUCH: Final = DAY // 24
"""Nanoseconds after which another file counts as a change of the draft."""


class DraftFiles:
    """The files of the drafts of one archive."""

    def __init__(self, archive: Archive, deposits: Deposits, drafts: Drafts) -> None:
        """Receive files of drafts by their open deposits."""
        self._deposits = deposits
        self._drafts = drafts
        self._store = archive.catalogue.drafts
        self._clock = archive.clock
        self._staging = archive.store.staging

    def receive(
        self,
        id: str,  # noqa: A002  # what it is called everywhere
        owner: str,
        path: str,
        offset: int,
    ) -> AbstractContextManager[Sink]:
        """Receive bytes of a file from an offset on; 0 replaces the file."""
        draft = self._drafts.editable(id, owner)
        return self._receiving(draft, check_path(path), offset)

    @contextmanager
    def _receiving(self, draft: DepositDraft, path: str, offset: int) -> Iterator[Sink]:
        with (
            self._drafts.quota.counting(draft.owner, draft.id, path) as counted,
            self._deposits.receive(draft.id, path, offset) as sink,
        ):
            self._drafts.editable(draft.id, draft.owner)  # it may have been submitted meanwhile
            self._touch(draft)
            yield counted(sink)

    def _touch(self, draft: DepositDraft) -> None:
        now = self._clock.wall()
        if now - draft.changed > _TOUCH:
            self._store.touch(draft.id, now)

    def staged(self, draft: DepositDraft) -> list[Staged]:
        """Return the files of a draft; none once it is published or discarded."""
        return self._deposits.staged(draft.id) if draft.is_unfinished else []

    def staged_file(self, id: str, owner: str, path: str) -> Staged:  # noqa: A002
        """Return one file of a draft."""
        return self._deposits.staged_file(self._drafts.get(id, owner).id, path)

    def open(self, draft: DepositDraft, path: str) -> int:
        """Open a file of a draft for reading; return its descriptor."""
        return self._staging.open_staged(draft.id, check_path(path))

    def remove(self, id: str, owner: str, path: str) -> None:  # noqa: A002
        """Remove a file of a draft."""
        draft = self._drafts.editable(id, owner)
        with self._drafts.quota.freeing(owner, draft.id, path):
            self._deposits.remove(draft.id, path)

    def unpack(self, id: str, owner: str, path: str, folder: str = "") -> list[str]:  # noqa: A002
        """Replace a zip or tar file of a draft by the files in it; all of them or none."""
        draft = self._drafts.editable(id, owner)
        try:
            return self._deposits.unpack(draft.id, path, folder)
        finally:
            self._drafts.quota.forget(owner)
