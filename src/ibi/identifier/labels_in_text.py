"""Finds labels in a longer text: a citation, or the address of a file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from ibi.identifier.ibip import Ibip
from ibi.identifier.instant import EPOCH, Instant
from ibi.identifier.label import Label, longest_match
from ibi.identifier.legacy import LegacyLabel
from ibi.identifier.limits import MAX_TEXT

# Where a label may begin in a longer text, and what may follow it there.
_BEGINNING: Final = re.compile(r"(?:^|(?<=[\s/<(\"'=:]))(?=[A-Za-z0-9])")
_END: Final = frozenset(("", *" \t\r\n/!+:?#.,;)>\"'&"))

_LONGEST_LABEL: Final = 300
"""Characters of a label with the blanks in it; a repository name has at most 255."""
_SLASH_BREAK: Final = re.compile(r"/\s{1,9}")
"""A slash at the end of a line: columns break addresses there."""
_LINE_BREAK: Final = re.compile(r"-?[\r\n]{1,2}[ \t]{0,9}")
"""The end of a line, also one that breaks a word."""


def labels_in(text: str, now: Instant, most: int) -> tuple[Label, ...]:
    """Return the first labels in a text; those with breaks in them only if no other is there.

    What stands in angle brackets is read as a whole, and an IBIp that goes on after a blank comes
    before its beginning. A text that is too long has no labels.
    """
    if len(text) > MAX_TEXT:
        return ()
    whole = _with_whole_brackets(text)
    texts = (whole, _SLASH_BREAK.sub("/", whole), _LINE_BREAK.sub("", whole))
    found = (tuple(dict.fromkeys(islice(_labels(each, now), most))) for each in texts)
    return next((labels for labels in found if labels), ())


def _with_whole_brackets(text: str) -> str:
    """Remove the blanks, and hyphens at line ends, from labels in angle brackets."""
    parts = text.split("<")
    for number, part in enumerate(parts[1:], 1):
        inside, bracket, rest = part.partition(">")
        if bracket and len(inside) <= _LONGEST_LABEL and len(inside.split()) > 1:
            parts[number] = f"{_unbroken(inside)}>{rest}"
    return "<".join(parts)


def _unbroken(text: str) -> str:
    """Return a text that ends with a label without the blanks in it; any other as it is."""
    words = text.split()
    for joined in ("".join(words), "".join(word.removesuffix("-") for word in words)):
        for beginning in _BEGINNING.finditer(joined):
            label = longest_match(joined, beginning.start())
            if label is not None and joined.endswith(label.spelling, beginning.start()):
                return joined
    return text


def _labels(text: str, now: Instant) -> Iterator[Label]:
    end = 0
    for beginning in _BEGINNING.finditer(text):
        label = longest_match(text, beginning.start()) if beginning.start() >= end else None
        if label is not None and _is_likely(label, now):
            after = beginning.start() + len(label.spelling)
            if text[after : after + 1] in _END:
                end = after
                if isinstance(label, Ibip):
                    yield from _continued(label, text[after : after + _LONGEST_LABEL], now)
                yield label


def _continued(label: Ibip, rest: str, now: Instant) -> Iterator[Label]:
    """Yield the IBIp of which one before a blank is only the beginning.

    One more character makes an instant 27 times as late, so a word that happens to follow a label
    almost never gives an instant that has come.
    """
    if not rest[:1].isspace():
        return
    joined = label.spelling + rest.lstrip()
    longer = longest_match(joined)
    if not isinstance(longer, Ibip) or longer == label or not _is_likely(longer, now):
        return
    if joined[len(longer.spelling) :][:1] in _END:
        yield longer


def _is_likely(label: Label, now: Instant) -> bool:
    # Two words of many a text are a legacy label, but rarely one of a known host.
    if isinstance(label, LegacyLabel) and not label.is_decodable:
        return False
    return EPOCH <= label.instant <= now
