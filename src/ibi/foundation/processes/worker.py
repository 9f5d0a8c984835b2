"""One of several processes that answer at one address."""

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
    end_in_order,
    log_to_stderr,
    saying_so,
)
from ibi.foundation.processes.worker_slot import LOST, READY, RETIRE, ControlChannel
from ibi.foundation.web.bounded_http import BoundedHttp

RETIRING: Final = 600.0
"""Seconds in which a worker that others have taken the place of finishes what is under way."""
FINISHING: Final = 5.0
"""Seconds for it if all end, as with one process."""
PARTING: Final = 1.0
"""Seconds in which whoever is connected to it is told so, before who says nothing is cut off."""


def run_worker(
    app: ASGIApp,
    listener: socket.socket,
    control: ControlChannel,
    door: ForwardedServer,
    http: type[BoundedHttp] = BoundedHttp,
) -> None:
    """Serve an application beside others that do, who come by another door."""
    log_to_stderr(process=os.getpid())
    end_in_order()
    server = _Worker(ServedApp(app, listener, http).config, control, door)
    with suppress(KeyboardInterrupt), saying_so():
        server.run(sockets=[listener])


class _Worker(Server):
    """A server that others can take the place of, without anybody noticing."""

    def __init__(
        self, config: uvicorn.Config, control: ControlChannel, door: ForwardedServer
    ) -> None:
        super().__init__(config, lambda: control.say(READY), lambda: None)
        self._control = control
        self._door = door
        self._is_retiring = False
        self._loop: asyncio.AbstractEventLoop | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop = loop = asyncio.get_running_loop()
        loop.add_signal_handler(RETIRE, self._retire)
        self._control.attend(self._hear)
        self._door.open()
        await super().startup(sockets)

    def _retire(self) -> None:
        self._is_retiring = True
        self.config.timeout_graceful_shutdown = int(RETIRING)
        self._end()

    def _hear(self, word: bytes) -> None:
        if word == LOST:
            self._end()
            self._hurry()

    def _end(self) -> None:
        self.should_exit = True

    def handle_exit(self, sig: int, frame: object) -> None:
        """End sooner: who was finishing something at leisure is wanted to end now."""
        super().handle_exit(sig, frame)  # type: ignore[arg-type]  # as uvicorn has it
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._hurry)

    def _hurry(self) -> None:
        """Take no more time than who does not retire: all end, or the supervisor is gone."""
        if self._is_retiring and self._loop is not None:
            self._loop.call_later(FINISHING, self._cut_off)

    def _cut_off(self) -> None:
        for task in list(self.server_state.tasks):
            task.cancel()
        for connection in list(self.server_state.connections):
            connection.transport.abort()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self._door.close(PARTING)
        if self._is_retiring:
            await self._part()
        await super().shutdown(sockets)

    async def _part(self) -> None:
        """Accept nobody any more, and answer for the last time whoever asks again."""
        for server in self.servers:
            server.close()
        loop = asyncio.get_running_loop()
        end = loop.time() + PARTING
        while self.server_state.connections and loop.time() < end:
            for connection in list(self.server_state.connections):
                if isinstance(connection, BoundedHttp):
                    connection.part()
            await asyncio.sleep(PARTING / 50)
