"""Percent-encoding of the values of a request (004, Table 4.1), of URLs and of answers."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote

# Table 4.1: Hexadecimal coding of special characters.
#
#   blank %20   % %25   & %26   + %2B   = %3D   ? %3F
#
# The section adds everything that is not ASCII; RFC 3986 adds control characters and others not
# allowed in a URL, "#" above all. What the examples do not encode stays: "/", ":", "@", "(" ...
_SPECIAL: Final = re.compile(r"[^A-Za-z0-9._~/:@()!$',;*-]+")
# In the value of `url` an escape is left as it is (Examples 6.9, 8.1 and 8.2), unlike "?".
_SPECIAL_IN_URL: Final = re.compile(r"%(?![0-9A-Fa-f]{2})|[^A-Za-z0-9._~/:@()!$',;*%-]")
# RFC 3986, 2.2 and 2.3: the characters of a URL.
_NOT_OF_A_URL: Final = re.compile(r"%(?![0-9A-Fa-f]{2})|[^A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%-]")
_RESERVED: Final = ":/?#[]@!$&'()*+,;="
_SAFE_IN_PATH: Final = "/!$&'()*+,;=:@~"


def percent_encoded(match: re.Match[str]) -> str:
    """Return the matched text as bytes of UTF-8, each percent-encoded."""
    return quote(match[0], safe="", errors="surrogatepass")


def value(text: str) -> str:
    """Return a text, encoded as the value of a pair."""
    return _SPECIAL.sub(percent_encoded, text)


def url_value(url: str) -> str:
    """Return a URL, encoded as the value of a pair."""
    return _SPECIAL_IN_URL.sub(percent_encoded, url)


def url_of(decoded: bytes) -> str:
    """Return the URL made of bytes of which none is percent-encoded."""
    return quote(decoded, safe=_RESERVED)


def url_mended(url: str) -> str:
    """Percent-encode characters that no URL can have; escapes stay."""
    return _NOT_OF_A_URL.sub(percent_encoded, url)


def path(text: str) -> str:
    """Return a path, encoded for a URL."""
    return quote(text, safe=_SAFE_IN_PATH, errors="surrogatepass")


def text_of(decoded: bytes) -> str:
    """Decode bytes as UTF-8, or else as ISO 8859-1, which old archives use."""
    try:
        return decoded.decode("utf-8")
    except UnicodeDecodeError:
        return decoded.decode("iso-8859-1")
