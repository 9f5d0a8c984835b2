"""Tar files, plain or compressed, read once from the beginning to the end.

`tarfile` trusts the length that a header declares, recurses for each header that precedes another
one, and keeps every entry in memory. Here a header has 512 bytes, its extensions are bounded, and
only the paths are kept.

The formats are POSIX's (IEEE Std 1003.1, pax, "ustar Interchange Format" and "pax Interchange
Format") and GNU's long names.
"""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final, Protocol

from ibi.archive.storage.unpack.limits import PIECE, Unpacking, entry_error
from ibi.errors import Sentence, UnpackError, shown

_BLOCK: Final = 512
_LONGEST_EXTENSION: Final = 65_536
"""Bytes of the longest extension of a header: a path has 1,024 at most, other fields are short."""
_MOST_EXTENSIONS: Final = 8
"""Extension headers before one header at most; tools write one or two."""
_XZ_MEMORY: Final = 100 << 20
"""Bytes of memory for xz; unpacking the output of `xz -9` needs 65 MiB."""

_FOLDER, _LONG_NAME, _LONG_LINK, _PAX, _PAX_GLOBAL = b"5", b"L", b"K", b"x", b"g"
_FILES: Final = {b"0", b"\0", b"7"}
_EXTENSIONS: Final = {_LONG_NAME, _LONG_LINK, _PAX, _PAX_GLOBAL}


class Decompressor(Protocol):
    """One compressed stream."""

    @property
    def eof(self) -> bool:
        """Whether the end of the stream was read."""

    @property
    def unused_data(self) -> bytes:
        """The bytes after the end of the stream."""

    def decompress(self, data: bytes, max_length: int = ...) -> bytes:
        """Return at most `max_length` further bytes."""


class _Gzip:
    """Adapts zlib, which returns unread input, to the interface of bz2 and lzma, which keep it."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(16 + zlib.MAX_WBITS)

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        return self._inner.decompress(self._inner.unconsumed_tail + data, max_length)


def decompressor(beginning: bytes) -> Decompressor | None:
    """Return the decompressor for a stream with this beginning; None if it is not compressed."""
    if beginning.startswith(b"\x1f\x8b"):
        return _Gzip()
    if beginning.startswith(b"BZh"):
        return bz2.BZ2Decompressor()
    if beginning.startswith(b"\xfd7zXZ\x00"):
        return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY)
    return None


def is_header(block: bytes) -> bool:
    """Return whether a block has the checksum of a tar header."""
    if len(block) != _BLOCK or not any(block):
        return False
    try:
        return _number(block[148:156]) == sum(block) - sum(block[148:156]) + 8 * ord(" ")
    except ValueError:
        return False


def unpack_tar(source: BinaryIO, unpacking: Unpacking) -> None:
    """Write all files of a tar file."""
    stream = Stream(source)
    while (header := _header(stream, unpacking)) is not None:
        _take(stream, header, unpacking)
    while rest := stream.read(PIECE):
        unpacking.came_out(len(rest))
        if any(rest):
            msg = Sentence("Something follows its end.")
            raise UnpackError(msg)


class Stream:
    """The bytes of a tar file, after decompression."""

    def __init__(self, source: BinaryIO) -> None:
        """Read a file from its beginning."""
        self._source = source
        source.seek(0)
        self._given = source.read(PIECE // 16)
        self._inner = decompressor(self._given)
        self._ready = b""

    def read(self, count: int) -> bytes:
        """Return `count` bytes, fewer at the end."""
        parts = [self._ready[:count]]
        self._ready = self._ready[count:]
        left = count - len(parts[0])
        while left:
            piece = self._more()
            if not piece:
                break
            parts.append(piece[:left])
            self._ready = piece[left:]
            left -= len(parts[-1])
        return b"".join(parts)

    def _more(self) -> bytes:
        if self._inner is None:
            piece, self._given = self._given, b""
            return piece or self._source.read(PIECE // 16)
        try:
            return self._decompressed(self._inner)
        except (zlib.error, lzma.LZMAError, OSError, EOFError, ValueError) as fault:
            msg = Sentence("It cannot be decompressed: %(fault)s.", fault=shown(str(fault)))
            raise UnpackError(msg) from None

    def _decompressed(self, inner: Decompressor) -> bytes:
        while True:
            if inner.eof:
                # Several streams in a row are read as one; zeros may pad the last one.
                self._given = (inner.unused_data + self._given).lstrip(b"\0")
                while not self._given and (more := self._source.read(PIECE // 16)):
                    self._given = more.lstrip(b"\0")
                if not self._given:
                    return b""
                following = decompressor(self._given)
                if following is None:
                    msg = Sentence("Something follows its end.")
                    raise UnpackError(msg)
                self._inner = inner = following
            piece = inner.decompress(self._given, PIECE // 16)
            self._given = b""
            if piece:
                return piece
            if not inner.eof:
                self._given = self._source.read(PIECE // 16)
                if not self._given:
                    msg = Sentence("It is cut off.")
                    raise UnpackError(msg)


@dataclass(frozen=True, slots=True)
class _Header:
    name: str
    kind: bytes
    size: int


def _header(stream: Stream, unpacking: Unpacking) -> _Header | None:
    """Read a header with its extensions; return None at the end."""
    extended: dict[str, bytes] = {}
    for _ in range(_MOST_EXTENSIONS):
        block = stream.read(_BLOCK)
        unpacking.came_out(len(block))
        if len(block) == _BLOCK and not any(block) and not extended:
            return None
        if not is_header(block):
            msg = Sentence("It is cut off, or damaged.")
            raise UnpackError(msg)
        unpacking.count(1)
        header = _read_header(block)
        if header.kind not in _EXTENSIONS:
            return _extended(header, extended)
        extended |= _extension(stream, header)
    msg = Sentence("Too many headers precede one of its entries.")
    raise UnpackError(msg)


def _read_header(block: bytes) -> _Header:
    raw = _text(block[:100])
    if block[257:263] == b"ustar\0" and block[345:500].strip(b"\0"):
        raw = _text(block[345:500]) + b"/" + raw
    name = _decoded(raw)
    try:
        size = _number(block[124:136])
    except ValueError:
        raise entry_error(name, Sentence("its size cannot be read")) from None
    return _Header(name, block[156:157], size)


def _extension(stream: Stream, header: _Header) -> dict[str, bytes]:
    if header.size > _LONGEST_EXTENSION:
        raise entry_error(header.name, Sentence("its header is too long"))
    padded = -header.size % _BLOCK
    data = stream.read(header.size + padded)
    if len(data) < header.size + padded:
        msg = Sentence("It is cut off.")
        raise UnpackError(msg)
    data = data[: header.size]
    if header.kind == _LONG_NAME:
        return {"path": _text(data)}
    if header.kind == _LONG_LINK:
        return {}
    records = dict(_records(header.name, data))
    if header.kind == _PAX_GLOBAL and records.keys() & {"path", "size"}:
        raise entry_error(header.name, Sentence("it gives one name or size to all that follow"))
    if any(key.startswith("GNU.sparse.") for key in records):
        raise entry_error(header.name, Sentence("it is a sparse file"))
    return {key: records[key] for key in ("path", "size") if key in records}


def _records(name: str, data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the records of a pax extension: each is its length, a keyword and a value."""
    at = 0
    while at < len(data):
        digits, blank, _ = data[at : at + 20].partition(b" ")
        length = int(digits) if digits.isdigit() else 0
        record = data[at + len(digits) + 1 : at + length]
        key, equals, value = record.partition(b"=")
        if not (blank and equals) or not value.endswith(b"\n") or at + length > len(data):
            raise entry_error(name, Sentence("what extends it cannot be read"))
        yield _decoded(key), value[:-1]
        at += length


