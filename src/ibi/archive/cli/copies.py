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
@click.option("--from", "source", default="", metavar="ARCHIVE", help="The archive to copy from.")
@click.option("--all", "everything", is_flag=True, help="Copy all Originals of that archive.")
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
    """Copy the items IBI from the archives of their Originals, or from the archive --from.

    The resolvers to which the archive is linked are asked where the Originals are. An existing Copy
    is updated; files that are here are not fetched again. If this command is interrupted, the
    archive continues.

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
    """Show why each of several items could not be copied."""
    if as_json:
        show(task, "", as_json=True)
        return
    for each in task.get("result", {}).get("faults", ()):
        click.echo(printable(f"{each['item']}: {each['fault']}"), err=True)


@click.command()
@click.option("--faulty", is_flag=True, help="Only those with a fault.")
@click.option("--refresh", is_flag=True, help="Compare all with their Originals first.")
@archive_options
@json_option
def copies(archive: RemoteArchive, *, faulty: bool, refresh: bool, as_json: bool) -> None:
    """List the copies of the archive, and whether each is current.

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
    """Remove the Copy of the item IBI. An Original is not dropped: use 'delete'.

    Example: ibi archive drop IBI
    """
    archive.ask("DELETE", f"copies/{quote(ibi, safe='')}")
    show({"dropped": ibi}, f"dropped {ibi}", as_json=as_json)
