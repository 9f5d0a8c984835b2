"""ORCID iDs: sixteen digits that identify a person, the last a check digit (ISO 7064, MOD 11-2)."""

from __future__ import annotations

import re
from typing import Final

from ibi.errors import MetadataError, Sentence, shown

_ORCID: Final = re.compile(
    r"(?:(?:https?://)?(?:www\.)?orcid\.org/)?"
    r"([0-9]{4})-?([0-9]{4})-?([0-9]{4})-?([0-9]{3}[0-9Xx])/?"
)
_EXPECTED: Final = Sentence(
    "expected sixteen digits as 0000-0002-1825-0097, or that with https://orcid.org/"
)


def looks_like_orcid(text: str) -> bool:
    """Return whether the text has the form of an ORCID iD, with a correct check digit or not."""
    return _ORCID.fullmatch(text) is not None


def read_orcid(text: str) -> str:
    """Return the iD with its hyphens and without its address; MetadataError if it is not valid."""
    match = _ORCID.fullmatch(text)
    if match is None:
        raise MetadataError(
            Sentence(
                "%(text)s is not an ORCID iD: %(expected)s.", text=shown(text), expected=_EXPECTED
            )
        )
    digits = "".join(match.groups()).upper()
    if _check_digit(digits[:-1]) != digits[-1]:
        raise MetadataError(
            Sentence("%(text)s is not an ORCID iD: its check digit is wrong.", text=shown(text))
        )
    return "-".join(match.groups()).upper()


def address_of(orcid: str) -> str:
    """Return the address of the person's ORCID page."""
    return f"https://orcid.org/{orcid}"


def _check_digit(digits: str) -> str:
    total = 0
    for digit in digits:
        total = (total + int(digit)) * 2
    return "0123456789X"[(12 - total % 11) % 11]
