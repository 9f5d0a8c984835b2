"""The API of an archive: its copies of items of other archives, and how each stands."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.archive.copies.copies import Copies, CopyStatus
from ibi.archive.tasks import Tasks
from ibi.archive.web.api.responses import moment
from ibi.archive.web.api.tasks import task_answer
from ibi.archive.web.api.uploads import path_after
from ibi.archive.web.authorization import ArchiveAuthorizer
from ibi.errors import ArchiveRequestError, shown
from ibi.foundation.web.json_response import by_method, json_answer
from ibi.foundation.web.openapi import IBI, PAGE, operation, query
from ibi.foundation.web.request_body import body_of, decoded, number_of
from ibi.identifier.label import parse
from ibi.metadata.web_address import is_web_address

_MOST: Final = 1000
_MOST_ITEMS: Final = 10_000
_LARGEST: Final = 4 << 20
_FALSE, _TRUE = "0", "1"


class CopyRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Items to copy, or all of an archive; or all copies that are here, to be compared."""

    items: list[str] = []
    source: str = msgspec.field(default="", name="from")
    """The address of an archive; empty: wherever the Originals are."""
    all: bool = False
    refresh: bool = False


class CopyAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """A Copy, and how it stands with its Original."""

    item: str
    source: str = msgspec.field(name="from")
    """The address of the archive that it came from."""
    checked: str = ""
    missing_since: str = ""
    fault: str = ""


class CopiesAnswer(msgspec.Struct, frozen=True):
    """Copies, in the order of their labels."""

    copies: list[CopyAnswer]
    after: str


_DECODE: Final = msgspec.json.Decoder(CopyRequest).decode


class CopiesApi:
    """Its handlers."""

    def __init__(self, copies: Copies, tasks: Tasks, door: ArchiveAuthorizer) -> None:
        """Make, show and drop copies."""
        self._copies = copies
        self._tasks = tasks
        self._door = door

    @property
    def routes(self) -> list[Route]:
        """Where they answer."""
        return [
            by_method("/api/v1/copies", GET=self.list, POST=self.copy),
            by_method("/api/v1/copies/{ibi:path}", DELETE=self.drop),
        ]

    async def copy(self, request: Request) -> Response:
        """Begin to copy; how far that is, the task says."""
        who = await self._door.admit(request, "administer")
        wanted = _checked(decoded(_DECODE, await body_of(request, _LARGEST)))
        kind, what = "refresh" if wanted.refresh else "copy", msgspec.to_builtins(wanted)
        task = await asyncio.to_thread(self._tasks.begin, kind, what, who)
        return json_answer(task_answer(task), HTTPStatus.ACCEPTED)

    async def list(self, request: Request) -> Response:
        """Tell how copies stand."""
        await self._door.admit(request, "read")
        limit = number_of(request.query_params.get("limit", "100"), 1, _MOST)
        after = request.query_params.get("after", "")
        faulty = request.query_params.get("faulty", _FALSE)
        if faulty not in {_FALSE, _TRUE}:
            msg = f"{shown(faulty)} is neither 0 nor 1: are only copies with a fault wanted?"
            raise ArchiveRequestError(msg)
        found = await asyncio.to_thread(
            lambda: self._copies.standing(after, limit, faulty=faulty == _TRUE)
        )
        more = found[-1].record.label if len(found) == limit else ""
        return json_answer(CopiesAnswer([_answer(each) for each in found], more))

    async def drop(self, request: Request) -> Response:
        """Let go of a Copy."""
        who = await self._door.admit(request, "administer")
        label = parse(path_after(request, b"/api/v1/copies/"))
        await asyncio.to_thread(self._copies.drop, label, who)
        return Response(status_code=HTTPStatus.NO_CONTENT)


def _checked(wanted: CopyRequest) -> CopyRequest:
    """Refuse what no task could do; labels that are none are refused now, not later."""
    if wanted.refresh:
        if wanted != CopyRequest(refresh=True):
            msg = "All copies are compared with their Originals: nothing else goes with that."
            raise ArchiveRequestError(msg)
        return wanted
    if wanted.source and not is_web_address(wanted.source):
        msg = f"{shown(wanted.source)} is not the address of an archive: expected http(s)."
        raise ArchiveRequestError(msg)
    if wanted.all and (wanted.items or not wanted.source):
        msg = "All items are copied from an archive that is named, and none is named besides."
        raise ArchiveRequestError(msg)
    if not wanted.all and not 1 <= len(wanted.items) <= _MOST_ITEMS:
        msg = f"1 to {_MOST_ITEMS} items are copied at a time."
        raise ArchiveRequestError(msg)
    for text in wanted.items:
        parse(text)
    return wanted


def _answer(standing: CopyStatus) -> CopyAnswer:
    record, item = standing.record, standing.item
    return CopyAnswer(
        record.label if item is None else item.forms.label.spelling,
        "" if item is None else item.origin,
        moment(record.checked) if record.checked else "",
        moment(record.missing) if record.missing else "",
        record.fault,
    )


TYPES: Final = (CopyAnswer, CopyRequest, CopiesAnswer)


def described() -> dict[str, Any]:
    """Describe them for OpenAPI."""
    return {
        "/api/v1/copies": {
            "get": operation(
                "How copies stand with their Originals",
                answer="CopiesAnswer",
                parameters=[
                    *PAGE,
                    query(
                        "faulty",
                        "1 for those only that are not in order",
                        {"type": "integer", "minimum": 0, "maximum": 1},
                    ),
                ],
            ),
            "post": operation(
                "Copy items of other archives, or bring copies up to date",
                body="CopyRequest",
                answer="TaskAnswer",
                status=202,
                errors=(413, 507),
            ),
        },
        "/api/v1/copies/{ibi}": {
            "parameters": [IBI],
            "delete": operation("Let go of a Copy", status=204, errors=(404, 409, 410, 507)),
        },
    }
