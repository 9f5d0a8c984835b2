"""The page of an item before it is published: what readers will see of a draft."""

from __future__ import annotations

from ibi.archive.archive import Archive
from ibi.archive.drafts.drafts import Drafts
from ibi.archive.drafts.files import DraftFiles
from ibi.archive.ports.catalogue import FileTotal
from ibi.archive.ports.drafts import DepositDraft
from ibi.archive.rules import item_transitions
from ibi.archive.rules.deposit_request import NewItem, read, target_of
from ibi.archive.web.views import FIRST_FILES, ItemView
from ibi.errors import ArchiveRequestError, Sentence
from ibi.model.item import File


class DraftPreview:
    """Makes the pages of items of drafts."""

    def __init__(self, archive: Archive, drafts: Drafts, files: DraftFiles) -> None:
        """Read the drafts of an archive."""
        self._archive = archive
        self._drafts = drafts
        self._files = files

    def view(self, draft: DepositDraft) -> ItemView:
        """Return the page; raise DescriptionError if the description has faults."""
        wanted = read(self._drafts.check(draft))
        if not isinstance(wanted, NewItem) or draft.forms is None:
            msg = Sentence("Only a new item has a preview.")
            raise ArchiveRequestError(msg)
        files = [staged.file for staged in self._files.staged(draft) if staged.file is not None]
        paths = [file.path for file in files]
        chosen = wanted.target if wanted.target in paths else ""
        target = target_of(chosen, paths, is_chosen=wanted.target_chosen)
        now = self._archive.clock.wall()
        item, _ = item_transitions.new_items(draft.forms, draft.forms, wanted, target, now)
        return ItemView(
            item=item,
            record=wanted.record,
            files=tuple(files[:FIRST_FILES]),
            file_count=0 if len(files) > FIRST_FILES else len(files),
            total=_total(files),
            formats=(),
            target=next((file for file in files if file.path == target[0]), None),
            now=now,
        )


def _total(files: list[File]) -> FileTotal | None:
    return FileTotal(len(files), sum(file.size for file in files)) if files else None
