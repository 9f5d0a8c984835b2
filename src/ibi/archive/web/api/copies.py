"""The API of an archive: its copies of items of other archives."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Final

import msgspec
from starlette.responses import Response

from ibi.archive.copies.copies import Copies, CopyStatus
from ibi.archive.copies.holder_reports import LONGEST_ADDRESS, HolderReports
from ibi.archive.tasks import Tasks
from ibi.archive.web.api.responses import moment
from ibi.archive.web.api.tasks import task_answer
from ibi.archive.web.api.uploads import path_after
from ibi.errors import ArchiveRequestError, Sentence, shown
from ibi.foundation.web.json_response import json_answer
from ibi.foundation.web.operations import AuthorizedRequest
from ibi.foundation.web.request_body import number_of
from ibi.identifier.label import parse
from ibi.wire.addresses import is_web_address

_MAX_PAGE: Final = 1000
"""Copies of one page at most."""
_MOST_ITEMS: Final = 10_000
"""Items of one request at most."""
_FALSE, _TRUE = "0", "1"


class CopyRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Items to copy, or all of an archive; or all existing copies, to be compared."""

    items: list[str] = []
    source: str = msgspec.field(default="", name="from")
    """The address of an archive; empty for the archives of the Originals."""
    all: bool = False
    refresh: bool = False


class CopyAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """A Copy, and the result of its last comparison with its Original."""

    item: str
    source: str = msgspec.field(name="from")
    """The address of the archive from which it was copied."""
    checked: str = ""
    missing_since: str = ""
    fault: str = ""


class CopiesAnswer(msgspec.Struct, frozen=True):
    """Copies, in the order of their labels."""

    copies: list[CopyAnswer]
    after: str


class CopyReport(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A report of another archive that it has a Copy of an item."""

    item: str
    """A label of the item."""
    address: str
    """The address of the other archive."""


class CopiesApi:
    """Handlers of the operations on copies."""

    def __init__(self, copies: Copies, tasks: Tasks, reports: HolderReports) -> None:
        """Make, show and drop copies; reports of other archives are verified."""
        self._copies = copies
        self._tasks = tasks
        self._reports = reports

    async def copy(self, request: AuthorizedRequest) -> Response:
        """Begin a task that copies items."""
        wanted = _checked(await request.read(CopyRequest))
        kind, what = "refresh" if wanted.refresh else "copy", msgspec.to_builtins(wanted)
        task = await asyncio.to_thread(self._tasks.begin, kind, what, request.caller)
        return json_answer(task_answer(task), HTTPStatus.ACCEPTED)

    async def list(self, request: AuthorizedRequest) -> Response:
        """List copies with their states."""
        limit = number_of(request.query_params.get("limit", "100"), 1, _MAX_PAGE)
        after = request.query_params.get("after", "")
        faulty = request.query_params.get("faulty", _FALSE)
        if faulty not in {_FALSE, _TRUE}:
            msg = Sentence(
                "%(faulty)s is neither 0 nor 1: are only copies with a fault wanted?",
                faulty=shown(faulty),
            )
            raise ArchiveRequestError(msg)
        found = await asyncio.to_thread(
            lambda: self._copies.standing(after, limit, faulty=faulty == _TRUE)
        )
        more = found[-1].record.label if len(found) == limit else ""
        return json_answer(CopiesAnswer([_answer(each) for each in found], more))

    async def reported(self, request: AuthorizedRequest) -> Response:
        """Receive a report, which is verified later: its sender learns nothing by the answer."""
        report = await request.read(CopyReport)
        if len(report.address) > LONGEST_ADDRESS or not is_web_address(report.address):
            msg = Sentence(
                "%(source)s is not the address of an archive: expected http(s).",
                source=shown(report.address),
            )
            raise ArchiveRequestError(msg)
        self._reports.receive(parse(report.item), report.address)
        return Response(status_code=HTTPStatus.ACCEPTED)

    async def drop(self, request: AuthorizedRequest) -> Response:
        """Remove a Copy."""
        label = parse(path_after(request, b"/api/v1/copies/"))
        await asyncio.to_thread(self._copies.drop, label, request.caller)
        return Response(status_code=HTTPStatus.NO_CONTENT)


def _checked(wanted: CopyRequest) -> CopyRequest:
    """Return a valid request; raise ArchiveRequestError now rather than fail in the task."""
    if wanted.refresh:
        if wanted != CopyRequest(refresh=True):
            msg = Sentence(
                "All copies are compared with their Originals: nothing else goes with that."
            )
            raise ArchiveRequestError(msg)
        return wanted
    if wanted.source and not is_web_address(wanted.source):
        msg = Sentence(
            "%(source)s is not the address of an archive: expected http(s).",
            source=shown(wanted.source),
        )
        raise ArchiveRequestError(msg)
    if wanted.all and (wanted.items or not wanted.source):
        msg = Sentence(
            "All items are copied from an archive that is named, and none is named besides."
        )
        raise ArchiveRequestError(msg)
    if not wanted.all and not 1 <= len(wanted.items) <= _MOST_ITEMS:
        msg = Sentence("1 to %(most)s items are copied at a time.", most=_MOST_ITEMS)
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
