"""The pages of curators: what was submitted, its files, and the decision."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from http import HTTPStatus
from typing import Final
from urllib.parse import quote

from starlette.responses import Response, StreamingResponse

from ibi.archive.drafts.drafts import Drafts
from ibi.archive.drafts.files import DraftFiles
from ibi.archive.ports.drafts import DepositDraft
from ibi.archive.web.api.draft_messages import cursor_of, place_of
from ibi.archive.web.api.uploads import path_after
from ibi.archive.web.drafts.preview import DraftPreview
from ibi.archive.web.drafts.reading import DraftReader
from ibi.archive.web.drafts.views import LISTED_FILES, DraftListView, ReviewView
from ibi.archive.web.page_response import here, page_response, preference
from ibi.archive.web.pages import Pages
from ibi.errors import ArchiveError, IbiError
from ibi.foundation.accounts.site import see_other
from ibi.foundation.web.page_operations import PageRequest

CURATE_PATH: Final = "/curate"
_PAGE: Final = 50
_PIECE: Final = 1 << 20
# What a depositor sends is never run, nor shown within the site: it may be hostile.
_FILE_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "X-Content-Type-Options": "nosniff",
}


class ReviewPages:
    """Handlers of the pages of curators."""

    def __init__(
        self,
        drafts: Drafts,
        files: DraftFiles,
        reader: DraftReader,
        preview: DraftPreview,
        pages: Pages,
    ) -> None:
        """Review the drafts of an archive."""
        self._drafts = drafts
        self._files = files
        self._reader = reader
        self._preview = preview
        self._pages = pages

    async def list_submitted(self, request: PageRequest) -> Response:
        """Answer with the list of drafts that wait."""
        after = place_of(request.query_params.get("after", ""))
        drafts = await asyncio.to_thread(self._drafts.submitted, after, _PAGE)
        more = cursor_of(drafts[-1]) if len(drafts) == _PAGE else ""
        view = DraftListView(drafts=drafts, after=more, review=self._drafts.limits.review)
        return self._page(request, "curate.html", view)

    async def show_submitted(self, request: PageRequest) -> Response:
        """Answer with a draft and the form for the decision."""
        return await self._show(request, await self._submitted(request))

    async def _show(
        self, request: PageRequest, draft: DepositDraft, comment: str = "", fault: str = ""
    ) -> Response:
        view = await asyncio.to_thread(self._reader.view, draft)
        status = HTTPStatus.CONFLICT if fault else HTTPStatus.OK
        shown = ReviewView(view=view, comment=comment, fault_text=fault)
        return self._page(request, "review.html", shown, status)

    async def list_files(self, request: PageRequest) -> Response:
        """Answer with a page of all files of a draft."""
        draft = await self._submitted(request)
        view = await asyncio.to_thread(self._reader.view, draft)
        after = request.query_params.get("after", "")
        files = await asyncio.to_thread(self._reader.files, draft, after, LISTED_FILES)
        return self._page(request, "review_files.html", self._reader.with_files(view, files))

    async def show_preview(self, request: PageRequest) -> Response:
        """Answer with the page of the item as it will be."""
        draft = await self._submitted(request)
        view = await asyncio.to_thread(self._preview.view, draft)
        return self._page(request, "draft_preview.html", view)

    async def download(self, request: PageRequest) -> Response:
        """Answer with a file of a draft, always as a download."""
        draft = await self._submitted(request)
        path = path_after(request, b"/file/")
        descriptor = await asyncio.to_thread(self._files.open, draft, path)
        name = quote(path.rpartition("/")[2], safe="")
        headers = {**_FILE_HEADERS, "Content-Disposition": f"attachment; filename*=UTF-8''{name}"}
        return StreamingResponse(
            _pieces(descriptor), headers=headers, media_type="application/octet-stream"
        )

    async def return_draft(self, request: PageRequest) -> Response:
        """Return a draft with a comment."""
        draft = await self._submitted(request)
        comment = request.fields.get("comment")
        try:
            await asyncio.to_thread(
                self._drafts.send_back, draft.id, request.visitor.actor, comment
            )
        except ArchiveError as refused:
            return await self._show(request, draft, comment, _message(refused))
        return see_other(CURATE_PATH, request)

    async def approve_draft(self, request: PageRequest) -> Response:
        """Publish a draft; a second click does nothing more."""
        draft = await self._submitted(request)
        version = request.fields.get("version")
        shown = int(version) if version.isascii() and version.isdigit() else None
        try:
            await asyncio.to_thread(self._drafts.approve, draft.id, request.visitor.actor, shown)
        except ArchiveError as refused:
            return await self._show(request, await self._submitted(request), "", _message(refused))
        return see_other(CURATE_PATH, request)

    async def _submitted(self, request: PageRequest) -> DepositDraft:
        return await asyncio.to_thread(self._drafts.reviewed, request.path_params["draft"])

    def _page(
        self, request: PageRequest, template: str, view: object, status: int = HTTPStatus.OK
    ) -> Response:
        page = self._pages.page(template, view, preference(request), here(request))
        return page_response(page, status)


def _message(fault: IbiError) -> str:
    return fault.message()


def _pieces(descriptor: int) -> Iterator[bytes]:
    with os.fdopen(descriptor, "rb") as file:
        while piece := file.read(_PIECE):
            yield piece
