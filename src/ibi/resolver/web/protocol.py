"""The resolver service of 004 over HTTP: archives announce inclusion and exclusion (section 5.2).

The registration key travels in the query, as the standard requires: so nothing of a query is ever
logged or repeated.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

import structlog
from starlette.requests import Request
from starlette.responses import Response

from ibi.errors import (
    IbiError,
    MessageError,
    PairListError,
    RegistrationKeyError,
    StorageError,
    TooManyRequestsError,
)
from ibi.foundation.web.client_address import ClientAddresses
from ibi.identifier.label import Label, longest_match
from ibi.resolver.registry.inclusion import InclusionService
from ibi.wire import requests, responses
from ibi.wire.responses import ErrorAnswer

_LOG: Final = structlog.get_logger()
_SUBJECT: Final = b"servicesubject="
# Exactly as in 004, section 4.2; Starlette would add a character set.
_HEADERS: Final = {"Content-Type": "text/plain", "Cache-Control": "no-store"}


class InclusionEndpoint:
    """Answers inclusionRequest and exclusionRequest."""

    def __init__(
        self, inclusion: InclusionService, service: Label, clients: ClientAddresses
    ) -> None:
        """Answer at the label of the resolver service."""
        self._inclusion = inclusion
        self._service = service
        self._clients = clients

    @property
    def service(self) -> Label:
        """The label of the resolver service."""
        return self._service

    def is_for(self, request: Request) -> bool:
        """Return whether a request is for the resolver service."""
        return _SUBJECT in request.scope["query_string"] and self.is_named(request)

    def is_named(self, request: Request) -> bool:
        """Return whether the path of a request is the label of the resolver service."""
        path = request.scope["raw_path"].decode("ascii", "replace")[1:]
        label = longest_match(path)
        return label is not None and label == self._service and label.spelling == path

    async def serve(self, request: Request) -> Response:
        """Answer a request; errors are answered by a pair list too."""
        try:
            asked = requests.decode(request.scope["query_string"])
            if not isinstance(asked, requests.InclusionRequest | requests.ExclusionRequest):
                raise MessageError("unknown-subject", "This is a resolver: archives serve that.")
            status = await self._inclusion.serve(asked, self._clients.of(request)[0])
            return Response(responses.encode(status), headers=_HEADERS)
        except IbiError as fault:
            return _refusal(fault)


def _refusal(fault: IbiError) -> Response:
    headers = dict(_HEADERS)
    match fault:
        case MessageError(code=code):
            status = HTTPStatus.BAD_REQUEST
        case PairListError():
            status, code = HTTPStatus.BAD_REQUEST, "bad-value"
        case RegistrationKeyError():
            status, code = HTTPStatus.FORBIDDEN, "not-registered"
        case TooManyRequestsError(retry_after=seconds):
            status, code = HTTPStatus.TOO_MANY_REQUESTS, "too-many"
            headers["Retry-After"] = str(seconds)
        case StorageError():
            _LOG.warning("request refused", error=str(fault))
            status, code = HTTPStatus.SERVICE_UNAVAILABLE, "storage"
            headers["Retry-After"] = "5"
        case _:
            raise fault
    reason = "The registry cannot be used now." if code == "storage" else str(fault)
    return Response(responses.encode(ErrorAnswer(code, reason)), status, headers)
