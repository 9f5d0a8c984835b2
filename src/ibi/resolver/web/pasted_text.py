"""Recognizes the text that a person pasted into the field of a resolver."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from ibi.errors import PersistentUrlError, ReadingError, ResolverRequestError
from ibi.identifier.cleanup import CleanUp
from ibi.identifier.description import Description, LabelWarning, describe
from ibi.identifier.instant import Instant
from ibi.identifier.labels_in_text import labels_in
from ibi.identifier.limits import MAX_TEXT
from ibi.identifier.persistent_url import PersistentUrl
from ibi.resolver.rules.foreign_identifiers import onward
from ibi.wire.addresses import is_web_address
from ibi.wire.percent_encoding import url_mended

# By the name of its system, or by the address of a resolver of that system: doi:10.1000/182,
# https://doi.org/10.1000/182, info:hdl/2027/x, https://n2t.net/ark:/12148/x
_SYSTEM: Final = re.compile(
    r"(?:https?://[A-Za-z0-9.:-]+/|/)?(?:info:)?(doi|hdl|ark|urn)[:/]", re.IGNORECASE
)
_RESOLVER: Final = re.compile(
    r"(?:https?://)?(?:www\.)?(?:(dx\.doi\.org|doi\.org)|hdl\.handle\.net)/", re.IGNORECASE
)
_BARE_DOI: Final = re.compile(r"10\.[0-9]{4}[0-9.]{0,40}/")
_UPSTREAM: Final = "https://upstream.example/"
# RFC 8141, 2 and the ARK specification keep their colon, also in our paths.
_DIVIDER: Final = {"doi": "/", "hdl": "/", "ark": ":/", "urn": ":"}
_CALL: Final = re.compile(r"\b(?:ibi|upn):", re.IGNORECASE)
"""How a reference announces a label."""
_WORD: Final = re.compile(r"[^\s<>,;/]+")
_SUFFIX: Final = re.compile(r"[^\s<>,;]+")
_LONGEST_CALL: Final = 600
"""Characters after "ibi:" in which the label stands."""
_MAX_GUESSES: Final = 3
"""Labels that are guessed in a longer text; more would be noise."""


class Kind(StrEnum):
    """The kind of a text; the value is for programs."""

    NOTHING = "nothing"
    LABEL = "label"
    PERSISTENT_URL = "persistent-url"
    GATEWAY = "gateway"
    """An identifier of another system."""
    WEB_ADDRESS = "web-address"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class PastedText:
    """A text, and its recognized kind."""

    given: str
    kind: Kind
    address: str = ""
    """The path and query at which this resolver opens it; empty if it cannot."""
    description: Description | None = None
    """The description of the label."""
    wanted: PersistentUrl | None = None
    """The verbs and other modifiers after the label."""
    cleaned: tuple[CleanUp, ...] = ()
    warnings: tuple[LabelWarning, ...] = ()
    suggestions: tuple[str, ...] = ()
    """Labels that may have been meant."""
    found: tuple[str, ...] = ()
    """Labels that stand in a longer text, also if a line of it ends within them."""
    system: str = ""
    """doi, hdl, ark or urn."""
    fault: str = ""
    """Why it cannot be parsed, in English."""
    is_called_label: bool = False
    """Whether "IBI:" introduces what cannot be parsed, so that it is no text to search for."""


def what_is(text: str, now: Instant) -> PastedText:
    """Recognize a text; nothing that a person pastes is an error."""
    given = text.strip()
    if not given:
        return PastedText(text, Kind.NOTHING)
    return _of_another_system(text, given) or _of_ours(text, given, now)


def _of_ours(text: str, given: str, now: Instant) -> PastedText:
    try:
        wanted = PersistentUrl.parse(text, now=now)
    except ReadingError as fault:
        return _unreadable(text, given, fault, now)
    description = describe(wanted.label.spelling, strict=True, now=now)
    bare = PersistentUrl(wanted.label)
    return PastedText(
        text,
        Kind.LABEL if replace(wanted, passed_on=()) == bare else Kind.PERSISTENT_URL,
        address=wanted.at(""),
        description=description,
        wanted=wanted,
        cleaned=wanted.cleaned,
        warnings=description.warnings,
    )


def _unreadable(text: str, given: str, fault: ReadingError, now: Instant) -> PastedText:
    found = tuple(label.spelling for label in labels_in(given, now, _MAX_GUESSES))
    called = _called(given) if len(given) <= MAX_TEXT else ""
    if called and called != given and not found:
        of_label = what_is(called, now)
        if of_label.kind is Kind.UNKNOWN:
            return replace(of_label, given=text, is_called_label=True)
    kind = Kind.WEB_ADDRESS if is_web_address(given) else Kind.UNKNOWN
    suggestions = tuple(dict.fromkeys((*fault.suggestions, *found)))[:_MAX_GUESSES]
    # For a Web address only the labels in it matter, not why it is no label itself.
    is_told = kind is not Kind.WEB_ADDRESS or isinstance(fault, PersistentUrlError)
    # The suggestions are shown as links beside it.
    reason = fault.within(fault.text, fault.position, ()).message() if is_told else ""
    return PastedText(text, kind, suggestions=suggestions, found=found, fault=reason)


def _called(text: str) -> str:
    """Return what a reference calls a label, valid or not; a slash tells it from words."""
    for call in _CALL.finditer(text):
        rest = text[call.end() : call.end() + _LONGEST_CALL].lstrip().removeprefix("<").lstrip()
        first = _WORD.match(rest)
        after = rest[first.end() :].lstrip() if first else ""
        second = _SUFFIX.match(after.removeprefix("/").lstrip()) if after.startswith("/") else None
        if first and second:
            return f"{first[0]}/{second[0]}"
    return ""


def _of_another_system(text: str, given: str) -> PastedText | None:
    system, rest = _divided(given)
    if not system or len(given) > MAX_TEXT:
        return None
    rest = url_mended(rest.lstrip("/")).replace("?", "%3F").replace("#", "%23")
    address = f"/{system}{_DIVIDER[system]}{rest}"
    try:
        onward(address, {system: _UPSTREAM})
    except ResolverRequestError as fault:
        return PastedText(text, Kind.UNKNOWN, system=system, fault=fault.message())
    return PastedText(text, Kind.GATEWAY, address=address, system=system)


def _divided(given: str) -> tuple[str, str]:
    """Return the system that a text names, and the identifier; both empty if it names none."""
    by_resolver = _RESOLVER.match(given)
    if by_resolver is not None:
        return ("doi" if by_resolver[1] else "hdl"), given[by_resolver.end() :]
    if _BARE_DOI.match(given):
        return "doi", given
    named = _SYSTEM.match(given)
    if named is None or not _is_spelled_out(named[0]):
        return "", ""
    return named[1].lower(), given[named.end() :].lstrip()


def _is_spelled_out(beginning: str) -> bool:
    """Return whether it is "doi:", "/doi/" or an address with that, and not a word and a slash."""
    return beginning.endswith(":") or "/" in beginning[:-1] or ":" in beginning
