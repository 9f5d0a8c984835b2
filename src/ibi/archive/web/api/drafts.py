"""The API of an archive: drafts of deposits, their files, and their review."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Final

from starlette.responses import Response

from ibi.archive.archive import ItemWithMetadata
from ibi.archive.drafts.drafts import Drafts
from ibi.archive.drafts.files import DraftFiles
from ibi.archive.item_rights import ItemRights
from ibi.archive.ports.drafts import DepositDraft
from ibi.archive.rules.drafts.draft import LARGEST_FIELDS, owner_of, purpose_of
from ibi.archive.rules.scopes import CURATE, DEPOSIT, Caller
from ibi.archive.web.api import messages, uploads
from ibi.archive.web.api import responses as answers
from ibi.archive.web.api.draft_messages import (
    DraftActRequest,
    DraftAnswer,
    DraftFilesAnswer,
    DraftRequest,
    DraftsAnswer,
    NewDraftRequest,
    ReturnRequest,
    draft_answer,
    drafts_answer,
    place_of,
)
from ibi.archive.web.urls import ArchiveUrls
from ibi.foundation.web.json_response import json_answer
from ibi.foundation.web.openapi import PAGE, parameter
from ibi.foundation.web.operations import AuthorizedRequest, Body, Further, Media, Operation
from ibi.foundation.web.request_body import number_of

_MAX_PAGE: Final = 1000
_SHOWN: Final = 100
"""Files in the answer to a publication."""


class DraftsApi:
    """Handlers of the operations on the caller's own drafts."""

    def __init__(self, drafts: Drafts, rights: ItemRights, urls: ArchiveUrls) -> None:
        """Act on the drafts of an archive."""
        self._drafts = drafts
        self._rights = rights
        self._urls = urls

    async def list_drafts(self, request: AuthorizedRequest) -> Response:
        """List the caller's unfinished drafts."""
        limit = number_of(request.query_params.get("limit", "100"), 1, _MAX_PAGE)
        after = place_of(request.query_params.get("after", ""))
        owner = owner_of(request.caller)
        found = await asyncio.to_thread(self._drafts.unfinished, owner, after, limit)
        return json_answer(drafts_answer(found, limit))

    async def open_draft(self, request: AuthorizedRequest) -> Response:
        """Open a draft."""
        wanted = await request.read(NewDraftRequest)
        draft = await asyncio.to_thread(self._open, wanted, Caller(request.caller, request.granted))
        location = {"Location": f"{self._urls.base}/api/v1/drafts/{draft.id}"}
        return json_answer(draft_answer(draft), HTTPStatus.CREATED, location)

    def _open(self, wanted: NewDraftRequest, caller: Caller) -> DepositDraft:
        self._rights.check_request(caller, wanted.purpose)
        return self._drafts.open(owner_of(caller.name), wanted.key, wanted.purpose, wanted.fields)

    async def show_draft(self, request: AuthorizedRequest) -> Response:
        """Show a draft with its fields and comments."""
        draft = await asyncio.to_thread(self._drafts.get, *_named(request))
        comments = await asyncio.to_thread(self._drafts.comments, draft)
        return json_answer(draft_answer(draft, comments))

    async def save_draft(self, request: AuthorizedRequest) -> Response:
        """Replace the fields of a draft."""
        wanted = await request.read(DraftRequest)
        draft = await asyncio.to_thread(
            self._drafts.save, *_named(request), wanted.version, wanted.fields
        )
        return json_answer(draft_answer(draft))

    async def discard_draft(self, request: AuthorizedRequest) -> Response:
        """Discard a draft with its files."""
        await asyncio.to_thread(self._drafts.discard, *_named(request))
        return Response(status_code=HTTPStatus.NO_CONTENT)

    async def submit_draft(self, request: AuthorizedRequest) -> Response:
        """Submit a draft for review."""
        wanted = await request.read(DraftActRequest)
        draft = await asyncio.to_thread(self._drafts.submit, *_named(request), wanted.version)
        return json_answer(draft_answer(draft))

    async def withdraw_draft(self, request: AuthorizedRequest) -> Response:
        """Take back a draft that was submitted."""
        return json_answer(
            draft_answer(await asyncio.to_thread(self._drafts.withdraw, *_named(request)))
        )

    async def publish_draft(self, request: AuthorizedRequest) -> Response:
        """Publish a draft."""
        wanted = await request.read(DraftActRequest)
        draft = await asyncio.to_thread(self._drafts.get, *_named(request))
        purpose = purpose_of(draft.purpose)
        await asyncio.to_thread(
            self._rights.check_request, Caller(request.caller, request.granted), purpose
        )
        look = await asyncio.to_thread(self._drafts.publish, *_named(request), wanted.version)
        return json_answer(await asyncio.to_thread(published_answer, self._urls, look))


