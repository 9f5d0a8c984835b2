"""How many accesses one acknowledgment tells of: our Decision, for Table 6.11 has no such pairs.

    accesses         how many users were sent to the URL, if it was more than one
    accesses.others  "<IBI>:<number>,<IBI>:<number>...": how many were sent to other items there

An archive that knows neither counts one, as it would without them. Only archives that say in their
version that they are ours are told of many at once. The sum of all has a limit, so that one key is
never good for more than that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, TypeAlias

MOST_ACCESSES: Final = 1000
"""That one acknowledgment tells of."""
LONGEST_OTHERS: Final = 40_000
"""Bytes of the others, as they are written in a query: it is to be read by whoever gets it."""

Others: TypeAlias = tuple[tuple[str, int], ...]
"""Labels as they are written, each with a number: whoever counts reads those that he counts."""

_COUNT: Final = re.compile(r"[1-9][0-9]{0,3}")


def read_accesses(text: str) -> int:
    """Read a number of accesses; of none it is one."""
    return _number(text) if text else 1


def read_others(text: str) -> Others:
    """Read how many were sent to other items."""
    if not text:
        return ()
    parts = text.split(",", MOST_ACCESSES)
    found = (part.rpartition(":") for part in parts)
    return tuple([(label, _number(count)) for label, _, count in found])


def written(others: Others) -> str:
    """Write them."""
    return ",".join([f"{label}:{count}" for label, count in others])


def total(accesses: int, others: Iterable[tuple[object, int]]) -> int:
    """Return how many accesses that are in all."""
    return accesses + sum(count for _, count in others)


def _number(text: str) -> int:
    if _COUNT.fullmatch(text) is None or int(text) > MOST_ACCESSES:
        raise ValueError(text)
    return int(text)
