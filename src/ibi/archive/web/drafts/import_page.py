"""The page on which the form of a draft is filled in from a text, a file, or an item."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from http import HTTPStatus
from typing import Final

import msgspec
from starlette.responses import Response

from ibi.archive.drafts.description import BASE
from ibi.archive.drafts.drafts import Drafts
from ibi.archive.ports.drafts import DepositDraft
from ibi.archive.rules.drafts import draft as rules
from ibi.archive.rules.drafts.draft import Fields
from ibi.archive.web.drafts.multipart import MultipartDecoder, PartBegin, PartData
from ibi.archive.web.drafts.pages import DraftPages
from ibi.archive.web.drafts.reading import DraftReader
from ibi.archive.web.drafts.views import ImportView
from ibi.archive.web.page_response import here, page_response, preference
from ibi.archive.web.pages import Pages
from ibi.errors import IbiError, MetadataError, Sentence
from ibi.foundation.web.page_operations import PageRequest
from ibi.identifier.label import Label, parse
from ibi.metadata.form import FIELDS, form_from_record
from ibi.metadata.json_record import record_as_dict
from ibi.metadata.readers.formats import read_metadata
from ibi.metadata.readers.reading import LARGEST_FILE, Reading
from ibi.model.metadata_record import MetadataRecord

LARGEST_IMPORT: Final = 4 * LARGEST_FILE
"""Bytes of the largest form with a text to read: most of its letters may be escaped."""
_TOO_LARGE: Final = Sentence("The file is larger than any description.")


class ImportPage:
    """Handlers of the page."""

    def __init__(
        self,
        drafts: Drafts,
        of_item: Callable[[Label], Reading],
        reader: DraftReader,
        own: DraftPages,
        pages: Pages,
    ) -> None:
        """Fill in drafts from texts and files, and from items by `of_item`."""
        self._drafts = drafts
        self._of_item = of_item
        self._reader = reader
        self._own = own
        self._pages = pages

    async def show_import(self, request: PageRequest) -> Response:
        """Answer with the form."""
        return self._page(request, ImportView(draft=await self._own.own(request)))

    async def import_text(self, request: PageRequest) -> Response:
        """Fill in the draft from a text, or from an item that a label names."""
        text, label = request.fields.get("text"), request.fields.get("label").strip()
        return await self._fill(request, text.encode(), label)

    async def import_file(self, request: PageRequest) -> Response:
        """Fill in the draft from a file."""
        decoder = MultipartDecoder(request.headers.get("content-type", ""))
        content, is_file = bytearray(), False
        async for chunk in request.stream():
            for event in decoder.feed(chunk):
                match event:
                    case PartBegin(name, filename):
                        is_file = name == "file" and filename is not None
                    case PartData(data) if is_file and len(content) <= LARGEST_FILE:
                        content += data
        decoder.close()
        return await self._fill(request, bytes(content), "")

    async def _fill(self, request: PageRequest, content: bytes, label: str) -> Response:
        draft = await self._own.own(request)
        try:
            reading = await asyncio.to_thread(self._reading, content, label)
            saved = await asyncio.to_thread(self._save, draft, reading.record)
        except IbiError as fault:
            text = content[:LARGEST_FILE].decode("utf-8", "replace")
            asked = ImportView(draft=draft, text=text, label=label, fault_text=fault.message())
            return self._page(request, asked, HTTPStatus.BAD_REQUEST)
        view = await asyncio.to_thread(self._reader.view, saved, doubts=reading.doubts)
        return self._own.draft_page(request, view)

    def _reading(self, content: bytes, label: str) -> Reading:
        if len(content) > LARGEST_FILE:
            raise MetadataError(_TOO_LARGE)
        if not label:
            return read_metadata(content)
        return self._of_item(parse(label))

    def _save(self, draft: DepositDraft, record: MetadataRecord) -> DepositDraft:
        fields = filled(rules.read(draft.fields), record)
        return self._drafts.save(draft.id, draft.owner, draft.version, fields)

    def _page(
        self, request: PageRequest, view: ImportView, status: int = HTTPStatus.OK
    ) -> Response:
        page = self._pages.page("draft_import.html", view, preference(request), here(request))
        return page_response(page, status)


def filled(fields: Fields, record: MetadataRecord) -> Fields:
    """Return fields with the description of a record instead of their own."""
    others = tuple(pair for pair in fields if pair[0] not in FIELDS and pair[0] != BASE)
    base = msgspec.json.encode(record_as_dict(record)).decode()
    return (*form_from_record(record), *others, (BASE, base))
