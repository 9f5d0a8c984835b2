"""Content negotiation: which form of an item a client wants, by its Accept header.

https://www.rfc-editor.org/rfc/rfc9110#section-12.5.1

An item as readers get it (its file, or its page) is one form, which HTML stands for; each metadata
format is another one. The client's qualities decide, then how exactly it names a form, then the
order of its header. `*/*` means the item as readers get it, and so does HTML beside formats that
are no dearer to the client than HTML, if these are plain XML, as browsers ask for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, NamedTuple
from urllib.parse import quote

from ibi.identifier.persistent_url import PersistentUrl
from ibi.identifier.verbs import GetMetadata
from ibi.metadata.formats import FORMATS

BIBLIOGRAPHY: Final = "bibliography"
"""The name of a formatted citation among the formats, in a style and in a language."""
BIBLIOGRAPHY_TYPE: Final = "text/x-bibliography"
OFFERED: Final = (*FORMATS, BIBLIOGRAPHY)
"""The names of all that persistent URLs can ask for of the metadata of an item."""
LONGEST_ACCEPT: Final = 2_048
"""Characters of a header that are read; browsers send some 200."""

_PAGES: Final = ("text/html", "application/xhtml+xml")
_PLAIN_XML: Final = frozenset(("text/xml", "application/xml"))
_EXACT, _SUBTYPES, _ANY, _NONE = 3, 2, 1, 0
"""How exactly a range names a media type."""
_KNOWN: Final = 1_024
"""Headers whose meaning is kept in memory."""


class Choice(NamedTuple):
    """A form of an item that a client accepts."""

    format: str
    """The name of a metadata format; empty for the item as readers get it."""
    content_type: str = ""
    """The media type by which the client asked for it."""
    pairs: tuple[str, ...] = ()
    """What the format is to be told: style and language of a citation."""


@dataclass(frozen=True, slots=True)
class _Range:
    type: str
    subtype: str
    parameters: tuple[tuple[str, str], ...]
    quality: float
    place: int

    def exactness(self, media_type: str) -> int:
        """Return how exactly the range names a media type; 0 if it does not."""
        type_, _, subtype = media_type.partition("/")
        if self.type == "*":
            return _ANY
        if self.type != type_:
            return _NONE
        if self.subtype == "*":
            return _SUBTYPES
        return _EXACT if self.subtype == subtype else _NONE


class _Fit(NamedTuple):
    quality: float
    exactness: int
    place: int
    range: _Range | None = None


_UNFIT: Final = _Fit(0.0, _NONE, 0)


@lru_cache(_KNOWN)
def choices(accept: str) -> tuple[Choice, ...]:
    """Return the forms that a client accepts, the dearest first; none if it knows none of them."""
    ranges = tuple(_ranges(accept[:LONGEST_ACCEPT]))
    if not ranges:
        return (Choice(""),)
    found: list[tuple[tuple[float, int, int, int], Choice]] = []
    page = max((_fit(ranges, each) for each in _PAGES), key=_order)
    if page.quality:
        found.append((_sorted(page, -1), Choice("")))
    for number, name in enumerate(OFFERED):
        for media_type in _types_of(name):
            fit = _fit(ranges, media_type, name)
            if not fit.quality or fit.exactness == _ANY:
                continue
            is_plain = media_type in _PLAIN_XML and fit.quality <= page.quality
            if is_plain and page.exactness == _EXACT:
                continue
            found.append((_sorted(fit, number), _choice(name, media_type, fit)))
            break
    return tuple(choice for _, choice in sorted(found, key=lambda each: each[0]))


def negotiates(accept: str) -> bool:
    """Return whether a client asks for something else than the item as readers get it."""
    return choices(accept)[:1] != (Choice(""),)


def accepts(accept: str, media_type: str) -> bool:
    """Return whether a client takes a media type."""
    ranges = tuple(_ranges(accept[:LONGEST_ACCEPT]))
    return not ranges or _fit(ranges, media_type.partition(";")[0].strip().lower()).quality > 0


def is_negotiable(wanted: PersistentUrl) -> bool:
    """Return whether a persistent URL leaves it to the client what form of the item it gets."""
    has_format = any(isinstance(verb, GetMetadata) and verb.format for verb in wanted.verbs)
    return not (has_format or wanted.path or wanted.file_list)


def in_form(wanted: PersistentUrl, choice: Choice) -> PersistentUrl:
    """Return the persistent URL that asks for the form that a client has chosen."""
    asked = GetMetadata(choice.format)
    if any(isinstance(verb, GetMetadata) for verb in wanted.verbs):
        verbs = tuple(asked if isinstance(verb, GetMetadata) else verb for verb in wanted.verbs)
    else:
        verbs = (*wanted.verbs, asked)
    return replace(wanted, verbs=verbs, passed_on=(*wanted.passed_on, *choice.pairs))


def _types_of(name: str) -> tuple[str, ...]:
    if name == BIBLIOGRAPHY:
        return (BIBLIOGRAPHY_TYPE,)
    known = FORMATS[name]
    is_taken = name != "oai_dc" and known.media_type in _PLAIN_XML
    return () if is_taken or not known.is_negotiated else (known.media_type, *known.aliases)


def _fit(ranges: tuple[_Range, ...], media_type: str, name: str = "") -> _Fit:
    """Return how well a media type fits, by the range that names it most exactly."""
    best = _UNFIT
    for each in ranges:
        exactness = each.exactness(media_type)
        if exactness == _EXACT and not _has_profile(each, name):
            continue
        if exactness > best.exactness:
            best = _Fit(each.quality, exactness, each.place, each)
    return best


def _has_profile(given: _Range, name: str) -> bool:
    """Return whether a range that names a profile means a format: RO-Crate is one of JSON-LD."""
    is_crate = "w3id.org/ro/crate" in dict(given.parameters).get("profile", "")
    return not is_crate or name == "ro_crate"


def _order(fit: _Fit) -> tuple[float, int, int]:
    return fit.quality, fit.exactness, -fit.place


def _sorted(fit: _Fit, number: int) -> tuple[float, int, int, int]:
    return -fit.quality, -fit.exactness, fit.place, number


def _choice(name: str, media_type: str, fit: _Fit) -> Choice:
    if name != BIBLIOGRAPHY or fit.range is None:
        return Choice(name, media_type)
    given = dict(fit.range.parameters)
    pairs = [
        f"{part}={quote(given[part], safe='')}" for part in ("style", "locale") if part in given
    ]
    return Choice(name, media_type, tuple(pairs))


def _ranges(accept: str) -> Iterator[_Range]:
    for place, text in enumerate(_split(accept, ",")):
        name, *parts = (part.strip() for part in _split(text, ";"))
        type_, slash, subtype = name.lower().partition("/")
        if not slash:  # "*" alone, as old clients of Java send it
            type_, subtype = (name, "*") if name == "*" else ("", "")
        if not type_ or not subtype:
            continue
        parameters: list[tuple[str, str]] = []
        quality = 1.0
        for part in parts:
            key, _, value = (each.strip() for each in part.partition("="))
            if key.lower() == "q":
                quality = _quality(value)
            else:
                parameters.append((key.lower(), value.strip('"')))
        yield _Range(type_, subtype, tuple(parameters), quality, place)


def _quality(text: str) -> float:
    """Return a quality, also without the 0 before the point; what is none counts as 0."""
    whole, _, rest = text.partition(".")
    digits = whole + rest
    if whole not in {"", "0", "1"} or not (digits.isascii() and digits.isdigit()):
        return 0.0
    return min(float(text), 1.0)


def _split(text: str, separator: str) -> Iterator[str]:
    """Yield the parts of a list; a separator within quotation marks is none."""
    start, is_quoted = 0, False
    for place, character in enumerate(text):
        if character == '"':
            is_quoted = not is_quoted
        elif character == separator and not is_quoted:
            yield text[start:place]
            start = place + 1
    yield text[start:]
