"""`ibi resolver register`, `archives`, `mail` and so on: the registered archives of a resolver."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import click

from ibi.client.resolver import RemoteResolver, archive_path
from ibi.errors import ResolverRefusedError, printable
from ibi.foundation.cli.confirmation import confirm as confirm_act
from ibi.foundation.cli.confirmation import yes_option
from ibi.foundation.cli.options import json_option, show
from ibi.foundation.system.mailbox import messages
from ibi.resolver.cli.program import resolver_options

_SERVICE: Final = "example.org/archive/2026/11.15.12.00"
_COLUMNS: Final = ("service_ibi", "state", "since", "address", "digest", "reason")
_MAILBOX: Final = b"From "
"""The beginning of an mbox file (RFC 4155)."""

_REGISTER_EXAMPLES: Final = f"""\b
Examples:
  ibi resolver register {_SERVICE} --administrator admin@example.org
  ibi resolver register {_SERVICE} --host files.example.org --key 1234567890
"""
_ARCHIVES_EXAMPLES: Final = """\b
Examples:
  ibi resolver archives
  ibi resolver archives --json
"""
_HOSTS_EXAMPLE: Final = f"""\b
Example:
  ibi resolver hosts {_SERVICE} files.example.org mirror.example.org:8080
"""
_MAIL_EXAMPLES: Final = """\b
Examples:
  ibi resolver mail < message
  ibi resolver mail /var/mail/registrations
  registrations: "|ibi resolver mail --data /srv/resolver"      (in /etc/aliases)
