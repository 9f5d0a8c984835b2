"""A client of resolvers over HTTP, for inclusion and exclusion of an archive (004, section 5.2).

The registration key travels in the query. So no part of a request is ever repeated in a reason, an
exception or a log. That is why this module uses `http.client` and not urllib3, which logs the query
of an answer whose headers are bad. It opens its sockets itself because the deadline covers
everything, from the connection to the last byte.
"""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPResponse
from threading import Timer
from typing import Final
from urllib.parse import urlsplit

from ibi.archive.resolver_links.announcer import PATIENCE
from ibi.archive.rules.announcement import (
    Excluded,
    Included,
    Link,
    LinkRequest,
    Outcome,
    Refused,
    Unreachable,
)
from ibi.errors import IbiError, printable
from ibi.identifier.label import Label
from ibi.wire import responses
from ibi.wire.digest import notification_path
from ibi.wire.requests import ExclusionRequest, InclusionRequest, at
from ibi.wire.responses import ErrorAnswer, ExclusionStatus, InclusionStatus

LARGEST_ANSWER: Final = 64 * 1024
"""Bytes of the largest answer; compressed answers, which would grow, are not accepted."""
LONGEST_REASON: Final = 200
"""Characters of the longest reason of a resolver that is kept."""
_PORTS: Final = {"http": 80, "https": 443}
_LATER: Final = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS)
_REDIRECTION: Final = 3


class _NoAnswerError(Exception):
    """A resolver gave no usable answer; the message is the reason."""


