"""Options and output of all commands that act on an instance of any program."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec
from click.core import ParameterSource

from ibi.foundation.settings_file import MAX_WORKERS
from ibi.model.token import MAX_DAYS

F = TypeVar("F", bound=Callable[..., Any])


def data_option(owner: str, usual: str = "") -> Callable[[F], F]:
    """Add --data, the folder of `owner`, with its default in the help."""
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
        type=click.IntRange(1, MAX_WORKERS),
        help="Processes that serve requests.  [default: as in the settings]",
    )(command)


def refuse_closed_output() -> None:
    """Raise UsageError if there is no standard output: the output of the command would be lost."""
    if sys.stdout is None:
        raise click.UsageError("Standard output is closed.")


def typed_options(*names: str) -> set[str]:
    """Return which of these options are on the command line, not from environment or default."""
    context = click.get_current_context()
    source = ParameterSource.COMMANDLINE
    return {name for name in names if context.get_parameter_source(name) is source}


def show(answer: object, text: str, *, as_json: bool) -> None:
    """Print an answer: as JSON for programs, or as text."""
    click.echo(msgspec.json.encode(answer) if as_json else text)


def is_terminal() -> bool:
    """Return whether a terminal shows the progress of a command."""
    return sys.stderr is not None and sys.stderr.isatty()


def json_option(command: F) -> F:
    """Add --json."""
    return click.option("--json", "as_json", is_flag=True, help="For programs.")(command)


def json_lines_option(command: F) -> F:
    """Add --json to a command that writes one JSON object a line."""
    return click.option(
        "--json", "as_json", is_flag=True, help="For programs: one JSON object a line."
    )(command)


days_option = click.option(
    "--days",
    type=click.IntRange(1, MAX_DAYS),
    help="Let it expire after so many days.  [default: never]",
)
"""The option that limits the validity of a new token."""
