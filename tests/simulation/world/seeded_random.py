"""Chance that follows from a seed, a stream for each name: whoever is left out changes no other.

So a scenario that is replayed without some of its events meets the same weather on all links that
those events had nothing to do with.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch


class Chance:
    """All streams of one seed."""

    def __init__(self, seed: int) -> None:
        """Begin all of them anew."""
        self._seed = seed
        self._streams: dict[str, random.Random] = {}

    def of(self, name: str) -> random.Random:
        """Return the stream of a name."""
        if name not in self._streams:
            self._streams[name] = random.Random(f"{self._seed}/{name}")  # noqa: S311  # no secret
        return self._streams[name]


@contextmanager
def no_other_chance(chance: Chance) -> Iterator[None]:
    """Let ids and secrets follow from the seed too."""
    draw = chance.of("secrets")
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
