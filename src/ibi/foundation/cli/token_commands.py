"""The commands of an archive and a resolver that add, list and remove tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar
from urllib.parse import quote

import click

from ibi.foundation.cli.options import days_option, json_option, show
from ibi.foundation.cli.program import Program
from ibi.foundation.http_client.api_client import RemoteApi

R = TypeVar("R", bound=RemoteApi)


def token_group(program: Program[R], scopes: Sequence[str], scope: str, name: str) -> click.Group:
    """Return the group `token` of a program.

    `scope` is the default of a new token; the examples give it to one called `name`.
    """

    @click.argument("name")
    @click.option(
        "--scope",
        default=scope,
        show_default=True,
        help=f"{', '.join(scopes[:-1])} or {scopes[-1]}.",
    )
    @days_option
    @program.options
    @json_option
    def add(api: RemoteApi, name: str, *, scope: str, days: int | None, as_json: bool) -> None:
        wanted = {"name": name, "scope": scope} | ({"days": days} if days else {})
        answer = api.ask("POST", "tokens", wanted)
        show(answer, answer["secret"], as_json=as_json)

    @program.options
    @json_option
    def list_(api: RemoteApi, *, as_json: bool) -> None:
        for each in api.ask("GET", "tokens")["tokens"]:
            facts = [each["name"], each["scope"], each["created"], *_expiry(each.get("expires"))]
            show(each, "\t".join(facts), as_json=as_json)

    @click.argument("name")
    @program.options
    def remove(api: RemoteApi, name: str) -> None:
        api.ask("DELETE", f"tokens/{quote(name, safe='')}")
        click.echo(f"removed {name}")

    commands: tuple[tuple[Callable[..., None], str, str], ...] = (
        (add, f"add {name} --scope {scope}", "Make a token called NAME and show it, once."),
        (list_, "list", "List the tokens, without what is secret of them."),
        (remove, f"remove {name}", "Remove the token called NAME."),
    )
    examples = [f"ibi {program.name} token {example}" for _, example, _ in commands]
    text, epilog = program.texts("Say who may do what over HTTP.", *examples)
    group = click.Group("token", help=text, epilog=epilog)
    for (callback, words, summary), example in zip(commands, examples, strict=True):
        text, epilog = program.texts(summary, example)
        group.command(words.partition(" ")[0], help=text, epilog=epilog)(callback)
    return group


def _expiry(expires: str | None) -> list[str]:
    return [f"expires {expires}"] if expires else []
