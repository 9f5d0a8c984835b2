"""A file that a record is read from: JSON, or oai_dc in XML."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from ibi.errors import ArchiveRequestError, MetadataError, printable, shown
from ibi.metadata import oai_dc
from ibi.metadata.plain_record import record_as_dict


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
