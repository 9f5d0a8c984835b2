"""Forms with files (RFC 7578), decoded as they come: bytes in, parts out, without I/O.

Nothing of a file is held but the few bytes that may be the beginning of a boundary.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias

from ibi.errors import RequestError, Sentence

MEDIA_TYPE: Final = "multipart/form-data"
_LARGEST_HEAD: Final = 16_384
"""Bytes of the headers of one part; the longest path of a file has a quarter of that."""
#   boundary := 0*69<bchars> bcharsnospace  (RFC 2046, 5.1.1)
_BOUNDARY: Final = re.compile(r"""boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))""", re.IGNORECASE)
# Browsers write a quote as %22 and line ends as %0D and %0A, and nothing else in another way
# (HTML, 4.10.21.8).
_PARAMETER: Final = re.compile(r';[ \t]*(name|filename)="([^"]*)"', re.IGNORECASE)
_ESCAPES: Final = (("%22", '"'), ("%0D", "\r"), ("%0A", "\n"))


@dataclass(frozen=True, slots=True)
class PartBegin:
    """The beginning of a part."""

    name: str
    filename: str | None = None
    """The name of the file; None if the part is a field of text."""
    media_type: str = ""


@dataclass(frozen=True, slots=True)
class PartData:
    """Bytes of the part that began last."""

    data: bytes


@dataclass(frozen=True, slots=True)
class PartEnd:
    """The end of the part that began last."""


PartEvent: TypeAlias = PartBegin | PartData | PartEnd


class _State(Enum):
    PREAMBLE = "preamble"
    AFTER_BOUNDARY = "after a boundary"
    HEAD = "head"
    BODY = "body"
    DONE = "done"


class MultipartDecoder:
    """Decodes one form; raises RequestError if it does not follow the grammar."""

    def __init__(self, content_type: str) -> None:
        """Take the boundary from the header of the request."""
        kind, _, parameters = content_type.partition(";")
        found = _BOUNDARY.search(parameters)
        if kind.strip().lower() != MEDIA_TYPE or found is None:
            msg = Sentence("Expected %(form)s.", form=MEDIA_TYPE)
            raise RequestError(msg)
        self._delimiter = b"\r\n--" + (found[1] or found[2]).encode("latin-1", "replace")
        self._buffer = bytearray(b"\r\n")  # the first boundary needs no line before it
        self._state = _State.PREAMBLE

    @property
    def is_done(self) -> bool:
        """Whether the last boundary came."""
        return self._state is _State.DONE

    def feed(self, data: bytes) -> Iterator[PartEvent]:
        """Yield what the next bytes of the body complete."""
        self._buffer += data
        while True:
            before = self._state
            match before:
                case _State.PREAMBLE | _State.BODY:
                    yield from self._body()
                case _State.AFTER_BOUNDARY:
                    self._after_boundary()
                case _State.HEAD:
                    yield from self._head()
                case _State.DONE:
                    self._buffer.clear()
            if self._state is before:
                return

    def _body(self) -> Iterator[PartEvent]:
        is_part = self._state is _State.BODY
        end = self._buffer.find(self._delimiter)
        size = end if end >= 0 else len(self._buffer) - len(self._delimiter) + 1
        if size > 0:
            if is_part:
                yield PartData(bytes(self._buffer[:size]))
            del self._buffer[:size]
        if end >= 0:
            del self._buffer[: len(self._delimiter)]
            self._state = _State.AFTER_BOUNDARY
            if is_part:
                yield PartEnd()

    def _after_boundary(self) -> None:
        if len(self._buffer) < 2:  # noqa: PLR2004  # "--" or a line end
            return
        mark = bytes(self._buffer[:2])
        if mark not in {b"--", b"\r\n"}:
            raise _bad()
        self._state = _State.DONE if mark == b"--" else _State.HEAD
        del self._buffer[:2]

    def _head(self) -> Iterator[PartEvent]:
        end = self._buffer.find(b"\r\n\r\n")
        if end > _LARGEST_HEAD or (end < 0 and len(self._buffer) > _LARGEST_HEAD):
            raise _bad()
        if end < 0:
            return
        head = bytes(self._buffer[:end]).decode("utf-8", "replace")
        del self._buffer[: end + 4]
        self._state = _State.BODY
        yield _part_of(head)

    def close(self) -> None:
        """Raise RequestError if the form is not whole."""
        if not self.is_done:
            raise _bad()


def _part_of(head: str) -> PartBegin:
    headers = {
        name.strip().lower(): value.strip()
        for name, _, value in (line.partition(":") for line in head.split("\r\n"))
    }
    disposition = headers.get("content-disposition", "")
    given = {name.lower(): _unescaped(value) for name, value in _PARAMETER.findall(disposition)}
    if not disposition.lower().startswith("form-data") or "name" not in given:
        raise _bad()
    return PartBegin(given["name"], given.get("filename"), headers.get("content-type", ""))


def _unescaped(text: str) -> str:
    for escape, character in _ESCAPES:
        text = text.replace(escape, character)
    return text


def _bad() -> RequestError:
    return RequestError(Sentence("The form is not whole, or not one that a browser sends."))
