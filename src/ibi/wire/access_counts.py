"""Counts of accesses in one acknowledgment: our Decision, as Table 6.11 has no such pairs.

    accesses         how many users were redirected to the URL, if more than one
    accesses.others  "<IBI>:<number>,<IBI>:<number>...": how many were redirected to other items

An archive that does not support the pairs counts one access, as it would without them. They are
sent only to archives whose version names this software. The sum of all counts is limited, so that
one urlkey is never valid for more.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, TypeAlias

MOST_ACCESSES: Final = 1000
"""The largest number of accesses that one acknowledgment reports."""
LONGEST_OTHERS: Final = 40_000
"""The longest value of accesses.others, in bytes of the query: receivers limit its length."""

Others: TypeAlias = tuple[tuple[str, int], ...]
"""Labels in the spelling received, each with a count: only labels that are counted get parsed."""

_COUNT: Final = re.compile(r"[1-9][0-9]{0,3}")


def read_accesses(text: str) -> int:
    """Parse a number of accesses; an absent value is 1."""
    return _number(text) if text else 1


def read_others(text: str) -> Others:
    """Parse the counts of accesses to other items."""
    if not text:
        return ()
    parts = text.split(",", MOST_ACCESSES)
    found = (part.rpartition(":") for part in parts)
    return tuple([(label, _number(count)) for label, _, count in found])


def written(others: Others) -> str:
    """Return the value of accesses.others."""
    return ",".join([f"{label}:{count}" for label, count in others])


def total(accesses: int, others: Iterable[tuple[object, int]]) -> int:
    """Return the sum of all accesses."""
    return accesses + sum(count for _, count in others)


def _number(text: str) -> int:
    if _COUNT.fullmatch(text) is None or int(text) > MOST_ACCESSES:
        raise ValueError(text)
    return int(text)
