"""The commands of an archive and a resolver that manage accounts of people."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar
from urllib.parse import quote

import click

from ibi.foundation.cli.confirmation import confirm, yes_option
from ibi.foundation.cli.options import json_option, show
from ibi.foundation.cli.program import Program
from ibi.foundation.http_client.api_client import RemoteApi

R = TypeVar("R", bound=RemoteApi)


def account_group(program: Program[R], roles: Sequence[str]) -> click.Group:
    """Return the group `account` of a program, whose people have one of these roles."""

    @program.options
    @json_option
    def list_(api: RemoteApi, *, as_json: bool) -> None:
        after = ""
        while True:
            page = api.ask("GET", "accounts", query={"after": after})
            for each in page["accounts"]:
                facts = (each["name"], each["role"], each["state"], each["full_name"])
                show(each, "\t".join(facts), as_json=as_json)
            after = page["after"]
            if not after:
                return

    @click.option("--role", type=click.Choice(roles), required=True, help="What the person may do.")
    @click.option("--mail", default="", metavar="ADDRESS", help="Whom the invitation is for.")
    @program.options
    @json_option
    def invite(api: RemoteApi, *, role: str, mail: str, as_json: bool) -> None:
        answer = api.ask("POST", "invitations", {"role": role, "mail": mail})
        show(answer, answer["link"], as_json=as_json)

    @click.argument("name")
    @click.argument("role", type=click.Choice(roles))
    @program.options
    def role(api: RemoteApi, name: str, role: str) -> None:
        answer = api.ask("PATCH", _path(name), {"role": role})
        click.echo(f"{answer['name']} is {answer['role']}")

    deactivate, activate, remove = _states(program)

    @click.argument("name")
    @program.options
    @json_option
    def reset(api: RemoteApi, name: str, *, as_json: bool) -> None:
        answer = api.ask("POST", f"{_path(name)}/reset")
        show(answer, answer["link"], as_json=as_json)

    commands: tuple[tuple[Callable[..., None], str, str], ...] = (
        (list_, "list", "List the accounts."),
        (
            invite,
            f"invite --role {roles[-1]}",
            "Print a link by which a person makes an account; it works once, for a week.",
        ),
        (role, f"role ana {roles[0]}", "Give the account NAME another role."),
        (
            reset,
            "reset ana",
            "Print a link by which NAME sets a new password; it works once, for a day.",
        ),
        (deactivate, "deactivate ana", "Sign NAME out everywhere, and let it sign in no more."),
        (activate, "activate ana", "Let NAME sign in again."),
        (
            remove,
            "remove ana --yes",
            "Erase the account NAME for good; only its name stays, in the history.",
        ),
    )
    examples = [f"ibi {program.name} account {example}" for _, example, _ in commands]
    text, epilog = program.texts("Manage the accounts of people.", *examples)
    group = click.Group("account", help=text, epilog=epilog)
    for (callback, words, summary), example in zip(commands, examples, strict=True):
        text, epilog = program.texts(summary, example)
        group.command(words.partition(" ")[0], help=text, epilog=epilog)(callback)
    return group


def _states(program: Program[R]) -> tuple[Callable[..., None], ...]:
    """Return the commands that deactivate, activate and remove an account."""

    @click.argument("name")
    @program.options
    def deactivate(api: RemoteApi, name: str) -> None:
        api.ask("PATCH", _path(name), {"state": "inactive"})
        click.echo(f"deactivated {name}")

    @click.argument("name")
    @program.options
    def activate(api: RemoteApi, name: str) -> None:
        api.ask("PATCH", _path(name), {"state": "active"})
        click.echo(f"activated {name}")

    @click.argument("name")
    @yes_option
    @program.options
    def remove(api: RemoteApi, name: str, *, yes: bool) -> None:
        found = api.ask("GET", _path(name))
        confirm(f"Erase all but the name of the account of {found['full_name']}?", yes=yes)
        api.ask("PATCH", _path(name), {"state": "removed"})
        click.echo(f"removed {name}")

    return deactivate, activate, remove


def _path(name: str) -> str:
    return f"accounts/{quote(name, safe='')}"
