"""E-mail addresses (RFC 5322, 3.4.1)."""

from __future__ import annotations

import re
from typing import Final

# RFC 5322, 3.4.1: dot-atom "@" dot-atom, in the ASCII that every mail server takes.
_MAIL_ADDRESS: Final = re.compile(
    r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,253}[A-Za-z0-9])?"
)


def is_mail_address(text: str) -> bool:
    """Return whether a text is an e-mail address that needs no quoting in a header."""
    return _MAIL_ADDRESS.fullmatch(text) is not None
