"""`ibi archive tasks`: the long work of an archive, and how far it has come."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import click

from ibi.adapters.remote_archive import RemoteArchive
from ibi.cli.archive_options import archive_options
from ibi.cli.instance_options import json_option, show
from ibi.errors import printable


def add_to(archive: click.Group) -> None:
    """Add the commands of this module."""
    archive.add_command(tasks)


@click.command()
@click.option("--kind", default="", help="Only of this kind.")
@click.option(
    "--last", default=20, show_default=True, type=click.IntRange(1, 1000), help="How many."
)
@click.option("--cancel", "cancelled", default="", metavar="ID", help="Give this one up.")
@archive_options
@json_option
def tasks(archive: RemoteArchive, *, kind: str, last: int, cancelled: str, as_json: bool) -> None:
    """Show the long work of the archive, the newest first: audits, copies and the like.

    A task goes on when the archive is stopped and started again. One that is given up ends soon;
    what it did stays done.

    Example: ibi archive tasks --kind audit
    """
    if cancelled:
        given_up = archive.ask("DELETE", f"tasks/{quote(cancelled, safe='')}")
        show(given_up, f"cancelled {given_up['id']}", as_json=as_json)
        return
    query = {"limit": str(last), **({"kind": kind} if kind else {})}
    for each in archive.ask("GET", "tasks", query=query)["tasks"]:
        show(each, _line(each), as_json=as_json)


def _line(task: dict[str, Any]) -> str:
    done = f"{task['done']}/{task['total']}" if task["total"] else str(task["done"])
    facts = (task["id"], task["kind"], task["state"], done, task["begun"], task.get("note", ""))
    return printable("  ".join(facts).rstrip())
