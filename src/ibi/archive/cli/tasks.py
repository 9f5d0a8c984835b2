"""`ibi archive tasks`: shows the tasks of an archive and their progress."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import quote

import click

from ibi.archive.cli.options import archive_options
from ibi.client.archive import RemoteArchive
from ibi.errors import ArchiveRefusedError, printable
from ibi.foundation.cli.options import is_terminal, json_option, show
from ibi.model.clock import SECOND
from ibi.model.pace import Backoff

_LOOKS: Final = Backoff(SECOND // 5, 2 * SECOND, factor=1.2)
"""Pauses between two requests for the state of a task."""
_ENDED: Final = ("done", "failed", "cancelled")
_FAILED: Final = 409


def follow(archive: RemoteArchive, task: dict[str, Any], label: str) -> dict[str, Any]:
    """Show the progress of a task until it ends; return its last state, or raise if it failed.

    An interrupt ends only this command; the archive continues the task.
    """
    with click.progressbar(length=1, label=label, file=sys.stderr, hidden=not is_terminal()) as bar:

        def report(done: int, total: int) -> None:
            bar.length = max(1, total)
            bar.update(max(0, done - bar.pos))

        return follow_by(look_at(archive, task), report)


def look_at(archive: RemoteArchive, task: dict[str, Any]) -> Callable[[], dict[str, Any]]:
    """Return the function that asks an archive for the state of a task."""
    return lambda: archive.insist("GET", f"tasks/{task['id']}")


def follow_by(
    look: Callable[[], dict[str, Any]], report: Callable[[int, int], None]
) -> dict[str, Any]:
    """Report how much of a task is done, and all of it, until the task that `look` returns ends."""
    looks = 0
    task = look()
    report(task["done"], task["total"])
    while task["state"] not in _ENDED:
        time.sleep(_LOOKS.wait(looks) / SECOND)
        looks += 1
        task = look()
        report(task["done"], task["total"])
    if task["state"] != "done":
        raise ArchiveRefusedError(_FAILED, task.get("note", ""))
    return task


@click.command()
@click.option("--kind", default="", help="Only of this kind.")
@click.option(
    "--last", default=20, show_default=True, type=click.IntRange(1, 1000), help="How many tasks."
)
@click.option("--cancel", "cancelled", default="", metavar="ID", help="Cancel this one.")
@archive_options
@json_option
def tasks(archive: RemoteArchive, *, kind: str, last: int, cancelled: str, as_json: bool) -> None:
    """Show the tasks of the archive, the newest first: audits, copies and others.

    A task is resumed when the archive is restarted. A cancelled one ends soon; what it did stays
    done.

    Example: ibi archive tasks --kind audit
    """
    if cancelled:
        task = archive.ask("DELETE", f"tasks/{quote(cancelled, safe='')}")
        show(task, f"cancelled {task['id']}", as_json=as_json)
        return
    query = {"limit": str(last), **({"kind": kind} if kind else {})}
    for each in archive.ask("GET", "tasks", query=query)["tasks"]:
        show(each, _line(each), as_json=as_json)


def _line(task: dict[str, Any]) -> str:
    done = f"{task['done']}/{task['total']}" if task["total"] else str(task["done"])
    facts = (task["id"], task["kind"], task["state"], done, task["begun"], task.get("note", ""))
    return printable("  ".join(facts).rstrip())
