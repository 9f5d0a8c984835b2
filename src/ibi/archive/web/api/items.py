"""The API of an archive: items, their files, their metadata, and their end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Final

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.archive.archive import Archive, ItemWithMetadata
from ibi.archive.rules.amendment import Amendment
from ibi.archive.web.api import messages
from ibi.archive.web.api import responses as answers
from ibi.archive.web.api.uploads import path_after
from ibi.archive.web.authorization import ArchiveAuthorizer
from ibi.archive.web.urls import ArchiveUrls
from ibi.errors import ArchiveRequestError, UnknownError, shown
from ibi.foundation.web.json_response import by_method, json_answer, not_allowed
from ibi.foundation.web.request_body import body_of, decoded, number_of
from ibi.identifier.label import Label, parse
from ibi.metadata import oai_dc
from ibi.metadata.formats import FORMATS
from ibi.metadata.json_record import record_as_dict

_LARGEST_DESCRIPTION: Final = 2 << 20
_MOST: Final = 1000
_ENDINGS: Final = ("/files", "/metadata", "/deletion", "")
_XML: Final = ("application/xml", "text/xml")

_DECODE_AMENDMENT: Final = msgspec.json.Decoder(Amendment).decode
_DECODE_DELETION: Final = msgspec.json.Decoder(messages.DeletionRequest).decode

_Handler = Callable[[Request, Label, str], Awaitable[Response]]
"""Answers a request for an item, made by whoever."""


class ItemsApi:
    """Its handlers."""

    def __init__(self, archive: Archive, door: ArchiveAuthorizer, urls: ArchiveUrls) -> None:
        """Act on an archive."""
        self._archive = archive
        self._door = door
        self._urls = urls
        self._handlers: dict[tuple[str, str], tuple[str, _Handler]] = {
            ("GET", ""): ("read", self.show),
            ("PATCH", ""): ("deposit", self.amend),
            ("GET", "/files"): ("read", self.files),
            ("GET", "/metadata"): ("read", self.metadata),
            ("PUT", "/metadata"): ("deposit", self.describe),
            ("POST", "/deletion"): ("administer", self.delete),
        }

    @property
    def routes(self) -> list[Route]:
        """Where they answer. A label has slashes, so what follows it is told apart here."""
        return [
            by_method("/api/v1/items", GET=self.list),
            by_method(
                "/api/v1/items/{rest:path}",
                GET=self._item,
                PATCH=self._item,
                PUT=self._item,
                POST=self._item,
                DELETE=self._item,
            ),
        ]

    async def list(self, request: Request) -> Response:
        """List items, in the order in which they came."""
        await self._door.admit(request, "read")
        limit = number_of(request.query_params.get("limit", "100"), 1, _MOST)
        after = number_of(request.query_params.get("after", "0"), 0, 2**62)
        kind = request.query_params.get("kind", "")
        if kind not in {"", "data", "metadata", "service"}:
            msg = f"{shown(kind)} is not a kind of item: expected data, metadata or service."
            raise ArchiveRequestError(msg)
        held = await asyncio.to_thread(self._archive.catalogue.items.page, after, limit, kind)
        items = await asyncio.to_thread(
            lambda: [self._answer(ItemWithMetadata(each, None)) for each in held]
        )
        more = str(held[-1].id) if len(held) == limit else ""
        return json_answer(messages.ItemsAnswer(items, more))

    async def _item(self, request: Request) -> Response:
        text = path_after(request, b"/api/v1/items/")
        ending = next(ending for ending in _ENDINGS if text.endswith(ending))
        found = self._handlers.get((request.method.replace("HEAD", "GET"), ending))
        if found is None:
            raise not_allowed(self._methods(ending))
        scope, handle = found
        # Whoever has no token is told so before anything else.
        who = await self._door.admit(request, scope)
        return await handle(request, parse(text.removesuffix(ending)), who)

    def _methods(self, ending: str) -> tuple[str, ...]:
        methods = tuple(method for method, other in self._handlers if other == ending)
        return (*methods, "HEAD") if "GET" in methods else methods

    def _answer(self, look: ItemWithMetadata) -> messages.ItemAnswer:
        return answers.item_answer(look, self._urls.persistent, self._urls.of(look.item))

    async def _shown(self, look: ItemWithMetadata) -> Response:
        return json_answer(await asyncio.to_thread(self._answer, look))

    async def show(self, _: Request, label: Label, __: str) -> Response:
        """Tell what is known of an item."""
        return await self._shown(await asyncio.to_thread(self._archive.get_described, label))

    async def amend(self, request: Request, label: Label, who: str) -> Response:
        """Change what is said of an item, and how it relates to others."""
        amendment = decoded(_DECODE_AMENDMENT, await body_of(request, _LARGEST_DESCRIPTION))
        if amendment.further_names:
            await self._door.admit(request, "administer")
        return await self._shown(
            await asyncio.to_thread(self._archive.amend, label, amendment, who)
        )

    async def files(self, request: Request, label: Label, _: str) -> Response:
        """List the files of an item."""
        limit = number_of(request.query_params.get("limit", "1000"), 1, _MOST)
        after = request.query_params.get("after", "")
        held = await asyncio.to_thread(self._archive.get, label)
        found = await asyncio.to_thread(self._archive.catalogue.items.files, held.id, after, limit)
        files = [answers.file_answer(file) for file in found]
        return json_answer(
            messages.FilesAnswer(files, found[-1].path if len(found) == limit else "")
        )

    async def metadata(self, request: Request, label: Label, _: str) -> Response:
        """Give the metadata of an item: as JSON, or in one of the formats."""
        look = await asyncio.to_thread(self._archive.get_described, label)
        if look.record is None:
            raise UnknownError("metadata of", label.spelling)
        name = request.query_params.get("format", "")
        if not name:
            return json_answer(record_as_dict(look.record))
        written = FORMATS.get(name)
        if written is None:
            msg = f"Metadata are not offered as {shown(name)}, only as {', '.join(FORMATS)}."
            raise HTTPException(HTTPStatus.NOT_ACCEPTABLE, msg)
        body = written.write(look.record, look.item.forms, self._urls.persistent_base)
        return Response(body, media_type=written.media_type)

    async def describe(self, request: Request, label: Label, who: str) -> Response:
        """Replace the metadata of an item, by a record as JSON or in oai_dc."""
        body = await body_of(request, _LARGEST_DESCRIPTION)
        media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if media_type in _XML:
            record = record_as_dict(await asyncio.to_thread(oai_dc.read, body))
        else:
            record = decoded(msgspec.json.Decoder(dict[str, object]).decode, body)
        amendment = Amendment(metadata=record)
        return await self._shown(
            await asyncio.to_thread(self._archive.amend, label, amendment, who)
        )

    async def delete(self, request: Request, label: Label, who: str) -> Response:
        """Delete an item; its tombstone stays."""
        wanted = decoded(_DECODE_DELETION, await body_of(request))

        def delete() -> ItemWithMetadata:
            return self._archive.delete(
                label,
                who,
                wanted.reason,
                wanted.replaced_by,
                with_metadata=wanted.with_metadata,
            )

        return await self._shown(await asyncio.to_thread(delete))
