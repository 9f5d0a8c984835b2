"""Gateways: redirects for identifiers of other systems, to the resolvers of those systems."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from ibi.errors import ResolverRequestError, Sentence
from ibi.identifier.limits import MAX_TEXT
from ibi.wire.percent_encoding import url_mended

# /doi/10.1000/182 and /doi:10.1000/182; a percent-encoded colon is accepted as well.
_SYSTEM: Final = re.compile(r"/(doi|hdl|ark|urn)(?:/|:|%3A)", re.IGNORECASE)
# Control characters, and escapes that an upstream may decode to control characters.
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]|%[01][0-9A-Fa-f]|%7[Ff]")

# The beginning of each: the prefix, the separator, and the first character after it.
_DOI: Final = re.compile(r"10\.[0-9.]{1,40}(?:/|%2[Ff])[^?]")
_HANDLE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,80}(?:/|%2[Ff])[^?]")
_ARK: Final = re.compile(r"[A-Za-z0-9]{5,16}(?:/|%2[Ff])[^?]")
_URN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{1,31}(?::|%3[Aa])[^?]")


class _System(NamedTuple):
    shape: re.Pattern[str]
    right: str


_SYSTEMS: Final = {
    "doi": _System(_DOI, Sentence("a DOI begins with 10., as /doi/10.1000/182")),
    "hdl": _System(_HANDLE, Sentence("a handle has a prefix and a suffix, as /hdl/20.1000/100")),
    "ark": _System(
        _ARK, Sentence("an ARK has the number of its authority and a name, as /ark:/12148/x")
    ),
    "urn": _System(
        _URN, Sentence("a URN has a namespace and a name, as /urn:nbn:de:101:1-201102033592")
    ),
}


def onward(path_and_query: str, gateways: Mapping[str, str]) -> str | None:
    """Return the URL that resolves an identifier of another system; None if the path has none.

    The path and query are as they came, percent-encoded. `gateways` are URLs by doi, hdl, ark and
    urn, to which the rest is appended; an empty one is closed. Raises ResolverRequestError, with an
    example of a correct path, if the rest is no identifier of its system.
    """
    found = _SYSTEM.match(path_and_query)
    name = found[1].lower() if found is not None else ""
    upstream = gateways.get(name, "")
    if found is None or not upstream:
        return None
    # Leading slashes would leave the path of the upstream, or even its host.
    rest = path_and_query[found.end() :].lstrip("/")
    shape, right = _SYSTEMS[name]
    if len(rest) > MAX_TEXT or _CONTROL.search(rest) or shape.match(rest) is None:
        raise ResolverRequestError(Sentence("This cannot be sent on: %(right)s.", right=right))
    return _base(upstream) + url_mended(rest).replace("#", "%23")


def _base(upstream: str) -> str:
    """End the authority of an upstream with a slash, so that the appended text cannot extend it."""
    return upstream if "/" in upstream.partition("://")[2] else f"{upstream}/"
