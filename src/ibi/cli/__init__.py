"""The command line: one module a command."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib import import_module
from io import TextIOWrapper

import click

from ibi.errors import IbiError

_COMMANDS = (
    "archive",
    "backup",
    "describe",
    "doctor",
    "mint",
    "minter",
    "resolve",
    "resolver",
    "restore",
    "up",
)


class _Commands(click.Group):
    """Finds a command in the module of its name, and loads no other: a web server takes long."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"ibi.cli.{cmd_name}"), cmd_name)
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
            # What the terminal's encoding lacks is escaped, not a reason to stop.
            stream.reconfigure(errors="backslashreplace")
    colour = False if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" else None
    conclude(lambda: ibi.main(prog_name="ibi", standalone_mode=False, color=colour))


def conclude(work: Callable[[], int | None]) -> None:
    """Do the work of a process, and exit as commands do."""
    try:
        code = work()
        if sys.stdout is not None:
            sys.stdout.flush()
        sys.exit(code)
    except click.exceptions.NoArgsIsHelpError as help_wanted:
        help_wanted.show()
        sys.exit(help_wanted.exit_code)
    except click.ClickException as mistake:
        context = getattr(mistake, "ctx", None)
        command = context.command_path if context else "ibi"
        _give_up(f"{mistake.format_message()} See '{command} --help'.", mistake.exit_code)
    except IbiError as refusal:
        _give_up(str(refusal), 1)
    except (click.Abort, KeyboardInterrupt):
        _give_up("stopped.", 130)
    except BrokenPipeError:
        # Whoever read our output has read enough.
        _give_up("", 1)
    except OSError as failure:
        _give_up(f"Cannot read or write: {failure.strerror or failure}.", 1)


def _give_up(sentence: str, code: int) -> None:
    if sentence:
        click.echo(f"ibi: {sentence}", err=True)
    # What is still buffered could not be written, or is not wanted: at exit the interpreter would
    # try again, and complain.
    sys.stdout = None
    sys.exit(code)
