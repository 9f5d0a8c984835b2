"""Numerals: the routines ConvertToDecimal and ConvertFromDecimal, and their tables.

An IBIp is made of numbers written in base 27; the numbers come from the text of an IP address
read as a numeral of base 11 or 17 (003, chapter 7). Each conversion table is one `Numerals`.
"""

from __future__ import annotations

from functools import cached_property
from itertools import product
from typing import Final

_TABLE_LIMIT: Final = 20_000
"""The largest size of a table of digit groups. 27**3 fits: three digits for one division."""

_PYTHON_DIGITS: Final = b"0123456789abcdefghijklmnopqrstuvwxyz"


class Numerals:
    """A positional numeral system, given by its digits in the order of their values.

    `either_case` makes `a` and `A` the same digit.
    """

    def __init__(self, digits: str, *, either_case: bool = False) -> None:
        self.digits = digits
        self.base = len(digits)
        # int() parses up to base 36 in C, once our digits are replaced by its own. Every other
        # character becomes "!", which int() refuses, so that nothing of its own syntax ("_", "+",
        # blanks) is accepted.
        table = bytearray(b"!" * 256)
        for digit, python_digit in zip(digits, _PYTHON_DIGITS, strict=False):
            table[ord(digit)] = python_digit
            if either_case:
                table[ord(digit.swapcase())] = python_digit
        self._to_python = bytes(table)

    def to_decimal(self, numeral: str) -> int:
        """Routine ConvertToDecimal (003, Table 7.2); ValueError if the text is not a numeral."""
        if self.base <= len(_PYTHON_DIGITS):
            return int(numeral.encode("ascii").translate(self._to_python), self.base)
        value = 0
        for digit in numeral:
            value = value * self.base + self.digits.index(digit)
        return value

    def from_decimal(self, number: int) -> str:
        """Routine ConvertFromDecimal (003, Table 7.3); ValueError for a negative number."""
        if number < 0:
            msg = f"no numeral stands for the negative number {number}"
            raise ValueError(msg)
        groups = self._groups
        size = len(groups)
        numeral = ""
        # Two groups for each division of a long number: the square still fits a machine word.
        while number >= size * size:
            number, low = divmod(number, size * size)
            numeral = groups[low // size] + groups[low % size] + numeral
        while number >= size:
            number, low = divmod(number, size)
            numeral = groups[low] + numeral
        zero = self.digits[0]
        return (groups[number].lstrip(zero) or zero) + numeral

    def consecutive(self, first: int, count: int, stem: str = "") -> list[str]:
        """Return the numerals of `count` numbers from `first` on, each with the prefix `stem`."""
        groups = self._groups
        size = len(groups)
        numerals: list[str] = []
        while len(numerals) < count:
            high, low = divmod(first + len(numerals), size)
            wanted = count - len(numerals)
            if high:
                head = stem + self.from_decimal(high)
                numerals += [head + group for group in groups[low : low + wanted]]
            else:
                numbers = range(low, min(low + wanted, size))
                numerals += [stem + self.from_decimal(number) for number in numbers]
        return numerals

    @cached_property
    def _groups(self) -> list[str]:
        """All numerals of as many digits as the limit allows, by value."""
        width = 1
        while self.base ** (width + 1) <= _TABLE_LIMIT:
            width += 1
        return ["".join(digits) for digits in product(self.digits, repeat=width)]


# Table 7.4: Conversion table from decimal to IPv4.
IPV4: Final = Numerals("0123456789.")

# Table 7.5: Conversion table from decimal to IPv6.
IPV6: Final = Numerals("0123456789abcdef:")

# Table 7.6: Conversion table from decimal to IBIp. 0, O, 1, I and V are left out because they
# are misread, Y and Z are reserved; W and X are separators and never digits.
IBIP: Final = Numerals("23456789ABCDEFGHJKLMNPQRSTU", either_case=True)
