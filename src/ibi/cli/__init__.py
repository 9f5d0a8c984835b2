"""The command line: one module a command."""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper

import click

from ibi.cli.describe import describe


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="ibi", message="ibi %(version)s")
def ibi() -> None:
    """Internet Based Identifiers: persistent identifiers without a registrar.

    Example: ibi describe 8JMKD3MGP7W/3EPGUE5
    """


ibi.add_command(describe)


def main() -> None:
    """Run the command line; a user's mistake is one line on stderr, never a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # What the terminal's encoding lacks is escaped, not a reason to stop.
            stream.reconfigure(errors="backslashreplace")
    colour = False if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" else None
    try:
        code = ibi.main(prog_name="ibi", standalone_mode=False, color=colour)
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
