"""Addresses of the web and of e-mail in texts from outside."""

from __future__ import annotations

import re
from typing import Final

MAX_ADDRESS: Final = 2048
"""The longest address in characters, the limit of sitemaps and of old browsers."""

# A user name is refused because it can hide the host, and so is every character that RFC 3986 does
# not allow in a URL; those beyond ASCII are accepted, because browsers encode them (RFC 3987).
_WEB_ADDRESS: Final = re.compile(
    r"[Hh][Tt][Tt][Pp][Ss]?://"
    r"(?:\[[0-9A-Fa-f:.]{2,45}\]|[^\x00-\x20\x7f-\xa0/?#@:\[\]\\<>\"'{}|^`%]+)"
    r"(?::[0-9]{1,5})?"
    r"(?:[/?#][^\x00-\x20\x7f-\xa0\\<>\"{}|^`]*)?"
)

# RFC 5322, 3.4.1: dot-atom "@" dot-atom, in the ASCII that every mail server takes.
_MAIL_ADDRESS: Final = re.compile(
    r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,253}[A-Za-z0-9])?"
)


def is_web_address(text: str) -> bool:
    """Return whether the text is an address with http or https, which may become a link."""
    return len(text) <= MAX_ADDRESS and _WEB_ADDRESS.fullmatch(text) is not None


def is_mail_address(text: str) -> bool:
    """Return whether a text is an e-mail address that needs no quoting in a header."""
    return _MAIL_ADDRESS.fullmatch(text) is not None
