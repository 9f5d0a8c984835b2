"""Values of headers that are made of foreign text: names of files, addresses.

A control character in a header would end it, and begin another one or a second response (threats,
row 6). This module lets none pass; the server refuses them once more.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote

# RFC 9110, 5.5: field-vchar and SP. Other characters have no certain meaning in a header.
_UNSAFE: Final = re.compile(r"[^\x20-\x7e]")
# RFC 3986: the further characters that no URI has.
_NO_URI: Final = re.compile(r"[^\x21\x23-\x3b\x3d\x3f-\x5b\x5d\x5f\x61-\x7a\x7e]")
# RFC 6266, appendix D: no quotation mark and no backslash, which some clients take for an escape;
# no per cent sign, which some decode.
_NO_FALLBACK: Final = re.compile(r'[^\x20-\x7e]|["\\%]')
# RFC 8187, 3.2.1: attr-char, except letters and digits.
_ATTR_CHAR: Final = "!#$&+-.^_`|~"


def header_safe(value: str) -> str:
    """Return a value with all characters percent-encoded that do not belong into a header."""
    return _UNSAFE.sub(_encoded, value)


def uri(text: str) -> str:
    """Return a URI for a header: Location, or the part of Link between its brackets."""
    return _NO_URI.sub(_encoded, text)


def link(target: str, relation: str, media_type: str = "") -> str:
    """Return a value of Link (RFC 8288)."""
    written = f'<{uri(target)}>; rel="{relation}"'
    return header_safe(f'{written}; type="{media_type}"' if media_type else written)


def content_disposition(name: str, *, attachment: bool) -> str:
    """Return a Content-Disposition with the name under which a file is saved (RFC 6266)."""
    disposition = "attachment" if attachment else "inline"
    fallback = _NO_FALLBACK.sub("_", name)
    written = f'{disposition}; filename="{fallback}"'
    if fallback != name:
        written += f"; filename*=UTF-8''{quote(name, safe=_ATTR_CHAR, errors='replace')}"
    return header_safe(written)


def _encoded(found: re.Match[str]) -> str:
    return quote(found[0], safe="", errors="replace")
