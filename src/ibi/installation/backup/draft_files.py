"""The complete files of open drafts in a backup, in `drafts/<id>/files` and `drafts/<id>/facts`.

They are copied before the catalogue is read. So a draft that is published meanwhile is an item in
the backup, and a file that comes meanwhile is in the next one. Of a file that has not come whole
nothing is backed up: its depositor sends it again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from ibi.archive.rules.drafts.draft import is_draft
from ibi.foundation.system.disk import disk_errors
from ibi.installation.backup.files import BackupTree
from ibi.installation.backup.record import digest_of, read_sums
from ibi.installation.backup.tables import read_rows
from ibi.model.item import File

DRAFTS: Final = "drafts"
_CATALOGUE: Final = "catalogue"
_FACTS: Final = "facts"
_FILES: Final = "files"


def back_up_drafts(incoming: Path, tree: BackupTree) -> None:
    """Copy the complete files of all drafts in a staging folder."""
    with disk_errors(str(incoming)):
        drafts = sorted(incoming.iterdir()) if incoming.exists() else []
    for draft in drafts:
        if is_draft(draft.name):
            for file in _complete(draft):
                _copy(draft, file, tree)


def _complete(draft: Path) -> Iterator[File]:
    """Yield the descriptions of the complete files of a draft."""
    folder = draft / _FACTS
    with disk_errors(str(folder)):
        for path in sorted(folder.glob("*.json")) if folder.exists() else ():
            with suppress(FileNotFoundError, msgspec.DecodeError):  # it is removed meanwhile
                yield msgspec.json.decode(path.read_bytes(), type=File)


def _copy(draft: Path, file: File, tree: BackupTree) -> None:
    key = f"{DRAFTS}/{draft.name}/{_FILES}/{file.path}"
    try:
        opened = (draft / _FILES / file.path).open("rb")
    except FileNotFoundError:
        return  # it was removed or published meanwhile
    with opened:
        pieces = iter(partial(opened.read, 1 << 20), b"")
        is_whole = tree.find(key, file) or tree.write(key, pieces, file)
    if is_whole:
        tree.write_text(_facts_key(draft.name, file.path), msgspec.json.encode(file))


def _facts_key(draft: str, path: str) -> str:
    name = hashlib.sha256(path.encode()).hexdigest()[:40]
    return f"{DRAFTS}/{draft}/{_FACTS}/{name}.json"


def drop_published(tree: BackupTree, tables: Path) -> None:
    """Remove the files of drafts that the catalogue of the backup has not as open ones."""
    open_drafts = _open_in(tables)
    root = tree.root / DRAFTS
    for draft in sorted(root.iterdir()) if root.exists() else ():
        if draft.name not in open_drafts:
            tree.keep_only(f"{DRAFTS}/{draft.name}", ())


def _open_in(tables: Path) -> set[str]:
    rows = read_rows(tables, "archive_deposit")
    return {row["id"] for row in rows if is_draft(row["id"]) and not row["completed"]}


def draft_files_in(tree: BackupTree) -> Iterator[tuple[str, str]]:
    """Yield the keys of the files of drafts in a backup, and their checksums, in order."""
    root = tree.root / DRAFTS
    for path in sorted(root.rglob("*")) if root.exists() else ():
        if path.is_file():
            yield path.relative_to(tree.root).as_posix(), digest_of(path)


class DraftFileKeys:
    """Tells which keys are those of files of open drafts of a backup."""

    def __init__(self, tables: Path) -> None:
        """Read the open drafts in the tables of a catalogue, when they are needed."""
        self._tables = tables
        self._open: set[str] | None = None

    def has(self, key: str) -> bool:
        """Return whether a key is that of a file of an open draft."""
        first, _, rest = key.partition("/")
        draft, _, place = rest.partition("/")
        if first != DRAFTS or place.partition("/")[0] not in {_FILES, _FACTS}:
            return False
        if self._open is None:
            self._open = _open_in(self._tables)
        return draft in self._open


def restore_drafts(source: BackupTree, target: BackupTree) -> Iterator[str]:
    """Copy the files of open drafts to where they are received; yield keys of damaged ones."""
    drafts = DraftFileKeys(source.root / _CATALOGUE)
    for name, digest in read_sums(source.root.parent):
        key = name.removeprefix(f"{source.root.name}/")
        if not drafts.has(key):
            continue
        place = f"incoming/{key.removeprefix(f'{DRAFTS}/')}"
        try:
            pieces = source.pieces(key)
        except FileNotFoundError:
            yield key
            continue
        file = File(key, 0, digest, "", source.path(key).stat().st_mtime_ns)
        if not target.write(place, pieces, file):
            yield key
    target.sync()
