"""`ibi resolver`: make a resolver, and run it."""

from __future__ import annotations

import sys
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Final

import click

from ibi.errors import ResolverRequestError, shown
from ibi.foundation.cli.instance_folder import keep, made, refuse_used
from ibi.foundation.cli.options import json_option, show, workers_option
from ibi.foundation.processes.server import address_of, listening_at, run
from ibi.foundation.settings_file import written
from ibi.foundation.system import instance_lock
from ibi.foundation.system.clock import SystemClock
from ibi.foundation.web.tokens import RESOLVER_SCOPES, Tokens
from ibi.resolver.cli.options import folder_of, folder_option, usual_folder
from ibi.resolver.settings import RESOLVER_FILE, ResolverSettings, checked_resolver, read_resolver
from ibi.resolver.wiring.app import ResolverInstance, open_resolver_store, resolver_app

_LOCAL: Final = "http://127.0.0.1:8800"
_OPERATE: Final = RESOLVER_SCOPES[-1]

_USED: Final = (
    "name another, or copy the folder of the resolver here, to serve it by one more machine"
)

_INIT_EXAMPLE: Final = """\b
Example:
  ibi resolver init --name "Resolver of X" --address http://resolver.example.org
"""
_SERVE_EXAMPLE: Final = """\b
Example:
  ibi resolver serve --data /srv/resolver --workers 4
"""


@click.command(epilog=_INIT_EXAMPLE)
@folder_option
@click.option("--name", default="An IBI resolver", show_default=True, help="For people.")
@click.option(
    "--address", default=_LOCAL, show_default=True, help="Where readers find it, as a URL."
)
@click.option("--listen", default="127.0.0.1:8800", show_default=True, help="Where to serve HTTP.")
@click.option("--operator", default="", help="An e-mail address.")
@click.option(
    "--database", default="", help="A postgresql:// URL.  [default: SQLite in that of --data]"
)
@click.option(
    "--allow-network",
    "networks",
    multiple=True,
    metavar="CIDR",
    help="A network that is not public, where archives may be all the same.",
)
@click.option("--open-registration", is_flag=True, help="Let who controls a host register it.")
@json_option
def init(  # noqa: PLR0913  # what an operator may set at once
    folder: Path | None,
    *,
    name: str,
    address: str,
    listen: str,
    operator: str,
    database: str,
    networks: tuple[str, ...],
    open_registration: bool,
    as_json: bool,
) -> None:
    """Make a resolver in the folder DATA: its settings, and a registry without archives.

    A token that may do everything is shown once.
    """
    given = folder or usual_folder()
    settings = checked_resolver(
        ResolverSettings(
            folder=given.absolute(),
            name=name,
            address=address,
            listen=listen,
            operator=operator,
            database=database or "registry.sqlite",
            allowed_networks=list(networks),
            open_registration=open_registration,
        )
    )
    if (settings.folder / RESOLVER_FILE).exists():
        msg = f"There is a resolver in {shown(str(given))} already."
        raise ResolverRequestError(msg)
    facts = {"resolver": str(given), "token": _make(settings)}
    show(facts, "\n".join(f"{name} {fact}" for name, fact in facts.items()), as_json=as_json)
    click.echo("This token may do everything. It is shown only now: keep it.", err=True)


def _make(settings: ResolverSettings) -> str:
    """Make a resolver, and return its first token."""
    place = settings.folder
    opened = partial(open_resolver_store, settings)
    refuse_used(place, settings.place, opened, _USED)
    with made(place, "a resolver"):
        with instance_lock.held(place), closing(opened()) as store:
            for token in store.tokens():
                store.remove_token(token.name)
            tokens = Tokens(store, SystemClock(), RESOLVER_SCOPES)
            secret = tokens.add("first", _OPERATE)
            instance_lock.keep_token(place, tokens.add("local", _OPERATE))
        # Last: a folder with settings is a resolver.
        keep(place / RESOLVER_FILE, written(settings))
    return secret


@click.command(epilog=_SERVE_EXAMPLE)
@folder_option
@click.option("--listen", default="", help="Where to serve HTTP, if not as the settings say.")
@workers_option
def serve(folder: Path | None, *, listen: str, workers: int | None) -> None:
    """Run the resolver in the folder DATA, until SIGINT or SIGTERM.

    The API is described at /openapi.json. Several workers are replaced one by one at SIGHUP.
    """
    if sys.stdout is None:
        raise click.UsageError("Standard output is closed.")
    settings = read_resolver(folder_of(folder).absolute())
    with (
        instance_lock.held(settings.folder),
        listening_at(listen or settings.listen) as listener,
    ):
        count = workers or settings.workers
        if count > 1:
            from ibi.resolver.wiring.workers import serve_together  # noqa: PLC0415  # it takes a while

            serve_together(settings.folder, listener, count)
            return
        with closing(ResolverInstance(settings)) as opened:
            app, http = resolver_app(opened)
            address = address_of(listener)
            with instance_lock.serving(settings.folder, address):
                ready = f"ready resolver={address}"
                run(app, listener, lambda: click.echo(ready), lambda: None, http)


def add_to(group: click.Group) -> None:
    """Add these commands to `ibi resolver`."""
    for command in (init, serve):
        group.add_command(command)
