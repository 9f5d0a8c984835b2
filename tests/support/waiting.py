"""How long tests wait for something that must happen."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

PATIENCE: Final = 60.0
"""Seconds after which a test gives up."""


def wait_until(is_reached: Callable[[], bool]) -> None:
    """Wait until a condition holds; fail if it never does."""
    deadline = time.monotonic() + PATIENCE
    while not is_reached():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)
