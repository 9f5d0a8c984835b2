"""Options of those commands that act on an archive: which one, and by what token."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec

from ibi.archive.settings import ARCHIVE_FILE
from ibi.client.archive import RemoteArchive
from ibi.errors import ArchiveRequestError, InstanceHeldError, MetadataError, printable, shown
from ibi.foundation.cli.instance_folder import inner_folder, usual
from ibi.foundation.cli.options import data_option, typed_options
from ibi.foundation.system.instance_lock import is_held, serving_at, token_of
from ibi.metadata import oai_dc
from ibi.metadata.json_record import record_as_dict


def read_record(path: Path) -> dict[str, Any]:
    """Return the plain values of the record in a file, by whose name its format is known."""
    content = _content(path)
    try:
        if path.suffix.lower() == ".xml":
            return record_as_dict(oai_dc.read(content))
        return msgspec.json.decode(content, type=dict[str, Any])
    except MetadataError as fault:
        msg = f"{shown(str(path))} cannot be read: {fault}"
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as fault:
        reason = printable(str(fault))
        msg = f"{shown(str(path))} cannot be read as a record in JSON: {reason}."
    raise ArchiveRequestError(msg)


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as failure:
        reason = (failure.strerror or "").lower()
        msg = f"{shown(str(path))} cannot be read: {reason}."
        raise ArchiveRequestError(msg) from None


F = TypeVar("F", bound=Callable[..., Any])
folder_option = data_option("archive")


def usual_folder() -> Path:
    """Return where an archive lies if nobody says otherwise (XDG base directories)."""
    return usual("archive")


def folder_of(given: Path | None) -> Path:
    """Return the folder of the archive that is meant."""
    return inner_folder(given or usual_folder(), "archive", ARCHIVE_FILE)


def archive_options(command: F) -> F:
    """Add --data, --archive and --token, and hand over an archive that can be asked."""
    return _with(_archive, command)


def archive_or_folder_options(command: F) -> F:
    """Add the same, and hand over the folder of an archive that does not run."""
    return _with(_archive_or_folder, command)


def _with(choose: Callable[[Path | None, str | None, str | None], object], command: F) -> F:
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
        return command(choose(folder, address, token), *args, **options)

    return with_archive  # type: ignore[return-value]  # click calls it by keyword


def _archive_or_folder(
    folder: Path | None, address: str | None, token: str | None
) -> RemoteArchive | Path:
    place = folder_of(folder)
    is_elsewhere = bool(address) and ("address" in typed_options("address") or folder is None)
    if is_elsewhere or not (place / ARCHIVE_FILE).exists() or is_held(place):
        return _archive(folder, address, token)
    return place


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
