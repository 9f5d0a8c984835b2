"""Did you mean: one repair over characters that look alike."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ibi.identifier import ibip, repository_name
from ibi.identifier.instant import EPOCH, Instant
from ibi.identifier.limits import MAX_LABEL

_CLASSES: Final = ("5S", "8B", "4A", "2Z", "0OQ", "1IJ")
_LOOK_ALIKES: Final = {
    character: "".join(other for other in members if other != member)
    for members in _CLASSES
    for member in members
    for character in {member, member.lower()}
}
_MOST: Final = 3
"""More guesses than this are noise."""


def did_you_mean(text: str, now: Instant | None = None) -> tuple[str, ...]:
    """Return the labels one repair away that decode to a valid address and a likely date.

    A likely date lies between 1995-08-01, when the first label was made, and `now`. Legacy labels
    are not guessed: they are case-sensitive and nearly every text is one.
    """
    if len(text) > MAX_LABEL:
        return ()
    found: dict[str, None] = {}
    for repaired in _repairs(text):
        label = ibip.longest_match(repaired) or repository_name.longest_match(repaired)
        if (
            label is not None
            and len(label.spelling) == len(repaired)
            and label.instant >= EPOCH
            and (now is None or label.instant <= now)
        ):
            found[label.canonical] = None
            if len(found) == _MOST:
                break
    return tuple(found)


def _repairs(text: str) -> Iterator[str]:
    for at, character in enumerate(text):
        for other in _LOOK_ALIKES.get(character, ""):
            yield text[:at] + other + text[at + 1 :]
