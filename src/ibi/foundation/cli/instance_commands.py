"""The common part of the commands `init` and `serve` of all programs."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

import click

from ibi.errors import RequestError, shown
from ibi.foundation.cli.instance_folder import keep, made
from ibi.foundation.cli.options import show
from ibi.foundation.cli.program import Program
from ibi.foundation.processes.server import listening_at
from ibi.foundation.settings_file import written
from ibi.foundation.system import instance_lock
from ibi.foundation.web.tokens import Tokens
from ibi.model.clock import Clock
from ibi.model.token import Scopes, TokenStore

SHOWN_ONCE: Final = "This token may do everything. It is shown only now: keep it."
FIRST_ACCOUNT: Final = (
    "Open the link of the administrator in a browser, once it runs, to make the first account; it "
    "works once, for a week."
)


class InstanceSettings(Protocol):
    """The settings that all programs have."""

    @property
    def folder(self) -> Path:
        """The folder of the instance."""
        ...

    @property
    def listen(self) -> str:
        """ADDRESS:PORT at which it serves HTTP."""
        ...

    @property
    def workers(self) -> int:
        """The number of processes that serve requests."""
        ...


S = TypeVar("S", bound=InstanceSettings)


def refuse_existing(program: Program[Any], given: Path) -> None:
    """Raise RequestError if there is an instance in a folder already."""
    if (given.absolute() / program.settings_file).exists():
        msg = f"There is {program.remote.service} in {shown(str(given))} already."
        raise RequestError(msg)


@contextmanager
def new_instance(program: Program[Any], settings: InstanceSettings) -> Iterator[None]:
    """Make the folder of an instance, and lock it while the instance is made in it."""
    folder = settings.folder
    with made(folder, program.remote.service):
        with instance_lock.held(folder):
            yield
        # Last: a folder with settings is an instance.
        keep(folder / program.settings_file, written(settings))


def local_token(folder: Path, store: TokenStore, clock: Clock, scopes: Scopes) -> None:
    """Make a token for commands on this machine, and store it in the folder.

    It replaces all others: the tokens of an attempt that was killed become invalid.
    """
    for token in store.tokens():
        store.remove_token(token.name)
    secret = Tokens(store, clock, scopes).add("local", scopes.highest)
    instance_lock.keep_token(folder, secret)


def first_token(folder: Path, store: TokenStore, clock: Clock, scopes: Scopes) -> str:
    """Make the local token and the one that `init` shows, and return the latter."""
    local_token(folder, store, clock, scopes)
    return Tokens(store, clock, scopes).add("first", scopes.highest)


def show_made(facts: dict[str, str], *, as_json: bool) -> None:
    """Show the new instance, with its first token."""
    show(facts, "\n".join(f"{name} {fact}" for name, fact in facts.items()), as_json=as_json)
    click.echo(SHOWN_ONCE, err=True)
    if "administrator" in facts:
        click.echo(FIRST_ACCOUNT, err=True)


def serve_instance(  # noqa: PLR0913, PLR0917  # what differs between the programs
    settings: S,
    listen: str,
    workers: int | None,
    alone: Callable[[S, socket.socket], None],
    together: Callable[[Path, socket.socket, int], None],
    check: Callable[[], None] = lambda: None,
) -> None:
    """Lock the folder of an instance, and serve it by one process or by several workers.

    Waits for the end of workers whose supervisor was killed. `check` is called before the instance
    listens, and raises if it must not be served.
    Options take precedence over settings: `listen` is empty and `workers` None if they were not
    given.
    """
    count = workers or settings.workers
    with instance_lock.held(settings.folder, partial(click.echo, err=True)):
        check()
        with listening_at(listen or settings.listen) as listener:
            if count > 1:
                together(settings.folder, listener, count)
            else:
                alone(settings, listener)
