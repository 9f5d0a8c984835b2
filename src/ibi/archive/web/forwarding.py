"""Forwards requests that a reader process does not answer itself to the writer process."""

from __future__ import annotations

import asyncio
from asyncio import StreamReader, StreamWriter
from contextlib import suppress
from typing import Final

from starlette.types import Receive, Scope, Send

from ibi.errors import WriterUnavailableError
from ibi.foundation.interprocess.frames import (
    ACCEPTED,
    BODY,
    BODY_WANTED,
    END,
    NOTICE,
    REQUEST,
    START,
    FdChannel,
    Head,
    encode,
    frame,
    frames,
    read_frame,
    read_start,
)

PATIENCE: Final = 15.0
"""Seconds in which the writer must accept a request; the start of a new writer takes a few."""
RETRY_AFTER: Final = 5
"""Seconds after which a client may try again."""


class Forwarder:
    """An application that forwards requests to the writer.

    It reads a request as fast as the writer accepts it, and the answer as fast as the client does:
    nothing accumulates in between.
    """

    def __init__(self, writer: FdChannel, patience: float = PATIENCE) -> None:
        """Connect to the writer by a channel."""
        self._writer = writer
        self._patience = patience

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward a request and its answer; raise WriterUnavailableError without a writer."""
        try:
            reader, writer = await asyncio.open_unix_connection(sock=self._writer.connect())
        except OSError:
            raise WriterUnavailableError(RETRY_AFTER) from None
        try:
            await self._await_writer(reader)
            writer.write(frame(REQUEST, encode(Head.of(scope))))
            await _Relay(reader, writer, receive, send).run()
        finally:
            writer.close()

    async def notify(self, content: bytes) -> None:
        """Send the writer a message; raise OSError, EOFError or TimeoutError if that fails."""
        reader, writer = await asyncio.open_unix_connection(sock=self._writer.connect())
        try:
            async with asyncio.timeout(self._patience):
                writer.write(frame(NOTICE, content))
                await reader.readexactly(1)
                await read_frame(reader)
        finally:
            writer.close()

    async def _await_writer(self, reader: StreamReader) -> None:
        try:
            async with asyncio.timeout(self._patience):
                if await reader.read(1) == ACCEPTED:
                    return
        except (TimeoutError, OSError):
            pass
        raise WriterUnavailableError(RETRY_AFTER)


class _Relay:
    """Forwards one request to the writer, and its answer to the client."""

    def __init__(
        self, reader: StreamReader, writer: StreamWriter, receive: Receive, send: Send
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._receive = receive
        self._send = send
        self._has_begun = False
        self._body: asyncio.Task[None] | None = None

    async def run(self) -> None:
        try:
            await self._answer()
        except (EOFError, OSError):
            if not self._has_begun:
                raise WriterUnavailableError(RETRY_AFTER) from None
            # The answer is cut off: the server closes the connection, which the client notices.
        finally:
            if self._body is not None:
                self._body.cancel()
                with suppress(asyncio.CancelledError):
                    await self._body

    async def _answer(self) -> None:
        while True:
            kind, content = await read_frame(self._reader)
            if kind == BODY_WANTED and self._body is None:
                self._body = asyncio.create_task(self._forward_body())
            elif kind == START:
                start = read_start(content)
                self._has_begun = True
                await self._send(
                    {
                        "type": "http.response.start",
                        "status": start.status,
                        "headers": start.headers,
                    }
                )
            elif kind == BODY:
                await self._send({"type": "http.response.body", "body": content, "more_body": True})
            elif kind == END:
                await self._send({"type": "http.response.body", "body": b""})
                return

    async def _forward_body(self) -> None:
        """Forward the body as fast as it is accepted; at the end, that the client is gone."""
        with suppress(OSError):  # the writer is gone, which `_answer` notices
            while (message := await self._receive())["type"] == "http.request":
                if body := message.get("body", b""):
                    self._writer.write(frames(BODY, body))
                if not message.get("more_body", False):
                    self._writer.write(frame(END))
                await self._writer.drain()
            self._writer.write_eof()
