"""The root of all errors, and how a message repeats a foreign text."""

from __future__ import annotations

from typing import Final

SHOWN: Final = 60
"""How much of a foreign text a message repeats: it is recognised, and floods no log."""


def shown(text: str) -> str:
    """Quote a foreign text for a message: one line, no control characters, bounded."""
    return repr(text if len(text) <= SHOWN else text[:SHOWN] + "…")


def printable(text: str) -> str:
    """Escape what does not print, so that a foreign text cannot write to a terminal or a log."""
    return text if text.isprintable() else "".join(map(_printable, text))


def _printable(character: str) -> str:
    return character if character.isprintable() else repr(character)[1:-1]


class IbiError(Exception):
    """The root: whoever catches this catches all that this library raises on purpose."""


class RequestError(IbiError, ValueError):
    """What was asked for cannot be: the sentence says why."""
