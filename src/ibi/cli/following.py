"""Long work of an archive, followed from the command line."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, Final

import click

from ibi.adapters.remote_archive import RemoteArchive
from ibi.cli.instance_options import is_terminal
from ibi.errors import ArchiveRefusedError

_PAUSE: Final = 0.2
_LONGEST_PAUSE: Final = 2.0
_ENDED: Final = ("done", "failed", "cancelled")
_FAILED: Final = 409


def follow(archive: RemoteArchive, task: dict[str, Any], label: str) -> dict[str, Any]:
    """Show how far a task is until it ends; return how it ended, or raise why it failed.

    Whoever interrupts this stops to look; the archive goes on with the task.
    """
    return follow_by(lambda: archive.insist("GET", f"tasks/{task['id']}"), label)


def follow_by(look: Callable[[], dict[str, Any]], label: str) -> dict[str, Any]:
    """Do the same with a task that is looked at otherwise."""
    pause = _PAUSE
    task = look()
    with click.progressbar(
        length=max(1, task["total"]), label=label, file=sys.stderr, hidden=not is_terminal()
    ) as bar:
        while task["state"] not in _ENDED:
            time.sleep(pause)
            pause = min(pause * 1.2, _LONGEST_PAUSE)
            task = look()
            bar.length = max(1, task["total"])
            bar.update(max(0, task["done"] - bar.pos))
    if task["state"] != "done":
        raise ArchiveRefusedError(_FAILED, task.get("note", ""))
    return task
