"""What the pages of drafts read: the form, the files, and what is left to do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ibi.archive.archive import Archive
from ibi.archive.drafts.description import RecordForm
from ibi.archive.drafts.drafts import Drafts
from ibi.archive.drafts.files import DraftFiles
from ibi.archive.ports.drafts import DepositDraft
from ibi.archive.rules.drafts import draft as rules
from ibi.archive.rules.drafts.draft import Fields
from ibi.archive.web.drafts.script import DRAFT_CHECKSUM, DRAFT_SCRIPT
from ibi.archive.web.drafts.views import SHOWN_FILES, Check, DraftView, FilesView, FormView
from ibi.errors import Sentence
from ibi.metadata.form import Place

_MOST_PATHS = 300
"""Paths in a list from which the main file is chosen."""
_DONE: Mapping[str, str] = {
    "title": Sentence("Title"),
    "creator": Sentence("Creator"),
    "year": Sentence("Year"),
    "type": Sentence("Type"),
    "publisher": Sentence("Publisher"),
}


class DraftReader:
    """Reads the drafts of one archive for their pages."""

    def __init__(
        self, archive: Archive, drafts: Drafts, files: DraftFiles, form: RecordForm, largest: int
    ) -> None:
        """Show drafts; `largest` is the size of the largest file in bytes."""
        self._archive = archive
        self._drafts = drafts
        self._files = files
        self._form = form
        self._largest = largest

    def view(
        self,
        draft: DepositDraft,
        *,
        typed: Fields | None = None,
        complete: bool = False,
        fault_text: str = "",
        doubts: Sequence[str] = (),
    ) -> DraftView:
        """Return the page of a draft.

        `typed` is what could not be saved. With `complete`, fields that are missing are faults.
        """
        saved = rules.read(draft.fields)
        fields = saved if typed is None else self._form.known(typed)
        staged = self._files.staged(draft)
        files = FilesView.of(staged, "", SHOWN_FILES)
        is_item = not rules.purpose_of(draft.purpose).item
        faults, missing = self._faults(fields) if is_item and draft.is_unfinished else ({}, {})
        checks = [*_checks(faults, missing), *_file_checks(files)] if is_item else []
        if complete:
            faults = {**{Place(name): text for name, text in missing.items()}, **faults}
        paths = [each.path for each in staged] if len(staged) <= _MOST_PATHS else []
        return DraftView(
            draft=draft,
            form=FormView(fields=fields, faults=faults, saved=None if typed is None else saved),
            files=files,
            checks=checks,
            comments=self._drafts.comments(draft),
            paths=paths,
            kept=self._kept(draft),
            most=self._largest,
            review=self._drafts.limits.review,
            fault_text=fault_text,
            doubts=doubts,
            script=DRAFT_SCRIPT,
            checksum=DRAFT_CHECKSUM,
        )

    def _faults(self, fields: Fields) -> tuple[dict[Place, str], dict[str, str]]:
        """Return the faults of single fields, and the fields without which nothing is published."""
        record, faults = self._form.reading(fields)
        faulty = {place.field for place in faults}
        missing = self._form.missing(record)
        return faults, {name: text for name, text in missing.items() if name not in faulty}

    def _kept(self, draft: DepositDraft) -> list[str]:
        """Return the first paths of the item whose files the draft changes."""
        label = rules.purpose_of(draft.purpose).item
        if not label or not draft.is_unfinished:
            return []
        held = self._archive.get(label)
        found = self._archive.catalogue.items.files(held.id, "", _MOST_PATHS)
        return [each.path for each in found]

    @staticmethod
    def with_files(view: DraftView, files: FilesView) -> DraftView:
        """Return a page of a draft with other files."""
        return replace(view, files=files)

    def files(self, draft: DepositDraft, after: str, most: int) -> FilesView:
        """Return one page of the files of a draft."""
        return FilesView.of(self._files.staged(draft), after, most)


def _checks(faults: Mapping[Place, str], missing: Mapping[str, str]) -> Iterator[Check]:
    faulty = {place.field for place in faults}
    for name, done in _DONE.items():
        if name in missing:
            yield Check(missing[name], _anchor(name, 0))
        elif name not in faulty:
            yield Check(done)
    for place, text in faults.items():
        yield Check(text, _anchor(place.field, place.number))


def _anchor(name: str, number: int) -> str:
    """Return the id of a field on the page."""
    return f"{name}-{number}"


def _file_checks(files: FilesView) -> Iterator[Check]:
    if files.unfinished:
        text = Sentence("Not all files are there yet: %(count)s", count=files.unfinished)
        yield Check(text, "files")
    elif files.count:
        yield Check(Sentence("Files: %(count)s", count=files.count))
