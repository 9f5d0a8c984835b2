"""Percent-encoding: of the values of a request (004, Table 4.1), of URLs and of answers."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote

# Table 4.1: Hexadecimal coding of special characters.
#
#   blank %20   % %25   & %26   + %2B   = %3D   ? %3F
#
# The section adds all that is not ASCII; RFC 3986 adds control characters and what else has no
# place in a URL, "#" above all. What the examples leave as it is stays: "/", ":", "@", "(" ...
_SPECIAL: Final = re.compile(r"[^A-Za-z0-9._~/:@()!$',;*-]+")
# In the value of `url` an escape is left as it is (Examples 6.9, 8.1 and 8.2), unlike "?".
_SPECIAL_IN_URL: Final = re.compile(r"%(?![0-9A-Fa-f]{2})|[^A-Za-z0-9._~/:@()!$',;*%-]")
# RFC 3986, 2.2 and 2.3: what may stand in a URL.
_NOT_OF_A_URL: Final = re.compile(r"%(?![0-9A-Fa-f]{2})|[^A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%-]")
_RESERVED: Final = ":/?#[]@!$&'()*+,;="
_SAFE_IN_PATH: Final = "/!$&'()*+,;=:@~"


def percent_encoded(match: re.Match[str]) -> str:
    """Return what was matched as bytes of UTF-8, each percent-encoded."""
    return quote(match[0], safe="", errors="surrogatepass")


def value(text: str) -> str:
    """Return a text as the value of a pair."""
    return _SPECIAL.sub(percent_encoded, text)


def url_value(url: str) -> str:
    """Return a URL as the value of a pair."""
    return _SPECIAL_IN_URL.sub(percent_encoded, url)


def url_of(decoded: bytes) -> str:
    """Write a URL of which nothing is percent-encoded."""
    return quote(decoded, safe=_RESERVED)


def url_mended(url: str) -> str:
    """Percent-encode what no URL can have; escapes stay."""
    return _NOT_OF_A_URL.sub(percent_encoded, url)


def path(text: str) -> str:
    """Return a path as it stands in a URL."""
    return quote(text, safe=_SAFE_IN_PATH, errors="surrogatepass")


def text_of(decoded: bytes) -> str:
    """Read bytes that are not UTF-8 as ISO 8859-1, which old archives use."""
    try:
        return decoded.decode("utf-8")
    except UnicodeDecodeError:
        return decoded.decode("iso-8859-1")
