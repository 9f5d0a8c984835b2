"""A planted bug: a small change of a real rule, as somebody might make it by mistake."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch


@dataclass(frozen=True, slots=True)
class Mutation:
    """A planted bug."""

    name: str
    patches: Mapping[str, Any]
    """What is put in its place, by where it is."""
    within: int = 60
    """Seeds in which it has to be found."""

    @contextmanager
    def planted(self) -> Iterator[None]:
        """Plant it."""
        with ExitStack() as stack:
            for place, value in self.patches.items():
                stack.enter_context(patch(place, value))
            yield
