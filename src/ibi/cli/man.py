"""The command `ibi man`."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Final

import click

from ibi.errors import printable
from ibi.foundation.cli.man_pages import man_pages
from ibi.foundation.settings_file import data_home
from ibi.foundation.system.private_files import public_umask

_EXAMPLES: Final = """\b
Examples:
  ibi man
  ibi man --to /usr/local/share/man/man1
"""


@click.command(epilog=_EXAMPLES)
@click.option(
    "--to",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="The folder for the pages.  [default: ~/.local/share/man/man1]",
)
def man(folder: Path | None) -> None:
    """Write a man page for each command: 'man ibi', 'man ibi-archive-deposit' show them.

    The texts are those of --help. Pages of an earlier version are replaced.
    """
    root = click.get_current_context().find_root()
    name = root.info_name or ""
    place = (folder or data_home() / "man" / "man1").absolute()
    pages = list(man_pages(root.command, name, version(name)))
    with public_umask():
        place.mkdir(parents=True, exist_ok=True)
        for page in pages:
            (place / f"{page.name}.1").write_text(page.text, "ascii")
    click.echo(f"Wrote {len(pages)} pages to {printable(str(place))}")
    manpath = printable(str(place.parent))
    click.echo(f"Read them with 'man {name}'. If it finds none, set MANPATH={manpath}:")
