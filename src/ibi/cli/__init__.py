"""The command line `ibi`: the commands for a whole installation, and those of each program."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from io import TextIOWrapper

import click

from ibi.foundation.cli.exit_status import conclude

_COMMANDS = {
    "archive": "ibi.archive.cli",
    "backup": "ibi.cli.backup",
    "describe": "ibi.cli.describe",
    "doctor": "ibi.cli.doctor",
    "mint": "ibi.minting.cli.mint",
    "minter": "ibi.minting.cli.minter",
    "resolve": "ibi.resolver.cli.resolve",
    "resolver": "ibi.resolver.cli",
    "restore": "ibi.cli.restore",
    "up": "ibi.cli.up",
}


class _Commands(click.Group):
    """Loads only the module of the command that is run: a web server takes long to load."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = getattr(import_module(_COMMANDS[cmd_name]), cmd_name)
        return command


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
    cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]}, epilog=_EXAMPLES
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
    conclude(lambda: ibi.main(prog_name="ibi", standalone_mode=False, color=colour))
