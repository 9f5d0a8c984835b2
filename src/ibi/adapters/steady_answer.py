"""Answers of other services that go on: neither drop by drop, nor by headers without an end.

A timeout is for a single wait. Who sends one byte before each of them ends, or one line after the
other, keeps whoever listens for ever, and can do so in the status, the headers, or after the body.
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from http.client import HTTPResponse
from typing import Any, Final

WINDOW: Final = 60.0
"""Seconds of waiting, after which it is seen what they brought."""
LEAST: Final = 64_000
"""Bytes that they must have brought."""
MOST_LINES: Final = 1000
"""In a row, with nothing of a body between them."""
_LONGEST_LINE: Final = 1 << 16


class _Steady(io.RawIOBase):
    """Reads from a connection, and gives up one that is too slow; rests of ours do not count."""

    def __init__(self, raw: io.RawIOBase, clock: Callable[[], float]) -> None:
        super().__init__()
        self._raw = raw
        self._clock = clock
        self._waited = 0.0
        self._come = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:  # noqa: ANN401  # whatever has room
        if self._waited >= WINDOW:
            if self._come < LEAST:
                raise TimeoutError("it sends too slowly")
            self._waited, self._come = 0.0, 0
        began = self._clock()
        count = self._raw.readinto(buffer)
        self._waited += self._clock() - began
        self._come += count or 0
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()


class SteadyReader(io.BufferedReader):
    """The bytes of an answer, to be read as from any file."""

    def __init__(self, raw: io.RawIOBase, clock: Callable[[], float] = time.monotonic) -> None:
        """Read from a connection."""
        super().__init__(_Steady(raw, clock))
        self._lines = 0

    def readline(self, size: int | None = -1, /) -> bytes:
        """Read a line, not longer than lines are, and not one after the other for ever."""
        self._lines += 1
        if self._lines > MOST_LINES:
            raise ConnectionError("it sends lines without an end")
        return super().readline(_LONGEST_LINE + 1 if size is None or size < 0 else size)

    def read(self, size: int | None = -1, /) -> bytes:
        """Read from the body."""
        self._lines = 0
        return super().read(size)

    def read1(self, size: int = -1, /) -> bytes:
        """Read from the body."""
        self._lines = 0
        return super().read1(size)

    def readinto(self, buffer: Any, /) -> int:  # noqa: ANN401  # whatever has room
        """Read from the body."""
        self._lines = 0
        return super().readinto(buffer)


class SteadyAnswer(HTTPResponse):
    """An answer that is given up unless it goes on."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401  # as a connection does
        """Begin to read."""
        super().__init__(*args, **kwargs)
        self.fp = SteadyReader(self.fp.detach())