def published_answer(urls: ArchiveUrls, look: ItemWithMetadata) -> messages.ItemAnswer:
    """Return the item that a draft has become, with its first files."""
    files = urls.items.files(look.held.id, "", _SHOWN)
    return answers.item_answer(look, urls.persistent, urls.of(look.item), files)


def _named(request: AuthorizedRequest) -> tuple[str, str]:
    """Return the id of the draft that a request names, and the caller as its owner."""
    return request.path_params["id"], owner_of(request.caller)


class DraftFilesApi:
    """Handlers of the operations on the files of the caller's own drafts."""

    def __init__(self, drafts: Drafts, files: DraftFiles, largest_file: int) -> None:
        """Accept files up to a size in bytes."""
        self._drafts = drafts
        self._files = files
        self._largest = largest_file

    async def list_draft_files(self, request: AuthorizedRequest) -> Response:
        """List the files of a draft."""
        limit = number_of(request.query_params.get("limit", "100"), 1, _MAX_PAGE)
        after = request.query_params.get("after", "")
        draft = await asyncio.to_thread(self._drafts.get, *_named(request))
        return json_answer(await asyncio.to_thread(files_answer, self._files, draft, after, limit))

    async def receive_draft_file(self, request: AuthorizedRequest) -> Response:
        """Receive a file, or the rest of one."""
        path, offset = uploads.path_after(request, b"/files/"), uploads.offset_of(request)
        reception = await asyncio.to_thread(self._files.receive, *_named(request), path, offset)
        file = await uploads.receive(request, reception, offset, self._largest)
        if file is None:
            return await self._state_of(request, path)
        headers = {"Upload-Offset": str(file.size), "Upload-Complete": "?1"}
        return json_answer(answers.file_answer(file), HTTPStatus.CREATED, headers)

    async def show_draft_file(self, request: AuthorizedRequest) -> Response:
        """Show how many bytes of a file were received, to continue from there."""
        return await self._state_of(request, uploads.path_after(request, b"/files/"))

    async def _state_of(self, request: AuthorizedRequest, path: str) -> Response:
        staged = await asyncio.to_thread(self._files.staged_file, *_named(request), path)
        answer = answers.staged_answer(staged)
        complete = "?1" if answer.whole else "?0"
        headers = {"Upload-Offset": str(staged.size), "Upload-Complete": complete}
        return json_answer(answer, headers=headers)

    async def remove_draft_file(self, request: AuthorizedRequest) -> Response:
        """Remove a received file."""
        path = uploads.path_after(request, b"/files/")
        await asyncio.to_thread(self._files.remove, *_named(request), path)
        return Response(status_code=HTTPStatus.NO_CONTENT)

    async def unpack_draft_file(self, request: AuthorizedRequest) -> Response:
        """Unpack a zip or tar file."""
        wanted = await request.read(messages.UnpackRequest)
        files = await asyncio.to_thread(
            self._files.unpack, *_named(request), wanted.path, wanted.folder
        )
        return json_answer(messages.UnpackAnswer(files))


def files_answer(
    files: DraftFiles, draft: DepositDraft, after: str, limit: int
) -> DraftFilesAnswer:
    """Return a page of the files of a draft."""
    staged = files.staged(draft)
    page = [each for each in staged if each.path > after][:limit]
    return DraftFilesAnswer(
        [answers.staged_answer(each) for each in page],
        len(staged),
        sum(each.size for each in staged),
        page[-1].path if len(page) == limit else "",
    )