def _extended(header: _Header, extended: dict[str, bytes]) -> _Header:
    name = _decoded(extended["path"]) if "path" in extended else header.name
    size = header.size
    if "size" in extended:
        digits = extended["size"]
        if not digits.isdigit() or len(digits) > len(str(1 << 63)):
            raise entry_error(name, Sentence("its size cannot be read"))
        size = int(digits)
    return _Header(name, header.kind, size)


def _take(stream: Stream, header: _Header, unpacking: Unpacking) -> None:
    name = header.name
    path = unpacking.path(name)
    if header.kind == _FOLDER or (header.kind in _FILES and name.endswith("/")):
        if header.size:
            raise entry_error(name, Sentence("it is a folder with bytes in it"))
        return
    if header.kind not in _FILES:
        raise entry_error(
            name, Sentence("it is a link, a device or something else that is no file")
        )
    unpacking.check_size(name, header.size)
    left = header.size
    with unpacking.new_file(name, path) as file:
        while left:
            piece = stream.read(min(left, PIECE))
            if not piece:
                raise entry_error(name, Sentence("it is cut off"))
            unpacking.came_out(len(piece))
            left -= len(piece)
            file.write(piece)
    padded = -header.size % _BLOCK
    if len(stream.read(padded)) < padded:
        raise entry_error(name, Sentence("it is cut off"))


def _text(field: bytes) -> bytes:
    return field.partition(b"\0")[0]


def _decoded(raw: bytes) -> str:
    """Decode a name: UTF-8, or the encoding of older Unix tools."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("iso-8859-1")


def _number(field: bytes) -> int:
    """Read a number: octal digits, or GNU's base-256 form for larger ones."""
    if field[0] & 0x80:
        if field[0] != 0x80:  # noqa: PLR2004  # a sign: no field is negative
            msg = "negative"
            raise ValueError(msg)
        return int.from_bytes(field[1:], "big")
    text = _text(field).strip(b" ") or b"0"
    if not text.isdigit():  # `int` would accept a sign and underscores too
        msg = "not a number"
        raise ValueError(msg)
    return int(text, 8)
