"""`ibi resolver token`: who may do what over HTTP."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

import click

from ibi.client.resolver import RemoteResolver
from ibi.foundation.cli.options import json_option, show
from ibi.resolver.cli.options import resolver_options

_EXAMPLES: Final = """\b
Examples:
  ibi resolver token add watcher --scope read
  ibi resolver token list
  ibi resolver token remove watcher
"""


def add_to(resolver: click.Group) -> None:
    """Add the commands of this module."""
    resolver.add_command(token)


@click.group(epilog=_EXAMPLES)
def token() -> None:
    """Say who may do what over HTTP."""


@token.command("add", epilog="Example: ibi resolver token add watcher --scope read")
@click.argument("name")
@click.option("--scope", default="read", show_default=True, help="read or operate.")
@resolver_options
@json_option
def add_token(resolver: RemoteResolver, name: str, *, scope: str, as_json: bool) -> None:
    """Make a token called NAME and show it, once."""
    answer = resolver.ask("POST", "tokens", {"name": name, "scope": scope})
    show(answer, answer["secret"], as_json=as_json)


@token.command("list", epilog="Example: ibi resolver token list")
@resolver_options
@json_option
def list_tokens(resolver: RemoteResolver, *, as_json: bool) -> None:
    """List the tokens, without what is secret of them."""
    for each in resolver.ask("GET", "tokens")["tokens"]:
        show(each, f"{each['name']}\t{each['scope']}\t{each['created']}", as_json=as_json)


@token.command("remove", epilog="Example: ibi resolver token remove watcher")
@click.argument("name")
@resolver_options
def remove_token(resolver: RemoteResolver, name: str) -> None:
    """Remove the token called NAME."""
    resolver.ask("DELETE", f"tokens/{quote(name, safe='')}")
    click.echo(f"removed {name}")
