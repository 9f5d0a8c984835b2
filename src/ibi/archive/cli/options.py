"""Options of the commands that act on an archive: its address or folder, and a token."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from ibi.archive.settings import ARCHIVE_FILE
from ibi.client.archive import RemoteArchive
from ibi.errors import ArchiveRequestError, MetadataError, printable, shown
from ibi.foundation.cli.program import Program
from ibi.foundation.system.instance_lock import is_held
from ibi.metadata import oai_dc
from ibi.metadata.json_record import record_as_dict


def read_record(path: Path) -> dict[str, Any]:
    """Return the record in a file as plain values; its suffix tells whether it is XML or JSON."""
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
ARCHIVE: Final = Program("archive", ARCHIVE_FILE, RemoteArchive)
archive_options = ARCHIVE.options
folder_of = ARCHIVE.folder_of
folder_option = ARCHIVE.folder_option


def archive_or_folder_options(command: F) -> F:
    """Add the same options; the command gets the folder if the archive is not running."""
    return ARCHIVE.options_for(_archive_or_folder, command)


def _archive_or_folder(
    folder: Path | None, address: str | None, token: str | None
) -> RemoteArchive | Path:
    place = folder_of(folder)
    is_elsewhere = ARCHIVE.is_elsewhere(folder, address)
    if is_elsewhere or not (place / ARCHIVE_FILE).exists() or is_held(place):
        return ARCHIVE.connect(folder, address, token)
    return place
