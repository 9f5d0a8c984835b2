"""Random numbers from a seed, with an independent stream per name.

A scenario that is replayed without some of its events draws the same numbers in all other streams.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch


class SeededRandom:
    """The random streams of one seed."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._streams: dict[str, random.Random] = {}

    def stream(self, name: str) -> random.Random:
        """Return the stream of a name."""
        if name not in self._streams:
            self._streams[name] = random.Random(f"{self._seed}/{name}")  # noqa: S311  # no secret
        return self._streams[name]


@contextmanager
def seeded_ids(seeded: SeededRandom) -> Iterator[None]:
    """Patch the sources of ids and secrets to use the seed."""
    draw = seeded.stream("secrets")
    chosen = {
        "uuid.uuid4": lambda: uuid.UUID(int=draw.getrandbits(128), version=4),
        "secrets.token_hex": lambda count=32: draw.randbytes(count).hex(),
        "secrets.token_bytes": lambda count=32: draw.randbytes(count),
        "secrets.randbelow": draw.randrange,
        "random.random": draw.random,
    }
    with ExitStack() as stack:
        for place, function in chosen.items():
            stack.enter_context(patch(place, function))
        yield
