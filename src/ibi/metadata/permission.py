"""What a licence permits, in one sentence for people.

Only licences whose terms are known here have a sentence: a wrong one would be worse than none. It
replaces neither the licence nor its text, to which a page links.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from ibi.errors import Sentence
from ibi.metadata.licence import licence_at

# Versions, and the ports of some to the law of a country: CC-BY-3.0-BR.
_CREATIVE_COMMONS: Final = re.compile(r"CC-(BY(?:-NC|-ND|-SA)*)-[1-4]\.[05](?:-[A-Z]{2,3})?")
_GPL: Final = re.compile(r"GPL-[1-3]\.0(?:-only|-or-later|\+)?")

_NAME: Final = Sentence("Use it for anything; name the creators.")
_NAME_AND_SHARE_ALIKE: Final = Sentence(
    "Use it for anything; name the creators, and share what you make of it under the same licence."
)
_NOT_COMMERCIAL: Final = Sentence("Use it for anything but commerce; name the creators.")
_NOT_COMMERCIAL_AND_SHARE_ALIKE: Final = Sentence(
    "Use it for anything but commerce; name the creators, and share what you make of it under the "
    "same licence."
)
_UNCHANGED: Final = Sentence(
    "Use it for anything, but do not share changed versions; name the creators."
)
_UNCHANGED_AND_NOT_COMMERCIAL: Final = Sentence(
    "Use it for anything but commerce, and do not share changed versions; name the creators."
)
_ANYTHING: Final = Sentence("Use it for anything, without conditions.")
_KEEP_NOTICE: Final = Sentence(
    "Use, change and share it for any purpose; keep the copyright notice and the text of the "
    "licence."
)
_KEEP_NOTICES: Final = Sentence(
    "Use, change and share it for any purpose; keep the notices and the text of the licence, and "
    "say what you changed."
)
_COPYLEFT: Final = Sentence(
    "Use and change it for any purpose; share it, changed or not, only under the same licence and "
    "with its source code."
)

_OF_CREATIVE_COMMONS: Final[Mapping[frozenset[str], str]] = {
    frozenset({"BY"}): _NAME,
    frozenset({"BY", "SA"}): _NAME_AND_SHARE_ALIKE,
    frozenset({"BY", "NC"}): _NOT_COMMERCIAL,
    frozenset({"BY", "NC", "SA"}): _NOT_COMMERCIAL_AND_SHARE_ALIKE,
    frozenset({"BY", "ND"}): _UNCHANGED,
    frozenset({"BY", "NC", "ND"}): _UNCHANGED_AND_NOT_COMMERCIAL,
}
_OTHERS: Final[Mapping[str, str]] = {
    "CC0-1.0": _ANYTHING,
    "MIT": _KEEP_NOTICE,
    "BSD-2-Clause": _KEEP_NOTICE,
    "BSD-3-Clause": _KEEP_NOTICE,
    "Apache-2.0": _KEEP_NOTICES,
}


def permission_of(licence: str) -> str:
    """Return what a licence permits, given by its identifier or address; empty if unknown."""
    identifier = licence_at(licence)
    found = _CREATIVE_COMMONS.fullmatch(identifier)
    if found:
        return _OF_CREATIVE_COMMONS.get(frozenset(found[1].split("-")), "")
    return _COPYLEFT if _GPL.fullmatch(identifier) else _OTHERS.get(identifier, "")
