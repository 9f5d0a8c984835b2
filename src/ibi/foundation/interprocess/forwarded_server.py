"""Where processes of one service answer each other."""

from __future__ import annotations

import asyncio
import time
from asyncio import StreamReader, StreamWriter
from contextlib import suppress
from socket import socket
from typing import Final

import structlog
from msgspec import MsgspecError
from starlette.types import ASGIApp, Message

from ibi.foundation.interprocess.frames import (
    BODY,
    END,
    HERE,
    NUMBERS,
    REQUEST,
    START,
    WANTED,
    FdChannel,
    Start,
    encode,
    frame,
    frames,
    read_frame,
    read_head,
)
from ibi.foundation.interprocess.worker_metrics import Numbers

_LOG: Final = structlog.get_logger()
MOST: Final = 4000
"""Answered at once; others wait at the door."""


class ForwardedServer:
    """Answers who rings: with numbers, and with an application if there is one for them."""

    def __init__(self, bell: FdChannel, numbers: Numbers, app: ASGIApp | None = None) -> None:
        """Answer at a bell, once it is open."""
        self._bell = bell
        self._numbers = numbers
        self._app = app
        self._answering: dict[asyncio.Task[None], float] = {}
        self._is_open = False

    def open(self) -> None:
        """Begin to answer, in the loop that runs."""
        self._is_open = True
        asyncio.get_running_loop().add_reader(self._bell.fileno(), self._answer)

    def shut(self) -> None:
        """Leave who rings from now on to whoever opens next, be it this one."""
        self._is_open = False
        self._leave_alone()

    async def finish(self, seconds: float) -> bool:
        """Wait for what is under way, for so long at most; tell whether all of it has ended."""
        if self._answering:
            await asyncio.wait(self._answering, timeout=seconds)
        return not self._answering

    async def close(self, seconds: float) -> None:
        """Leave who rings from now on to others; finish what is under way, within so long."""
        self.shut()
        if not await self.finish(seconds):
            late = [*self._answering]
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    def oldest(self) -> float:
        """Return for how many seconds the oldest request has been under way."""
        return time.monotonic() - min(self._answering.values(), default=time.monotonic())

    def _leave_alone(self) -> None:
        asyncio.get_running_loop().remove_reader(self._bell.fileno())

    def _answer(self) -> None:
        connection = self._bell.answer()
        if connection is None:
            return
        task = asyncio.create_task(self._serve(connection))
        self._answering[task] = time.monotonic()
        task.add_done_callback(self._answered)
        if len(self._answering) >= MOST:
            self._leave_alone()

    def _answered(self, task: asyncio.Task[None]) -> None:
        del self._answering[task]
        if self._is_open and len(self._answering) == MOST - 1:
            self.open()

    async def _serve(self, connection: socket) -> None:
        reader, writer = await asyncio.open_unix_connection(sock=connection)
        try:
            writer.write(HERE)
            kind, content = await read_frame(reader)
            if kind == NUMBERS:
                writer.write(frame(NUMBERS, await self._numbers()))
                await writer.drain()
            elif kind == REQUEST and self._app is not None:
                cycle = _Cycle(reader, writer)
                await self._app(read_head(content).scope(), cycle.receive, cycle.send)
        except (EOFError, OSError, MsgspecError):
            pass  # who rang is gone, or is none of ours
        except Exception as bug:  # noqa: BLE001  # or it would be said when the task is forgotten
            _LOG.error("a request that was handed on failed", error=repr(bug))
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()


class _Cycle:
    """A request that was handed on, and its answer."""

    def __init__(self, reader: StreamReader, writer: StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._is_wanted = False

    async def receive(self) -> Message:
        """Return the next part of the body, and that the client is gone when it is."""
        if not self._is_wanted:
            self._is_wanted = True
            self._writer.write(frame(WANTED))
        kind, content = b"", b""
        with suppress(EOFError, OSError):
            kind, content = await read_frame(self._reader)
        if kind == BODY:
            return {"type": "http.request", "body": content, "more_body": True}
        if kind == END:
            return {"type": "http.request", "body": b"", "more_body": False}
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        """Send a part of the answer, unless who rang is gone."""
        if message["type"] == "http.response.start":
            start = Start(message["status"], list(message.get("headers", [])))
            self._writer.write(frame(START, encode(start)))
            return
        if body := message.get("body", b""):
            self._writer.write(frames(BODY, bytes(body)))
        if not message.get("more_body", False):
            self._writer.write(frame(END))
        with suppress(OSError):
            await self._writer.drain()
