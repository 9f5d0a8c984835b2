"""Reads the beginnings of files for previews, from a disk or an object store."""

from __future__ import annotations

import asyncio
from typing import Final

from ibi.archive.archive import ItemWithMetadata
from ibi.archive.ports.catalogue import Items
from ibi.archive.ports.file_store import FileStore, OpenFile
from ibi.archive.ports.full_text import Pictures
from ibi.archive.rules.file_path import check_path
from ibi.archive.web.delivery import file_chunks
from ibi.archive.web.delivery.media_types import bare, media_type_of
from ibi.archive.web.item.excerpt import decoded, table_excerpt, text_excerpt
from ibi.archive.web.item.markdown import markdown_html
from ibi.archive.web.item.preview import Preview, preview_kind
from ibi.errors import FileNameError, StorageError, UnknownError
from ibi.model.item import File, Item, State

BEGINNING: Final = 16_384
"""Bytes that are read of a file."""
_TAB: Final = "text/tab-separated-values"


class Previews:
    """Makes previews of the files of an archive."""

    def __init__(self, items: Items, store: FileStore, pictures: Pictures) -> None:
        """Read the files of a store."""
        self._items = items
        self._store = store
        self._pictures = pictures

    def chosen(self, look: ItemWithMetadata, path: str = "") -> File | None:
        """Return the file of an item that its page shows: the named one, or the target.

        None if there is no preview of it. Files that are limited to some readers have none, and the
        list of files must be public for one that is named.
        """
        item = look.item
        if item.state is State.DELETED or item.readers or item.runs_at:
            return None
        is_allowed = item.list_public or path in {"", item.target}
        file = self._file(look, path or item.target) if is_allowed else None
        kind = preview_kind(file) if file is not None else None
        if file is not None and kind == "page" and file.sha256 not in self._made(look):
            return None
        return file if kind else None

    def _made(self, look: ItemWithMetadata) -> frozenset[str]:
        return self._pictures.made(look.held.id)

    def picture(self, look: ItemWithMetadata, path: str) -> bytes:
        """Return the picture of the first page of a PDF of an item; empty if there is none."""
        file = self.chosen(look, path)
        if file is None or preview_kind(file) != "page":
            return b""
        return self._pictures.find(look.held.id, file.sha256)

    def _file(self, look: ItemWithMetadata, path: str) -> File | None:
        try:
            return self._items.file(look.held.id, check_path(path)) if path else None
        except FileNameError:
            return None

    async def made(self, item: Item, file: File) -> Preview | None:
        """Return the preview of a file; None if it cannot be read or is not what it is called."""
        kind = preview_kind(file)
        if kind is None or kind in {"image", "audio", "video", "page"}:
            return kind and Preview(kind=kind, file=file, is_cut=kind == "page")
        try:
            beginning = await self._beginning(item, file)
        except (UnknownError, StorageError, OSError):
            return None
        return await asyncio.to_thread(_excerpt, file, beginning)

    async def _beginning(self, item: Item, file: File) -> bytes:
        opened = await self._open(item.forms.label.spelling, file.path)
        try:
            return await file_chunks.read(opened, 0, min(BEGINNING, opened.size))
        finally:
            opened.close()

    async def _open(self, place: str, path: str) -> OpenFile:
        if self._store.quick:
            return self._store.open(place, path)
        return await file_chunks.afar(self._store.open, place, path)


def _excerpt(file: File, beginning: bytes) -> Preview | None:
    is_whole = file.size <= len(beginning)
    text = decoded(beginning, is_whole=is_whole)
    if not text:
        return None
    kind = preview_kind(file)
    if kind == "table":
        separator = "\t" if bare(media_type_of(file.path, file.media_type)) == _TAB else ""
        rows, is_cut = table_excerpt(text, separator=separator, is_whole=is_whole)
        if rows:
            return Preview(kind="table", file=file, rows=rows, is_cut=is_cut)
    shown, is_cut = text_excerpt(text, is_whole=is_whole)
    html = markdown_html(shown) if kind == "markdown" else None
    if html is not None:
        return Preview(kind="markdown", file=file, html=html, is_cut=is_cut)
    return Preview(kind="text", file=file, text=shown, is_cut=is_cut)
