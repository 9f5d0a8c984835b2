"""Zip files, read by their directory and checked against the header of each file.

Two programs may find different files in one zip file, and its entries may share their bytes: that
is how the worst bombs are made (D. Fifield, "A better zip bomb", 2019). Here the directory and the
headers must agree, and no two entries may overlap. `zipfile` reads a whole directory into memory
before its size is known; here it is read entry by entry.

APPNOTE is PKWARE's .ZIP File Format Specification, version 6.3.10.
"""

from __future__ import annotations

import stat
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final

from ibi.archive.storage.unpack.limits import PIECE, Unpacking, entry_error
from ibi.errors import Sentence, UnpackError

SIGNATURES: Final = (b"PK\x03\x04", b"PK\x05\x06")
"""The first bytes of a zip file, and of an empty one."""

# APPNOTE 4.3.16, 4.3.15, 4.3.14, 4.3.12 and 4.3.7.
_END: Final = struct.Struct("<4s4H2LH")
_LOCATOR: Final = struct.Struct("<4sLQL")
_END_64: Final = struct.Struct("<4sQ2H2L4Q")
_ENTRY: Final = struct.Struct("<4s4B4HL2L5H2L")
_LOCAL: Final = struct.Struct("<4s5H3L2H")
_FIELD: Final = struct.Struct("<2H")

_LONGEST_COMMENT: Final = 0xFFFF
_LARGE: Final = 0xFFFFFFFF
"""The value of a size or offset that is in a field of 64 bits instead."""
_MANY: Final = 0xFFFF
_SIZES: Final = 0x0001
_UNICODE_NAME: Final = 0x7075

# APPNOTE 4.4.4: bits of the flags.
_ENCRYPTED: Final = 1 << 0 | 1 << 6 | 1 << 13
_SIZES_FOLLOW: Final = 1 << 3
_UTF_8: Final = 1 << 11

_STORED, _DEFLATED = 0, 8
_UNIX: Final = 3


@dataclass(frozen=True, slots=True)
class _Entry:
    name: str
    path: str
    method: int
    checksum: int
    packed: int
    size: int
    place: int
    start: int


def unpack_zip(source: BinaryIO, size: int, unpacking: Unpacking) -> None:
    """Write all files of a zip file."""
    count, length, place = _end(source, size)
    unpacking.count(count)
    entries = list(_directory(source, count, length, place, unpacking))
    _check_apart(entries, place)
    for entry in entries:
        if not entry.name.endswith("/"):
            _extract(source, entry, unpacking)


def _directory(
    source: BinaryIO, count: int, length: int, place: int, unpacking: Unpacking
) -> Iterator[_Entry]:
    end = place + length
    for _ in range(count):
        source.seek(place)
        fields = _ENTRY.unpack(_read(source, _ENTRY.size))
        place += _ENTRY.size + sum(fields[12:15])
        if fields[0] != b"PK\x01\x02" or place > end:
            msg = Sentence("Its directory is damaged.")
            raise UnpackError(msg)
        raw_name, extra = _read(source, fields[12]), _read(source, fields[13])
        yield _entry(source, fields, raw_name, extra, unpacking)
    if place < end:
        msg = Sentence("Its directory has more in it than it says.")
        raise UnpackError(msg)


def _check_apart(entries: list[_Entry], directory: int) -> None:
    """Raise UnpackError if entries overlap each other or the directory."""
    ordered = sorted(entries, key=lambda entry: entry.place)
    ends = [*(entry.place for entry in ordered[1:]), directory]
    for entry, end in zip(ordered, ends, strict=False):
        if entry.start + entry.packed > end:
            raise entry_error(entry.name, Sentence("it shares its bytes with another one"))