class HttpResolverClient:
    """Sends requests to resolvers; several threads may share one client."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        """Trust the certificates that the machine trusts, unless `tls` is given."""
        self._tls = tls or ssl.create_default_context()

    def ask(self, link: Link, request: LinkRequest, seconds: float = PATIENCE) -> Outcome:
        """Send a request and return its outcome, within so many seconds in all.

        Only the name resolution of the system may take longer.
        """
        deadline = time.monotonic() + seconds
        try:
            target = at(f"/{link.resolver_service.spelling}", request)
            outcome = _outcome(request, *self._get(link, target, deadline))
        except _NoAnswerError as failure:
            outcome = Unreachable(str(failure))
        except (HTTPException, OSError, ValueError) as failure:
            outcome = Unreachable(_words(failure))
        # A connection closed at the deadline looks broken, or even like a complete answer.
        return outcome if time.monotonic() < deadline else Unreachable(_words(TimeoutError()))

    def notify(self, link: Link, service: Label, seconds: float) -> bool:
        """Notify a resolver that the digest has changed; return False to try again later.

        A resolver that refuses reads no digest, or does not include the archive.
        """
        deadline = time.monotonic() + seconds
        headers = {"Host": urlsplit(link.resolver).netloc, "Content-Length": "0"}
        try:
            with self._connection(link.resolver, deadline) as connection:
                connection.request("POST", notification_path(service.spelling), headers=headers)
                status = connection.getresponse().status
        except (HTTPException, OSError, ValueError):
            return False
        return status < HTTPStatus.INTERNAL_SERVER_ERROR and status not in _LATER

    def _get(self, link: Link, target: str, deadline: float) -> tuple[int, bytes]:
        headers = {
            "Host": urlsplit(link.resolver).netloc,
            "Accept": "text/plain",
            "Accept-Encoding": "identity",
        }
        with self._connection(link.resolver, deadline) as connection:
            connection.request("GET", target, headers=headers)
            answer = connection.getresponse()
            return answer.status, _body(answer)

    @contextmanager
    def _connection(self, resolver: str, deadline: float) -> Iterator[HTTPConnection]:
        parts = urlsplit(resolver)
        host, port = parts.hostname or "", parts.port or _PORTS[parts.scheme]
        peer = _connected(host, port, deadline)
        if parts.scheme == "https":
            peer = self._tls.wrap_socket(peer, server_hostname=host, do_handshake_on_connect=False)
        connection = HTTPConnection(host, port)
        connection.sock = peer
        with closing(peer), closing(connection), _ended_at(deadline, peer):
            if isinstance(peer, ssl.SSLSocket):
                peer.do_handshake()
            yield connection


def _connected(host: str, port: int, deadline: float) -> socket.socket:
    """Connect to the first address of a host that accepts; each gets a share of the time."""
    places = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    failure: OSError = TimeoutError()
    for tried, (family, kind, protocol, _, place) in enumerate(places):
        share = (deadline - time.monotonic()) / (len(places) - tried)
        peer = socket.socket(family, kind, protocol)
        try:
            peer.settimeout(max(share, 0.001))
            peer.connect(place)
        except OSError as fault:
            peer.close()
            failure = fault
        else:
            peer.settimeout(max(deadline - time.monotonic(), 0.001))
            return peer
    raise failure


@contextmanager
def _ended_at(deadline: float, peer: socket.socket) -> Iterator[None]:
    """Shut a connection down at the deadline, even if bytes keep coming slowly."""

    def end() -> None:
        with suppress(OSError):
            socket.socket.shutdown(peer, socket.SHUT_RDWR)

    # One millisecond later, so that a thread that was cut off finds the deadline passed.
    watch = Timer(max(deadline - time.monotonic(), 0.0) + 0.001, end)
    watch.daemon = True
    watch.start()
    try:
        yield
    finally:
        watch.cancel()


def _body(answer: HTTPResponse) -> bytes:
    if answer.status // 100 == _REDIRECTION:
        raise _NoAnswerError(f"it answered with a redirection ({answer.status})")
    if answer.getheader("Content-Encoding", "identity").lower() != "identity":
        raise _NoAnswerError("its answer is compressed, which nobody asked for")
    if answer.headers.get_content_type() != "text/plain":
        raise _NoAnswerError(f"it answered {answer.status}, and not in plain text")
    octets = answer.read(LARGEST_ANSWER + 1)
    if len(octets) > LARGEST_ANSWER:
        raise _NoAnswerError(f"its answer is longer than {LARGEST_ANSWER} bytes")
    if answer.length:
        raise _NoAnswerError("its answer broke off")
    return octets


_WORDS: Final[tuple[tuple[type[Exception], str], ...]] = (
    (TimeoutError, "it did not answer in time"),
    (socket.gaierror, "its name is not known"),
    (ssl.SSLCertVerificationError, "its certificate is not good"),
    (ssl.SSLError, "there is no secure connection to it"),
    (HTTPException, "it broke off, or does not speak HTTP"),
    (ConnectionResetError, "it broke off, or does not speak HTTP"),
    (OSError, "there is no connection to it"),
    (Exception, "its address cannot be used"),
)


def _words(failure: Exception) -> str:
    """Return a fixed text for a failure, whose own message may repeat the request."""
    return next(words for kind, words in _WORDS if isinstance(failure, kind))


def _outcome(request: LinkRequest, status: int, body: bytes) -> Outcome:
    try:
        answer = responses.decode(body)
    except IbiError:
        answer = None
    good = status == HTTPStatus.OK
    match request, answer:
        case InclusionRequest(), InclusionStatus(confirmed=confirmed, link_secret=secret) if good:
            return Included(confirmed, secret)
        case ExclusionRequest(), ExclusionStatus() if good:
            return Excluded()
        case _, ErrorAnswer(code=code, reason=reason):
            said = _clean(reason or code, request)
            is_refusal = status < HTTPStatus.INTERNAL_SERVER_ERROR and status not in _LATER
            return Refused(_clean(code, request), said) if is_refusal else Unreachable(said)
        case _:
            return Unreachable("its answer makes no sense" if good else f"it answered {status}")


def _clean(text: str, request: LinkRequest) -> str:
    """Return a resolver's text, safe for a terminal or a log and without the key."""
    return printable(text.replace(request.key.text, "…")[:LONGEST_REASON]).strip(" .")
