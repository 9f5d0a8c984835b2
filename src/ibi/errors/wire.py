"""Messages between resolver and archives that cannot be read or served."""

from __future__ import annotations

from ibi.errors.base import IbiError
from ibi.errors.labels import ReadingError


class PairListError(ReadingError):
    """The text is no pair list (004, Table 4.2)."""

    thing = "a pair list"

    def __init__(self, text: str, *, position: int, expected: str, found: str = "") -> None:
        """Keep where it goes wrong."""
        super().__init__(text, part="the list", position=position, expected=expected, found=found)

    def __reduce__(self) -> tuple[object, ...]:
        """Survive pickling."""
        return (_rebuilt, (type(self), self.text, self.position, self.expected, self.found))


class RelationError(PairListError):
    """The text is no relation (004, Table 7.5)."""

    thing = "a relation"


def _rebuilt(
    error: type[PairListError], text: str, position: int, expected: str, found: str
) -> PairListError:
    return error(text, position=position, expected=expected, found=found)


class KeyTextError(IbiError, ValueError):
    """What should be a registration key or a urlkey is none; which text it was is not repeated."""

    def __str__(self) -> str:
        """Say what a key is."""
        return "This is not a key: expected ten or more digits, or two such numbers with a hyphen."


class MessageError(IbiError, ValueError):
    """A request or an answer lacks a pair, has one twice, or one that cannot be read."""

    def __init__(self, code: str, reason: str) -> None:
        """Keep a stable code and a sentence."""
        self.code = code
        self.reason = reason
        super().__init__(code, reason)

    def __str__(self) -> str:
        """Say it in one sentence."""
        return self.reason