def _end(source: BinaryIO, size: int) -> tuple[int, int, int]:
    """Return the number of entries, the length and the offset of the directory.

    Raises UnpackError unless the directory ends where its end record begins.
    """
    tail = min(size, _END.size + _LONGEST_COMMENT)
    source.seek(size - tail)
    found = _read(source, tail)
    at = found.rfind(b"PK\x05\x06")
    if at < 0 or at + _END.size > tail:
        msg = Sentence("It is cut off: the directory at the end of a zip file is not there.")
        raise UnpackError(msg)
    _, disk, start_disk, here, count, length, place, comment = _END.unpack_from(found, at)
    end = size - tail + at
    if at + _END.size + comment != tail:
        msg = Sentence("Something follows its end.")
        raise UnpackError(msg)
    if _MANY in {here, count} or _LARGE in {length, place}:
        disk, start_disk, here, count, length, place, end = _end_64(source, end)
    if disk or start_disk or here != count:
        msg = Sentence("It is a part of a zip file on several disks.")
        raise UnpackError(msg)
    if place + length != end:
        msg = Sentence("Something precedes its beginning or follows its directory.")
        raise UnpackError(msg)
    return count, length, place


def _end_64(source: BinaryIO, end: int) -> tuple[int, ...]:
    source.seek(max(0, end - _LOCATOR.size))
    signature, _, place, _ = _LOCATOR.unpack(_read(source, _LOCATOR.size))
    if signature != b"PK\x06\x07" or place > end:
        msg = Sentence("Its directory is damaged.")
        raise UnpackError(msg)
    source.seek(place)
    signature, _, _, _, *facts = _END_64.unpack(_read(source, _END_64.size))
    if signature != b"PK\x06\x06":
        msg = Sentence("Its directory is damaged.")
        raise UnpackError(msg)
    return (*facts, place)


def _entry(
    source: BinaryIO,
    fields: tuple[int, ...],
    raw_name: bytes,
    extra: bytes,
    unpacking: Unpacking,
) -> _Entry:
    _, _, system, _, _, flags, method, _, _, checksum, packed, size, *_, attributes, place = fields
    known = _fields(extra)
    name = _name(raw_name, flags, system, known.get(_UNICODE_NAME, b""))
    path = unpacking.path(name)
    size, packed, place = _wide(name, (size, packed, place), known.get(_SIZES, b""))
    if place + packed > unpacking.size:
        raise entry_error(name, Sentence("it goes on beyond the end"))
    _check(name, flags, attributes >> 16)
    header = (flags, method, checksum, packed, size)
    start = _start(source, name, raw_name, place, header)
    entry = _Entry(name, path, method, checksum, packed, size, place, start)
    _check_sizes(entry)
    unpacking.check_size(name, size)
    return entry


def _wide(name: str, values: tuple[int, int, int], field: bytes) -> Iterator[int]:
    """Yield sizes and offset; those that did not fit are in a field, in this order (4.5.3)."""
    wide = [field[at : at + 8] for at in range(0, len(field) - 7, 8)]
    for value in values:
        if value != _LARGE:
            yield value
        elif wide:
            yield int.from_bytes(wide.pop(0), "little")
        else:
            raise entry_error(name, Sentence("its size is not there"))


def _fields(extra: bytes) -> dict[int, bytes]:
    """Return the extra fields of an entry; an incomplete field at the end is ignored."""
    fields = {}
    at = 0
    while at + _FIELD.size <= len(extra):
        kind, length = _FIELD.unpack_from(extra, at)
        at += _FIELD.size
        fields[kind] = extra[at : at + length]
        at += length
    return fields


def _name(raw: bytes, flags: int, system: int, unicode_name: bytes) -> str:
    """Decode a name.

    APPNOTE, appendix D, allows UTF-8, by a flag or in a field of its own, and code page 437. Some
    tools write UTF-8 without the flag, Unix tools the encoding of the user, and Windows the code
    page of its country. In western Europe and Brazil that is 850, which has the letters of 437 in
    the same places, and "ã" and "õ" besides.
    """
    if unicode_name[:1] == b"\x01" and zlib.crc32(raw) == int.from_bytes(
        unicode_name[1:5], "little"
    ):
        raw, flags = unicode_name[5:], flags | _UTF_8
    try:
        return raw.decode()
    except UnicodeDecodeError:
        name = raw.decode("iso-8859-1" if system == _UNIX else "cp850")
        if flags & _UTF_8:
            raise entry_error(name, Sentence("its name is not UTF-8")) from None
        return name


