"""`ibi archive copy`, `copies`, `drop`: copies of items of other archives."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import click

from ibi.archive.cli.options import archive_options
from ibi.archive.cli.tasks import follow
from ibi.client.archive import RemoteArchive
from ibi.errors import ArchiveRefusedError, printable
from ibi.foundation.cli.options import json_option, show


@click.command()
@click.argument("items", metavar="[IBI]...", nargs=-1)
@click.option("--from", "source", default="", metavar="ARCHIVE", help="Its address.")
@click.option("--all", "everything", is_flag=True, help="All items whose Originals are there.")
@archive_options
@json_option
def copy(
    archive: RemoteArchive,
    items: tuple[str, ...],
    *,
    source: str,
    everything: bool,
    as_json: bool,
) -> None:
    """Copy the items IBI from where their Originals are, or from an archive that is named.

    Where the Originals are, resolvers know to which the archive is linked. What is a Copy here
    already is brought up to date; files that are here do not come again. If this is interrupted,
    the archive goes on.

    Example: ibi archive copy IBI
    """
    if bool(items) == everything or (everything and not source):
        raise click.UsageError("Name the items IBI, or all those of an archive by --all --from.")
    wanted = {"items": list(items), "from": source, "all": everything}
    given = {name: value for name, value in wanted.items() if value}
    begun = archive.ask("POST", "copies", given)
    try:
        task = follow(archive, begun, "Copying")
    except ArchiveRefusedError:
        _show_faults(archive.insist("GET", f"tasks/{begun['id']}"), as_json=as_json)
        raise
    result = task["result"]
    text = f"copied {result['copied']}, current {result['current']}"
    show(task, text, as_json=as_json)


def _show_faults(task: dict[str, Any], *, as_json: bool) -> None:
    """Say of each item why it could not be copied, if there were several."""
    if as_json:
        show(task, "", as_json=True)
        return
    for each in task.get("result", {}).get("faults", ()):
        click.echo(printable(f"{each['item']}: {each['fault']}"), err=True)


@click.command()
@click.option("--faulty", is_flag=True, help="Those only that are not in order.")
@click.option("--refresh", is_flag=True, help="Compare all with their Originals before.")
@archive_options
@json_option
def copies(archive: RemoteArchive, *, faulty: bool, refresh: bool, as_json: bool) -> None:
    """List the copies of the archive, and how each stands with its Original.

    Example: ibi archive copies --faulty
    """
    if refresh:
        follow(archive, archive.ask("POST", "copies", {"refresh": True}), "Comparing")
    query = {"limit": "1000", **({"faulty": "1"} if faulty else {})}
    after = ""
    while True:
        page = archive.ask("GET", "copies", query={**query, "after": after})
        for each in page["copies"]:
            show(each, _line(each), as_json=as_json)
        after = page["after"]
        if not after:
            return


def _line(copy: dict[str, Any]) -> str:
    fault = copy.get("fault", "")
    if "missing_since" in copy:
        state = f"missing since {copy['missing_since']}: {fault}"
    elif fault:
        state = f"not current: {fault}"
    else:
        state = f"current as of {copy['checked']}" if "checked" in copy else "not compared yet"
    return printable(f"{copy['item']}  {copy['from']}  {state}")


@click.command()
@click.argument("ibi")
@archive_options
@json_option
def drop(archive: RemoteArchive, ibi: str, *, as_json: bool) -> None:
    """Let go of the Copy of the item IBI. An Original is never dropped: it is deleted, if at all.

    Example: ibi archive drop IBI
    """
    archive.ask("DELETE", f"copies/{quote(ibi, safe='')}")
    show({"dropped": ibi}, f"dropped {ibi}", as_json=as_json)
