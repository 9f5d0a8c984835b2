"""Files that the system itself sends, without a copy through this process.

This is ASGI's extension "http.response.zerocopysend" for uvicorn, which lacks it. uvloop lacks
`loop.sendfile` too, and does not allow waiting for a socket of its own: we wait for a duplicate.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any, Final, Protocol

from ibi.foundation.web.blocking_read import fetch, in_thread, is_at_hand

EXTENSION: Final = "http.response.zerocopysend"
IS_POSSIBLE: Final = hasattr(os, "sendfile")

PIECE: Final = 1 << 20
"""Bytes that are sent before other tasks of the event loop run."""

Message = MutableMapping[str, Any]
Send = Callable[[Any], Awaitable[None]]
"""Accepts any message: uvicorn and Starlette have different types for them."""


class Cycle(Protocol):
    """The part of uvicorn's request-response cycle that is used here."""

    scope: Any
    response_started: bool
    response_complete: bool
    chunked_encoding: bool | None
    expected_content_length: int

    async def send(self, message: Any) -> None:  # noqa: ANN401  # as uvicorn has it
        """Send a part of a response."""


class FileSender:
    """Sends files over one connection, between the writes of its transport."""

    def __init__(self, transport: asyncio.Transport, seconds: float) -> None:
        """Close the connection if the client reads nothing for so many seconds."""
        self._loop = asyncio.get_running_loop()
        self._transport = transport
        self._seconds = seconds
        self._waiter: asyncio.Future[None] | None = None

    def sending(self, cycle: Cycle) -> Send:
        """Return the send function of an application: as before, and for files."""

        async def send(message: Message) -> None:
            if message["type"] == EXTENSION:
                message = await self._sent(cycle, message)
            await cycle.send(message)

        return send

    async def _sent(self, cycle: Cycle, message: Message) -> Message:
        """Send a part of a file; return the message that ends it."""
        if not cycle.response_started or cycle.response_complete or cycle.chunked_encoding:
            msg = "A file is sent in a response that has begun and has a Content-Length."
            raise RuntimeError(msg)
        if cycle.scope["method"] != "HEAD":
            file, offset, count = _part(message)
            if count > cycle.expected_content_length:
                msg = "The part of the file is longer than Content-Length."
                raise RuntimeError(msg)
            await self._send(file, offset, count)
            cycle.expected_content_length -= count
        more_body = message.get("more_body", False)
        return {"type": "http.response.body", "body": b"", "more_body": more_body}

    def wake(self) -> None:
        """Continue: the transport has written everything, or the connection is lost."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def _send(self, file: int, offset: int, count: int) -> None:
        await self._drain()
        end = offset + count
        try:
            while offset < end and not self._transport.is_closing():
                offset += await self._send_piece(file, offset, min(PIECE, end - offset))
                if offset < end:
                    await asyncio.sleep(0)
        except (BrokenPipeError, ConnectionResetError):
            self._transport.abort()

    async def _send_piece(self, file: int, offset: int, count: int) -> int:
        # The descriptor is the transport's socket until it is closing, and nothing can close it
        # before this is sent. A waiting thread has a duplicate, which stays valid.
        socket: int = self._transport.get_extra_info("socket").fileno()
        try:
            if is_at_hand(file, offset, count):
                sent = os.sendfile(socket, file, offset, count)
            else:
                with _duplicate(socket) as own:
                    sent = await in_thread(_fetch_and_send, own, file, offset, count)
        except BlockingIOError:
            with _duplicate(socket) as own:
                await self._writable(own)
            return 0
        if not sent:
            self._transport.abort()
            msg = "The file is shorter than it was."
            raise RuntimeError(msg)
        return sent

    async def _drain(self) -> None:
        """Wait until the transport has written everything."""
        if self._transport.get_write_buffer_size():
            await asyncio.sleep(0)  # uvloop writes at the end of an iteration, mostly everything
        if self._transport.is_closing() or not self._transport.get_write_buffer_size():
            return
        self._waiter = self._loop.create_future()
        self._transport.set_write_buffer_limits(0)  # it calls `resume_writing` when nothing is left
        try:
            await self._waiter
        finally:
            self._waiter = None
            if not self._transport.is_closing():
                self._transport.set_write_buffer_limits()

    async def _writable(self, socket: int) -> None:
        """Wait until the client has read something, or has disconnected."""
        self._waiter = self._loop.create_future()
        timer = self._loop.call_later(self._seconds, self._transport.abort)
        self._loop.add_writer(socket, self.wake)
        try:
            await self._waiter
        finally:
            self._loop.remove_writer(socket)
            timer.cancel()
            self._waiter = None


@contextmanager
def _duplicate(socket: int) -> Iterator[int]:
    own = os.dup(socket)
    try:
        yield own
    finally:
        os.close(own)


def _part(message: Message) -> tuple[int, int, int]:
    """Return file, offset and count of a message; ASGI makes the last two optional."""
    file = message["file"] if isinstance(message["file"], int) else message["file"].fileno()
    offset = message.get("offset")
    if offset is None:
        offset = os.lseek(file, 0, os.SEEK_CUR)
    count = message.get("count")
    return file, offset, os.fstat(file).st_size - offset if count is None else count


def _fetch_and_send(socket: int, file: int, offset: int, count: int) -> int:
    """Send from the disk; the socket does not block, the disk may."""
    fetch(file, offset)
    return os.sendfile(socket, file, offset, count)
