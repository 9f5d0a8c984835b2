"""The API of a service of ours, on another machine or in another process, over HTTP."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from http import HTTPStatus
from typing import Any, ClassVar, Final
from urllib.parse import quote

import msgspec
import urllib3

from ibi.errors import (
    ArchiveRefusedError,
    ArchiveUnreachableError,
    RequestError,
    ResolverRefusedError,
    ResolverUnreachableError,
    printable,
    shown,
)
from ibi.metadata.web_address import is_web_address

ATTEMPTS: Final = 6
REST: Final = 1.0
"""Seconds, for a service that was asked too much of."""
JSON: Final = "application/json"
_TIMEOUT: Final = urllib3.Timeout(connect=10, read=300)
_LONGEST_DETAIL: Final = 500
_MOST_AT_ONCE: Final = 16
"""Connections that are kept, for threads that ask at once."""
_WORDS: Final = (
    (urllib3.exceptions.NameResolutionError, "nobody knows its name"),
    (urllib3.exceptions.TimeoutError, "it takes too long"),
    (urllib3.exceptions.SSLError, "it cannot prove who it is"),
    (urllib3.exceptions.HTTPError, "the connection broke"),
)
"""What went wrong; the first class that fits decides."""


class RemoteApi:
    """Speaks to one service, with a token if there is one."""

    service: ClassVar[str]
    """What it is, for people: an archive, a resolver."""
    unusable: ClassVar[type[RequestError]]
    unreachable: ClassVar[type[ArchiveUnreachableError | ResolverUnreachableError]]
    refused: ClassVar[type[ArchiveRefusedError | ResolverRefusedError]]

    def __init__(self, address: str, token: str) -> None:
        """Connect when needed."""
        if not is_web_address(address):
            raise self.unusable(
                f"{shown(address)} is not the address of {self.service}: "
                "expected http://host[:port]."
            )
        if not token.isascii() or not token.isprintable():
            raise self.unusable(f"The token for {self.service} is not one.")
        self.address = address.rstrip("/")
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._pool = urllib3.PoolManager(maxsize=_MOST_AT_ONCE, retries=False, timeout=_TIMEOUT)

    def ask(
        self,
        method: str,
        path: str,
        body: object | None = None,
        query: Mapping[str, str] | None = None,
    ) -> Any:  # noqa: ANN401  # whatever it answers
        """Send a request, and return what came as JSON; nothing if nothing came."""
        sent = None if body is None else msgspec.json.encode(body)
        return self._asked(method, path, sent, JSON, query)

    def _asked(
        self,
        method: str,
        path: str,
        body: bytes | None,
        media_type: str,
        query: Mapping[str, str] | None = None,
    ) -> Any:  # noqa: ANN401
        """Ask; what was too much for one second is not for the next."""
        headers = {"Content-Type": media_type, "Accept": JSON}
        for attempt in range(ATTEMPTS):
            try:
                answer = self._send(method, path, body, headers, query)
                break
            except (ArchiveRefusedError, ResolverRefusedError) as refusal:
                if refusal.status != HTTPStatus.TOO_MANY_REQUESTS or attempt == ATTEMPTS - 1:
                    raise
                time.sleep(REST)
        try:
            return msgspec.json.decode(answer.data) if answer.data else None
        except msgspec.MsgspecError:
            raise self.unreachable(self.address, "its answer makes no sense") from None

    def _send(
        self,
        method: str,
        path: str,
        body: bytes | Iterator[bytes] | None,
        headers: Mapping[str, str],
        query: Mapping[str, str] | None = None,
    ) -> urllib3.BaseHTTPResponse:
        pairs = "&".join(f"{name}={quote(value, safe='')}" for name, value in (query or {}).items())
        url = f"{self.address}/api/v1/{path}" + (f"?{pairs}" if pairs else "")
        try:
            answer = self._pool.request(
                method, url, body=body, headers={**self._headers, **headers}, redirect=False
            )
        except urllib3.exceptions.HTTPError as failure:
            raise self.unreachable(self.address, reason_of(failure)) from failure
        if answer.status >= HTTPStatus.MULTIPLE_CHOICES:  # whatever is no success
            raise self.refused(answer.status, detail_of(answer.data))
        return answer


def reason_of(failure: urllib3.exceptions.HTTPError) -> str:
    """Say in words why nothing was answered: those of the system, if it has any."""
    words = next(words for kind, words in _WORDS if isinstance(failure, kind))
    cause = failure.__cause__
    while cause is not None and isinstance(cause.__cause__, OSError):
        cause = cause.__cause__
    text = getattr(cause, "strerror", None) or words
    return printable(str(text)).lower()


def detail_of(body: bytes) -> str:
    """Return the sentence of a problem document; empty if the body is none."""
    with suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        problem = msgspec.json.decode(body, type=dict[str, Any])
        detail = str(problem.get("detail") or problem.get("title") or "")
        return printable(detail[:_LONGEST_DETAIL])
    return ""
