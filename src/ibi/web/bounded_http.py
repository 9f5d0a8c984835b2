"""HTTP by httptools, with a bound on every request: the size of its head, and the time it takes.

The parser gathers header lines without end, for anybody and without a token, and the server waits
for the rest of a request for ever. h11, node and nginx all stop between 8 and 64 kB.
"""

from __future__ import annotations

import asyncio
from typing import Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

LARGEST_HEAD: Final = 65_536
HEAD_SECONDS: Final = 15.0
BODY_SECONDS: Final = 30.0

_TOO_LARGE: Final = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"content-length: 0\r\nconnection: close\r\n\r\n"
)


class BoundedHttp(HttpToolsProtocol):
    """Hangs up on a request that does not end."""

    _head: int | None = 0
    """Bytes of a head that has not ended; None outside of one."""
    _timer: asyncio.TimerHandle | None = None

    def connection_made(  # type: ignore[override]  # as uvicorn itself narrows it
        self, transport: asyncio.Transport
    ) -> None:
        """Expect a head."""
        super().connection_made(transport)
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
        """Begin to count."""
        super().on_message_begin()
        self._head = 0
        self._expect(HEAD_SECONDS)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header, but no trailer: nobody asks for those."""
        if self._head is not None:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Stop counting: the body has a bound of its own, and a time to come in."""
        self._head = None
        self._expect(BODY_SECONDS)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Wait for nothing more: the answer takes as long as it takes."""
        self._end()
        super().on_message_complete()
        self._head = 0

    def data_received(self, data: bytes) -> None:
        """Count what came while the head had not ended."""
        super().data_received(data)
        if self._head is None or self.transport.is_closing():
            return
        if self._timer is None and self._is_idle():
            self._expect(HEAD_SECONDS)  # blank lines, of which no request begins
        self._head += len(data)
        if self._timer is not None and self._head > LARGEST_HEAD:
            self.transport.write(_TOO_LARGE)
            self.transport.close()

    def _is_idle(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle  # there is none before the first request
        return cycle is None or cycle.response_complete

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the timer."""
        self._end()
        super().connection_lost(exc)
