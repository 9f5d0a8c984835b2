"""The check character of an IBIp: printed and verified beside a label, never part of it.

The 29 symbols of Table 7.1 are a prime number, so the NOID check digit algorithm works on them.
In a label of up to 28 characters, which is every IBIp on IPv4 without a fraction, it finds every
single mistyped symbol and every swap of two different neighbouring symbols. It does not find a
slash that changed places with a "2", both being worth nothing, and in a longer label (IPv6, long
fractions) no mistake in each 29th place, whose weight is zero.
"""

from __future__ import annotations

from typing import Final

from ibi.errors import CheckCharacterError
from ibi.identifier.ibip import ALPHABET, Ibip
from ibi.identifier.label import Label

_VALUES: Final = {symbol: value for value, symbol in enumerate(ALPHABET)}


def check_character(label: Ibip) -> str:
    """Return the check character: the weighted sum of the symbols, each by its place from 1.

    Upper case as spelled, not the canonical spelling: what is to be protected is what people
    copy. The "/" has the value zero, as NOID has it for what is not in the alphabet.
    """
    total = sum(
        place * _VALUES.get(symbol, 0) for place, symbol in enumerate(label.spelling.upper(), 1)
    )
    return ALPHABET[total % len(ALPHABET)]


def verify(label: Label, character: str) -> None:
    """Raise CheckCharacterError if the character is not that of the label, or its form has none."""
    expected = check_character(label) if isinstance(label, Ibip) else ""
    if not expected or character not in {expected, expected.lower()}:
        raise CheckCharacterError(label.spelling, character, expected)
