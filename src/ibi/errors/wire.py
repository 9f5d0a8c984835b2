"""Errors of the protocol: messages between resolver and archives that are not valid."""

from __future__ import annotations

from ibi.errors.base import IbiError
from ibi.errors.labels import ReadingError
from ibi.errors.sentence import Sentence


class PairListError(ReadingError):
    """The text is not a pair list (004, Table 4.2)."""

    thing = Sentence("a pair list")

    def __init__(self, text: str, *, position: int, expected: str, found: str = "") -> None:
        super().__init__(text, part="the list", position=position, expected=expected, found=found)

    def __reduce__(self) -> tuple[object, ...]:
        """Support pickling, which keyword-only arguments break."""
        return (_rebuilt, (type(self), self.text, self.position, self.expected, self.found))


class RelationError(PairListError):
    """The text is not a relation (004, Table 7.5)."""

    thing = Sentence("a relation")


def _rebuilt(
    error: type[PairListError], text: str, position: int, expected: str, found: str
) -> PairListError:
    return error(text, position=position, expected=expected, found=found)


class KeyTextError(IbiError, ValueError):
    """The text is not a registration key or a urlkey. It may be a secret: no message repeats it."""

    def message(self) -> str:
        """Return the message."""
        return Sentence(
            "This is not a key: expected ten or more digits, or two such numbers with a hyphen."
        )


class MessageError(IbiError, ValueError):
    """A request or an answer lacks a pair, has it twice, or has a value that cannot be read.

    `code` is stable and meant for programs, `reason` is a sentence for people.
    """

    def __init__(self, code: str, reason: str) -> None:
        self.code = code
        self.reason = reason
        super().__init__(code, reason)

    def message(self) -> str:
        """Return the message."""
        return self.reason
