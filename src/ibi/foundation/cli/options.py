"""Options and answers of all commands that act on an instance, whichever it is."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec
from click.core import ParameterSource

from ibi.foundation.settings_file import MOST_WORKERS

F = TypeVar("F", bound=Callable[..., Any])


def data_option(owner: str, usual: str = "") -> Callable[[F], F]:
    """Add --data, the folder of `owner`, and say where it lies if none is named."""
    return click.option(
        "--data",
        "folder",
        type=click.Path(path_type=Path, file_okay=False),
        envvar="IBI_DATA",
        help=f"The folder of {owner}.  [default: ~/.local/share/ibi{usual}]",
    )


def workers_option(command: F) -> F:
    """Add --workers."""
    return click.option(
        "--workers",
        type=click.IntRange(1, MOST_WORKERS),
        help="How many processes answer, if not as the settings say.",
    )(command)


def refuse_closed_output() -> None:
    """Raise if there is no standard output: nobody would see what the command says."""
    if sys.stdout is None:
        raise click.UsageError("Standard output is closed.")


def typed_options(*names: str) -> set[str]:
    """Return which of these options somebody typed, rather than set or left out."""
    context = click.get_current_context()
    source = ParameterSource.COMMANDLINE
    return {name for name in names if context.get_parameter_source(name) is source}


def show(answer: object, text: str, *, as_json: bool) -> None:
    """Show an answer: to programs as it came, to people as a text."""
    click.echo(msgspec.json.encode(answer) if as_json else text)


def is_terminal() -> bool:
    """Return whether somebody sees how far a command is."""
    return sys.stderr is not None and sys.stderr.isatty()


def json_option(command: F) -> F:
    """Add --json."""
    return click.option("--json", "as_json", is_flag=True, help="For programs.")(command)


def json_lines_option(command: F) -> F:
    """Add --json to a command that writes one JSON object a line."""
    return click.option(
        "--json", "as_json", is_flag=True, help="For programs: one JSON object a line."
    )(command)
