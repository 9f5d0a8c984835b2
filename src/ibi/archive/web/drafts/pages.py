"""The pages of a person's drafts: the list, the draft, its preview, and its publication."""

from __future__ import annotations

import asyncio
import secrets
from http import HTTPStatus
from typing import Final

from starlette.responses import Response

from ibi.archive.drafts.drafts import Drafts
from ibi.archive.drafts.files import DraftFiles
from ibi.archive.item_rights import ItemRights
from ibi.archive.ports.drafts import DepositDraft, DraftState
from ibi.archive.rules.drafts.draft import Fields, purpose_of
from ibi.archive.rules.scopes import CURATE, Caller
from ibi.archive.web.api.draft_messages import cursor_of, place_of
from ibi.archive.web.drafts.preview import DraftPreview
from ibi.archive.web.drafts.reading import DraftReader
from ibi.archive.web.drafts.script import DRAFT_POLICY
from ibi.archive.web.drafts.views import LISTED_FILES, DraftListView, DraftView
from ibi.archive.web.page_response import here, page_response, preference
from ibi.archive.web.pages import Pages
from ibi.errors import (
    ArchiveRequestError,
    DescriptionError,
    DraftConflictError,
    IbiError,
    Sentence,
    StateError,
)
from ibi.foundation.accounts.site import see_other
from ibi.foundation.pages import response
from ibi.foundation.web.page_operations import PageRequest

DEPOSIT_PATH: Final = "/deposit"
_PAGE: Final = 50
_RECENT: Final = 10
"""Published drafts below the list of drafts."""
_CHANGED: Final = Sentence(
    "This draft was changed since you saw this page. Look at it again before you publish it."
)
MORE_FIELDS: Final = {
    "creator": ("creator", "orcid", "affiliation"),
    "contributor": (
        "contributor",
        "contributor-role",
        "contributor-orcid",
        "contributor-affiliation",
    ),
    "text": ("in-language", "in-title", "in-abstract", "in-words"),
    "related": ("relation", "related-scheme", "related-identifier"),
    "funder": ("funder", "funder-id", "award", "award-title"),
    "language": ("language",),
}
"""The fields of one more row, by the name of the button that asks for it."""


