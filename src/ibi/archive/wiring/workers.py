"""An archive served by several processes: one writer, and readers that answer requests."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Callable
from contextlib import AsyncExitStack, closing
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Final

import click
import uvicorn
from starlette.applications import Starlette

from ibi.archive.resolver_links.announcer import Announcer
from ibi.archive.settings import missing_for_linking, read_archive
from ibi.archive.web.forwarding import Forwarder
from ibi.archive.wiring.app import archive_app
from ibi.archive.wiring.instance import Instance
from ibi.archive.wiring.reader_process import ReaderInstance, WriterStatus, reader_app
from ibi.errors import RequestError
from ibi.foundation.interprocess.forwarded_server import ForwardedServer
from ibi.foundation.interprocess.frames import FdChannel
from ibi.foundation.interprocess.worker_metrics import WorkerMetrics, join_workers, metrics_source
from ibi.foundation.processes.server import address_of, log_to_stderr, raise_file_limit
from ibi.foundation.processes.supervisor import Supervisor
from ibi.foundation.processes.worker import RETIRING, run_worker
from ibi.foundation.processes.worker_slot import (
    CLOSING,
    GO,
    LOST,
    READY,
    RETIRE,
    ControlChannel,
    WorkerSlot,
)
from ibi.foundation.system import instance_lock

_FINISHING: Final = 5.0
"""Seconds in which current requests must end, as with one process."""
_SHORT: Final = 1.0
"""Seconds after which a request is a long one."""
_HANDOVER_SECONDS: Final = 3.0
"""Seconds that new requests may wait for current ones before a new writer replaces this one."""


class ArchiveWriter:
    """The process that changes the archive, and answers requests that readers forward."""

    def __init__(
        self,
        app: Starlette,
        forwarded_server: ForwardedServer,
        control: ControlChannel,
        on_go: Callable[[], None],
        on_close: Callable[[], None],
    ) -> None:
        """Serve forwarded requests.

        `on_go` is called when the readers serve, `on_close` before they stop.
        """
        self._app = app
        self._forwarded_server = forwarded_server
        self._control = control
        self._on_go = on_go
        self._on_close = on_close
        self._ending = asyncio.Event()
        self._retiring = asyncio.Event()
        self._closing: asyncio.Task[None] | None = None

    def run(self) -> None:
        """Serve until the end of the archive, or until a new writer replaces this one."""
        log_to_stderr(process=os.getpid())
        raise_file_limit()
        loop_factory = uvicorn.Config(self._app, log_config=None).get_loop_factory()
        with asyncio.Runner(loop_factory=loop_factory) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._ending.set)
        loop.add_signal_handler(RETIRE, self._retiring.set)
        self._control.on_message(self._on_message)
        async with AsyncExitStack() as stack:
            try:
                await stack.enter_async_context(self._app.router.lifespan_context(self._app))
            except Exception:  # noqa: BLE001  # the log has it
                raise RequestError("The service could not start: its log says why.") from None
            self._forwarded_server.open()
            self._control.send(READY)
            await self._until_stopped()
            await self._forwarded_server.close(_FINISHING)

    def _on_message(self, word: bytes) -> None:
        if word == GO:
            self._on_go()
        elif word == CLOSING and self._closing is None:
            self._closing = asyncio.create_task(self._close())
        elif word == LOST:
            self._ending.set()

    async def _close(self) -> None:
        await asyncio.to_thread(self._on_close)
        self._control.send(CLOSING)

    async def _until_stopped(self) -> None:
        """Wait for the end, or for a moment at which a new writer can replace this one.

        Requests wait while there is no writer. So long requests are finished before, and others
        are still answered meanwhile.
        """
        ending = asyncio.create_task(self._ending.wait())
        retiring = asyncio.create_task(self._retiring.wait())
        await asyncio.wait((ending, retiring), return_when=asyncio.FIRST_COMPLETED)
        latest = asyncio.get_running_loop().time() + RETIRING
        while not ending.done() and not await self._is_free():
            if asyncio.get_running_loop().time() > latest:
                break
            await asyncio.wait((ending,), timeout=_SHORT / 10)
        for task in (ending, retiring):
            task.cancel()

    async def _is_free(self) -> bool:
        """Return whether no request is running; if so, new ones wait for the next writer."""
        if self._forwarded_server.oldest() > _SHORT:
            return False
        self._forwarded_server.stop_accepting()
        if await self._forwarded_server.finish(_HANDOVER_SECONDS):
            return True
        self._forwarded_server.open()  # a request takes long after all
        return False


_WRITER: Final = "keeper"
"""The name of the writer in logs and in the label `worker` of metrics."""
# Modules of all processes, imported once before they start, so that they share the memory.
_SHARED: Final = (
    *(
        "ibi.archive.storage.files.switchable_store",
        "ibi.archive.peers.resolver_client",
        "ibi.archive.storage.unpack.unpack",
    ),
    *(
        "ibi.archive.web.reader_process",
        "ibi.archive.web.api.administration",
        "ibi.archive.web.api.deposits",
    ),
    *(
        "ibi.archive.web.api.exports",
        "ibi.archive.web.api.imports",
        "ibi.archive.peers.directory",
    ),
    *("uvicorn.protocols.http.httptools_impl", "uvicorn.lifespan.on", "uvloop"),
)


def serve_together(folder: Path, listener: socket.socket, count: int) -> None:
    """Serve the archive in a folder with `count` readers, until SIGINT or SIGTERM."""
    for name in _SHARED:
        import_module(name)
    log_to_stderr()
    names = [str(number) for number in range(1, count + 1)]
    channels = {name: FdChannel() for name in (_WRITER, *names)}
    word = WriterStatus()
    posts = [
        WorkerSlot(_WRITER, partial(_write, folder, listener, channels[_WRITER], word), alone=True)
    ]
    posts += [
        WorkerSlot(name, partial(_read, folder, listener, WorkerMetrics(name, channels), word))
        for name in names
    ]
    address = address_of(listener)
    with instance_lock.serving(folder, address):
        ready = f"ready archive={address}"
        Supervisor(posts, lambda: click.echo(ready), lambda: read_archive(folder)).run()


def _write(
    folder: Path,
    listener: socket.socket,
    channel: FdChannel,
    word: WriterStatus,
    control: ControlChannel,
) -> None:
    """Run the writer."""
    listener.close()
    instance = Instance(read_archive(folder), on_move=word.moves.add, on_link=word.resolver.write)
    with closing(instance) as opened:
        app, announcer = archive_app(opened, has_readers=True)
        forwarded_server = ForwardedServer(channel, metrics_source(app), app, app.state.on_notice)
        ArchiveWriter(
            app, forwarded_server, control, partial(_announce, opened, announcer), announcer.stop
        ).run()
        announcer.fall_silent()


def _announce(opened: Instance, announcer: Announcer) -> None:
    """Announce the archive to resolvers, as readers serve now."""
    missing = missing_for_linking(opened.settings)
    if not missing:
        announcer.start()
    elif opened.catalogue.links.all():
        click.echo(missing, err=True)


def _read(
    folder: Path,
    listener: socket.socket,
    processes: WorkerMetrics,
    word: WriterStatus,
    control: ControlChannel,
) -> None:
    """Run a reader."""
    settings = read_archive(folder)
    readers = len(processes.channels) - 1
    share = replace(settings, requests_a_second=max(1, settings.requests_a_second // readers))
    with closing(ReaderInstance(share, word)) as opened:
        app = reader_app(opened, Forwarder(processes.channels[_WRITER]))
        join_workers(app, processes)
        run_worker(app, listener, control, ForwardedServer(processes.channel, metrics_source(app)))
