"""Archives and conflicts as the JSON that the database of a resolver stores."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

import msgspec

from ibi.errors import LabelError, StorageError
from ibi.identifier.label import parse
from ibi.model.conflict import Conflict
from ibi.model.registration import Inclusion, Origin, Outage, ProvedPlace, RegisteredArchive


class _Archive(msgspec.Struct, omit_defaults=True):
    """A registered archive, its service as text in its spelling; empty fields are omitted."""

    service: str
    key: str
    previous_key: str = ""
    previous_until: int = 0
    administrator: str = ""
    origin: Origin = "operator"
    registered: int = 0
    confirmed: int = 0
    seniority: int = 0
    hosts: tuple[str, ...] = ()
    inclusion: Inclusion | None = None
    excluded: int = 0
    outage: Outage | None = None
    link_secret: str = ""
    proofs: tuple[ProvedPlace, ...] = ()
    confirmed_at: tuple[ProvedPlace, ...] = ()


_ENCODE: Final = msgspec.json.Encoder().encode
_DECODE_ARCHIVE: Final = msgspec.json.Decoder(_Archive).decode
_DECODE_CONFLICT: Final = msgspec.json.Decoder(Conflict).decode


def archive_document(archive: RegisteredArchive) -> str:
    """Encode an archive."""
    facts = {name: getattr(archive, name) for name in _Archive.__struct_fields__}
    return _ENCODE(_Archive(**facts | {"service": archive.service.spelling})).decode()


def read_archive(text: str) -> RegisteredArchive:
    """Decode what `archive_document` encoded; raise StorageError if it is something else."""
    with _readable():
        read = _DECODE_ARCHIVE(text)
        facts = {name: getattr(read, name) for name in _Archive.__struct_fields__}
        return RegisteredArchive(**facts | {"service": parse(read.service, strict=True)})


def conflict_document(conflict: Conflict) -> str:
    """Encode a conflict without its number."""
    return _ENCODE(replace(conflict, id=0)).decode()


def read_conflict(number: int, text: str) -> Conflict:
    """Decode what `conflict_document` encoded; raise StorageError if it is something else."""
    with _readable():
        return replace(_DECODE_CONFLICT(text), id=number)


@contextmanager
def _readable() -> Iterator[None]:
    try:
        yield
    except (msgspec.MsgspecError, UnicodeDecodeError, LabelError) as fault:
        raise StorageError("of the resolver", "a record of it cannot be read") from fault
