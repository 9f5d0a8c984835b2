"""An archive served by several processes: one keeps it, the others answer readers."""

from __future__ import annotations

import socket
from contextlib import closing
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Final

import click

from ibi import wiring
from ibi.adapters import instance
from ibi.archive.announcer import Announcer
from ibi.cli.keeper import Keeper
from ibi.cli.leash import Leash
from ibi.cli.post import Post
from ibi.cli.serving import address_of, log_to_stderr
from ibi.cli.supervisor import Supervisor
from ibi.cli.worker import run_worker
from ibi.settings import missing_for_linking, read_archive
from ibi.web.colleagues import Colleagues, join, told_by
from ibi.web.doorbell import Doorbell
from ibi.web.handing_on import HandingOn
from ibi.web.inner_door import InnerDoor
from ibi.wiring.reading import KeepersWord, ReadingInstance, reader_app

_KEEPER: Final = "keeper"
# What each of them would import, imported once: its memory is shared.
_SHARED: Final = (
    *("ibi.adapters.followed_store", "ibi.adapters.resolver_client", "ibi.adapters.unpacking"),
    *("ibi.web.reader_app", "ibi.web.administration_api", "ibi.web.deposits_api"),
    *("ibi.web.exports_api", "ibi.web.imports_api", "ibi.adapters.other_archives"),
    *("uvicorn.protocols.http.httptools_impl", "uvicorn.lifespan.on", "uvloop"),
)


def serve_together(folder: Path, listener: socket.socket, count: int) -> None:
    """Serve the archive in a folder by so many readers, until SIGINT or SIGTERM."""
    for name in _SHARED:
        import_module(name)
    log_to_stderr()
    names = [str(number) for number in range(1, count + 1)]
    bells = {name: Doorbell() for name in (_KEEPER, *names)}
    word = KeepersWord()
    posts = [Post(_KEEPER, partial(_keep, folder, listener, bells[_KEEPER], word), alone=True)]
    posts += [
        Post(name, partial(_read, folder, listener, Colleagues(name, bells), word))
        for name in names
    ]
    address = address_of(listener)
    with instance.serving(folder, address):
        ready = f"ready archive={address}"
        Supervisor(posts, lambda: click.echo(ready), lambda: read_archive(folder)).run()


def _keep(
    folder: Path, listener: socket.socket, bell: Doorbell, word: KeepersWord, leash: Leash
) -> None:
    """Be the keeper."""
    listener.close()
    with closing(wiring.Instance(read_archive(folder))) as opened:
        word.of(opened)
        app, announcer = wiring.archive_app(opened)
        door = InnerDoor(bell, told_by(app), app)
        Keeper(app, door, leash, partial(_announce, opened, announcer), announcer.stop).run()
        announcer.fall_silent()


def _announce(opened: wiring.Instance, announcer: Announcer) -> None:
    """Tell resolvers of the archive: readers answer now."""
    missing = missing_for_linking(opened.settings)
    if not missing:
        announcer.start()
    elif opened.catalogue.links():
        click.echo(missing, err=True)


def _read(
    folder: Path,
    listener: socket.socket,
    colleagues: Colleagues,
    word: KeepersWord,
    leash: Leash,
) -> None:
    """Be a reader."""
    settings = read_archive(folder)
    readers = len(colleagues.bells) - 1
    share = replace(settings, requests_a_second=max(1, settings.requests_a_second // readers))
    with closing(ReadingInstance(share, word)) as opened:
        app = reader_app(opened, HandingOn(colleagues.bells[_KEEPER]))
        join(app, colleagues)
        run_worker(app, listener, leash, InnerDoor(colleagues.bell, told_by(app)))
