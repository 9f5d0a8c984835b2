"""Clean-ups: removal of what surrounds an identifier in text from people, web pages and PDF files.

Every clean-up has a name, so that a caller can insist on a strict reading, and every character
keeps its position in the text that was given, so that an error can point there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final
from urllib.parse import unquote


class CleanUp(StrEnum):
    """A difference between the text given and the text parsed; the value is for programs."""

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
        """A description of the clean-up, for people."""
        return _SENTENCES[self]


_SENTENCES: Final = {
    CleanUp.SPACE_AROUND: "white space around it was dropped",
    CleanUp.ANGLE_BRACKETS: "angle brackets around it were dropped",
    CleanUp.FINAL_PUNCTUATION: "a sentence's final punctuation was dropped",
    CleanUp.SPACE_INSIDE: "blanks or line breaks inside it were closed up",
    CleanUp.RESOLVER_ADDRESS: "a resolver's address before it was dropped",
    CleanUp.IBI_PREFIX: 'an introducing "ibi:", "upn:", "ibi/" or "rep/" was dropped',
    CleanUp.PERCENT_ENCODING: "percent-encoded characters were decoded",
    CleanUp.REPORT_TYPE: "a report type after it was dropped",
    CleanUp.URL_TAIL: "modifiers, path or query of a persistent URL after it were set aside",
    CleanUp.FRAGMENT: "a fragment (#...), which no server ever sees, was dropped",
}

# Text extraction leaves soft hyphens, zero-width characters and byte-order marks as well.
_INVISIBLE: Final = frozenset("\u00ad\u200b\u200c\u200d\u2060\ufeff")
_FINAL: Final = frozenset(".,")
# "@" may be part of a label, the other characters part of the modifiers that may follow one.
_ENCODED: Final = re.compile(r"%(?:40|21|28|29|2[Bb]|3[Aa])")
# http://resolver/ibi/<ibi>, resolver:8800/<ibi>, /rep/<ibi>, ibi:<ibi>, upn:<ibi>
_SCHEME_AND_HOST: Final = re.compile(
    r"[Hh][Tt][Tt][Pp][Ss]?://[\w.~%!$&'()*+,;=:@\[\]-]+/"  # RFC 3986, 3.2, and other scripts
)
_BARE_HOST: Final = re.compile(
    r"(?:[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+(?::[0-9]+)?|[A-Za-z0-9-]+:[0-9]+|localhost)/"
)
_PATH_OR_QUERY: Final = re.compile("[/?]")
_ADDRESS: Final = re.compile(f"{_SCHEME_AND_HOST.pattern}|{_BARE_HOST.pattern}|/")
_INTRODUCTION: Final = re.compile(r"/?(?:[Ii][Bb][Ii][:/]|[Uu][Pp][Nn]:|[Rr][Ee][Pp]/)")


@dataclass(frozen=True, slots=True)
class Cleaned:
    """A text after its clean-ups; `positions` holds the original index of each character."""

    text: str
    positions: Sequence[int]
    steps: tuple[CleanUp, ...]

    def position(self, index: int) -> int:
        """Return the index, in the text that was given, of the character at `index`."""
        if index < len(self.positions):
            return self.positions[index]
        return self.positions[-1] + 1 if self.positions else 0


def stripped(text: str) -> Cleaned:
    """Remove only the white space around a text."""
    last = len(text.rstrip())
    first = len(text) - len(text.lstrip()) if last else 0
    steps = (CleanUp.SPACE_AROUND,) if last - first < len(text) else ()
    return Cleaned(text[first:last], range(first, last), steps)


def clean(text: str) -> Cleaned:
    """Remove what surrounds an identifier, and blanks and encoding inside it, in one pass."""
    first, last, steps = _unwrapped(text)
    positions: Sequence[int] = range(first, last)
    bracket = _bracket_after_introduction(text, first, last)
    if bracket >= 0:
        steps.append(CleanUp.ANGLE_BRACKETS)
        last -= 1
        positions = [at for at in range(first, last) if at != bracket]
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


def reopened(text: str, cleaned: Cleaned, end: int) -> Cleaned:
    """Return the cleaned text with the blanks of its path and query restored.

    Only blanks inside an identifier, which ends at `end`, are certainly not part of it: a path may
    name a file with blanks in it.
    """
    path = _PATH_OR_QUERY.search(cleaned.text, end)
    if path is None or CleanUp.SPACE_INSIDE not in cleaned.steps:
        return cleaned
    head = path.start()
    rest = range(cleaned.positions[head], cleaned.positions[-1] + 1)
    return Cleaned(
        cleaned.text[:head] + text[rest.start : rest.stop],
        [*cleaned.positions[:head], *rest],
        cleaned.steps,
    )


def introductions(text: str) -> list[tuple[int, tuple[CleanUp, ...]]]:
    """Return the positions where an identifier may begin, the likeliest first.

    An identifier may follow nothing, `ibi:`, `upn:`, `ibi/` or `rep/`, a resolver's address with
    or without its scheme, or an address and one of these.
    """
    starts: list[tuple[int, tuple[CleanUp, ...]]] = [(0, ())]
    for introduce in (_INTRODUCTION, _ADDRESS, _INTRODUCTION):
        step = CleanUp.IBI_PREFIX if introduce is _INTRODUCTION else CleanUp.RESOLVER_ADDRESS
        for start, steps in list(starts):
            introduction = introduce.match(text, start)
            if introduction and step not in steps:
                starts.append((introduction.end(), (*steps, step)))
    return starts


def scheme_and_host(text: str) -> str:
    """Return the resolver with which a text begins, as http://resolver; empty if there is none."""
    address = _SCHEME_AND_HOST.match(text)
    return address[0][:-1] if address else ""


def likely_start(text: str) -> int:
    """Return where the label was meant to begin, in a text in which no label was found.

    A bare host may be a resolver or the subdomain of the label itself: it is a resolver if
    another subdomain follows it, or two words that are not a word and a year.
    """
    introduction = _INTRODUCTION.match(text)
    start = introduction.end() if introduction else 0
    address = _SCHEME_AND_HOST.match(text, start)
    bare_host = _BARE_HOST.match(text, start)
    if address:
        start = address.end()
    elif bare_host:
        first, _, rest = text[bare_host.end() :].partition("/")
        subdomain_follows = "." in first and first.rpartition(".")[2].isalpha()
        year = rest.partition("/")[0]
        year_follows = len(year) == len("2009") and sum(map(str.isdigit, year)) > 1
        if subdomain_follows or ("." not in first and rest and not year_follows):
            start = bare_host.end()
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


def _bracket_after_introduction(text: str, first: int, last: int) -> int:
    """Return the index of `<` in `IBI: <...>`, -1 if there is none."""
    return text.find("<", first, last) if text[last - 1 : last] == ">" else -1


def _is_blank(character: str) -> bool:
    return character.isspace() or character in _INVISIBLE
