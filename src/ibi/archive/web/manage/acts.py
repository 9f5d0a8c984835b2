"""Acts on an item, each after a page that says what will happen and what cannot be undone."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Final

from starlette.exceptions import HTTPException
from starlette.responses import Response

from ibi.archive.archive import Archive, ItemWithMetadata
from ibi.archive.collections import Collections
from ibi.archive.drafts.drafts import Drafts
from ibi.archive.ports.catalogue import HistoryChoice
from ibi.archive.ports.drafts import DepositDraft
from ibi.archive.rules.amendment import Amendment
from ibi.archive.rules.drafts.draft import DraftPurpose, Fields
from ibi.archive.rules.scopes import ADMINISTER, CURATE
from ibi.archive.tasks import Tasks
from ibi.archive.transfers.transfers import Transfers
from ibi.archive.web.api.uploads import path_after
from ibi.archive.web.drafts.import_page import filled
from ibi.archive.web.drafts.pages import address_of
from ibi.archive.web.manage.access import ItemAccess
from ibi.archive.web.manage.views import ActView, ManagedItemView
from ibi.archive.web.page_response import here, page_response, preference
from ibi.archive.web.pages import Pages
from ibi.errors import IbiError, RoleError
from ibi.foundation.accounts.site import see_other
from ibi.foundation.web.page_operations import PageRequest
from ibi.identifier.label import parse

ITEM_PATH: Final = "/deposit/item/"
ACT_PATH: Final = "/deposit/act/"
_HISTORY: Final = 100
"""Lines of the history on the page of an item."""
_DRAFTS: Final = frozenset({"edition", "translation", "files"})
"""Acts that open a draft."""
_SCOPES: Final = {"delete": CURATE, "transfer": ADMINISTER}
"""Acts that need a further scope, as in the API."""
_LANGUAGES: Final = frozenset({"language", "title-language"})


class ItemActs:
    """Handlers of the pages of acts on an item."""

    def __init__(  # noqa: PLR0913, PLR0917  # the services that act
        self,
        archive: Archive,
        access: ItemAccess,
        drafts: Drafts,
        transfers: Transfers,
        tasks: Tasks,
        pages: Pages,
    ) -> None:
        """Act on the items of an archive."""
        self._archive = archive
        self._access = access
        self._drafts = drafts
        self._transfers = transfers
        self._tasks = tasks
        self._collections = Collections(archive)
        self._pages = pages
        self._acts: Mapping[str, Callable[[ItemWithMetadata, PageRequest], None]] = {
            "collection": self._collect,
            "readers": self._limit,
            "delete": self._delete,
            "transfer": self._transfer,
        }

    async def show_item(self, request: PageRequest) -> Response:
        """Answer with the acts that the person may do on an item, and its history."""
        look = await self._look(request, b"/deposit/item/")
        choice = HistoryChoice(label=look.item.forms.label.canonical)
        entries = self._archive.catalogue.history.entries
        lines = await asyncio.to_thread(entries, 0, _HISTORY, choice, newest_first=True)
        view = ManagedItemView(
            look=look,
            history=lines,
            can_administer=ADMINISTER in request.visitor.scopes,
            can_curate=CURATE in request.visitor.scopes,
        )
        return self._page(request, "managed_item.html", view)

    async def ask(self, request: PageRequest) -> Response:
        """Answer with what an act will do."""
        act = _act_of(request)
        look = await self._look(request, _marker(act))
        typed = {"readers": "\n".join(look.item.readers)}
        view = ActView(act=act, look=look, key=secrets.token_hex(16), typed=typed)
        return self._page(request, "item_act.html", view)

    async def do(self, request: PageRequest) -> Response:
        """Do an act."""
        act = _act_of(request)
        look = await self._look(request, _marker(act))
        try:
            if act in _DRAFTS:
                draft = await asyncio.to_thread(self._begin, act, look, request)
                return see_other(address_of(draft), request)
            await asyncio.to_thread(self._acts[act], look, request)
        except RoleError:
            raise
        except IbiError as refused:
            key = request.fields.get("key")
            typed = dict(request.fields)
            view = ActView(act=act, look=look, key=key, typed=typed, fault_text=refused.message())
            return self._page(request, "item_act.html", view, HTTPStatus.CONFLICT)
        return see_other(f"{ITEM_PATH}{look.item.forms.short.spelling}", request)

    async def _look(self, request: PageRequest, marker: bytes) -> ItemWithMetadata:
        label = parse(path_after(request, marker))
        return await asyncio.to_thread(self._access.get, label, request.visitor)

    def _begin(self, act: str, look: ItemWithMetadata, request: PageRequest) -> DepositDraft:
        label = str(look.item.forms.label)
        purpose = DraftPurpose(
            edition_of=label if act == "edition" else "",
            translation_of=label if act == "translation" else "",
            item=label if act == "files" else "",
        )
        fields: Fields = ()
        if look.record is not None and act != "files":
            fields = filled((), look.record)
        if act == "translation":
            fields = tuple(pair for pair in fields if pair[0] not in _LANGUAGES)
        return self._drafts.open(request.visitor.actor, request.fields.get("key"), purpose, fields)

    def _collect(self, look: ItemWithMetadata, request: PageRequest) -> None:
        """Add the item to a collection, or remove it from one."""
        label, collection = str(look.item.forms.label), parse(request.fields.get("collection"))
        removes = request.fields.get("what") == "remove"
        self._collections.change(
            collection,
            request.visitor.actor,
            () if removes else (label,),
            (label,) if removes else (),
        )

    def _limit(self, look: ItemWithMetadata, request: PageRequest) -> None:
        """Limit the files to readers in some networks, or open them to all."""
        networks = [each.strip() for each in request.fields.get("readers").splitlines()]
        amendment = Amendment(readers=[each for each in networks if each])
        self._archive.amend(look.item.forms.label, amendment, request.visitor.actor)

    def _delete(self, look: ItemWithMetadata, request: PageRequest) -> None:
        """Delete the item, with a reason."""
        self._archive.delete(
            look.item.forms.label,
            request.visitor.actor,
            request.fields.get("reason").strip(),
            request.fields.get("replaced-by").strip(),
            with_metadata="with-metadata" in request.fields,
        )

    def _transfer(self, look: ItemWithMetadata, request: PageRequest) -> None:
        """Begin to transfer the Original to another archive."""
        fields = request.fields
        self._transfers.offer(
            [str(look.item.forms.label)],
            fields.get("to").strip(),
            fields.get("token").strip(),
            request.visitor.actor,
        )

    async def ask_copy(self, request: PageRequest) -> Response:
        """Answer with the form by which items of other archives are copied."""
        return self._page(request, "copy_items.html", {})

    async def copy(self, request: PageRequest) -> Response:
        """Begin to copy items of other archives."""
        items = request.fields.get("items").split()
        what = {"items": items, "from": request.fields.get("from").strip()}
        try:
            for each in items:
                parse(each)
            if not items:
                parse("")
            await asyncio.to_thread(self._tasks.begin, "copy", what, request.visitor.actor)
        except IbiError as refused:
            view = {**dict(request.fields), "fault": refused.message()}
            return self._page(request, "copy_items.html", view, HTTPStatus.BAD_REQUEST)
        return self._page(request, "copy_items.html", {"begun": str(len(items))})

    def _page(
        self, request: PageRequest, template: str, view: object, status: int = HTTPStatus.OK
    ) -> Response:
        page = self._pages.page(template, view, preference(request), here(request))
        return page_response(page, status)


def _act_of(request: PageRequest) -> str:
    """Return the act that a path names; raise if there is none, or not for this person."""
    act: str = request.path_params["act"]
    if act not in {*_DRAFTS, "collection", "readers", *_SCOPES}:
        raise HTTPException(HTTPStatus.NOT_FOUND)
    if act in _SCOPES and _SCOPES[act] not in request.visitor.scopes:
        raise RoleError(_SCOPES[act])
    return act


def _marker(act: str) -> bytes:
    return f"{ACT_PATH}{act}/".encode()
