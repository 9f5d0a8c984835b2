"""Encoding of reserved labels, which are stored beside the items: they may be in print already."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from ibi.archive.ports.catalogue import Reservation
from ibi.errors import LabelError, StorageError
from ibi.model.label_pair import Forms


class _Reserved(msgspec.Struct, omit_defaults=True):
    forms: str
    reserved: int
    who: str
    note: str = ""


_ENCODE: Final = msgspec.json.Encoder().encode
_DECODE: Final = msgspec.json.Decoder(list[_Reserved]).decode


def reserved_text(reservations: Sequence[Reservation]) -> bytes:
    """Encode labels that were reserved together."""
    kept = [_Reserved(str(each.forms), each.reserved, each.who, each.note) for each in reservations]
    return msgspec.json.format(_ENCODE(kept)) + b"\n"


def read_reserved(text: bytes) -> list[Reservation]:
    """Decode what `reserved_text` encoded; raise StorageError if it is damaged."""
    try:
        return [
            Reservation(Forms.parse(each.forms), each.reserved, each.who, each.note)
            for each in _DECODE(text)
        ]
    except (msgspec.MsgspecError, UnicodeDecodeError, LabelError) as fault:
        raise StorageError("of reserved labels", "a list of them is damaged") from fault
