"""How much is tried: what there is time for in `make test`, and all of it in `make long`.

Whoever asks is marked `many`, so that `make long` runs it again.
"""

from __future__ import annotations

import os
from typing import Final

FULL: Final = os.environ.get("IBI_TESTS") == "full"
_SHARE: Final = 5


def tried(count: int) -> int:
    """Return how many of so many examples are tried in this run."""
    return count if FULL else max(1, count // _SHARE)
