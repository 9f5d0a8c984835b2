"""Width and height of an image, by the head of its file: PNG, GIF, JPEG and WebP.

A whole decoder is for a process of its own; a head has a few numbers at known places.
"""

from __future__ import annotations

import struct
from typing import Final

HEAD: Final = 262_144
"""Bytes of a file in which its size is looked for: a JPEG may have a colour profile before it."""
_MOST_SEGMENTS: Final = 1000
# ISO/IEC 10918-1, table B.1: the frames, without DHT, JPG and DAC, which lie between them.
_FRAMES: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_WITHOUT_LENGTH: Final = frozenset({0x01, *range(0xD0, 0xD9)})


def image_size(head: bytes) -> tuple[int, int] | None:
    """Return width and height in pixels; None if the bytes are not the head of such an image."""
    try:
        found = _size(head)
    except (struct.error, IndexError):
        return None
    return found if found and all(found) else None


def _size(head: bytes) -> tuple[int, int] | None:
    if head.startswith(b"\x89PNG\r\n\x1a\n") and head[12:16] == b"IHDR":
        width, height = struct.unpack_from(">II", head, 16)
        return width, height
    if head.startswith((b"GIF87a", b"GIF89a")):
        width, height = struct.unpack_from("<HH", head, 6)
        return width, height
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return _webp(head)
    return _jpeg(head) if head.startswith(b"\xff\xd8") else None


def _webp(head: bytes) -> tuple[int, int] | None:
    """Return the size by RFC 9649: of a lossy, a lossless or an extended file."""
    kind = head[12:16]
    if kind == b"VP8 " and head[23:26] == b"\x9d\x01\x2a":
        width, height = struct.unpack_from("<HH", head, 26)
        return width & 0x3FFF, height & 0x3FFF
    if kind == b"VP8L" and head[20] == 0x2F:  # noqa: PLR2004  # its signature
        (bits,) = struct.unpack_from("<I", head, 21)
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8X" and len(head) >= 30:  # noqa: PLR2004  # the length of its head
        width, height = (int.from_bytes(head[place : place + 3], "little") for place in (24, 27))
        return width + 1, height + 1
    return None


def _jpeg(head: bytes) -> tuple[int, int] | None:
    place = 2
    for _ in range(_MOST_SEGMENTS):
        while head[place] != 0xFF or head[place + 1] in {0xFF, 0x00}:  # noqa: PLR2004  # fill bytes
            if head[place] != 0xFF:  # noqa: PLR2004
                return None
            place += 1
        marker = head[place + 1]
        if marker in _FRAMES:
            height, width = struct.unpack_from(">HH", head, place + 5)
            return width, height
        if marker in _WITHOUT_LENGTH:
            place += 2
            continue
        (length,) = struct.unpack_from(">H", head, place + 2)
        place += 2 + max(length, 2)
    return None
