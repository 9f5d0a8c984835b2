"""The exit of a process: its status, and an error as one line."""

from __future__ import annotations

import sys
from collections.abc import Callable

import click

from ibi.errors import IbiError


def conclude(work: Callable[[], int | None]) -> None:
    """Run the work of a process, and exit with the status of a command."""
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
        # The reader of our output has closed it.
        _give_up("", 1)
    except OSError as failure:
        _give_up(f"Cannot read or write: {failure.strerror or failure}.", 1)


def _give_up(sentence: str, code: int) -> None:
    if sentence:
        click.echo(f"ibi: {sentence}", err=True)
    # Buffered output could not be written, or is not wanted: the interpreter would try to write it
    # again at exit, and print an error.
    sys.stdout = None
    sys.exit(code)
