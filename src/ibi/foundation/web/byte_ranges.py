"""Byte ranges of a file (RFC 9110, section 14)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

MAX_RANGES: Final = 16
"""Ranges of one request. Readers of PDF and of cloud-optimised rasters ask for fewer."""
MAX_HEADER: Final = 1024
"""Characters of a Range header."""

# RFC 9110, 14.1.1 and 14.1.2.
#
#   ranges-specifier = range-unit "=" range-set
#   range-set        = 1#range-spec
#   int-range        = first-pos "-" [ last-pos ]
#   suffix-range     = "-" suffix-length
_SPECIFIER: Final = re.compile(r"[Bb][Yy][Tt][Ee][Ss]=([0-9, \t-]*)")
_SPEC: Final = re.compile(r"([0-9]{0,19})-([0-9]{0,19})")


@dataclass(frozen=True, slots=True)
class ByteRange:
    """Bytes of a file, from `start` to before `stop`."""

    start: int
    stop: int

    def __len__(self) -> int:
        """Return the number of bytes."""
        return self.stop - self.start

    def content_range(self, size: int) -> str:
        """Return the value of Content-Range for it."""
        return f"bytes {self.start}-{self.stop - 1}/{size}"


def read_ranges(header: str, size: int) -> tuple[ByteRange, ...] | None:
    """Return the ranges; none if the file has nothing of them, None to ignore the header.

    It is ignored if it cannot be parsed, and if it asks for more than there is or in too many
    pieces (14.2 allows it): by overlapping ranges a short request would cause a huge answer.
    """
    specifier = _SPECIFIER.fullmatch(header) if len(header) <= MAX_HEADER else None
    if specifier is None:
        return None
    specs = [spec.strip(" \t") for spec in specifier[1].split(",")]
    # RFC 9110, 5.6.1.2: empty elements of a list do not count.
    matches = [_SPEC.fullmatch(spec) for spec in specs if spec]
    ranges: list[ByteRange] = []
    for match in matches:
        if match is None or not (match[1] or match[2]):
            return None
        if match[1] and match[2] and int(match[1]) > int(match[2]):
            return None
        found = _range(match[1], match[2], size)
        if len(found) > 0:
            ranges.append(found)
    if not matches or len(matches) > MAX_RANGES or sum(map(len, ranges)) > size:
        return None
    return tuple(ranges)


def _range(first: str, last: str, size: int) -> ByteRange:
    if not first:
        return ByteRange(max(0, size - int(last)), size)
    start = min(int(first), size)
    return ByteRange(start, max(start, min(int(last) + 1, size) if last else size))
