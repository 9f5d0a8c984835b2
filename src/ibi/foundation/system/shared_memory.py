"""Memory shared by forked processes: a number, or a text, that one of them changes."""

from __future__ import annotations

import mmap
from struct import Struct
from typing import Final

from ibi.errors import RequestError

_NUMBER: Final = Struct("=Q")
_LONGEST: Final = 4096


class SharedCount:
    """A counter that one process increases and all forked processes can read."""

    def __init__(self) -> None:
        """Start at zero; must be created before processes are forked."""
        self._memory = mmap.mmap(-1, _NUMBER.size)

    @property
    def value(self) -> int:
        """The present count."""
        found: int = _NUMBER.unpack_from(self._memory)[0]
        return found

    def add(self) -> None:
        """Add one."""
        _NUMBER.pack_into(self._memory, 0, self.value + 1)


class SharedText:
    """A text that one process writes and all forked processes can read.

    It has two slots, and the number of writes selects the valid one: a process that reads during a
    write reads the previous text.
    """

    def __init__(self) -> None:
        """Start with an empty text; must be created before processes are forked."""
        self._memory = mmap.mmap(-1, 2 * (_NUMBER.size + _LONGEST))
        self._written = SharedCount()
        self._seen = (0, "")

    def read(self) -> str:
        """Return the text written last."""
        written = self._written.value
        while written != self._seen[0]:
            start = self._place(written)
            (length,) = _NUMBER.unpack_from(self._memory, start)
            text = self._memory[start + _NUMBER.size : start + _NUMBER.size + length].decode(
                errors="replace"
            )
            self._seen = written, text
            written = self._written.value  # it may have been written twice meanwhile
        return self._seen[1]

    def write(self, text: str) -> None:
        """Replace the text."""
        if text == self.read():
            return
        content = text.encode()
        if len(content) > _LONGEST:
            msg = f"A text of {len(content)} bytes is longer than {_LONGEST}."
            raise RequestError(msg)
        start = self._place(self._written.value + 1)
        _NUMBER.pack_into(self._memory, start, len(content))
        begin = start + _NUMBER.size
        self._memory[begin : begin + len(content)] = content
        self._written.add()

    @staticmethod
    def _place(written: int) -> int:
        return written % 2 * (_NUMBER.size + _LONGEST)
