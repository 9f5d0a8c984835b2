"""Errors as problem documents (RFC 9457): the only table of HTTP statuses."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

import msgspec
import structlog
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from ibi.errors import (
    AccountError,
    ArchiveRefusedError,
    ArchiveUnreachableError,
    BindingError,
    BusyError,
    ChecksumError,
    ClockError,
    DeletedError,
    ForbiddenError,
    ForgeryError,
    IbiError,
    KeyReusedError,
    KeyTextError,
    LabelInUseError,
    LedgerError,
    LedgerUnavailableError,
    MailError,
    MessageError,
    MinterClosedError,
    MinterUnreachableError,
    NoAccountError,
    NotOnRecordError,
    OverloadError,
    PersistentUrlError,
    PrefixHeldError,
    ProofError,
    ReadersError,
    ReadingError,
    RegistrationKeyError,
    RequestError,
    ResolverRefusedError,
    ResolverUnreachableError,
    RoleError,
    SearchTimeoutError,
    Sentence,
    ShareError,
    SignInError,
    StateError,
    StorageError,
    StorageFullError,
    TooLargeError,
    TooManyRequestsError,
    UnauthenticatedError,
    UnknownError,
    WriterUnavailableError,
)
from ibi.foundation.translation.language import in_one_language, preference_of

_LOG: Final = structlog.get_logger()

MEDIA_TYPE: Final = "application/problem+json"

# The first class that matches decides; names are stable, titles may be reworded.
_PROBLEMS: Final[tuple[tuple[type[IbiError], HTTPStatus, str, str], ...]] = (
    (
        UnauthenticatedError,
        HTTPStatus.UNAUTHORIZED,
        "token-needed",
        Sentence("A token is needed"),
    ),
    (ForbiddenError, HTTPStatus.FORBIDDEN, "scope-needed", Sentence("The token is not for this")),
    (RoleError, HTTPStatus.FORBIDDEN, "role-needed", Sentence("Your account may not do this")),
    (ForgeryError, HTTPStatus.FORBIDDEN, "forgery", Sentence("Another site sent this")),
    (SignInError, HTTPStatus.FORBIDDEN, "sign-in", Sentence("You are not signed in")),
    (NoAccountError, HTTPStatus.NOT_FOUND, "no-account", Sentence("There is no such thing here")),
    (
        AccountError,
        HTTPStatus.CONFLICT,
        "account-state",
        Sentence("The state of the thing forbids it"),
    ),
    (
        ReadersError,
        HTTPStatus.FORBIDDEN,
        "limited-readers",
        Sentence("The files of this item can be read from the networks of its readers only"),
    ),
    (
        KeyReusedError,
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "key-reused",
        Sentence("The idempotency key was used for another request"),
    ),
    (RequestError, HTTPStatus.BAD_REQUEST, "bad-request", Sentence("The request cannot be met")),
    (BindingError, HTTPStatus.CONFLICT, "cannot-bind", Sentence("The label cannot be bound")),
    (LabelInUseError, HTTPStatus.CONFLICT, "label-in-use", Sentence("The label cannot be adopted")),
    (
        ShareError,
        HTTPStatus.TOO_MANY_REQUESTS,
        "too-many",
        Sentence("This token has too much waiting"),
    ),
    (BusyError, HTTPStatus.SERVICE_UNAVAILABLE, "busy", Sentence("Too many are waiting")),
    (ClockError, HTTPStatus.SERVICE_UNAVAILABLE, "clock", Sentence("The clock cannot be trusted")),
    (LedgerError, HTTPStatus.SERVICE_UNAVAILABLE, "ledger", Sentence("The ledger cannot be used")),
    (
        PrefixHeldError,
        HTTPStatus.SERVICE_UNAVAILABLE,
        "prefix-held",
        Sentence("The prefix is held"),
    ),
    (
        MinterClosedError,
        HTTPStatus.SERVICE_UNAVAILABLE,
        "stopping",
        Sentence("The service is stopping"),
    ),
    (
        MinterUnreachableError,
        HTTPStatus.BAD_GATEWAY,
        "unreachable",
        Sentence("Another service is down"),
    ),
    (UnknownError, HTTPStatus.NOT_FOUND, "unknown", Sentence("There is no such thing here")),
    (DeletedError, HTTPStatus.GONE, "deleted", Sentence("The item was deleted")),
    (StateError, HTTPStatus.CONFLICT, "state", Sentence("The state of the thing forbids it")),
    (
        ChecksumError,
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "checksum",
        Sentence("What came is not what was sent"),
    ),
    (TooLargeError, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too-large", Sentence("It is too large")),
    (TooManyRequestsError, HTTPStatus.TOO_MANY_REQUESTS, "too-many", Sentence("Too many requests")),
    (
        WriterUnavailableError,
        HTTPStatus.SERVICE_UNAVAILABLE,
        "keeper-away",
        Sentence("The archive cannot be changed"),
    ),
    (
        SearchTimeoutError,
        HTTPStatus.SERVICE_UNAVAILABLE,
        "search-timeout",
        Sentence("The search takes too long"),
    ),
    (StorageFullError, HTTPStatus.INSUFFICIENT_STORAGE, "full", Sentence("There is no room")),
    (
        StorageError,
        HTTPStatus.SERVICE_UNAVAILABLE,
        "storage",
        Sentence("The storage cannot be used"),
    ),
    (NotOnRecordError, HTTPStatus.NOT_FOUND, "not-on-record", Sentence("It is not on record here")),
    (
        RegistrationKeyError,
        HTTPStatus.FORBIDDEN,
        "registration-key",
        Sentence("The archive is not registered by this key"),
    ),
    (OverloadError, HTTPStatus.SERVICE_UNAVAILABLE, "overload", Sentence("Too much is asked for")),
    (ProofError, HTTPStatus.UNPROCESSABLE_ENTITY, "proof", Sentence("Control was not shown")),
    (MailError, HTTPStatus.BAD_GATEWAY, "mail", Sentence("The message was not sent")),
    (ArchiveRefusedError, HTTPStatus.BAD_GATEWAY, "refused", Sentence("Another archive said no")),
    (
        ArchiveUnreachableError,
        HTTPStatus.BAD_GATEWAY,
        "unreachable",
        Sentence("Another service is down"),
    ),
    (ResolverRefusedError, HTTPStatus.BAD_GATEWAY, "refused", Sentence("Another resolver said no")),
    (
        ResolverUnreachableError,
        HTTPStatus.BAD_GATEWAY,
        "unreachable",
        Sentence("Another service is down"),
    ),
    (MessageError, HTTPStatus.BAD_REQUEST, "bad-message", Sentence("The message cannot be served")),
    (KeyTextError, HTTPStatus.BAD_REQUEST, "not-a-key", Sentence("The text is not a key")),
    (
        PersistentUrlError,
        HTTPStatus.BAD_REQUEST,
        "not-a-persistent-url",
        Sentence("The address is not a persistent URL"),
    ),
    (ReadingError, HTTPStatus.BAD_REQUEST, "not-a-label", Sentence("The text is not a label")),
)

_PHRASES: Final = {
    HTTPStatus.BAD_REQUEST: Sentence("Bad Request"),
    HTTPStatus.FORBIDDEN: Sentence("Forbidden"),
    HTTPStatus.NOT_FOUND: Sentence("Not Found"),
    HTTPStatus.METHOD_NOT_ALLOWED: Sentence("Method Not Allowed"),
    HTTPStatus.NOT_ACCEPTABLE: Sentence("Not Acceptable"),
    HTTPStatus.PRECONDITION_FAILED: Sentence("Precondition Failed"),
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: Sentence("Request Entity Too Large"),
    HTTPStatus.REQUEST_URI_TOO_LONG: Sentence("Request-URI Too Long"),
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: Sentence("Unsupported Media Type"),
    HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE: Sentence("Requested Range Not Satisfiable"),
    HTTPStatus.SERVICE_UNAVAILABLE: Sentence("Service Unavailable"),
}
"""Phrases of the statuses that handlers and the router answer with; a reader's language may differ
(RFC 9457, 4.2.1)."""

_SENTENCES: Final = {
    HTTPStatus.NOT_FOUND: Sentence("There is nothing at this address."),
    HTTPStatus.METHOD_NOT_ALLOWED: Sentence("This address does not take this method."),
}
"""Details of errors of the router, which has none."""

UNTITLED: Final = "about:blank"
"""The type of a problem whose title is that of its status (RFC 9457, 4.2.1)."""
RETRY_AFTER: Final = 5
"""Seconds after which to try again, where the error itself has no time."""


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """A problem document."""

    type: str
    title: str
    status: int
    detail: str = ""
    retry_after: int = 0


def problem_of(error: Exception) -> tuple[Problem, dict[str, str]]:
    """Return the problem document of an error, and its headers."""
    if isinstance(error, HTTPException):
        return _problem_of_http(error)
    if not isinstance(error, IbiError):
        raise error
    status, name, title = _described(error)
    headers: dict[str, str] = {}
    retry_after = 0
    if status in {HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.TOO_MANY_REQUESTS}:
        if isinstance(
            error, (BusyError, WriterUnavailableError, OverloadError, TooManyRequestsError)
        ):
            retry_after = error.retry_after
        else:
            retry_after = RETRY_AFTER
        headers["Retry-After"] = str(retry_after)
    if status is HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = 'Bearer realm="ibi"'
    if isinstance(error, ReadersError):
        headers["Vary"] = "Accept, Accept-Language, Authorization"
    problem = Problem(f"urn:ibi:problem:{name}", title, status, _public(error), retry_after)
    return problem, headers


def _problem_of_http(error: HTTPException) -> tuple[Problem, dict[str, str]]:
    status = HTTPStatus(error.status_code)
    detail = _SENTENCES.get(status, "") if error.detail == status.phrase else error.detail
    title = _PHRASES.get(status, status.phrase)
    return Problem(UNTITLED, title, status, detail), dict(error.headers or {})


def _described(error: IbiError) -> tuple[HTTPStatus, str, str]:
    for kind, status, name, title in _PROBLEMS:
        if isinstance(error, kind):
            return status, name, title
    return HTTPStatus.INTERNAL_SERVER_ERROR, "unforeseen", Sentence("Unforeseen error")


def _public(error: IbiError) -> str:
    """Return the text that a stranger may read: without paths, and without errors of the disk."""
    if isinstance(error, LedgerUnavailableError) and error.is_full:
        return Sentence("There is no room left for the ledger; nothing was minted.")
    if isinstance(error, LedgerError):
        return Sentence("The ledger cannot be used at the moment; nothing was minted.")
    if isinstance(error, StorageFullError):
        return Sentence("There is no room left in the storage; nothing was changed.")
    if isinstance(error, StorageError):
        return Sentence("The storage cannot be used at the moment. Ask again whether it was done.")
    return error.message()


def localized(problem: Problem, accept_language: str) -> tuple[Problem, dict[str, str]]:
    """Return a problem with title and detail in a reader's language, and the headers of that."""
    texts, language = in_one_language(
        (problem.title, problem.detail), preference_of(accept_language)
    )
    title, detail = texts
    headers = {"Content-Language": language, "Vary": "Accept-Language"}
    return msgspec.structs.replace(problem, title=title, detail=detail), headers


