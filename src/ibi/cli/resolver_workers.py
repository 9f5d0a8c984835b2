"""A resolver served by several processes, all of them alike, on one database."""

from __future__ import annotations

import socket
from contextlib import closing
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Final

import click

from ibi import wiring
from ibi.adapters import instance
from ibi.cli.leash import Leash
from ibi.cli.post import Post
from ibi.cli.serving import address_of, log_to_stderr
from ibi.cli.supervisor import Supervisor
from ibi.cli.worker import run_worker
from ibi.settings import read_resolver
from ibi.web.colleagues import Colleagues, join, told_by
from ibi.web.doorbell import Doorbell
from ibi.web.inner_door import InnerDoor

# What each of them would import, imported once: its memory is shared.
_SHARED: Final = (
    *("ibi.adapters.archive_client", "ibi.adapters.text_records", "ibi.adapters.mailbox"),
    *("ibi.web.resolver_app", "ibi.web.register_page", "ibi.web.registry_api"),
    *("uvicorn.protocols.http.httptools_impl", "uvicorn.lifespan.on", "uvloop"),
)


def serve_together(folder: Path, listener: socket.socket, count: int) -> None:
    """Serve the resolver in a folder by so many workers, until SIGINT or SIGTERM."""
    for name in _SHARED:
        import_module(name)
    log_to_stderr()
    names = [str(number) for number in range(1, count + 1)]
    bells = {name: Doorbell() for name in names}
    posts = [
        Post(name, partial(_resolve, folder, listener, Colleagues(name, bells))) for name in names
    ]
    address = address_of(listener)
    with instance.serving(folder, address):
        ready = f"ready resolver={address}"
        Supervisor(posts, lambda: click.echo(ready), lambda: read_resolver(folder)).run()


def _resolve(folder: Path, listener: socket.socket, colleagues: Colleagues, leash: Leash) -> None:
    """Be a worker."""
    instance_ = wiring.ResolverInstance(read_resolver(folder), workers=len(colleagues.bells))
    with closing(instance_) as opened:
        app, http = wiring.resolver_app(opened)
        join(app, colleagues)
        run_worker(app, listener, leash, InnerDoor(colleagues.bell, told_by(app)), http)
