"""`ibi archive link`, `reserve`, `token`, `account`: the administration of an archive."""

from __future__ import annotations

from urllib.parse import quote

import click

from ibi.archive.cli.options import ARCHIVE, archive_options
from ibi.archive.rules.scopes import ROLE_SCOPES, SCOPES
from ibi.client.archive import RemoteArchive
from ibi.foundation.cli.account_commands import account_group
from ibi.foundation.cli.options import json_option, show
from ibi.foundation.cli.token_commands import token_group


@click.command()
@click.argument("resolver")
@click.option("--key", default="", help="A registration key that its operator has already.")
@click.option("--service", default="", metavar="IBI", help="The label of the resolver's service.")
@archive_options
@json_option
def link(archive: RemoteArchive, resolver: str, *, key: str, service: str, as_json: bool) -> None:
    """Link the archive to the RESOLVER at an address such as http://urlib.net.

    Shows what its operator has to register: the label of the archive service, and a key. From then
    on the archive announces itself when it starts, and withdraws when it stops.

    Example: ibi archive link http://urlib.net
    """
    body = {"resolver": resolver, "key": key, "service": service}
    answer = archive.ask("POST", "resolvers", body)
    text = (
        f"archiveserviceibi = {answer['service_ibi']}\nregistrationkey = "
        f"{answer['registration_key']}\n"
    )
    show(
        answer,
        text + "Send both to the operator of the resolver; 'ibi archive links' tells more.",
        as_json=as_json,
    )


@click.command()
@click.argument("resolver")
@archive_options
def unlink(archive: RemoteArchive, resolver: str) -> None:
    """Unlink the archive from a RESOLVER, which is asked to exclude it.

    Example: ibi archive unlink http://urlib.net
    """
    archive.ask("DELETE", f"resolvers/{quote(resolver, safe='')}")
    click.echo(f"leaving {resolver}")


@click.command()
@archive_options
@json_option
def links(archive: RemoteArchive, *, as_json: bool) -> None:
    """Show the state of each link to a resolver.

    Example: ibi archive links
    """
    for each in archive.ask("GET", "resolvers")["links"]:
        text = f"{each['resolver']}\t{each['state']}\tsince {each['since']}"
        show(each, text + (f"\t{each['reason']}" if each.get("reason") else ""), as_json=as_json)


@click.command()
@click.option("-n", "count", default=1, show_default=True, help="How many labels.")
@click.option("--note", default="", help="What they are for.")
@archive_options
@json_option
def reserve(archive: RemoteArchive, *, count: int, note: str, as_json: bool) -> None:
    """Mint labels for later items: 'deposit --label' uses one.

    Example: ibi archive reserve -n 3 --note "Proceedings 2027"
    """
    answer = archive.ask("POST", "reservations", {"count": count, "note": note})
    for label in answer["labels"]:
        show(label, f"{label['rep']}\t{label['ibip']}", as_json=as_json)


@click.command()
@archive_options
@json_option
def reserved(archive: RemoteArchive, *, as_json: bool) -> None:
    """List labels that were reserved and have no item yet.

    Example: ibi archive reserved
    """
    after = ""
    while True:
        page = archive.ask("GET", "reservations", query={"after": after})
        for label in page["labels"]:
            text = f"{label['rep']}\t{label['ibip']}\t{label['reserved']}\t{label.get('note', '')}"
            show(label, text, as_json=as_json)
        after = page["after"]
        if not after:
            return


token = token_group(ARCHIVE, SCOPES.names, "deposit", "library")
account = account_group(ARCHIVE, tuple(ROLE_SCOPES))
