"""The API of an archive: items, their files, their metadata, and their deletion."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from http import HTTPStatus
from typing import Final

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from ibi.archive.archive import Archive, ItemWithMetadata
from ibi.archive.copies.known_holders import KnownHolders
from ibi.archive.holder_check import HolderCheck
from ibi.archive.item_list import ItemPage, list_items
from ibi.archive.item_rights import ItemRights
from ibi.archive.rules.amendment import Amendment, new_names, new_relations
from ibi.archive.rules.item_choice import ItemChoice, words_of
from ibi.archive.rules.item_languages import translated
from ibi.archive.rules.scopes import Caller
from ibi.archive.rules.search.query import SearchQuery
from ibi.archive.web.api import messages
from ibi.archive.web.api import responses as answers
from ibi.archive.web.api.date_query import span_of
from ibi.archive.web.api.history import ORDERS
from ibi.archive.web.api.search import SearchQueue
from ibi.archive.web.api.uploads import path_after
from ibi.archive.web.urls import ArchiveUrls
from ibi.errors import ArchiveRequestError, Sentence, UnauthenticatedError, UnknownError, shown
from ibi.foundation.web.json_response import json_answer
from ibi.foundation.web.operations import AuthorizedRequest
from ibi.foundation.web.request_body import decoded, number_of
from ibi.identifier.label import Label, parse
from ibi.identifier.language import Language
from ibi.metadata.crosswalks import oai_dc
from ibi.metadata.formats import FORMATS, formats_of
from ibi.metadata.json_record import record_as_dict
from ibi.model.item import State
from ibi.model.metadata_record import MetadataRecord

_MAX_PAGE: Final = 1000
"""Items or files of one page at most."""
_MAX_FOUND: Final = 100
"""Items of one page that a search finds."""
_NOT_SEARCHED: Final = ("words", "state", "from", "to")
"""Pairs of the query that choose items by reading them, which the search does not."""
_XML: Final = ("application/xml", "text/xml")


KINDS: Final = ("data", "metadata", "service")


class ItemsApi:
    """Handlers of the operations on items."""

    def __init__(
        self,
        archive: Archive,
        urls: ArchiveUrls,
        holders: HolderCheck,
        publisher: str,
        searches: SearchQueue,
    ) -> None:
        """Act on an archive; `holders` knows the items of other archives.

        `publisher` is that of items that name none.
        """
        self._publisher = publisher
        self._searches = searches
        self._archive = archive
        self._urls = urls
        self._holders = holders
        self._known_holders = KnownHolders(archive)
        self._rights = ItemRights(archive)

    async def list(self, request: AuthorizedRequest) -> Response:
        """List items in the order of their numbers, or in the reverse order.

        A request looks at some thousands of items, so that none keeps the archive busy: a page may
        have fewer items than its limit, or none, and yet a next page. Without a token `words` are
        not looked for, which takes long; `q` is, by the index of the search. Facts for the
        administration are left out then.
        """
        if request.query_params.get("q"):
            return await self._search(request)
        if not request.caller and request.query_params.get("words"):
            raise UnauthenticatedError
        page = ItemPage(
            limit=number_of(request.query_params.get("limit", "100"), 1, _MAX_PAGE),
            kind=_one_of("kind", request.query_params.get("kind", ""), ("", *KINDS)),
            choice=_choice(request),
            newest_first=_one_of("order", request.query_params.get("order", ORDERS[0]), ORDERS)
            == "newest",
        )
        after = number_of(request.query_params.get("after", "0"), 0, 2**62)
        found, more = await asyncio.to_thread(list_items, self._archive, page, after)
        return await self._list_answer(request, found, more)

    async def _search(self, request: AuthorizedRequest) -> Response:
        """List the items that a search finds, all of them page by page."""
        others = [name for name in _NOT_SEARCHED if request.query_params.get(name)]
        if others or request.query_params.get("kind", "data") not in {"", "data"}:
            msg = Sentence(
                "q finds data only, and does not go together with %(others)s.",
                others=", ".join(_NOT_SEARCHED),
            )
            raise ArchiveRequestError(msg)
        limit = number_of(request.query_params.get("limit", "100"), 1, _MAX_PAGE)
        after = number_of(request.query_params.get("after", "0"), 0, 2**62)
        order = _one_of("order", request.query_params.get("order", ORDERS[0]), ORDERS)
        query = SearchQuery.parse({"q": request.query_params["q"], "sort": order})
        size = min(limit, _MAX_FOUND)
        found = await self._searches.run(lambda search: search.page(query, size, after))
        more = str(found[-1].held.id) if len(found) == size else ""
        return await self._list_answer(request, found, more)

    async def _list_answer(
        self, request: AuthorizedRequest, found: Sequence[ItemWithMetadata], more: str
    ) -> Response:
        items = await asyncio.to_thread(lambda: [self._listed(each) for each in found])
        if not request.caller:
            items = [_public(each) for each in items]
        return json_answer(messages.ItemsAnswer(items, more))

    def _listed(self, look: ItemWithMetadata) -> messages.ItemAnswer:
        """Return an item with the title of its description only, which may be long."""
        answer = self._answer(ItemWithMetadata(look.held, None))
        title = look.record.title.value if look.record else ""
        return msgspec.structs.replace(answer, title=title)

    def _answer(self, look: ItemWithMetadata) -> messages.ItemAnswer:
        return answers.item_answer(look, self._urls.persistent, self._urls.of(look.item))

    async def _shown(self, look: ItemWithMetadata) -> Response:
        return json_answer(await asyncio.to_thread(self._whole_answer, look))

    def _whole_answer(self, look: ItemWithMetadata) -> messages.ItemAnswer:
        """Return an item with the archives that hold it, which a list leaves out."""
        item = look.item
        answer = self._answer(look)
        if item.state is State.DELETED:
            return answer
        found = self._known_holders.of(item, self._known_holders.copy(item))
        holders = [answers.holder_answer(each, item) for each in found]
        return msgspec.structs.replace(answer, holders=holders)

    async def show(self, request: AuthorizedRequest) -> Response:
        """Show an item with its metadata."""
        label = _label(request)
        return await self._shown(await asyncio.to_thread(self._archive.get_itself, label))

    async def amend(self, request: AuthorizedRequest) -> Response:
        """Change fields of an item, and its relations to other items."""
        label = _label(request)
        amendment = await request.read(Amendment)
        return await self._amended(label, amendment, Caller(request.caller, request.granted))

    async def _amended(self, label: Label, amendment: Amendment, caller: Caller) -> Response:
        return await self._shown(await asyncio.to_thread(self._amend, label, amendment, caller))

    def _amend(self, label: Label, amendment: Amendment, caller: Caller) -> ItemWithMetadata:
        item = self._archive.get_itself(label).item
        self._rights.check_amendment(caller, item, amendment)
        for name in new_names(item, amendment):
            self._holders.check_name(name)
        if not amendment.unchecked:
            for other in new_relations(item, amendment):
                self._holders.check_exists(other)
        return self._archive.amend(label, amendment, caller.name)

    async def files(self, request: AuthorizedRequest) -> Response:
        """List the files of an item."""
        label = _label(request, "/files")
        limit = number_of(request.query_params.get("limit", "1000"), 1, _MAX_PAGE)
        after = request.query_params.get("after", "")
        held = await asyncio.to_thread(self._archive.get, label)
        found = await asyncio.to_thread(self._archive.catalogue.items.files, held.id, after, limit)
        files = [answers.file_answer(file) for file in found]
        return json_answer(
            messages.FilesAnswer(files, found[-1].path if len(found) == limit else "")
        )

    async def metadata(self, request: AuthorizedRequest) -> Response:
        """Answer with the metadata of an item, as JSON or in another format."""
        label = _label(request, "/metadata")
        look = await asyncio.to_thread(self._archive.get_described, label)
        record = _in_language(look, request.query_params.get("language", ""))
        name = request.query_params.get("format", "")
        if not name:
            return json_answer(record_as_dict(record))
        written = FORMATS.get(name)
        if written is None or not written.describes(record):
            msg = Sentence(
                "Metadata are not offered as %(name)s, only as %(known)s.",
                name=shown(name),
                known=", ".join(formats_of(record)),
            )
            raise HTTPException(HTTPStatus.NOT_ACCEPTABLE, msg)
        published = look.item.published(record, self._publisher)
        body = written.write(published, look.item.forms, self._urls.persistent_base)
        return Response(body, media_type=written.content_type)

    async def describe(self, request: AuthorizedRequest) -> Response:
        """Replace the metadata of an item, by a record as JSON or in oai_dc."""
        label = _label(request, "/metadata")
        body = await request.read_bytes()
        media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if media_type in _XML:
            record = record_as_dict(await asyncio.to_thread(oai_dc.read, body))
        else:
            record = decoded(msgspec.json.Decoder(dict[str, object]).decode, body)
        amendment = Amendment(metadata=record)
        return await self._amended(label, amendment, Caller(request.caller, request.granted))

    async def delete(self, request: AuthorizedRequest) -> Response:
        """Delete an item; its tombstone stays."""
        label = _label(request, "/deletion")
        wanted = await request.read(messages.DeletionRequest)

        def delete() -> ItemWithMetadata:
            return self._archive.delete(
                label,
                request.caller,
                wanted.reason,
                wanted.replaced_by,
                with_metadata=wanted.with_metadata,
            )

        return await self._shown(await asyncio.to_thread(delete))


def _public(answer: messages.ItemAnswer) -> messages.ItemAnswer:
    """Return what every client may know of an item."""
    return msgspec.structs.replace(answer, readers=[], transfer="", custody=[])


def _in_language(look: ItemWithMetadata, code: str) -> MetadataRecord:
    """Return the record of an item, in the language asked for; raise if there is none in it."""
    metadata = look.metadata
    if metadata is None or metadata.item.record is None:
        raise UnknownError("metadata of", look.item.forms.label.spelling)
    if not code:
        return metadata.item.record
    record = translated(metadata.item, Language.parse(code))
    if record is None:
        raise UnknownError(f"metadata in {code} of", look.item.forms.label.spelling)
    return record


def _label(request: Request, ending: str = "") -> Label:
    """Return the label in the path of a request, which may have slashes, before an ending."""
    return parse(path_after(request, b"/api/v1/items/").removesuffix(ending))


def _choice(request: Request) -> ItemChoice:
    state = _one_of("state", request.query_params.get("state", ""), ("", *State))
    since, before = span_of(request)
    return ItemChoice(
        words=words_of(request.query_params.get("words", "")),
        state=State(state) if state else None,
        since=since,
        before=before,
    )


def _one_of(name: str, text: str, allowed: Sequence[str]) -> str:
    if text not in allowed:
        known = " or ".join(each for each in allowed if each)
        raise ArchiveRequestError(
            Sentence(
                "%(text)s is not a value of %(name)s: expected %(known)s.",
                text=shown(text),
                name=name,
                known=known,
            )
        )
    return text
