"""How long tests wait for something that must happen."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TypeVar

_Found = TypeVar("_Found")

PATIENCE: Final = 60.0
"""Seconds after which a test gives up."""


def wait_until(is_reached: Callable[[], bool]) -> None:
    """Wait until a condition holds; fail if it never does."""
    deadline = time.monotonic() + PATIENCE
    while not is_reached():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)


def wait_for(look: Callable[[], _Found], is_reached: Callable[[_Found], bool]) -> _Found:
    """Look until a condition holds, and return what was seen then.

    Of several workers, the one that answers next may not know it yet.
    """
    seen = [look()]

    def is_seen() -> bool:
        seen[0] = look()
        return is_reached(seen[0])

    if not is_reached(seen[0]):
        wait_until(is_seen)
    return seen[0]
