"""Confirmation of acts that cannot be undone.

A person at a terminal is asked. Where no person can answer (in a script, a pipe, a cron job), the
act needs the option --yes: text that happens to be on standard input confirms nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def yes_option(command: F) -> F:
    """Add --yes."""
    return click.option("--yes", is_flag=True, help="Do not ask; needed without a terminal.")(
        command
    )


def require_confirmation(*, yes: bool) -> None:
    """Raise UsageError if an act is not confirmed by --yes, and no terminal can ask for it."""
    if not yes and not _can_ask():
        msg = "This cannot be undone, and there is no terminal to ask at: confirm it with --yes."
        raise click.UsageError(msg)


def confirm(question: str, *, yes: bool) -> None:
    """Ask for confirmation unless it is given by --yes; raise Abort if the answer is no."""
    require_confirmation(yes=yes)
    if not yes:
        click.confirm(question, abort=True, err=True)


def _can_ask() -> bool:
    # The question is written to stderr: a person who does not see it cannot answer it.
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))
