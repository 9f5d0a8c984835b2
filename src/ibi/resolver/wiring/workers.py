"""A resolver served by several equal processes, on one database."""

from __future__ import annotations

import socket
from contextlib import closing
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Final

import click

from ibi.foundation.interprocess.forwarded_server import ForwardedServer
from ibi.foundation.interprocess.frames import FdChannel
from ibi.foundation.interprocess.worker_metrics import WorkerMetrics, join_workers, metrics_source
from ibi.foundation.processes.server import address_of, log_to_stderr
from ibi.foundation.processes.supervisor import Supervisor
from ibi.foundation.processes.worker import run_worker
from ibi.foundation.processes.worker_slot import ControlChannel, WorkerSlot
from ibi.foundation.system import instance_lock
from ibi.resolver.settings import read_resolver
from ibi.resolver.wiring.app import ResolverInstance, resolver_app

# Imported once, before the workers are forked: they share the memory of these modules.
_SHARED: Final = (
    "ibi.resolver.wiring.web",
    *("uvicorn.protocols.http.httptools_impl", "uvicorn.lifespan.on", "uvloop"),
)


def serve_together(folder: Path, listener: socket.socket, count: int) -> None:
    """Serve the resolver in a folder by so many workers, until SIGINT or SIGTERM."""
    for name in _SHARED:
        import_module(name)
    log_to_stderr()
    names = [str(number) for number in range(1, count + 1)]
    channels = {name: FdChannel() for name in names}
    posts = [
        WorkerSlot(name, partial(_resolve, folder, listener, WorkerMetrics(name, channels)))
        for name in names
    ]
    address = address_of(listener)
    with instance_lock.serving(folder, address):
        ready = f"ready resolver={address}"
        Supervisor(posts, lambda: click.echo(ready), lambda: read_resolver(folder)).run()


def _resolve(
    folder: Path, listener: socket.socket, processes: WorkerMetrics, control: ControlChannel
) -> None:
    """Run one worker."""
    instance_ = ResolverInstance(read_resolver(folder), workers=len(processes.channels))
    with closing(instance_) as opened:
        app, http = resolver_app(opened)
        join_workers(app, processes)
        run_worker(
            app, listener, control, ForwardedServer(processes.channel, metrics_source(app)), http
        )
