"""A planted bug: a small change of a real rule, as it might be made by mistake."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch


@dataclass(frozen=True, slots=True)
class Mutation:
    """A planted bug, and the number of seeds in which it must be found."""

    name: str
    patches: Mapping[str, Any]
    """Replacements by dotted name."""
    within: int = 60
    """Number of seeds in which it must be found."""

    @contextmanager
    def planted(self) -> Iterator[None]:
        """Replace the names while the context is open."""
        with ExitStack() as stack:
            for place, value in self.patches.items():
                stack.enter_context(patch(place, value))
            yield
