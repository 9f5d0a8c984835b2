"""Finds labels in a longer text: a citation, or the address of a file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from ibi.identifier.instant import EPOCH, Instant
from ibi.identifier.label import Label, longest_match
from ibi.identifier.legacy import LegacyLabel
from ibi.identifier.limits import MAX_TEXT

# Where a label may begin in a longer text, and what may follow it there.
_BEGINNING: Final = re.compile(r"(?:^|(?<=[\s/<(\"'=:]))(?=[A-Za-z0-9])")
_END: Final = frozenset(("", *" \t\r\n/!+:?#.,;)>\"'&"))

_BREAK: Final = re.compile(r"/\s{1,9}")
"""A slash at the end of a line: columns break addresses there."""


def labels_in(text: str, now: Instant, most: int) -> tuple[Label, ...]:
    """Return the first labels in a text; those broken after a slash only if none is whole.

    A text that is too long has none.
    """
    return _first(text, now, most) or _first(_BREAK.sub("/", text), now, most)


def _first(text: str, now: Instant, most: int) -> tuple[Label, ...]:
    return tuple(dict.fromkeys(islice(_labels(text, now), most)))


def _labels(text: str, now: Instant) -> Iterator[Label]:
    if len(text) > MAX_TEXT:
        return
    end = 0
    for beginning in _BEGINNING.finditer(text):
        label = longest_match(text, beginning.start()) if beginning.start() >= end else None
        if label is not None and _is_likely(label, now):
            after = beginning.start() + len(label.spelling)
            if text[after : after + 1] in _END:
                end = after
                yield label


def _is_likely(label: Label, now: Instant) -> bool:
    # Two words of many a text are a legacy label, but rarely one of a known host.
    if isinstance(label, LegacyLabel) and not label.is_decodable:
        return False
    return EPOCH <= label.instant <= now
