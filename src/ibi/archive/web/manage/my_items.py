"""The list of the items that a person has published by drafts: searched, filtered, and sorted."""

from __future__ import annotations

import asyncio
from typing import Final

from starlette.responses import Response

from ibi.archive.ports.drafts import DraftStore, PublishedChoice
from ibi.archive.web.manage.views import MyItemsView
from ibi.archive.web.page_response import here, page_response, preference
from ibi.archive.web.pages import Pages
from ibi.foundation.web.page_operations import PageRequest
from ibi.foundation.web.request_body import number_of
from ibi.model.item import State

ORDERS: Final = ("newest", "oldest", "title")
_PAGE: Final = 50
_LAST: Final = 100_000
"""The last page that is asked for."""


class MyItemsPage:
    """Handler of the list."""

    def __init__(self, drafts: DraftStore, pages: Pages) -> None:
        """List what was published by drafts."""
        self._drafts = drafts
        self._pages = pages

    async def list_items(self, request: PageRequest) -> Response:
        """Answer with a page of the list."""
        query = request.query_params
        words, state, order = query.get("q", ""), query.get("state", ""), query.get("order", "")
        number = number_of(query.get("page", "1") or "1", 1, _LAST)
        choice = PublishedChoice(
            owner=request.visitor.actor,
            words=words.strip(),
            state=state if state in {*State} else "",
            order=order if order in ORDERS else ORDERS[0],
        )
        found = await asyncio.to_thread(
            self._drafts.published, choice, (number - 1) * _PAGE, _PAGE + 1
        )
        view = MyItemsView(
            items=found[:_PAGE],
            words=words,
            state=choice.state,
            order=choice.order,
            page=number,
            has_more=len(found) > _PAGE,
        )
        page = self._pages.page("my_items.html", view, preference(request), here(request))
        return page_response(page)
