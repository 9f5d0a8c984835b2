"""How long a thing may be, each with the precedent for its number."""

from __future__ import annotations

from typing import Final

MAX_TEXT: Final = 8192
"""A text that is cleaned up, or a persistent URL. Apache takes 8,190 octets for a request line,
nginx 8 kB; no server would have seen more."""

MAX_LABEL: Final = 255
"""A label. The standard's own example of a label set (003, chapter 5: "strings of a maximum of
255 alphanumeric characters"), and what file systems give a name. With the 17 characters that the
shortest suffix takes, it also keeps a host under the 253 of RFC 1034, 3.1."""

MAX_WORD: Final = 63
"""A word of a domain name. RFC 1034, 3.1."""

MAX_PORT: Final = 65_535
"""A port. RFC 9293, 3.1: sixteen bits."""