class DraftPages:
    """Handlers of the pages of a person's own drafts."""

    def __init__(  # noqa: PLR0913, PLR0917  # its services
        self,
        drafts: Drafts,
        files: DraftFiles,
        reader: DraftReader,
        preview: DraftPreview,
        rights: ItemRights,
        pages: Pages,
    ) -> None:
        """Show and change the drafts of an archive."""
        self._rights = rights
        self._drafts = drafts
        self._files = files
        self._reader = reader
        self._preview = preview
        self._pages = pages

    async def list_drafts(self, request: PageRequest) -> Response:
        """Answer with the list of the person's drafts."""
        owner = request.visitor.actor
        after = place_of(request.query_params.get("after", ""))
        drafts = await asyncio.to_thread(self._drafts.unfinished, owner, after, _PAGE)
        published = (
            [] if after else await asyncio.to_thread(self._drafts.published, owner, None, _RECENT)
        )
        view = DraftListView(
            drafts=drafts,
            published=published,
            key=secrets.token_hex(16),
            after=cursor_of(drafts[-1]) if len(drafts) == _PAGE else "",
            review=self._drafts.limits.review,
            is_curator=CURATE in request.visitor.scopes,
        )
        return self._page(request, "drafts.html", view)

    async def open_draft(self, request: PageRequest) -> Response:
        """Open a draft, once for each form."""
        key = request.fields.get("key")
        draft = await asyncio.to_thread(self._drafts.open, request.visitor.actor, key)
        return see_other(address_of(draft), request)

    async def show_draft(self, request: PageRequest) -> Response:
        """Answer with the page of a draft."""
        draft = await self.own(request)
        is_checked = request.query_params.get("check") == "1"
        view = await asyncio.to_thread(self._reader.view, draft, complete=is_checked)
        return self.draft_page(request, view)

    async def save_draft(self, request: PageRequest) -> Response:
        """Save what was typed, then do what the button says."""
        draft = await self.own(request)
        if not draft.is_unfinished:
            return see_other(address_of(draft), request)
        return await self.save(request, draft, tuple(request.fields))

    async def save(
        self,
        request: PageRequest,
        draft: DepositDraft,
        pairs: Fields,
        fault: IbiError | None = None,
    ) -> Response:
        """Save pairs of a form, and answer with where its button leads.

        A fault that happened before, in a file, is shown on the page.
        """
        given = dict(pairs)
        act = given.get("act", "")
        typed = (*pairs, *((name, "") for name in MORE_FIELDS.get(act.removeprefix("more-"), ())))
        try:
            saved = await self._saved(draft, given.get("version", ""), typed)
            if path := given.get("remove-file"):
                await asyncio.to_thread(self._files.remove, draft.id, draft.owner, path)
        except (DraftConflictError, ArchiveRequestError, StateError) as refused:
            return await self._refused(request, draft.id, typed, refused)
        if fault is not None:
            view = await asyncio.to_thread(self._reader.view, saved, fault_text=_message(fault))
            return self.draft_page(request, view, HTTPStatus.BAD_REQUEST)
        return see_other(_next(saved, act, given), request)

    async def _saved(self, draft: DepositDraft, version: str, typed: Fields) -> DepositDraft:
        shown = int(version) if version.isascii() and version.isdigit() and len(version) < 10 else 0  # noqa: PLR2004
        return await asyncio.to_thread(self._drafts.save, draft.id, draft.owner, shown, typed)

    async def _refused(
        self, request: PageRequest, id_: str, typed: Fields, refused: IbiError
    ) -> Response:
        """Answer with the page again: what was typed, and what is saved, if that differs."""
        owner = request.visitor.actor
        draft = await asyncio.to_thread(self._drafts.get, id_, owner)
        view = await asyncio.to_thread(
            self._reader.view, draft, typed=typed, fault_text=_message(refused)
        )
        is_conflict = isinstance(refused, StateError)
        status = HTTPStatus.CONFLICT if is_conflict else HTTPStatus.BAD_REQUEST
        return self.draft_page(request, view, status)

    async def list_files(self, request: PageRequest) -> Response:
        """Answer with a page of all files of a draft."""
        draft = await self.own(request)
        after = request.query_params.get("after", "")
        files = await asyncio.to_thread(self._reader.files, draft, after, LISTED_FILES)
        view = await asyncio.to_thread(self._reader.view, draft)
        return self._page(request, "draft_files.html", self._reader.with_files(view, files))

    async def remove_file(self, request: PageRequest) -> Response:
        """Remove a file, and answer with the list of the others."""
        draft = await self.own(request)
        path = request.fields.get("remove-file")
        await asyncio.to_thread(self._files.remove, draft.id, draft.owner, path)
        return see_other(f"{address_of(draft)}/files", request)

    async def show_preview(self, request: PageRequest) -> Response:
        """Answer with the page of the item as it will be."""
        draft = await self.own(request)
        if not draft.is_unfinished:
            return see_other(address_of(draft), request)
        try:
            view = await asyncio.to_thread(self._preview.view, draft)
        except DescriptionError:
            return see_other(f"{address_of(draft)}?check=1#checks", request)
        return self._page(request, "draft_preview.html", view)

    async def show_publication(self, request: PageRequest) -> Response:
        """Answer with what becomes permanent, before it does."""
        draft = await self.own(request)
        if not draft.is_unfinished or draft.state is DraftState.SUBMITTED:
            return see_other(address_of(draft), request)
        return await self._publication(request, draft)

    async def _publication(
        self, request: PageRequest, draft: DepositDraft, fault: str = ""
    ) -> Response:
        try:
            await asyncio.to_thread(self._drafts.check, draft)
        except DescriptionError:
            return see_other(f"{address_of(draft)}?check=1#checks", request)
        view = await asyncio.to_thread(self._reader.view, draft, fault_text=fault)
        status = HTTPStatus.CONFLICT if fault else HTTPStatus.OK
        return self._page(request, "draft_publication.html", view, status)

    async def publish_draft(self, request: PageRequest) -> Response:
        """Publish a draft, or submit it to the curators; a second click does nothing more."""
        draft = await self.own(request)
        version = request.fields.get("version")
        shown = int(version) if version.isascii() and version.isdigit() else None
        act = self._drafts.submit if self._drafts.limits.review else self._drafts.publish
        caller, purpose = Caller(draft.owner, request.visitor.scopes), purpose_of(draft.purpose)
        await asyncio.to_thread(self._rights.check_request, caller, purpose)
        try:
            await asyncio.to_thread(act, draft.id, draft.owner, shown)
        except DescriptionError:
            return see_other(f"{address_of(draft)}?check=1#checks", request)
        except DraftConflictError:
            return await self._publication(request, await self.own(request), _CHANGED)
        except (StateError, ArchiveRequestError) as refused:
            return await self._publication(request, await self.own(request), _message(refused))
        return see_other(address_of(draft), request)

    async def withdraw_draft(self, request: PageRequest) -> Response:
        """Take back a draft that was submitted."""
        draft = await self.own(request)
        await asyncio.to_thread(self._drafts.withdraw, draft.id, draft.owner)
        return see_other(address_of(draft), request)

    async def show_discard(self, request: PageRequest) -> Response:
        """Ask whether a draft is to be discarded."""
        draft = await self.own(request)
        if not draft.is_unfinished:
            return see_other(address_of(draft), request)
        view = await asyncio.to_thread(self._reader.view, draft)
        return self._page(request, "draft_discard.html", view)

    async def discard_draft(self, request: PageRequest) -> Response:
        """Discard a draft with its files."""
        draft = await self.own(request)
        await asyncio.to_thread(self._drafts.discard, draft.id, draft.owner)
        return see_other(DEPOSIT_PATH, request)

    async def own(self, request: PageRequest) -> DepositDraft:
        """Return the draft that a request names, if it is the person's own."""
        id_ = request.path_params["draft"]
        return await asyncio.to_thread(self._drafts.get, id_, request.visitor.actor)

    def draft_page(
        self, request: PageRequest, view: DraftView, status: int = HTTPStatus.OK
    ) -> Response:
        """Return the page of a draft, which may run its script."""
        page = self._pages.page("draft.html", view, preference(request), here(request))
        return response.page_response(page, status, DRAFT_POLICY)

    def _page(
        self, request: PageRequest, template: str, view: object, status: int = HTTPStatus.OK
    ) -> Response:
        page = self._pages.page(template, view, preference(request), here(request))
        return page_response(page, status)


def address_of(draft: DepositDraft) -> str:
    """Return the path of the page of a draft."""
    return f"{DEPOSIT_PATH}/{draft.id}"


_PLACES: Final = {
    "preview": "/preview",
    "publish": "/publish",
    "discard": "/discard",
    "import": "/import",
}
"""Where the buttons of the page of a draft lead, below its own path."""


def _next(draft: DepositDraft, act: str, given: dict[str, str]) -> str:
    """Return where a saved form leads by its button."""
    if act in _PLACES:
        return f"{address_of(draft)}{_PLACES[act]}"
    if "remove-file" in given or act == "upload":
        return f"{address_of(draft)}#files"
    if act.startswith("more-"):
        return f"{address_of(draft)}#{act}"
    return address_of(draft)


def _message(fault: IbiError) -> str:
    return fault.message()