class ReviewApi:
    """Handlers of the operations of curators on submitted drafts."""

    def __init__(self, drafts: Drafts, files: DraftFiles, urls: ArchiveUrls) -> None:
        """Act on the drafts of an archive."""
        self._drafts = drafts
        self._files = files
        self._urls = urls

    async def list_submitted(self, request: AuthorizedRequest) -> Response:
        """List the drafts that wait for a curator."""
        limit = number_of(request.query_params.get("limit", "100"), 1, _MAX_PAGE)
        after = place_of(request.query_params.get("after", ""))
        found = await asyncio.to_thread(self._drafts.submitted, after, limit)
        return json_answer(drafts_answer(found, limit))

    async def show_submitted(self, request: AuthorizedRequest) -> Response:
        """Show a submitted draft with its fields and comments."""
        draft = await asyncio.to_thread(self._drafts.reviewed, request.path_params["id"])
        comments = await asyncio.to_thread(self._drafts.comments, draft)
        return json_answer(draft_answer(draft, comments))

    async def list_submitted_files(self, request: AuthorizedRequest) -> Response:
        """List the files of a submitted draft."""
        limit = number_of(request.query_params.get("limit", "100"), 1, _MAX_PAGE)
        after = request.query_params.get("after", "")
        draft = await asyncio.to_thread(self._drafts.reviewed, request.path_params["id"])
        return json_answer(await asyncio.to_thread(files_answer, self._files, draft, after, limit))

    async def return_draft(self, request: AuthorizedRequest) -> Response:
        """Return a draft to its owner with a comment."""
        wanted = await request.read(ReturnRequest)
        draft = await asyncio.to_thread(
            self._drafts.send_back, request.path_params["id"], request.caller, wanted.comment
        )
        return json_answer(draft_answer(draft))

    async def approve_draft(self, request: AuthorizedRequest) -> Response:
        """Publish a draft that was submitted."""
        wanted = await request.read(DraftActRequest)
        look = await asyncio.to_thread(
            self._drafts.approve, request.path_params["id"], request.caller, wanted.version
        )
        return json_answer(await asyncio.to_thread(published_answer, self._urls, look))


