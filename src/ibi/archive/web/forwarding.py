"""Whatever a reader does not answer by itself is handed on to the keeper of the archive."""

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
"""Seconds in which the keeper has to come to the door: who takes its place needs a moment."""
RETRY_AFTER: Final = 5


class Forwarder:
    """An application that has the keeper answer.

    It reads of a request what the keeper has taken, and of the answer what the client has: nothing
    piles up between them.
    """

    def __init__(self, writer: FdChannel, patience: float = PATIENCE) -> None:
        """Ring at the keeper's door."""
        self._writer = writer
        self._patience = patience

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand a request on, and its answer back; WriterUnavailableError if nobody answers."""
        try:
            reader, writer = await asyncio.open_unix_connection(sock=self._writer.connect())
        except OSError:
            raise WriterUnavailableError(RETRY_AFTER) from None
        try:
            await self._await_keeper(reader)
            writer.write(frame(REQUEST, encode(Head.of(scope))))
            await _Relay(reader, writer, receive, send).run()
        finally:
            writer.close()

    async def _await_keeper(self, reader: StreamReader) -> None:
        try:
            async with asyncio.timeout(self._patience):
                if await reader.read(1) == ACCEPTED:
                    return
        except (TimeoutError, OSError):
            pass
        raise WriterUnavailableError(RETRY_AFTER)


class _Relay:
    """One request on its way to the keeper, and its answer on the way back."""

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
            # An answer that ends here is cut off: the server hangs up, and the client sees it.
        finally:
            if self._body is not None:
                self._body.cancel()
                with suppress(asyncio.CancelledError):
                    await self._body

    async def _answer(self) -> None:
        while True:
            kind, content = await read_frame(self._reader)
            if kind == BODY_WANTED and self._body is None:
                self._body = asyncio.create_task(self._hand_on_body())
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

    async def _hand_on_body(self) -> None:
        """Hand on what comes, as fast as it is taken; at last, that the client is gone."""
        with suppress(OSError):  # the keeper is: whoever awaits its answer sees that
            while (message := await self._receive())["type"] == "http.request":
                if body := message.get("body", b""):
                    self._writer.write(frames(BODY, body))
                if not message.get("more_body", False):
                    self._writer.write(frame(END))
                await self._writer.drain()
            self._writer.write_eof()
