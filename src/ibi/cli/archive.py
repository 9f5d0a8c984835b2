"""`ibi archive`: make an archive, run it, and look after what is in it."""

from __future__ import annotations

from typing import Final

import click

from ibi.cli.modules import ModuleGroup

_MODULES: Final = {
    "archive_instance": ("init", "serve", "rebuild"),
    "archive_concession": ("concede",),
    "archive_deposit": ("deposit", "revise"),
    "archive_items": ("list", "show", "files", "describe", "edition", "translation", "delete"),
    "archive_licences": ("license",),
    "archive_administration": (
        "link", "unlink", "links", "reserve", "reserved", "token",
    ),
    "archive_audit": ("audit",),
    "archive_copies": ("copy", "copies", "drop"),
    "archive_tasks": ("tasks",),
    "archive_storage": ("move-store",),
    "archive_history": ("history",),
    "archive_transfer": ("transfer", "transfers"),
    "archive_statistics": ("stats",),
    "archive_export": ("export", "key"),
    "archive_import": ("import",),
}  # fmt: skip

_EXAMPLES: Final = """\b
Examples:
  ibi archive init --name "My archive" --address http://archive.example.org
  ibi archive serve
  ibi archive deposit report.pdf --title "A report" --creator "Banon, Gerald"
"""


@click.group(cls=ModuleGroup, modules=_MODULES, epilog=_EXAMPLES)
def archive() -> None:
    """Make an archive, run it, and look after what is in it."""