_DRAFT: Final = parameter("id", "The id of a draft")
_FILE: Final = parameter("path", "The path of a file, with slashes between folders")
_FILE_BODY: Final = Body(Media({"application/octet-stream": {}}), required=None)
_LARGEST: Final = 2 * LARGEST_FIELDS
_OPTIONAL_ACT: Final = Body(DraftActRequest, required=False)
# fmt: off
DRAFT_OPERATIONS: Final = (
    Operation("GET", "/api/v1/drafts", DEPOSIT, DraftsApi.list_drafts,
        "List your drafts, those that changed last first",
        answer=DraftsAnswer, parameters=PAGE),
    Operation("POST", "/api/v1/drafts", DEPOSIT, DraftsApi.open_draft,
        "Open a draft under a reserved label",
        request=Body(NewDraftRequest, largest=_LARGEST, required=False), answer=DraftAnswer,
        status=201, problems=(404, 409, 410, 413, 507)),
    Operation("GET", "/api/v1/drafts/{id}", DEPOSIT, DraftsApi.show_draft,
        "Show one of your drafts",
        answer=DraftAnswer, problems=(404,), parameters=(_DRAFT,)),
    Operation("PUT", "/api/v1/drafts/{id}", DEPOSIT, DraftsApi.save_draft,
        "Replace the fields of a draft, if nobody changed them since they were shown",
        request=Body(DraftRequest, largest=_LARGEST), answer=DraftAnswer,
        problems=(404, 409, 413, 507), parameters=(_DRAFT,)),
    Operation("DELETE", "/api/v1/drafts/{id}", DEPOSIT, DraftsApi.discard_draft,
        "Discard a draft with its files",
        status=204, problems=(404, 409, 507), parameters=(_DRAFT,)),
    Operation("POST", "/api/v1/drafts/{id}/submission", DEPOSIT, DraftsApi.submit_draft,
        "Submit a draft to the curators",
        request=_OPTIONAL_ACT, answer=DraftAnswer, problems=(404, 409, 413, 507),
        parameters=(_DRAFT,)),
    Operation("DELETE", "/api/v1/drafts/{id}/submission", DEPOSIT, DraftsApi.withdraw_draft,
        "Take back a draft that was submitted",
        answer=DraftAnswer, problems=(404, 409, 507), parameters=(_DRAFT,)),
    Operation("POST", "/api/v1/drafts/{id}/publication", DEPOSIT, DraftsApi.publish_draft,
        "Publish a draft: create the item, or return the one created before",
        request=_OPTIONAL_ACT, answer=messages.ItemAnswer,
        problems=(404, 409, 410, 413, 507), parameters=(_DRAFT,)),
    Operation("GET", "/api/v1/drafts/{id}/files", DEPOSIT, DraftFilesApi.list_draft_files,
        "List the files of a draft, received so far or whole",
        answer=DraftFilesAnswer, problems=(404,), parameters=(_DRAFT, *PAGE)),
    Operation("PUT", "/api/v1/drafts/{id}/files/{path:path}", DEPOSIT,
        DraftFilesApi.receive_draft_file,
        "Upload a file of a draft, or its beginning",
        request=_FILE_BODY, answer=messages.FileAnswer, status=201,
        further={200: Further("What was received so far", messages.StagedAnswer)},
        problems=(404, 409, 413, 422, 507), parameters=(_DRAFT, _FILE, *uploads.UPLOAD)),
    Operation("PATCH", "/api/v1/drafts/{id}/files/{path:path}", DEPOSIT,
        DraftFilesApi.receive_draft_file,
        "Upload the rest of a file of a draft, from Upload-Offset on",
        request=_FILE_BODY, answer=messages.FileAnswer, status=201,
        further={200: Further("What was received so far", messages.StagedAnswer)},
        problems=(404, 409, 413, 422, 507),
        parameters=(_DRAFT, _FILE, *uploads.UPLOAD, uploads.OFFSET)),
    Operation("GET", "/api/v1/drafts/{id}/files/{path:path}", DEPOSIT,
        DraftFilesApi.show_draft_file,
        "Show how much of a file of a draft was received",
        answer=messages.StagedAnswer, problems=(404, 409), parameters=(_DRAFT, _FILE)),
    Operation("DELETE", "/api/v1/drafts/{id}/files/{path:path}", DEPOSIT,
        DraftFilesApi.remove_draft_file,
        "Remove a file from a draft",
        status=204, problems=(404, 409), parameters=(_DRAFT, _FILE)),
    Operation("POST", "/api/v1/drafts/{id}/unpacking", DEPOSIT, DraftFilesApi.unpack_draft_file,
        "Replace a zip or tar file of a draft by the files in it",
        request=messages.UnpackRequest, answer=messages.UnpackAnswer,
        problems=(404, 409, 413, 507), parameters=(_DRAFT,)),
    Operation("GET", "/api/v1/review", CURATE, ReviewApi.list_submitted,
        "List the drafts that wait for a curator",
        answer=DraftsAnswer, parameters=PAGE),
    Operation("GET", "/api/v1/review/{id}", CURATE, ReviewApi.show_submitted,
        "Show a draft that was submitted",
        answer=DraftAnswer, problems=(404,), parameters=(_DRAFT,)),
    Operation("GET", "/api/v1/review/{id}/files", CURATE, ReviewApi.list_submitted_files,
        "List the files of a draft that was submitted",
        answer=DraftFilesAnswer, problems=(404,), parameters=(_DRAFT, *PAGE)),
    Operation("POST", "/api/v1/review/{id}/return", CURATE, ReviewApi.return_draft,
        "Return a draft to its depositor, with a comment",
        request=ReturnRequest, answer=DraftAnswer, problems=(404, 409, 413, 507),
        parameters=(_DRAFT,)),
    Operation("POST", "/api/v1/review/{id}/publication", CURATE, ReviewApi.approve_draft,
        "Publish a draft that was submitted",
        request=_OPTIONAL_ACT, answer=messages.ItemAnswer,
        problems=(404, 409, 410, 413, 507), parameters=(_DRAFT,)),
)
# fmt: on
"""The operations on drafts, a part of the table of the archive."""
