"""HTTP by httptools, with a bound on every request and answer, and with files sent by the system.

The parser collects header lines without end, from any client and without a token. The server waits
for the rest of a request, and for the client to read the answer, without end. h11, node and nginx
all stop between 8 and 64 kB, and nginx after 60 seconds in which a client read nothing.

RFC 9112, section 3.2: "A server MUST respond with a 400 (Bad Request) status code to any HTTP/1.1
request message that lacks a Host header field and to any request message that contains more than
one Host header field line or a Host header field with an invalid field value." The parser accepts
all three.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from typing import Final

from uvicorn._types import ASGI3Application, ASGIReceiveCallable, ASGISendCallable, Scope
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from ibi.foundation.web import sendfile
from ibi.foundation.web.problems import cut_off
from ibi.foundation.web.sendfile import FileSender

LARGEST_HEAD: Final = 65_536
"""Bytes of the head of a request."""
HEAD_SECONDS: Final = 15.0
"""Seconds in which the head of a request must come."""
BODY_SECONDS: Final = 30.0
"""Seconds in which BODY_SHARE bytes of a body must come."""
BODY_SHARE: Final = 65_536
"""Bytes of a body that must come in BODY_SECONDS, or the end of the body."""
TAKING_SECONDS: Final = 60.0
"""Seconds in which a client must read some of the answer."""

_TOO_LARGE: Final = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"content-length: 0\r\nconnection: close\r\n\r\n"
)
# RFC 3986: Host = uri-host [ ":" port ], where a URI of http has a host that is not empty.
_HOST: Final = re.compile(
    rb"(?:\[[0-9A-Za-z:.~_-]{2,255}\]|(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2}){1,255})"
    rb"(?::[0-9]{0,5})?"
)
_AROUND_A_FIELD: Final = len(b": \r\n")
_BAD_HOST: Final = "Exactly one valid Host header field is expected."


def is_host_valid(values: Sequence[bytes], *, is_required: bool = True) -> bool:
    """Return whether the values of the Host fields of a request are one valid host, or none."""
    if not values:
        return not is_required
    return len(values) == 1 and _HOST.fullmatch(values[0].strip(b" \t")) is not None


class _RefusedHeadError(Exception):
    """A head that is refused while it is parsed; the parser stops."""


class BoundedHttp(HttpToolsProtocol):
    """Closes a connection whose request does not end, or whose client does not read the answer."""

    _head: int | None = 0
    """Bytes of a head that has not ended, by whole segments; None outside of one."""
    _parsed: int = 0
    """Bytes of the target and the fields of the head that is being parsed."""
    _is_too_large: bool = False
    _has_bad_host: bool = False
    _body: int = 0
    """Bytes of a body since its time was last restarted."""
    _is_between: bool = True
    """Whether no message has begun that has not ended."""
    _ended: bool = False
    """Whether a message ended in the bytes that are being processed."""
    _timer: asyncio.TimerHandle | None = None
    _taking: asyncio.TimerHandle | None = None
    _files: FileSender | None = None
    _is_parting: bool = False
    """Whether the next answer is the last one."""
    _is_cut_off: bool = False
    """Whether the service stops, and waits no longer for the client."""

    def connection_made(  # type: ignore[override]  # as uvicorn itself narrows it
        self, transport: asyncio.Transport
    ) -> None:
        """Expect a head."""
        super().connection_made(transport)
        if (
            sendfile.IS_POSSIBLE and self.scheme == "http"
        ):  # with TLS, the bytes must be encrypted here
            self._files = FileSender(transport, TAKING_SECONDS)
        self._expect(HEAD_SECONDS)

    def _expect(self, seconds: float) -> None:
        self._end()
        self._timer = self.loop.call_later(seconds, self._hang_up)

    def _end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _hang_up(self) -> None:
        self._timer = None
        if not self.transport.is_closing():
            self.transport.close()

    def on_message_begin(self) -> None:
        """Begin to count the bytes of a head."""
        super().on_message_begin()
        self._is_between = False
        self._head = 0
        self._parsed = 0
        self._expect(HEAD_SECONDS)

    def on_url(self, url: bytes) -> None:
        """Process a part of the target."""
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Process a header, but ignore trailers."""
        if self._head is not None:
            self._count(len(name) + len(value) + _AROUND_A_FIELD)
            super().on_header(name, value)

    def _count(self, size: int) -> None:
        """Stop the parser if a head is too large, even if all of it came in one segment."""
        self._parsed += size
        if self._parsed > LARGEST_HEAD:
            self._is_too_large = True
            raise _RefusedHeadError

    def on_headers_complete(self) -> None:
        """Stop counting: the body has a limit of its own, and a time in which it must come."""
        hosts = [value for name, value in self.headers if name == b"host"]
        if not is_host_valid(hosts, is_required=self.parser.get_http_version() != "1.0"):
            self._has_bad_host = True
            raise _RefusedHeadError
        self._head = None
        self._body = 0
        self._expect(BODY_SECONDS)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Stop the timer: the answer may take any time."""
        self._end()
        super().on_message_complete()
        self._is_between = True
        self._head = 0
        self._ended = True

    def data_received(self, data: bytes) -> None:
        """Count the bytes that came before the head has ended."""
        self._ended = False
        super().data_received(data)
        if self._head is None and self._timer is not None:
            self._body += len(data)
            if self._body >= BODY_SHARE:
                self._body = 0
                self._expect(BODY_SECONDS)
        if self._head is None or self.transport.is_closing():
            return
        if self._timer is None and self._is_idle():
            self._expect(HEAD_SECONDS)  # blank lines, with which no request begins
        if not self._ended:  # otherwise most bytes belong to the message before
            self._head += len(data)
        if self._timer is not None and self._head > LARGEST_HEAD:
            self._refuse_large_head()

    def _refuse_large_head(self) -> None:
        if self._is_idle():  # otherwise it would be sent in the middle of another answer
            self.transport.write(_TOO_LARGE)
        self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """Answer that a request is not valid, but not in the middle of another answer."""
        if self._is_too_large:
            self._refuse_large_head()
            return
        cycle: RequestResponseCycle | None = self.cycle
        begun = cycle is not None and (cycle.response_started or bool(self.pipeline))
        if self._is_idle() or not begun:
            super().send_400_response(_BAD_HOST if self._has_bad_host else msg)
        else:
            self.transport.close()

    def _is_idle(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle  # there is none before the first request
        return cycle is None or cycle.response_complete

    def part(self) -> None:
        """Close the connection after the next answer, or the one that is being sent."""
        self._is_parting = True
        if not self._is_idle() and not self.pipeline:
            self.cycle.keep_alive = False

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        if self._is_parting and not self.pipeline:
            cycle.keep_alive = False
        files = self._files
        if files is not None:
            cycle.scope["extensions"] = {sendfile.EXTENSION: {}}

        async def run(scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
            try:
                await app(scope, receive, send if files is None else files.sending(cycle))
            except asyncio.CancelledError:  # by a stop of the service alone
                self._cut_off(cycle)
                if cycle.response_started:
                    raise
                stopped = cut_off(_accept_language(scope))
                await stopped(scope, receive, send)  # type: ignore[arg-type]  # the same protocol

        super()._start_asgi_task(cycle, run)

    def _cut_off(self, cycle: RequestResponseCycle) -> None:
        """Wait no longer for the client: whatever is sent from now on must not delay the stop."""
        self._is_cut_off = True
        self.pipeline.clear()
        cycle.keep_alive = False
        if self._taking is not None:
            self.transport.abort()

    def pause_writing(self) -> None:
        """Wait for the client to read, but not for ever."""
        super().pause_writing()
        patience = 0.0 if self._is_cut_off else TAKING_SECONDS
        self._taking = self.loop.call_later(patience, self.transport.abort)

    def resume_writing(self) -> None:
        """Continue: the client has read."""
        super().resume_writing()
        self._taken()

    def _taken(self) -> None:
        if self._taking is not None:
            self._taking.cancel()
            self._taking = None
        if self._files is not None:
            self._files.wake()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the timers, and wake the waiting sender."""
        self._end()
        self._taken()
        super().connection_lost(exc)


def _accept_language(scope: Scope) -> str:
    headers = scope["headers"] if scope["type"] == "http" else ()
    found = (value for name, value in headers if name == b"accept-language")
    return next(found, b"").decode("latin-1")
