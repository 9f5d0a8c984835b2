"""Answers that go on are read, whatever they are; others are given up."""

from __future__ import annotations

import io
from typing import Any

import pytest

from ibi.foundation.http_client.guarded_pool import (
    MIN_WINDOW_BYTES,
    MOST_LINES,
    WINDOW_SECONDS,
    StallGuardReader,
)


class Line(io.RawIOBase):
    """A connection by which so many bytes come after each wait, of which the time is told."""

    def __init__(self, content: bytes, piece: int, seconds: float) -> None:
        """Let nothing come yet."""
        super().__init__()
        self._content = io.BytesIO(content)
        self.piece = piece
        self.seconds = seconds
        self.now = 0.0

    def readable(self) -> bool:
        """Tell that it is."""
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401  # whatever has room
        """Let a piece come."""
        self.now += self.seconds
        piece = self._content.read(min(self.piece, len(buffer)))
        buffer[: len(piece)] = piece
        return len(piece)

    def reader(self) -> StallGuardReader:
        """Read from it."""
        return StallGuardReader(self, lambda: self.now)


def test_what_comes_is_read() -> None:
    content = bytes(range(256)) * 100
    assert Line(content, 1000, 0.1).reader().read() == content


def test_what_comes_slowly_and_steadily_is_read() -> None:
    content = bytes(10 * MIN_WINDOW_BYTES)
    assert Line(content, MIN_WINDOW_BYTES // 10, WINDOW_SECONDS / 10).reader().read() == content


def test_what_ends_late_is_read() -> None:
    assert Line(b"short", 5, WINDOW_SECONDS).reader().read(5) == b"short"


@pytest.mark.parametrize("piece", [1, 100])
def test_what_comes_drop_by_drop_is_given_up(piece: int) -> None:
    line = Line(bytes(MIN_WINDOW_BYTES), piece, WINDOW_SECONDS / 3)
    with pytest.raises(TimeoutError):
        line.reader().read()
    assert line.now < 2 * WINDOW_SECONDS


def test_haste_before_does_not_excuse_it() -> None:
    line = Line(bytes(100 * MIN_WINDOW_BYTES), MIN_WINDOW_BYTES, WINDOW_SECONDS / 100)
    reader = line.reader()
    reader.read(50 * MIN_WINDOW_BYTES)
    line.piece, line.seconds = 1, WINDOW_SECONDS / 3
    with pytest.raises(TimeoutError):
        reader.read()
    assert line.now < 4 * WINDOW_SECONDS


def test_lines_between_which_nothing_comes_end() -> None:
    reader = Line(b"HTTP/1.1 100 Continue\r\n\r\n" * MOST_LINES, 4096, 0).reader()
    with pytest.raises(ConnectionError):
        list(iter(reader.readline, b""))


def test_any_number_of_chunks_is_read() -> None:
    reader = Line(b"1\r\nx\r\n" * 5 * MOST_LINES, 4096, 0).reader()
    for _ in range(5 * MOST_LINES):
        assert reader.readline() == b"1\r\n"
        assert reader.read(3) == b"x\r\n"


def test_line_without_an_end_is_cut() -> None:
    assert len(Line(b"x" * (1 << 20), 4096, 0).reader().readline()) == (1 << 16) + 1
