"""Clean-ups: what is around and inside an identifier as people, pages and PDF files carry it.

Every clean-up is named, so that a caller can insist on a strict reading, and every character
keeps its place in the text that was given, so that an error points there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final
from urllib.parse import unquote


class CleanUp(StrEnum):
    """A difference between what was given and what was read; the value is for programs."""

    SPACE_AROUND = "space-around"
    ANGLE_BRACKETS = "angle-brackets"
    FINAL_PUNCTUATION = "final-punctuation"
    SPACE_INSIDE = "space-inside"
    RESOLVER_ADDRESS = "resolver-address"
    IBI_PREFIX = "ibi-prefix"
    PERCENT_ENCODING = "percent-encoding"
    REPORT_TYPE = "report-type"
    URL_TAIL = "url-tail"
    FRAGMENT = "fragment"

    @property
    def sentence(self) -> str:
        """What was done, for people."""
        return _SENTENCES[self]


_SENTENCES: Final = {
    CleanUp.SPACE_AROUND: "white space around it was dropped",
    CleanUp.ANGLE_BRACKETS: "angle brackets around it were dropped",
    CleanUp.FINAL_PUNCTUATION: "a sentence's final punctuation was dropped",
    CleanUp.SPACE_INSIDE: "blanks or line breaks inside it were closed up",
    CleanUp.RESOLVER_ADDRESS: "a resolver's address before it was dropped",
    CleanUp.IBI_PREFIX: 'an introducing "ibi:", "ibi/" or "rep/" was dropped',
    CleanUp.PERCENT_ENCODING: "percent-encoded characters were decoded",
    CleanUp.REPORT_TYPE: "a report type after it was dropped",
    CleanUp.URL_TAIL: "modifiers, path or query of a persistent URL after it were set aside",
    CleanUp.FRAGMENT: "a fragment (#...), which no server ever sees, was dropped",
}

# Text extraction leaves soft hyphens, zero-width characters and byte-order marks as well.
_INVISIBLE: Final = frozenset("\u00ad\u200b\u200c\u200d\u2060\ufeff")
_FINAL: Final = frozenset(".,")
# "@" is of a label, the rest of the modifiers that may follow one.
_ENCODED: Final = re.compile(r"%(?:40|21|28|29|2[Bb]|3[Aa])")
# http://resolver/ibi/<ibi>, resolver:8800/<ibi>, /rep/<ibi>, ibi:<ibi>
_SCHEME_AND_HOST: Final = re.compile(r"[Hh][Tt][Tt][Pp][Ss]?://[^/?#]+/")
_BARE_HOST: Final = re.compile(
    r"(?:[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+(?::[0-9]+)?|[A-Za-z0-9-]+:[0-9]+|localhost)/"
)
_INTRODUCTION: Final = re.compile(r"/?(?:[Ii][Bb][Ii][:/]|[Rr][Ee][Pp]/)")


@dataclass(frozen=True, slots=True)
class Cleaned:
    """A text after its clean-ups; `positions` says where each of its characters was."""

    text: str
    positions: Sequence[int]
    steps: tuple[CleanUp, ...]

    def position(self, index: int) -> int:
        """Return where the character at `index` stood in the text that was given."""
        if index < len(self.positions):
            return self.positions[index]
        return self.positions[-1] + 1 if self.positions else 0


def stripped(text: str) -> Cleaned:
    """Undo nothing but the white space around a text."""
    last = len(text.rstrip())
    first = len(text) - len(text.lstrip()) if last else 0
    steps = (CleanUp.SPACE_AROUND,) if last - first < len(text) else ()
    return Cleaned(text[first:last], range(first, last), steps)


def clean(text: str) -> Cleaned:
    """Undo what surrounds and pervades an identifier, in one pass over the text."""
    first, last, steps = _unwrapped(text)
    positions: Sequence[int] = range(first, last)
    if any(_is_blank(character) for character in text[first:last]):
        steps.append(CleanUp.SPACE_INSIDE)
        positions = [at for at in positions if not _is_blank(text[at])]
    cleaned = "".join(map(text.__getitem__, positions))
    # A query's values keep their encoding: they belong to the item.
    head = cleaned.partition("?")[0]
    if _ENCODED.search(head):
        steps.append(CleanUp.PERCENT_ENCODING)
        kept = list(range(len(cleaned)))
        for encoded in _ENCODED.finditer(head):
            kept[encoded.start() + 1 : encoded.end()] = [-1, -1]
        positions = [positions[at] for at in kept if at >= 0]
        decoded = _ENCODED.sub(lambda encoded: unquote(encoded[0]), head)
        cleaned = decoded + cleaned[len(head) :]
    return Cleaned(cleaned, positions, tuple(steps))


def introductions(text: str) -> list[tuple[int, tuple[CleanUp, ...]]]:
    """Return the places where an identifier may begin, the likeliest first.

    Nothing, then a resolver's address with or without its scheme, each with or without an
    introducing `ibi/`, `rep/` or `ibi:`.
    """
    hosts: list[tuple[int, tuple[CleanUp, ...]]] = [(0, ())]
    host = _SCHEME_AND_HOST.match(text) or _BARE_HOST.match(text)
    if host:
        hosts.append((host.end(), (CleanUp.RESOLVER_ADDRESS,)))
    elif text.startswith("/"):
        hosts.append((1, (CleanUp.RESOLVER_ADDRESS,)))
    starts: list[tuple[int, tuple[CleanUp, ...]]] = []
    for start, steps in hosts:
        starts.append((start, steps))
        introduction = _INTRODUCTION.match(text, start)
        if introduction:
            starts.append((introduction.end(), (*steps, CleanUp.IBI_PREFIX)))
    return starts


def scheme_and_host(text: str) -> str:
    """Return the resolver with which a text begins, as http://resolver; empty if with none."""
    address = _SCHEME_AND_HOST.match(text)
    return address[0][:-1] if address else ""


def likely_start(text: str) -> int:
    """Return where the label was meant to begin, in a text in which none was found.

    A bare host may be a resolver's, or the subdomain of the label itself: it is a resolver's if
    another subdomain follows it, or two words that are no word and year.
    """
    start = 0
    bare_host = _BARE_HOST.match(text)
    address = _SCHEME_AND_HOST.match(text)
    if address:
        start = address.end()
    elif bare_host:
        parts = text[bare_host.end() :].split("/")
        subdomain_follows = parts[0].rpartition(".")[2].isalpha() and "." in parts[0]
        two_words_follow = len(parts) == 2 and not parts[1][:4].isdigit()  # noqa: PLR2004  # two words; four digits of a year
        start = bare_host.end() if subdomain_follows or two_words_follow else 0
    introduction = _INTRODUCTION.match(text, start)
    return introduction.end() if introduction else start


def _unwrapped(text: str) -> tuple[int, int, list[CleanUp]]:
    first, last = 0, len(text)
    steps: dict[CleanUp, None] = {}
    before = None
    while before != (first, last):
        before = (first, last)
        while first < last and _is_blank(text[first]):
            first += 1
            steps[CleanUp.SPACE_AROUND] = None
        while first < last and _is_blank(text[last - 1]):
            last -= 1
            steps[CleanUp.SPACE_AROUND] = None
        if first < last and text[last - 1] in _FINAL:
            last -= 1
            steps[CleanUp.FINAL_PUNCTUATION] = None
        elif last - first > 1 and text[first] == "<" and text[last - 1] == ">":
            first, last = first + 1, last - 1
            steps[CleanUp.ANGLE_BRACKETS] = None
    return first, last, list(steps)


def _is_blank(character: str) -> bool:
    return character.isspace() or character in _INVISIBLE
