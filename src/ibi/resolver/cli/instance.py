"""`ibi resolver`: make a resolver, and run it."""

from __future__ import annotations

import socket
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Final

import click

from ibi.foundation.cli.instance_commands import (
    first_token,
    new_instance,
    refuse_existing,
    serve_instance,
    show_made,
)
from ibi.foundation.cli.instance_folder import refuse_used
from ibi.foundation.cli.options import json_option, refuse_closed_output
from ibi.foundation.pages.identity import check_logo
from ibi.foundation.processes.server import address_of, run
from ibi.foundation.system import instance_lock
from ibi.foundation.system.clock import SystemClock
from ibi.model.token import Token
from ibi.resolver.cli.program import RESOLVER
from ibi.resolver.rules.scopes import SCOPES
from ibi.resolver.settings import ResolverSettings, checked_resolver, read_resolver
from ibi.resolver.wiring.app import ResolverInstance, open_resolver_store, resolver_app

_LOCAL: Final = "http://127.0.0.1:8800"

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
@RESOLVER.folder_option
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
    help="A private network in which archives are allowed.",
)
@click.option(
    "--open-registration", is_flag=True, help="Allow registration by proof of control of a host."
)
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
    given = folder or RESOLVER.usual_folder()
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
    refuse_existing(RESOLVER, given)
    refuse_used(settings.folder, settings.place, partial(_tokens, settings), _USED)
    with new_instance(RESOLVER, settings), closing(open_resolver_store(settings)) as store:
        secret = first_token(settings.folder, store.tokens, SystemClock(), SCOPES)
        # It takes a while to load, which other commands do not wait for.
        from ibi.resolver.wiring.people import administrator_link  # noqa: PLC0415

        link = administrator_link(settings, store, SystemClock(), "init")
    facts = {"resolver": str(given), "token": secret, "administrator": link}
    show_made(facts, as_json=as_json)


def _tokens(settings: ResolverSettings) -> list[Token]:
    with closing(open_resolver_store(settings)) as store:
        return store.tokens.tokens()


@click.command(epilog=_SERVE_EXAMPLE)
@RESOLVER.serve_options
def serve(folder: Path | None, *, listen: str, workers: int | None) -> None:
    """Run the resolver in the folder DATA, until SIGINT or SIGTERM.

    The API is described at /openapi.json. Several workers are replaced one by one at SIGHUP.
    """
    refuse_closed_output()
    settings = read_resolver(RESOLVER.folder_of(folder).absolute())
    check = partial(check_logo, settings, partial(click.echo, err=True))
    serve_instance(settings, listen, workers, _serve_alone, _serve_together, check)


def _serve_together(folder: Path, listener: socket.socket, workers: int) -> None:
    from ibi.resolver.wiring.workers import serve_together  # noqa: PLC0415  # it takes a while

    serve_together(folder, listener, workers)


def _serve_alone(settings: ResolverSettings, listener: socket.socket) -> None:
    with closing(ResolverInstance(settings)) as opened:
        app, http = resolver_app(opened)
        address = address_of(listener)
        with instance_lock.serving(settings.folder, address):
            ready = f"ready resolver={address}"
            run(app, listener, lambda: click.echo(ready), lambda: None, http)
