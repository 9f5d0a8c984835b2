"""How a process of ours ends: with a code, and a mistake as one line."""

from __future__ import annotations

import sys
from collections.abc import Callable

import click

from ibi.errors import IbiError


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
