"""Language tags that are well-formed (BCP 47: RFC 5646, section 2.1)."""

from __future__ import annotations

import re
from typing import Final

from ibi.errors import MetadataError, shown

LONGEST: Final = 100
"""Characters. RFC 5646, 4.4.1 wants room for 35; private use may take more."""

#   langtag   = language ["-" script] ["-" region] *("-" variant) *("-" extension)
#               ["-" privateuse]
#   language  = 2*3ALPHA [extlang] / 4ALPHA / 5*8ALPHA
#   extlang   = 3ALPHA *2("-" 3ALPHA)
#   variant   = 5*8alphanum / (DIGIT 3alphanum)
#   extension = singleton 1*("-" (2*8alphanum))
#
# Tags that RFC 5646 keeps from before it (i-klingon) all have one of this form today.
_TAG: Final = re.compile(
    r"(?:[A-Za-z]{2,3}(?:-[A-Za-z]{3}){0,3}|[A-Za-z]{4,8})"
    r"(?:-[A-Za-z]{4})?"
    r"(?:-(?:[A-Za-z]{2}|[0-9]{3}))?"
    r"(?:-(?:[A-Za-z0-9]{5,8}|[0-9][A-Za-z0-9]{3}))*"
    r"(?:-[0-9A-WYZa-wyz](?:-[A-Za-z0-9]{2,8})+)*"
    r"(?:-[Xx](?:-[A-Za-z0-9]{1,8})+)?"
    r"|[Xx](?:-[A-Za-z0-9]{1,8})+"
)


def check_language_tag(text: str) -> str:
    """Return the tag as it was written; MetadataError if it is not well-formed."""
    if len(text) > LONGEST or _TAG.fullmatch(text) is None:
        raise MetadataError(f"{shown(text)} is not a language tag: expected one as pt or pt-BR.")
    return text
