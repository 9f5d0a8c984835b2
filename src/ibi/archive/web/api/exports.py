"""The API of an archive: export of items into bags, and hand-over of Originals."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import Final

import msgspec
from starlette.responses import Response

from ibi.archive.archive import Archive, ItemWithMetadata
from ibi.archive.exchange.bag_import import NOTHING
from ibi.archive.exchange.handover import HandoverIssuer
from ibi.archive.ports.catalogue import StoredItem
from ibi.archive.rules.manifest import manifest
from ibi.archive.web.api.messages import HandOverRequest, ManifestsAnswer, ManifestsEntry
from ibi.errors import ArchiveRequestError, DeletedError, Sentence
from ibi.foundation.web.json_response import json_answer
from ibi.foundation.web.operations import AuthorizedRequest
from ibi.foundation.web.request_body import number_of
from ibi.model.item import File, Item, State

_MAX_PAGE: Final = 1000
"""Items of one page at most."""
_MOST_FILES: Final = 20_000
"""Files of one answer at most, unless a single item has more."""


class ExportsApi:
    """Handlers of the operations on exports and hand-overs."""

    def __init__(
        self,
        archive: Archive,
        address: str,
        contact: str,
        handing_over: HandoverIssuer,
    ) -> None:
        """Export items of an archive; answers name its address and its administrator."""
        self._archive = archive
        self._address = address
        self._contact = contact
        self._handing_over = handing_over

    async def manifests(self, request: AuthorizedRequest) -> Response:
        """Answer with items as entries of a bag."""
        label = request.query_params.get("item", "")
        if label:
            return json_answer(await asyncio.to_thread(self._one, label))
        limit = number_of(request.query_params.get("limit", "100"), 1, _MAX_PAGE)
        after = number_of(request.query_params.get("after", "0"), 0, 2**62)
        return json_answer(await asyncio.to_thread(self._page, after, limit))

    def _one(self, label: str) -> ManifestsAnswer:
        look = self._archive.get_described(label)
        if look.item.kind != "data":
            msg = Sentence(
                "%(label)s is the archive service's own item: it stays here.",
                label=look.item.forms.label,
            )
            raise ArchiveRequestError(msg)
        if look.item.state is State.DELETED:
            raise DeletedError(str(look.item.forms.label))
        entry = self._entry(look, self._archive.files(look.held))
        return ManifestsAnswer([entry], contact=self._contact)

    def _page(self, after: int, limit: int) -> ManifestsAnswer:
        found = self._archive.catalogue.items.page(after, limit, "data")
        items: list[ManifestsEntry] = []
        files = seen = 0
        while seen < len(found) and files <= _MOST_FILES:
            held = found[seen]
            seen += 1
            if held.item.state is not State.DELETED:
                known = self._archive.files(held)
                files += len(known)
                items.append(self._entry(ItemWithMetadata(held, self._metadata(held)), known))
        more = seen < len(found) or len(found) == limit
        after_this = str(found[seen - 1].id) if more else ""
        return ManifestsAnswer(items, after_this, seen - len(items), self._contact)

    def _metadata(self, held: StoredItem) -> StoredItem | None:
        forms = held.item.metadata
        return None if forms is None else self._archive.catalogue.items.find(forms.label.canonical)

    def _entry(self, look: ItemWithMetadata, files: Sequence[File]) -> ManifestsEntry:
        metadata = look.metadata
        return ManifestsEntry(
            look.item.forms.label.spelling,
            self._manifest(look.item, files),
            NOTHING if metadata is None else self._manifest(metadata.item, ()),
        )

    def _manifest(self, item: Item, files: Sequence[File]) -> msgspec.Raw:
        known = replace(item, transfer=None, origin=self._address)
        return msgspec.Raw(manifest(known, files))

    async def hand_over(self, request: AuthorizedRequest) -> Response:
        """Hand Originals over to another archive; answer with the signed document."""
        wanted = await request.read(HandOverRequest)
        return json_answer(
            await asyncio.to_thread(
                self._handing_over.give,
                wanted.items,
                wanted.recipient,
                request.caller,
                leave_copies=wanted.leave_copies,
            )
        )

    async def check(self, request: AuthorizedRequest) -> Response:
        """Check whether Originals can be handed over, without doing so."""
        wanted = await request.read(HandOverRequest)
        await asyncio.to_thread(
            self._handing_over.check,
            wanted.items,
            wanted.recipient,
            leave_copies=wanted.leave_copies,
        )
        return Response(status_code=HTTPStatus.NO_CONTENT)
