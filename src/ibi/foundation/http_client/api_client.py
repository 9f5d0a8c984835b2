"""A client of the JSON API of one of our services, on another machine or in another process."""

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
    Sentence,
    printable,
    shown,
)
from ibi.wire.addresses import is_web_address

ATTEMPTS: Final = 6
"""How often a request is tried while the service is overloaded."""
OVERLOAD_PAUSE_SECONDS: Final = 1.0
"""Seconds to wait after the service answered that it is overloaded."""
JSON: Final = "application/json"
_TIMEOUT: Final = urllib3.Timeout(connect=10, read=300)
_LONGEST_DETAIL: Final = 500
_MOST_AT_ONCE: Final = 16
"""Connections that are kept, for threads that send requests concurrently."""
_WORDS: Final = (
    (urllib3.exceptions.NameResolutionError, Sentence("its name cannot be resolved")),
    (urllib3.exceptions.TimeoutError, Sentence("it takes too long")),
    (urllib3.exceptions.SSLError, Sentence("there is no secure connection to it")),
    (urllib3.exceptions.HTTPError, Sentence("the connection broke")),
)
"""What went wrong, by exception; the first class that matches counts."""
_SYSTEM: Final = {
    str(each): each
    for each in (
        Sentence("connection refused"),
        Sentence("connection reset by peer"),
        Sentence("connection timed out"),
        Sentence("name or service not known"),
        Sentence("network is unreachable"),
        Sentence("no route to host"),
    )
}
"""Messages of the system that are translated; others are shown as the system has them."""


class RemoteApi:
    """Sends requests to one service, with a token if there is one."""

    service: ClassVar[str]
    """The kind of service, for messages: an archive, a resolver."""
    unusable: ClassVar[type[RequestError]]
    unreachable: ClassVar[type[ArchiveUnreachableError | ResolverUnreachableError]]
    refused: ClassVar[type[ArchiveRefusedError | ResolverRefusedError]]

    def __init__(self, address: str, token: str) -> None:
        """Take the address and a token; no connection is made yet."""
        if not is_web_address(address):
            raise self.unusable(
                f"{shown(address)} is not the address of {self.service}: "
                "expected http://host[:port]."
            )
        if not token.isascii() or not token.isprintable():
            raise self.unusable(f"The token for {self.service} has characters that no token has.")
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
        """Send a request, and return the JSON of the answer; None if it is empty."""
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
        """Send a request, again after a pause if the service is overloaded."""
        headers = {"Content-Type": media_type, "Accept": JSON}
        for attempt in range(ATTEMPTS):
            try:
                answer = self._send(method, path, body, headers, query)
                break
            except (ArchiveRefusedError, ResolverRefusedError) as refusal:
                if refusal.status != HTTPStatus.TOO_MANY_REQUESTS or attempt == ATTEMPTS - 1:
                    raise
                time.sleep(OVERLOAD_PAUSE_SECONDS)
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
        if answer.status >= HTTPStatus.MULTIPLE_CHOICES:  # everything but success
            raise self.refused(answer.status, detail_of(answer.data))
        return answer


def reason_of(failure: urllib3.exceptions.HTTPError) -> str:
    """Return why there was no answer: the system's own message, if there is one."""
    words = next(words for kind, words in _WORDS if isinstance(failure, kind))
    cause = failure.__cause__
    while cause is not None and isinstance(cause.__cause__, OSError):
        cause = cause.__cause__
    text = getattr(cause, "strerror", None)
    if not text:
        return words
    said = printable(str(text)).lower()
    return _SYSTEM.get(said, said)


def detail_of(body: bytes) -> str:
    """Return the message of a problem document; empty if the body is not one."""
    with suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        problem = msgspec.json.decode(body, type=dict[str, Any])
        detail = str(problem.get("detail") or problem.get("title") or "")
        return printable(detail[:_LONGEST_DETAIL])
    return ""
