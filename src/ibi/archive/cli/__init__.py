"""`ibi archive`: creates, runs and administers an archive."""

from __future__ import annotations

from typing import Final

import click

from ibi.foundation.cli.lazy_group import LazyGroup

_MODULES: Final = {
    "ibi.archive.cli.instance": ("init", "serve", "rebuild"),
    "ibi.archive.cli.concede": ("concede",),
    "ibi.archive.cli.deposit": ("deposit", "revise"),
    "ibi.archive.cli.adopt": ("adopt",),
    "ibi.archive.cli.items": (
        "list", "show", "files", "describe", "edition", "translation", "delete", "readers",
    ),
    "ibi.archive.cli.collection": ("collection",),
    "ibi.archive.cli.administration": (
        "link", "unlink", "links", "reserve", "reserved", "token", "account",
    ),
    "ibi.archive.cli.register": ("register", "domain-record"),
    "ibi.archive.cli.audit": ("audit",),
    "ibi.archive.cli.copies": ("copy", "copies", "drop"),
    "ibi.archive.cli.tasks": ("tasks",),
    "ibi.archive.cli.storage": ("move-store",),
    "ibi.archive.cli.history": ("history",),
    "ibi.archive.cli.cite": ("cite",),
    "ibi.archive.cli.transfer": ("transfer", "transfers"),
    "ibi.archive.cli.statistics": ("stats",),
    "ibi.archive.cli.export": ("export", "key"),
    "ibi.archive.cli.import_": ("import",),
}  # fmt: skip

_EXAMPLES: Final = """\b
Examples:
  ibi archive init --name "My archive" --address http://archive.example.org
  ibi archive serve
  ibi archive deposit report.pdf --from report.bib
"""


@click.group(cls=LazyGroup, modules=_MODULES, epilog=_EXAMPLES)
def archive() -> None:
    """Create an archive, run it, and manage its items."""
