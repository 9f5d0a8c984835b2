"""The API of an archive: the list of its Originals, from which others copy all of them."""

from __future__ import annotations

import asyncio
from typing import Final

import msgspec
from starlette.responses import Response

from ibi.archive.archive import Archive
from ibi.archive.web.api.responses import moment
from ibi.foundation.web.json_response import json_answer
from ibi.foundation.web.operations import AuthorizedRequest
from ibi.foundation.web.request_body import number_of
from ibi.model.item import State

_MAX_PAGE: Final = 1000
"""Items of one page at most."""


class Holding(msgspec.Struct, frozen=True):
    """An item whose Original is here."""

    label: str
    state: str
    updated: str


class HoldingsAnswer(msgspec.Struct, frozen=True):
    """Items in the order of their numbers; an empty page may be followed by others."""

    items: list[Holding]
    after: str


class HoldingsApi:
    """The handler of the list, which is public: that an item is held is no secret."""

    def __init__(self, archive: Archive) -> None:
        """List the Originals of an archive."""
        self._archive = archive

    async def list(self, request: AuthorizedRequest) -> Response:
        """List Originals."""
        limit = number_of(request.query_params.get("limit", "100"), 1, _MAX_PAGE)
        after = number_of(request.query_params.get("after", "") or "0", 0, 2**62)
        held = await asyncio.to_thread(self._archive.catalogue.items.page, after, limit, "data")
        items = [
            Holding(
                each.item.forms.label.spelling,
                str(each.item.state),
                moment(each.item.updated),
            )
            for each in held
            if each.item.state is State.ORIGINAL
        ]
        return json_answer(HoldingsAnswer(items, str(held[-1].id) if len(held) == limit else ""))
