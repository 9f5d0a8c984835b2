"""The command line `ibi`: the commands for a whole installation, and those of each program."""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper
from typing import Final

import click

from ibi.foundation.cli.exit_status import conclude
from ibi.foundation.cli.lazy_group import LazyGroup
from ibi.foundation.system.private_files import private_umask

_MODULES: Final = {
    "ibi.archive.cli": ("archive",),
    "ibi.cli.backup": ("backup",),
    "ibi.cli.completion": ("completion",),
    "ibi.cli.describe": ("describe",),
    "ibi.cli.doctor": ("doctor",),
    "ibi.cli.man": ("man",),
    "ibi.cli.restore": ("restore",),
    "ibi.cli.up": ("up",),
    "ibi.minting.cli": ("minter",),
    "ibi.minting.cli.mint": ("mint",),
    "ibi.resolver.cli": ("resolver",),
    "ibi.resolver.cli.resolve": ("resolve",),
}

_EXAMPLES = """\b
Examples:
  ibi up --demo
  ibi describe 8JMKD3MGP7W/3EPGUE5
  ibi mint --host archive.example.org
  ibi archive init
  ibi resolver init
  ibi resolve 8JMKD3MGP7W/3EPGUE5
"""


@click.group(
    cls=LazyGroup,
    modules=_MODULES,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=_EXAMPLES,
)
@click.version_option(package_name="ibi", message="ibi %(version)s")
def ibi() -> None:
    """Internet Based Identifiers: persistent identifiers without a registrar."""


def main() -> None:
    """Run the command line; a user's mistake is one line on stderr, never a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # Characters that the terminal's encoding lacks are escaped.
            stream.reconfigure(errors="backslashreplace")
    colour = False if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" else None
    with private_umask():
        conclude(lambda: ibi.main(prog_name="ibi", standalone_mode=False, color=colour))
