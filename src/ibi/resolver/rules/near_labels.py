"""Labels that differ from another one by one slip of the hand: what a reader may have meant."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ibi.errors import LabelError
from ibi.identifier.ibip import ALPHABET, Ibip
from ibi.identifier.label import Label, parse
from ibi.identifier.repository_name import RepositoryName

MAX_NEAR: Final = 800
"""Labels that are compared with the digests for one label."""
MAX_MEANT: Final = 3
"""Labels that a page offers; more would be noise."""
_LONGEST: Final = 60
"""Characters of a label whose neighbours are looked for."""
_DIGITS: Final = "0123456789"


def near_labels(label: Label) -> dict[str, Label]:
    """Return labels with one other character, or two neighbours exchanged, by canonical spelling.

    In a repository name only digits change: a host is a word, of which every reader sees the slips.
    """
    text = label.canonical
    if len(text) > _LONGEST or not isinstance(label, Ibip | RepositoryName):
        return {}
    found: dict[str, Label] = {}
    for changed in _exchanged(text) if isinstance(label, Ibip) else ():
        _add(found, changed, text)
    for changed in _substituted(text, ALPHABET if isinstance(label, Ibip) else _DIGITS):
        if len(found) >= MAX_NEAR:
            break
        _add(found, changed, text)
    return found


def _add(found: dict[str, Label], text: str, original: str) -> None:
    try:
        near = parse(text, strict=True)
    except LabelError:
        return
    if near.canonical != original:
        found.setdefault(near.canonical, near)


def _exchanged(text: str) -> Iterator[str]:
    for place in range(len(text) - 1):
        pair = text[place : place + 2]
        if pair[0] != pair[1]:
            yield f"{text[:place]}{pair[::-1]}{text[place + 2 :]}"


def _substituted(text: str, alphabet: str) -> Iterator[str]:
    # From the end: the instant distinguishes the labels of one archive.
    for place in range(len(text) - 1, -1, -1):
        if text[place] in alphabet:
            for other in alphabet:
                yield f"{text[:place]}{other}{text[place + 1 :]}"
