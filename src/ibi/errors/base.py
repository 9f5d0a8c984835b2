"""The root of all errors, and how a message quotes text from outside."""

from __future__ import annotations

from typing import Final

from ibi.errors.sentence import Sentence, plain

SHOWN: Final = 60
"""How many characters of a foreign text a message repeats: enough to recognise it."""


def shown(text: str) -> str:
    """Quote a foreign text for a message: one line, no control characters, bounded."""
    return repr(text if len(text) <= SHOWN else text[:SHOWN] + "…")


def printable(text: str) -> str:
    """Escape unprintable characters, so that a text cannot control a terminal or forge a log."""
    return text if text.isprintable() else "".join(map(_printable, text))


def _printable(character: str) -> str:
    return character if character.isprintable() else repr(character)[1:-1]


class IbiError(Exception):
    """The root of all errors that this library raises on purpose."""

    def message(self) -> str:
        """Return the message; a Sentence if pages can show it in the language of their reader."""
        if type(self).__str__ is not IbiError.__str__:
            return str(self)
        first = self.args[0] if len(self.args) == 1 else None
        return first if isinstance(first, Sentence) else super().__str__()

    def __str__(self) -> str:
        return plain(self.message())


class RequestError(IbiError, ValueError):
    """A request that no service of its kind can serve; the message says why."""
