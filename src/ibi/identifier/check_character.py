"""The check character of an IBIp: shown and verified beside a label, never part of it.

The 29 symbols of Table 7.1 are a prime number, so the NOID check digit algorithm works on them:
every single mistyped character and every swap of two different neighbours changes the character,
in labels of up to 28 symbols. That is every IBIp on IPv4; past 28 symbols (long IPv6 addresses)
a mistake in each 29th place goes unseen, its weight being zero.
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
    """Refuse a label whose check character is another, or whose form has none."""
    expected = check_character(label) if isinstance(label, Ibip) else ""
    if not expected or character not in {expected, expected.lower()}:
        raise CheckCharacterError(label.spelling, character, expected)
