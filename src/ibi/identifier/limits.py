"""Limits of length, each with the precedent for its number."""

from __future__ import annotations

from typing import Final

MAX_TEXT: Final = 8192
"""Characters of a text to be cleaned up, or of a persistent URL. Apache accepts 8,190 octets of
request line, nginx 8 kB; longer ones would not reach a server."""

MAX_LABEL: Final = 255
"""Characters of a label. The standard's own example of a label set (003, chapter 5: "strings of a
maximum of 255 alphanumeric characters"), and the limit of file systems for a name. With the 17
characters that the shortest suffix takes, it also keeps a host below the 253 of RFC 1034, 3.1."""

MAX_WORD: Final = 63
"""Characters of one word of a domain name (RFC 1034, 3.1)."""

MAX_PORT: Final = 65_535
"""The largest port number (RFC 9293, 3.1: sixteen bits)."""