def _check(name: str, flags: int, mode: int) -> None:
    kind = stat.S_IFMT(mode)
    if flags & _ENCRYPTED:
        raise entry_error(name, Sentence("it is encrypted"))
    if kind not in {0, stat.S_IFREG, stat.S_IFDIR if name.endswith("/") else 0}:
        raise entry_error(
            name, Sentence("it is a link, a device or something else that is no file")
        )


def _check_sizes(entry: _Entry) -> None:
    if entry.method not in {_STORED, _DEFLATED}:
        raise entry_error(
            entry.name,
            Sentence("it is packed by method %(method)s, not by deflate", method=entry.method),
        )
    if entry.name.endswith("/") and entry.size:
        raise entry_error(entry.name, Sentence("it is a folder with bytes in it"))
    if entry.method == _STORED and entry.size != entry.packed:
        raise entry_error(entry.name, Sentence("its sizes disagree"))


def _start(
    source: BinaryIO, name: str, raw_name: bytes, place: int, expected: tuple[int, ...]
) -> int:
    """Return the offset of an entry's bytes; raise UnpackError if its header differs."""
    source.seek(place)
    signature, _, flags, method, _, _, *facts, name_length, extra_length = _LOCAL.unpack(
        _read(source, _LOCAL.size)
    )
    same = signature == b"PK\x03\x04" and (flags, method) == expected[:2]
    if not flags & _SIZES_FOLLOW:
        pairs = zip(facts, expected[2:], strict=True)
        same = same and all(here in {there, _LARGE} for here, there in pairs)
    if not same or _read(source, name_length) != raw_name:
        raise entry_error(name, Sentence("its header differs from the directory"))
    return int(place + _LOCAL.size + name_length + extra_length)


def _extract(source: BinaryIO, entry: _Entry, unpacking: Unpacking) -> None:
    source.seek(entry.start)
    checksum = size = 0
    pieces = _stored(source, entry) if entry.method == _STORED else _inflated(source, entry)
    with unpacking.new_file(entry.name, entry.path) as file:
        for piece in pieces:
            size += len(piece)
            if size > entry.size:
                raise entry_error(entry.name, Sentence("more comes out of it than it says"))
            unpacking.came_out(len(piece))
            checksum = zlib.crc32(piece, checksum)
            file.write(piece)
        if (size, checksum) != (entry.size, entry.checksum):
            raise entry_error(entry.name, Sentence("it is damaged"))


def _stored(source: BinaryIO, entry: _Entry) -> Iterator[bytes]:
    left = entry.packed
    while left:
        piece = _read(source, min(left, PIECE))
        left -= len(piece)
        yield piece


def _inflated(source: BinaryIO, entry: _Entry) -> Iterator[bytes]:
    inflate = zlib.decompressobj(-zlib.MAX_WBITS)
    left = entry.packed
    given = b""
    try:
        while not inflate.eof:
            if not given and left:
                given = _read(source, min(left, PIECE // 16))
                left -= len(given)
            piece = inflate.decompress(given, PIECE)
            if not piece and not given and not left:
                break
            given = inflate.unconsumed_tail
            yield piece
    except zlib.error:
        raise entry_error(entry.name, Sentence("it is damaged")) from None
    if left or inflate.unused_data or not inflate.eof:
        raise entry_error(entry.name, Sentence("its sizes disagree"))


def _read(source: BinaryIO, count: int) -> bytes:
    """Read exactly `count` bytes; raise UnpackError if the file is cut off."""
    found = source.read(count)
    if len(found) < count:
        msg = Sentence("It is cut off.")
        raise UnpackError(msg)
    return found
