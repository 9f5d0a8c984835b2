"""003, Algorithm 4, line by line as it is printed, in exact rationals.

It stands apart from the program: names, numbers and order are those of the standard, and nothing
is taken from `ibi`.
"""

from __future__ import annotations

from fractions import Fraction


class CreateDateToMountSuffixOfIbiOfAnItem:
    """The algorithm with its global variables, `last-date-for-suffix` and `r`."""

    def __init__(self, r: Fraction) -> None:
        """Choose a granularity; `last-date-for-suffix` doesn't exist yet."""
        self.last_date_for_suffix: Fraction | None = None
        self.r = r
        self.waited = Fraction(0)
        """How long the last run had to WAIT."""

    def run(self, current_date: Fraction) -> Fraction:
        """Return `date-for-suffix` for a request at `current-date`."""
        r = self.r
        self.waited = Fraction(0)
        rounded_date = r * _int(current_date, r)  # 1
        if self.last_date_for_suffix is None:  # 2
            self.last_date_for_suffix = rounded_date - r  # 3
        self.last_date_for_suffix = r * _int(self.last_date_for_suffix, r)  # 4
        creation_date = max(self.last_date_for_suffix + r, rounded_date)  # 5
        delay = creation_date - current_date  # 6
        if delay > 0:  # 7
            self._wait(delay)
        short_date = creation_date  # 8
        s = r  # 9
        while self.last_date_for_suffix < short_date:  # 10
            s = 10 * s  # 11
            if s == 10:  # 12
                s = Fraction(60)
            t = short_date  # 13
            if s > 60:  # 14
                break
            short_date = s * _int(creation_date, s)  # 15
        date_for_suffix = t  # 16
        self.last_date_for_suffix = t  # 17
        return date_for_suffix

    def _wait(self, delay: Fraction) -> None:
        """WAIT, on paper."""
        self.waited = delay


def _int(dividend: Fraction, divisor: Fraction) -> int:
    """INT(dividend/divisor): the integer part of a quotient, of dates that are never negative."""
    return dividend // divisor