"""


@click.command(epilog=_REGISTER_EXAMPLES)
@click.argument("service")
@click.option(
    "--administrator", default="", metavar="MAIL", help="E-mail address of the administrator."
)
@click.option(
    "--host",
    "allowed",
    multiple=True,
    help="A further host, with or without a port, that its URLs may be on.",
)
@click.option("--key", default="", help="A registration key that its administrator has chosen.")
@resolver_options
@json_option
def register(  # noqa: PLR0913  # what a registration is made of
    resolver: RemoteResolver,
    service: str,
    *,
    administrator: str,
    allowed: tuple[str, ...],
    key: str,
    as_json: bool,
) -> None:
    """Register the archive whose service has the label SERVICE, and show its key, once."""
    body = {
        "service_ibi": service,
        "administrator": administrator,
        "hosts": allowed,
        "key": key,
    }
    answer = resolver.ask("POST", "archives", body)
    _show_key(answer, as_json=as_json)


def _show_key(answer: dict[str, Any], *, as_json: bool) -> None:
    show(answer, answer["registration_key"], as_json=as_json)
    text = "This registration key is shown only now: the administrator of the archive needs it."
    click.echo(text, err=True)


@click.command(epilog=_ARCHIVES_EXAMPLES)
@resolver_options
@json_option
def archives(resolver: RemoteResolver, *, as_json: bool) -> None:
    """List the registered archives, the state of each, and since when."""
    found = resolver.ask("GET", "archives")["archives"]
    if as_json:
        show(found, "", as_json=True)
    elif found:
        click.echo("\n".join(_table(found)))


def _table(found: list[dict[str, Any]]) -> Iterator[str]:
    heads = {"service_ibi": "archive"}
    rows = [[heads.get(name, name) for name in _COLUMNS]]
    rows += [[printable(_cell(each, name)) for name in _COLUMNS] for each in found]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(cells).rstrip()


def _cell(archive: dict[str, Any], name: str) -> str:
    value = archive.get(name, "")
    if name != "digest" or not value:
        return str(value)
    if "refused" in value:
        return f"refused: {value['refused']}"
    if not value["whole"]:
        return f"{value['names']} names so far"
    return f"{value['names']} names, {value['confirmed']}"


@click.command(epilog=f"Example: ibi resolver confirm {_SERVICE}")
@click.argument("service")
@resolver_options
@json_option
def confirm(resolver: RemoteResolver, service: str, *, as_json: bool) -> None:
    """Confirm the pending registration of SERVICE, and notify its administrator by e-mail."""
    answer = resolver.act(service, "confirm")
    show(answer, f"confirmed {answer['service_ibi']}", as_json=as_json)
    if not answer["mail_sent"]:
        click.echo(f"The administrator was not notified: {answer['reason']}.", err=True)


@click.command(epilog=f"Example: ibi resolver rotate {_SERVICE}")
@click.argument("service")
@resolver_options
@json_option
def rotate(resolver: RemoteResolver, service: str, *, as_json: bool) -> None:
    """Issue another key for SERVICE and show it, once; the previous one is valid for a day more."""
    _show_key(resolver.act(service, "rotate"), as_json=as_json)


@click.command(epilog=f"Example: ibi resolver revoke {_SERVICE}")
@click.argument("service")
@yes_option
@resolver_options
@json_option
def revoke(resolver: RemoteResolver, service: str, *, yes: bool, as_json: bool) -> None:
    """Revoke the key of SERVICE, and exclude it."""
    confirm_act(f"Revoke the key of {printable(service)}, and exclude it?", yes=yes)
    answer = resolver.act(service, "revoke")
    show(answer, f"revoked {answer['service_ibi']}", as_json=as_json)


@click.command(epilog=f"Example: ibi resolver exclude {_SERVICE}")
@click.argument("service")
@resolver_options
@json_option
def exclude(resolver: RemoteResolver, service: str, *, as_json: bool) -> None:
    """Exclude SERVICE until it announces itself again."""
    answer = resolver.act(service, "exclude")
    show(answer, f"excluded {answer['service_ibi']}", as_json=as_json)


@click.command(epilog=f"Example: ibi resolver remove {_SERVICE}")
@click.argument("service")
@yes_option
@resolver_options
def remove(resolver: RemoteResolver, service: str, *, yes: bool) -> None:
    """Remove SERVICE: it is not registered any more."""
    confirm_act(f"Remove {printable(service)}, with its key and its seniority?", yes=yes)
    resolver.ask("DELETE", archive_path(service))
    click.echo(f"removed {service}")


@click.command(epilog=_HOSTS_EXAMPLE)
@click.argument("service")
@click.argument("allowed", metavar="[HOST]...", nargs=-1)
@resolver_options
@json_option
def hosts(
    resolver: RemoteResolver, service: str, allowed: tuple[str, ...], *, as_json: bool
) -> None:
    """Set the further HOSTs that the URLs of SERVICE may be on; without any, only its own."""
    answer = resolver.ask("PUT", f"{archive_path(service)}/hosts", {"hosts": allowed})
    show(answer, "\n".join(answer.get("hosts", ())) or "only its own", as_json=as_json)


@click.command(epilog=_MAIL_EXAMPLES)
@click.argument(
    "file", required=False, type=click.Path(path_type=Path, exists=True, allow_dash=True)
)
@resolver_options
@json_option
def mail(resolver: RemoteResolver, file: Path | None, *, as_json: bool) -> None:
    """Process e-mails that register archives: FILE is one, an mbox or a Maildir; or standard input.

    The registrations are pending until 'ibi resolver confirm'.
    """
    refused = 0
    for number, message in enumerate(_messages(file), 1):
        try:
            answer = resolver.send_message(*message)
        except ResolverRefusedError as refusal:
            refused += 1
            click.echo(f"ibi: Message {number}: {refusal}", err=True)
            continue
        text = f"pending {answer['service_ibi']} {answer['administrator']}"
        show(answer, printable(text), as_json=as_json)
    if refused:
        raise click.exceptions.Exit(1)


def _messages(file: Path | None) -> Iterator[tuple[str, str, str]]:
    if file is None or str(file) == "-":
        if sys.stdin is None:
            raise click.UsageError("Standard input is closed and no FILE is given.")
        yield from messages(sys.stdin.buffer)
    elif file.is_dir():
        yield from messages(file)
    else:
        with file.open("rb") as stream:
            is_box = stream.read(len(_MAILBOX)) == _MAILBOX
            stream.seek(0)
            yield from messages(file if is_box else stream)


@click.command(epilog="Example: ibi resolver history")
@resolver_options
@json_option
def history(resolver: RemoteResolver, *, as_json: bool) -> None:
    """Show the history of the registry, the oldest first."""
    for line in resolver.pages("history"):
        text = f"{line['at']}  {line['act']:9} {line['who']:12} {line['archive']}"
        show(line, printable(f"{text}  {line['detail']}".rstrip()), as_json=as_json)
