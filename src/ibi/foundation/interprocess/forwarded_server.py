"""The server of requests that other processes of the same service forward."""

from __future__ import annotations

import asyncio
import time
from asyncio import StreamReader, StreamWriter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from socket import socket
from typing import Final, TypeAlias

import structlog
from msgspec import MsgspecError
from starlette.types import ASGIApp, Message

from ibi.foundation.interprocess.frames import (
    ACCEPTED,
    BODY,
    BODY_WANTED,
    END,
    METRICS,
    NOTICE,
    REQUEST,
    START,
    FdChannel,
    Start,
    encode,
    frame,
    frames,
    read_frame,
    read_head,
)
from ibi.foundation.interprocess.worker_metrics import MetricsSource

_LOG: Final = structlog.get_logger()
NoticeHandler: TypeAlias = Callable[[bytes], Awaitable[None]]
"""Handles a message of another process of the service."""
MAX_REQUESTS: Final = 4000
"""The largest number of requests served concurrently; further ones wait in the channel."""


class ForwardedServer:
    """Answers forwarded requests: for metrics, and for an application if there is one.

    `on_notice` handles messages of other processes.
    """

    def __init__(
        self,
        channel: FdChannel,
        metrics: MetricsSource,
        app: ASGIApp | None = None,
        on_notice: NoticeHandler | None = None,
    ) -> None:
        self._channel = channel
        self._metrics = metrics
        self._app = app
        self._on_notice = on_notice
        self._answering: dict[asyncio.Task[None], float] = {}
        self._is_open = False

    def open(self) -> None:
        """Begin to accept requests, in the running loop."""
        self._is_open = True
        asyncio.get_running_loop().add_reader(self._channel.fileno(), self._answer)

    def stop_accepting(self) -> None:
        """Leave further requests in the channel, for the next process that accepts, or this one."""
        self._is_open = False
        self._pause()

    async def finish(self, seconds: float) -> bool:
        """Wait up to so many seconds for requests in progress; return whether all have ended."""
        if self._answering:
            await asyncio.wait(self._answering, timeout=seconds)
        return not self._answering

    async def close(self, seconds: float) -> None:
        """Stop accepting requests; cancel those still in progress after so many seconds."""
        self.stop_accepting()
        if not await self.finish(seconds):
            late = [*self._answering]
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    def oldest(self) -> float:
        """Return how many seconds the oldest request has been in progress."""
        return time.monotonic() - min(self._answering.values(), default=time.monotonic())

    def _pause(self) -> None:
        asyncio.get_running_loop().remove_reader(self._channel.fileno())

    def _answer(self) -> None:
        connection = self._channel.accept()
        if connection is None:
            return
        task = asyncio.create_task(self._serve(connection))
        self._answering[task] = time.monotonic()
        task.add_done_callback(self._answered)
        if len(self._answering) >= MAX_REQUESTS:
            self._pause()

    def _answered(self, task: asyncio.Task[None]) -> None:
        del self._answering[task]
        if self._is_open and len(self._answering) == MAX_REQUESTS - 1:
            self.open()

    async def _serve(self, connection: socket) -> None:
        reader, writer = await asyncio.open_unix_connection(sock=connection)
        try:
            writer.write(ACCEPTED)
            kind, content = await read_frame(reader)
            if kind == METRICS:
                writer.write(frame(METRICS, await self._metrics()))
                await writer.drain()
            elif kind == NOTICE and self._on_notice is not None:
                await self._on_notice(content)
                writer.write(frame(END))
                await writer.drain()
            elif kind == REQUEST and self._app is not None:
                cycle = _Cycle(reader, writer)
                await self._app(read_head(content).scope(), cycle.receive, cycle.send)
        except (EOFError, OSError, MsgspecError):
            pass  # the other process is gone, or sent no valid request
        except Exception as bug:  # noqa: BLE001  # otherwise asyncio would report it much later
            _LOG.error("a forwarded request failed", error=repr(bug))
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()


class _Cycle:
    """A forwarded request, and its answer."""

    def __init__(self, reader: StreamReader, writer: StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._is_wanted = False

    async def receive(self) -> Message:
        """Return the next part of the body, or that the client has disconnected."""
        if not self._is_wanted:
            self._is_wanted = True
            self._write(frame(BODY_WANTED))
        kind, content = b"", b""
        with suppress(EOFError, OSError):
            kind, content = await read_frame(self._reader)
        if kind == BODY:
            return {"type": "http.request", "body": content, "more_body": True}
        if kind == END:
            return {"type": "http.request", "body": b"", "more_body": False}
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        """Send a part of the answer, unless the other process is gone."""
        if message["type"] == "http.response.start":
            start = Start(message["status"], list(message.get("headers", [])))
            self._write(frame(START, encode(start)))
            return
        if body := message.get("body", b""):
            self._write(frames(BODY, bytes(body)))
        if not message.get("more_body", False):
            self._write(frame(END))
        with suppress(OSError):
            await self._writer.drain()

    def _write(self, content: bytes) -> None:
        """Write, unless the connection is lost: a transport of uvloop raises RuntimeError then."""
        if not self._writer.is_closing():
            self._writer.write(content)
