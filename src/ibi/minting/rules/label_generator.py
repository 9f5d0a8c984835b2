"""The label generator: both forms of a label from one instant (003, Algorithms 2, 3, 6 and 7).

Many labels share one second: the part of a label that the second determines is built once by the
routines of the standard, and only the fraction is written for each. A test checks that the result
equals `RepositoryName.mount` and `Ibip.mount`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import repeat
from typing import Final, NamedTuple

from ibi.identifier import ibip, repository_name
from ibi.identifier.ibip import coded_fraction
from ibi.identifier.instant import EPOCH, TWO_DIGITS, Instant, instant_of
from ibi.identifier.numerals import IBIP
from ibi.minting.rules.subsystem import Subsystem
from ibi.model.clock import SECOND


class Minted(NamedTuple):
    """The labels of one item, in their canonical spelling; None for a form it does not have."""

    rep: str | None
    ibip: str | None
    nanoseconds: int
    """The instant of both labels, in POSIX time."""

    @property
    def instant(self) -> Instant:
        """The instant of both labels."""
        return instant_of(self.nanoseconds)

    def __str__(self) -> str:
        """Return both labels with a tab between them."""
        return f"{self.rep or ''}\t{self.ibip or ''}"


EARLIEST: Final = EPOCH.seconds * SECOND
"""The earliest instant: the epoch of the IBIp. An earlier clock is wrong in any case."""

LATEST: Final = 2**63 - 1
"""The latest instant: 2262-04-11, the end of the 64 bits in a ledger."""


_minted = partial(tuple.__new__, Minted)
"""Minted._make without its overhead in Python: labels are made by the million."""

_BLOCK: Final = 1000
_THREE_DIGITS: Final = tuple(f"{number:03}" for number in range(_BLOCK))
_RUNS: Final = {10 ** (9 - digits): digits for digits in range(4, 10)}
"""Steps between instants for which a block is faster, with the digits of their fractions."""


class LabelGenerator:
    """Makes the labels of one subsystem."""

    def __init__(self, subsystem: Subsystem) -> None:
        self._rep_prefix = subsystem.rep_prefix
        self._ibip_prefix = subsystem.ibip_prefix
        self._mounted = self._mount(EPOCH.seconds)

    def label(self, nanoseconds: int) -> Minted:
        """Return the labels of an instant."""
        seconds, rest = divmod(nanoseconds, SECOND)
        second, rep, opaque, rep_stem, opaque_stem = self._mounted
        if second != seconds:
            second, rep, opaque, rep_stem, opaque_stem = self._mounted = self._mount(seconds)
        if not rest:
            return _minted((rep, opaque, nanoseconds))
        digits = f"{rest:09}".rstrip("0")
        return _minted(
            (
                rep_stem + digits if rep_stem else None,
                opaque_stem + coded_fraction(digits) if opaque_stem else None,
                nanoseconds,
            )
        )

    def labels(self, instants: Sequence[int]) -> list[Minted]:
        """Return the labels of many instants, in any order; evenly spaced ones are made faster."""
        count = len(instants)
        step = instants[-1] - instants[-2] if count > _BLOCK // 10 else 0
        if step not in _RUNS:
            return [self.label(instant) for instant in instants]
        # A batch begins with some short labels; from then on it is evenly spaced.
        begin = instants[-1] - (count - 1) * step
        short = next(i for i in range(count) if instants[i] == begin + i * step)
        labels = [self.label(instant) for instant in instants[:short]]
        while len(labels) < count:
            labels += self._block(instants[len(labels)], step, count - len(labels))
        return labels

    def _block(self, first: int, step: int, most: int) -> list[Minted]:
        """Return the labels of a run as long as they differ in three decimal digits only."""
        seconds, rest = divmod(first, SECOND)
        high, low = divmod(rest // step, _BLOCK)
        count = min(most, _BLOCK - low)
        instants = range(first, first + count * step, step)
        if not high:
            # The number of leading zeros changes within the block.
            return [self.label(instant) for instant in instants]
        mounted = self._mounted  # read once: another thread may replace it at any moment
        if mounted[0] != seconds:
            mounted = self._mounted = self._mount(seconds)
        _, _, _, rep_stem, opaque_stem = mounted
        digits = f"{high:0{_RUNS[step] - 3}}"
        reps: Iterable[str | None] = repeat(None)
        opaques: Iterable[str | None] = repeat(None)
        if rep_stem:
            head = rep_stem + digits
            reps = [head + text for text in _THREE_DIGITS[low : low + count]]
        if opaque_stem:
            zeros = IBIP.digits[0] * (len(digits) - len(digits.lstrip("0")))
            opaques = IBIP.consecutive(high * _BLOCK + low, count, opaque_stem + zeros)
        labels = list(map(_minted, zip(reps, opaques, instants, strict=False)))
        # A fraction that ends in zero is written without the zero.
        for index in range(-low % 10, count, 10):
            labels[index] = self.label(instants[index])
        return labels

    def _mount(self, seconds: int) -> tuple[int, str | None, str | None, str, str]:
        """Return both labels of a second, and both up to where a fraction would begin."""
        instant = Instant(seconds)
        rep = opaque = None
        rep_stem = opaque_stem = ""
        if self._rep_prefix:
            rep = f"{self._rep_prefix}/{repository_name.mount_suffix(instant)}"
            # A whole minute has no second; before a fraction the second is written, even if zero.
            whole = rep if seconds % 60 else f"{rep}.{TWO_DIGITS[0]}"
            rep_stem = f"{whole}."
        if self._ibip_prefix:
            opaque = f"{self._ibip_prefix}/{ibip.mount_suffix(instant)}"
            opaque_stem = f"{opaque}W"
        return seconds, rep, opaque, rep_stem, opaque_stem
