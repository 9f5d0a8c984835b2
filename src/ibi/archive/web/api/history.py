"""The API of an archive: its history."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from ibi.archive.archive import Archive
from ibi.archive.ports.catalogue import HistoryChoice, HistoryEntry
from ibi.archive.web.api.date_query import span_of
from ibi.archive.web.api.responses import moment
from ibi.errors import ArchiveRequestError, Sentence, UnknownError, shown
from ibi.foundation.web.json_response import json_answer
from ibi.foundation.web.operations import AuthorizedRequest
from ibi.foundation.web.request_body import number_of
from ibi.identifier.label import parse

_MAX_PAGE: Final = 1000
"""Lines of one page at most."""
_LAST: Final = 2**62
ORDERS: Final = ("oldest", "newest")


class HistoryLine(msgspec.Struct, frozen=True):
    """A line of the history: an act, with its time, user and item."""

    number: int
    at: str
    who: str
    act: str
    label: str
    detail: dict[str, Any]


class HistoryAnswer(msgspec.Struct, frozen=True):
    """A page of the history."""

    history: list[HistoryLine]
    after: str = ""
    """Continue after this; empty at the end."""


class ActsAnswer(msgspec.Struct, frozen=True):
    """The number of lines of each act, by its name."""

    acts: dict[str, int]


class HistoryApi:
    """Handlers of the operations on the history."""

    def __init__(self, archive: Archive) -> None:
        """Read the history of an archive."""
        self._history = archive.catalogue.history
        self._items = archive.catalogue.items

    async def history(self, request: AuthorizedRequest) -> Response:
        """List lines of the history, the oldest or the newest first."""
        limit = number_of(request.query_params.get("limit", "100"), 1, _MAX_PAGE)
        after = number_of(request.query_params.get("after", "0"), 0, _LAST)
        newest_first = _order(request.query_params.get("order", ORDERS[0])) == "newest"
        choice = await asyncio.to_thread(self._choice, request)
        found = await asyncio.to_thread(
            self._history.entries, after, limit, choice, newest_first=newest_first
        )
        more = str(found[-1].number) if len(found) == limit else ""
        return json_answer(HistoryAnswer([_line(entry) for entry in found], more))

    async def acts(self, request: AuthorizedRequest) -> Response:
        """Count the lines of each act."""
        choice = await asyncio.to_thread(self._choice, request)
        return json_answer(ActsAnswer(await asyncio.to_thread(self._history.acts, choice)))

    def _choice(self, request: Request) -> HistoryChoice:
        since, before = span_of(request)
        item = request.query_params.get("item", "")
        return HistoryChoice(
            label=self._label(item) if item else "",
            act=request.query_params.get("act", ""),
            who=request.query_params.get("who", ""),
            since=since,
            before=before,
        )

    def _label(self, text: str) -> str:
        """Return the label that the history has for an item.

        A Copy that was dropped is found only in the history.
        """
        label = parse(text).canonical
        held = self._items.find(label)
        if held is not None:
            return held.item.forms.label.canonical
        if not self._history.entries(0, 1, HistoryChoice(label=label)):
            raise UnknownError("item", text)
        return label


def _order(text: str) -> str:
    if text not in ORDERS:
        msg = Sentence(
            "%(text)s is no order of the history: expected %(orders)s.",
            text=shown(text),
            orders=" or ".join(ORDERS),
        )
        raise ArchiveRequestError(msg)
    return text


def _line(entry: HistoryEntry) -> HistoryLine:
    detail = msgspec.json.decode(entry.detail or "{}")
    return HistoryLine(entry.number, moment(entry.at), entry.who, entry.act, entry.label, detail)
