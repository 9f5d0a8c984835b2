"""The JSON API of a Handle server, for labels: what a persistent URL leads to, as a record."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Final
from urllib.parse import unquote

from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from ibi.errors import IbiError, LabelError, RequestError, Sentence
from ibi.errors.sentence import plain
from ibi.foundation.web.json_response import json_answer
from ibi.foundation.web.problems import RETRY_AFTER, problem_of
from ibi.identifier.label import Label, Reading, read
from ibi.identifier.language_preference import LanguagePreference
from ibi.identifier.limits import MAX_TEXT
from ibi.identifier.persistent_url import PersistentUrl
from ibi.identifier.verbs import GetMetadata
from ibi.model.item import State
from ibi.resolver.rules.decision import Redirect
from ibi.resolver.rules.resolution import Resolution
from ibi.resolver.web.explanation import Explanation
from ibi.resolver.web.handles.record import Code, HandleRecord, Selection, code_of, values_of
from ibi.resolver.web.outcome_details import OutcomeDetails
from ibi.resolver.web.redirect import RedirectEndpoint
from ibi.resolver.web.views import STATUSES
from ibi.wire.question import Question

PATH: Final = "/api/handles/"
# Public, and without credentials: any page may read it.
_OPEN: Final = {"Access-Control-Allow-Origin": "*", "X-Content-Type-Options": "nosniff"}


class HandlesApi:
    """Answers clients of the Handle System, by the resolution that readers get."""

    def __init__(
        self,
        base: str,
        service: Label,
        resolving: RedirectEndpoint,
        details: OutcomeDetails,
        explained: Callable[[Resolution], Explanation],
    ) -> None:
        """Resolve below the public address `base` of a service."""
        self._base = base
        self._service = service
        self._resolving = resolving
        self._details = details
        self._explained = explained

    async def record(self, request: Request) -> Response:
        """Answer with the record of a label, or with the code of the reason why there is none."""
        raw: bytes = request.scope["raw_path"]
        handle = unquote(raw.decode("ascii", "replace").removeprefix(PATH))[:MAX_TEXT]
        try:
            return await self._record(handle, request)
        except LabelError as error:
            return _refused(handle, error, Code.INVALID_HANDLE)
        except (IbiError, HTTPException) as error:
            return _refused(handle, error)

    async def _record(self, handle: str, request: Request) -> Response:
        selection, is_authoritative = _parameters(request.query_params)
        found = read(handle)
        if found.tail:
            raise _not_a_handle(handle, found)
        label = found.label
        if label == self._service:
            location = f"{self._base}/{label.spelling}"
            values = values_of(location, location, (label.spelling,), "")
            return _answered(HandleRecord(Code.SUCCESS, handle, selection.values(values)))
        wanted = PersistentUrl(label, original_required=is_authoritative)
        resolution = await self._resolving.resolve(
            request, Question.of(wanted, LanguagePreference())
        )
        if not isinstance(resolution.outcome, Redirect):
            return await self._nowhere(handle, resolution, request)
        related = resolution.outcome.served.related
        listed = resolution.outcome.answer.listed
        forms = listed.forms if listed is not None else None
        names = forms if forms is not None else (label,)
        metadata = PersistentUrl(label, (GetMetadata(),)).at(self._base)
        values = values_of(
            related.url, metadata, (each.spelling for each in names), related.timestamp
        )
        return _answered(
            HandleRecord(Code.SUCCESS, handle, selection.values(values)),
            is_personal=bool(resolution.only_for),
        )

    async def _nowhere(self, handle: str, resolution: Resolution, request: Request) -> Response:
        """Answer with the code and the status of the page that a reader would get."""
        explanation = self._explained(resolution)
        status = STATUSES[explanation.outcome]
        # An archive that has the item, but no URL for it: the handle is known, without values.
        is_there = explanation.outcome == "unserved"
        code = Code.VALUES_NOT_FOUND if is_there else code_of(status)
        deleted = await self._details.deleted(resolution, request)
        message = plain(explanation.because)
        if deleted is not None:
            message = f"{message} {State.DELETED}: {deleted.address}"
        headers = {"Retry-After": str(RETRY_AFTER)} if explanation.outcome == "unsure" else {}
        return json_answer(
            HandleRecord(code, handle, message=message), status, {**_OPEN, **headers}
        )


def _not_a_handle(handle: str, found: Reading) -> LabelError:
    return LabelError(
        handle,
        part=Sentence("the end of the label"),
        position=len(handle) - len(found.tail),
        expected=Sentence("the label alone"),
        found=found.tail,
        suggestions=(found.label.spelling,),
    )


def _parameters(query: QueryParams) -> tuple[Selection, bool]:
    """Return the values that are wanted, and whether the Original is required.

    An authoritative answer is one that no other server could contradict: that of the Original.
    """
    if "callback" in query:
        raise RequestError(
            Sentence("The parameter callback is refused: pages of any origin may read the JSON.")
        )
    is_authoritative = query.get("auth", "").lower() in {"true", "1"}
    return Selection.of(query.getlist("type"), query.getlist("index")), is_authoritative


def _answered(record: HandleRecord, *, is_personal: bool = False) -> Response:
    """Answer with a record; code 200 if it has none of the values that were wanted."""
    if not record.values:
        record = HandleRecord(Code.VALUES_NOT_FOUND, record.handle, ())
    # As a redirect: asked anew each time; what is for some readers only, no cache stores.
    cache = "private, no-store" if is_personal else "no-cache"
    return json_answer(record, HTTPStatus.OK, {**_OPEN, "Cache-Control": cache})


def _refused(handle: str, error: IbiError | HTTPException, code: Code | None = None) -> Response:
    problem, headers = problem_of(error)
    status = HTTPStatus(problem.status)
    record = HandleRecord(
        code_of(status) if code is None else code, handle, message=plain(problem.detail)
    )
    return json_answer(record, status, {**_OPEN, **headers})
