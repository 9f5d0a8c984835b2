"""Web addresses in foreign texts: what may be made a link of."""

from __future__ import annotations

import re
from typing import Final

LONGEST: Final = 2048
"""Characters, as sitemaps and old browsers have it."""

# Neither a user name, which serves to hide the host, nor a character that RFC 3986 keeps out of a
# URL; those beyond ASCII are let in, because browsers know what to do with them (RFC 3987).
_WEB_ADDRESS: Final = re.compile(
    r"[Hh][Tt][Tt][Pp][Ss]?://"
    r"(?:\[[0-9A-Fa-f:.]{2,45}\]|[^\x00-\x20\x7f-\xa0/?#@:\[\]\\<>\"'{}|^`%]+)"
    r"(?::[0-9]{1,5})?"
    r"(?:[/?#][^\x00-\x20\x7f-\xa0\\<>\"{}|^`]*)?"
)


def is_web_address(text: str) -> bool:
    """Tell whether the text is the address of something on the Web, by http or https."""
    return len(text) <= LONGEST and _WEB_ADDRESS.fullmatch(text) is not None
