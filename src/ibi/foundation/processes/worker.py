"""A worker: one of several processes that serve one address."""

from __future__ import annotations

import asyncio
import os
import socket
from contextlib import suppress
from typing import Final

import uvicorn
from starlette.types import ASGIApp

from ibi.foundation.interprocess.forwarded_server import ForwardedServer
from ibi.foundation.processes.server import (
    ServedApp,
    Server,
    interrupt_on_sigterm,
    log_to_stderr,
    report_startup_failure,
)
from ibi.foundation.processes.worker_slot import LOST, READY, RETIRE, ControlChannel
from ibi.foundation.web.bounded_http import BoundedHttp

RETIRING: Final = 600.0
"""Seconds in which a worker that was replaced may finish the requests in progress."""
FINISHING: Final = 5.0
"""Seconds for the same if the whole service ends, as with a single process."""
PARTING: Final = 1.0
"""Seconds to answer the last requests of open connections, before idle ones are closed."""


def run_worker(
    app: ASGIApp,
    listener: socket.socket,
    control: ControlChannel,
    forwarded: ForwardedServer,
    http: type[BoundedHttp] = BoundedHttp,
) -> None:
    """Serve an application beside other workers, which forward requests to `forwarded`."""
    log_to_stderr(process=os.getpid())
    interrupt_on_sigterm()
    server = _Worker(ServedApp(app, listener, http).config(), control, forwarded)
    with suppress(KeyboardInterrupt), report_startup_failure():
        server.run(sockets=[listener])


class _Worker(Server):
    """A server that can be replaced by another process without loss of requests."""

    def __init__(
        self, config: uvicorn.Config, control: ControlChannel, forwarded: ForwardedServer
    ) -> None:
        super().__init__(config, lambda: control.send(READY), lambda: None)
        self._control = control
        self._forwarded = forwarded
        self._is_retiring = False
        self._loop: asyncio.AbstractEventLoop | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop = loop = asyncio.get_running_loop()
        loop.add_signal_handler(RETIRE, self._retire)
        self._control.on_message(self._receive)
        self._forwarded.open()
        await super().startup(sockets)

    def _retire(self) -> None:
        self._is_retiring = True
        self.config.timeout_graceful_shutdown = int(RETIRING)
        self._end()

    def _receive(self, message: bytes) -> None:
        if message == LOST:
            self._end()
            self._limit_retirement()

    def _end(self) -> None:
        self.should_exit = True

    def handle_exit(self, sig: int, frame: object) -> None:
        """Shut down, and do not wait any longer for requests in progress if retiring."""
        super().handle_exit(sig, frame)  # type: ignore[arg-type]  # as uvicorn has it
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._limit_retirement)

    def _limit_retirement(self) -> None:
        """Limit the time of a retiring worker: the service ends, or the supervisor is gone."""
        if self._is_retiring and self._loop is not None:
            self._loop.call_later(FINISHING, self._cut_off)

    def _cut_off(self) -> None:
        for task in list(self.server_state.tasks):
            task.cancel()
        if self._loop is not None:  # not at once: the tasks answer that the service stops
            self._loop.call_later(PARTING, self._abort_connections)

    def _abort_connections(self) -> None:
        for connection in list(self.server_state.connections):
            connection.transport.abort()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self._forwarded.close(PARTING)
        if self._is_retiring:
            await self._part()
        await super().shutdown(sockets)

    async def _part(self) -> None:
        """Accept no more connections, and answer one last request on each open one."""
        for server in self.servers:
            server.close()
        loop = asyncio.get_running_loop()
        end = loop.time() + PARTING
        while self.server_state.connections and loop.time() < end:
            for connection in list(self.server_state.connections):
                if isinstance(connection, BoundedHttp):
                    connection.part()
            await asyncio.sleep(PARTING / 50)
