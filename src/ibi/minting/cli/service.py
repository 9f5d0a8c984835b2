"""The commands of `ibi minter`: a minting service, its ledger and its tokens."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import Final

import click

from ibi.errors import MintingRequestError, shown
from ibi.foundation.cli.confirmation import confirm as confirm_act
from ibi.foundation.cli.confirmation import yes_option
from ibi.foundation.cli.instance_commands import SHOWN_ONCE
from ibi.foundation.cli.options import (
    days_option,
    json_lines_option,
    refuse_closed_output,
    show,
)
from ibi.foundation.processes.server import address_of, listening_at, run
from ibi.foundation.system.clock import SystemClock
from ibi.foundation.web.tokens import Tokens
from ibi.identifier.instant import instant_of
from ibi.identifier.label import parse
from ibi.minting.cli.options import ledger_option, subsystem_options
from ibi.minting.label_binding import LabelBindings
from ibi.minting.rules.granularity import AUTO
from ibi.minting.rules.scopes import MINT, SCOPES
from ibi.minting.settings import MinterSettings, usual_ledger
from ibi.minting.wiring import minter_of, minting_service, open_ledger

_PAGE: Final = 1000


@click.command()
@subsystem_options
@click.option("--granularity", default=AUTO, show_default=True, metavar="R")
@click.option("--listen", default="127.0.0.1:8810", show_default=True, help="Where to serve HTTP.")
def serve(settings: MinterSettings, *, granularity: str, listen: str) -> None:
    """Mint over HTTP, until SIGINT or SIGTERM.

    The first start on a ledger shows a token that may do everything, once. The API is described
    at /openapi.json.

    Example: ibi minter serve --host archive.example.org --listen 0.0.0.0:8810
    """
    refuse_closed_output()
    listener = listening_at(listen)
    with listener:
        service, app = minting_service(replace(settings, granularity=granularity))
        with service.minter:
            tokens = service.minter.ledger.tokens()
            if not any(each.scope == "administer" for each in tokens):
                secret = service.tokens.add(
                    f"first-{len(tokens)}" if tokens else "first", "administer"
                )
                click.echo(f"token {secret}")
                click.echo(SHOWN_ONCE, err=True)
            run(
                app,
                listener,
                lambda: click.echo(f"ready minter={address_of(listener)}"),
                lambda: service.queue.dismiss(),  # noqa: PLW0108  # the queue opens with the server
            )


@click.command()
@subsystem_options
@click.option("--json", "as_json", is_flag=True, help="For programs: one JSON object.")
def status(settings: MinterSettings, *, as_json: bool) -> None:
    """Check whether a label could be minted now, without minting one.

    Example: ibi minter status --host archive.example.org
    """
    with minter_of(settings, existing=True) as opened:
        opened.check()
        prefixes = opened.subsystem.prefixes
    text = f"ready to mint under {' and '.join(prefixes)}"
    show({"ready": True, "prefixes": prefixes}, text, as_json=as_json)


@click.command()
@subsystem_options
@yes_option
def confirm(settings: MinterSettings, *, yes: bool) -> None:
    """Confirm that the clock is right and the ledger the newest, and go on after now.

    Needed after the clock jumped far ahead, or an old copy of the ledger was put back. Labels that
    were given out with a date later than now could come again: be sure of the clock.

    Example: ibi minter confirm --host archive.example.org
    """
    with minter_of(settings, existing=True) as opened:
        now = instant_of(opened.now()).iso8601
        confirm_act(f"The clock says {now}. Is that right?", yes=yes)
        opened.confirm()
    click.echo(f"confirmed: labels go on after {now}")


@click.command()
@subsystem_options
@json_lines_option
def unbound(settings: MinterSettings, *, as_json: bool) -> None:
    """List labels that were reserved and never bound, the oldest first.

    Example: ibi minter unbound --host archive.example.org
    """
    with minter_of(settings, existing=True) as opened:
        bindings = LabelBindings(opened)
        after = 0
        while page := bindings.unbound(after, _PAGE):
            after = page[-1][1].instant
            for label, record in page:
                when = instant_of(record.recorded).iso8601
                facts = {"rep": label.rep, "ibip": label.ibip, "recorded": when}
                known = {name: value for name, value in facts.items() if value is not None}
                show(known, f"{label}\t{when}", as_json=as_json)


@click.command()
@click.argument("label")
@click.argument("target")
@subsystem_options
def bind(settings: MinterSettings, *, label: str, target: str) -> None:
    """Bind a reserved LABEL to its TARGET, for good.

    Example: ibi minter bind --host archive.example.org example.org/archive/2026/11.15.12.00 URL
    """
    with minter_of(settings, existing=True) as opened:
        LabelBindings(opened).bind(parse(label), target)
    click.echo(f"{label} is bound to {target}")


@click.group()
def token() -> None:
    """Manage the tokens of the minting service.

    Example: ibi minter token add library --scope mint
    """


@token.command("add")
@click.argument("name")
@click.option("--scope", type=click.Choice(SCOPES.names), default=MINT, show_default=True)
@days_option
@ledger_option
def add_token(name: str, scope: str, days: int | None, ledger: str) -> None:
    """Make a token called NAME and show it, once.

    Example: ibi minter token add library --scope mint
    """
    with closing(open_ledger(ledger or str(usual_ledger()))) as opened:
        click.echo(Tokens(opened, SystemClock(), SCOPES).add(name, scope, days or 0))


@token.command("list")
@ledger_option
@json_lines_option
def list_tokens(ledger: str, *, as_json: bool) -> None:
    """List the tokens, without their secrets.

    Example: ibi minter token list
    """
    with closing(open_ledger(ledger or str(usual_ledger()), existing=True)) as opened:
        for each in opened.tokens():
            when = instant_of(each.created).iso8601
            facts = {"name": each.name, "scope": each.scope, "created": when}
            text = "\t".join(facts.values())
            if each.expires:
                facts["expires"] = instant_of(each.expires).iso8601
                text = f"{text}\texpires {facts['expires']}"
            show(facts, text, as_json=as_json)


@token.command("remove")
@click.argument("name")
@ledger_option
def remove_token(name: str, ledger: str) -> None:
    """Remove the token called NAME; services notice within seconds.

    Example: ibi minter token remove library
    """
    with closing(open_ledger(ledger or str(usual_ledger()), existing=True)) as opened:
        if not opened.remove_token(name):
            msg = f"There is no token {shown(name)}."
            raise MintingRequestError(msg)
    click.echo(f"removed {name}")
