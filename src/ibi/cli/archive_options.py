"""Options of those commands that act on an archive: which one, and by what token."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec
from click.core import ParameterSource

from ibi.adapters.instance import serving_at, token_of
from ibi.adapters.remote_archive import RemoteArchive
from ibi.cli.instance_folder import inner_folder, usual
from ibi.errors import InstanceHeldError
from ibi.settings import ARCHIVE_FILE

F = TypeVar("F", bound=Callable[..., Any])


def usual_folder() -> Path:
    """Return where an archive lies if nobody says otherwise (XDG base directories)."""
    return usual("archive")


def folder_of(given: Path | None) -> Path:
    """Return the folder of the archive that is meant."""
    return inner_folder(given or usual_folder(), "archive", ARCHIVE_FILE)


def folder_option(command: F) -> F:
    """Add --data."""
    return click.option(
        "--data",
        "folder",
        type=click.Path(path_type=Path, file_okay=False),
        envvar="IBI_DATA",
        help="The folder of the archive.  [default: ~/.local/share/ibi/archive]",
    )(command)


def archive_options(command: F) -> F:
    """Add --data, --archive and --token, and hand over an archive that can be asked."""

    @folder_option
    @click.option("--archive", "address", envvar="IBI_ARCHIVE", help="Its address, if elsewhere.")
    @click.option("--token", envvar="IBI_TOKEN", help="A token for it.")
    @wraps(command)
    def with_archive(
        *args: object,
        folder: Path | None,
        address: str | None,
        token: str | None,
        **options: object,
    ) -> object:
        return command(_archive(folder, address, token), *args, **options)

    return with_archive  # type: ignore[return-value]  # click calls it by keyword


def _archive(folder: Path | None, address: str | None, token: str | None) -> RemoteArchive:
    """Return the archive that is meant: what was typed goes before what the environment says."""
    typed = typed_options("folder", "address", "token")
    if {"folder", "address"} <= typed:
        raise click.UsageError("An archive is named by --data or by --archive, not by both.")
    if address and ("address" in typed or folder is None):
        return RemoteArchive(address, token or "")
    place = folder_of(folder)
    found = serving_at(place)
    if not found:
        msg = f"No archive is running on {place}: start it with 'ibi archive serve --data {place}'."
        raise InstanceHeldError(msg)
    # A token of the environment may be for an archive elsewhere.
    own = "" if "token" in typed else token_of(place)
    return RemoteArchive(found, own or token or "")


def typed_options(*names: str) -> set[str]:
    """Return which of these options somebody typed, rather than set or left out."""
    context = click.get_current_context()
    source = ParameterSource.COMMANDLINE
    return {name for name in names if context.get_parameter_source(name) is source}


def show(answer: object, text: str, *, as_json: bool) -> None:
    """Show an answer: to programs as it came, to people as a text."""
    click.echo(msgspec.json.encode(answer) if as_json else text)


def is_terminal() -> bool:
    """Tell whether somebody sees how far a command is."""
    return sys.stderr is not None and sys.stderr.isatty()


def json_option(command: F) -> F:
    """Add --json."""
    return click.option("--json", "as_json", is_flag=True, help="For programs.")(command)