def _answer(problem: Problem, headers: dict[str, str], accept_language: str) -> Response:
    told, about_language = localized(problem, accept_language)
    return Response(
        msgspec.json.encode(told),
        status_code=problem.status,
        media_type=MEDIA_TYPE,
        headers={**about_language, **headers, "Cache-Control": "no-store"},
    )


async def on_ibi_error(request: Request, error: Exception) -> Response:
    """Answer an error that a handler raised."""
    if not isinstance(error, IbiError):
        raise error
    if isinstance(error, (LedgerError, ClockError)):
        _LOG.warning("minting refused", error=str(error))
    if isinstance(error, StorageError):
        _LOG.warning("storage failed", error=str(error))
    return _answer(*problem_of(error), languages_of(request))


async def on_http_error(request: Request, error: Exception) -> Response:
    """Answer an error of the router: no such path, no such method."""
    return _answer(*problem_of(error), languages_of(request))


async def on_bug(request: Request, error: Exception) -> Response:
    """Answer a bug without any detail, which is in the log."""
    _LOG.error("unforeseen error", exc_info=error)
    status = HTTPStatus.INTERNAL_SERVER_ERROR
    problem = Problem("urn:ibi:problem:unforeseen", Sentence("Unforeseen error"), status)
    return _answer(problem, {}, languages_of(request))


def cut_off(accept_language: str) -> Response:
    """Answer a request that the stop of the service interrupts."""
    problem = Problem(
        "urn:ibi:problem:stopping",
        Sentence("The service is stopping"),
        HTTPStatus.SERVICE_UNAVAILABLE,
        Sentence("The service stopped before the request was complete. Try again when it runs."),
        RETRY_AFTER,
    )
    return _answer(problem, {"Retry-After": str(RETRY_AFTER)}, accept_language)


def languages_of(request: Request) -> str:
    """Return the languages that a client accepts."""
    return request.headers.get("accept-language", "")
