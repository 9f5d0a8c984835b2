"""Figures over time: what is counted and measured in a period, and which periods are kept.

All numbers are whole: a sum is the same in whatever order its parts come, so that several processes
may add to one period, and a day has exactly what its hours have. What comes is added at once to the
minute, the hour and the day in which it came: nothing is rolled up later, and a crash cannot leave
anything out of the longer periods, or count it there twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Final, Protocol, TypeAlias, TypeVar

import msgspec

from ibi.model.clock import SECOND

Durations: TypeAlias = dict[str, int]
"""How many durations there were by the bound in seconds that they did not exceed, as `0.05`.

Each is counted at its least bound only; those beyond all bounds at `BEYOND`.
"""
BEYOND: Final = "+Inf"
_T = TypeVar("_T")
MAX_NAMES: Final = 100
"""Names of one kind in a period at most: whoever may add names, the rows stay small."""


class Level(msgspec.Struct, frozen=True, array_like=True):
    """A quantity that was read one or more times in a period, such as the bytes stored."""

    count: int
    total: int
    """The sum of what was read, for the mean."""
    least: int
    most: int
    last: int

    @classmethod
    def of(cls, value: int) -> Level:
        """Return the level of one reading."""
        return cls(1, value, value, value, value)

    def then(self, later: Level) -> Level:
        """Return the level of this period and a later one."""
        return Level(
            self.count + later.count,
            self.total + later.total,
            min(self.least, later.least),
            max(self.most, later.most),
            later.last,
        )


class Tally(msgspec.Struct, frozen=True, omit_defaults=True):
    """What happened in a period."""

    counts: dict[str, int] = {}
    """How often it happened, by name; without those that did not."""
    durations: dict[str, Durations] = {}
    levels: dict[str, Level] = {}

    def __bool__(self) -> bool:
        """Return whether there is anything to add to a period."""
        return bool(self.counts or self.durations or self.levels)


@dataclass(frozen=True, slots=True)
class Resolution:
    """A length of periods."""

    name: str
    seconds: int
    kept: int
    """How many periods are kept."""

    def start(self, wall: int) -> int:
        """Return when the period begins that has an instant, in seconds of POSIX time.

        `wall` is the instant in nanoseconds.
        """
        seconds = wall // SECOND
        return seconds - seconds % self.seconds


MINUTE: Final = Resolution("minute", 60, 2 * 1440)
HOUR: Final = Resolution("hour", 3600, 60 * 24)
DAY: Final = Resolution("day", 86_400, 10 * 366)
RESOLUTIONS: Final = (MINUTE, HOUR, DAY)
"""All of them, the shortest periods first: two days, sixty days, ten years."""


@dataclass(frozen=True, slots=True)
class Period:
    """A period, and what happened in it."""

    start: int
    """In seconds of POSIX time."""
    tally: Tally


class FigureStore(Protocol):
    """Stores figures; every method raises StorageError if the storage fails."""

    def add(self, wall: int, tally: Tally) -> None:
        """Add to the minute, the hour and the day of an instant, in one step."""
        ...

    def periods(self, resolution: Resolution, first: int, last: int) -> list[Period]:
        """Return the periods that begin from `first` to `last`, the oldest first."""
        ...


def merged(earlier: Tally, later: Tally) -> Tally:
    """Return the tally of both; names beyond `MAX_NAMES` are left out."""
    return Tally(
        _limited(added(earlier.counts, later.counts)),
        _limited(
            {
                name: added(earlier.durations.get(name, {}), later.durations.get(name, {}))
                for name in _names(earlier.durations, later.durations)
            }
        ),
        _limited(
            {
                name: _level(earlier.levels.get(name), later.levels.get(name))
                for name in _names(earlier.levels, later.levels)
            }
        ),
    )


def total(tallies: Iterable[Tally]) -> Tally:
    """Return the tally of a longer period, of its parts in their order."""
    return reduce(merged, tallies, Tally())


def added(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    """Return the sums by name."""
    return {name: one.get(name, 0) + other.get(name, 0) for name in _names(one, other)}


def increase(before: Mapping[str, int], now: Mapping[str, int]) -> dict[str, int]:
    """Return by how much counters grew; one that is less than before has begun again at 0."""
    grown = {
        name: value - before.get(name, 0) if value >= before.get(name, 0) else value
        for name, value in now.items()
    }
    return {name: value for name, value in grown.items() if value > 0}


def quantile(durations: Durations, share: float, bounds: Iterable[float]) -> float | None:
    """Return the seconds that a share of the durations did not exceed; None if there are none.

    `bounds` are all those of the histogram. Between two of them durations count as evenly spread;
    those beyond all bounds count as the greatest one.
    """
    counts = sorted((float(bound), count) for bound, count in durations.items() if count > 0)
    lower = [0.0, *sorted(bounds)]
    wanted = share * sum(count for _, count in counts)
    passed = 0
    for bound, count in counts:
        if passed + count >= wanted:
            below = max(each for each in lower if each < bound)
            width = 0.0 if bound == float(BEYOND) else bound - below
            return below + width * (wanted - passed) / count
        passed += count
    return None


def surplus(starts: Iterable[int], present: int, kept: int) -> list[int]:
    """Return the starts of periods to remove, in order: those farthest from the present period.

    As a rule these are the oldest. Periods that a wrong clock put into the future go first, and a
    clock that goes wrong removes no more of the others than the periods that pass meanwhile.
    """
    by_distance = sorted(starts, key=lambda start: (abs(start - present), start))
    return sorted(by_distance[max(kept, 0) :])


def _names(one: Mapping[str, object], other: Mapping[str, object]) -> list[str]:
    return [*one, *(name for name in other if name not in one)]


def _limited(values: dict[str, _T]) -> dict[str, _T]:
    return values if len(values) <= MAX_NAMES else dict(list(values.items())[:MAX_NAMES])


def _level(earlier: Level | None, later: Level | None) -> Level:
    if earlier is None or later is None:
        level = earlier or later
        assert level is not None  # noqa: S101  # the name is of one of them
        return level
    return earlier.then(later)
