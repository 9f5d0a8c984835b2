"""Items of which archives had news a moment ago: an answer that was asked for before may be old.

News and answers overtake each other. Who was asked before the news came may have said what was
true before the change, and the news has been forgotten about by the time the answer is here.
"""

from __future__ import annotations

from typing import Final

MOST: Final = 50_000
"""Then it is forgotten which items, and all answers that were asked for before may be old."""


class Unsettled:
    """When there were news of an item, by the fingerprint of its label."""

    def __init__(self) -> None:
        """Know of no news."""
        self._news: dict[int, float] = {}
        self._all = float("-inf")

    def note(self, print_: int, now: float) -> None:
        """Note that there are news of an item."""
        if len(self._news) >= MOST:
            self._news.clear()
            self._all = now
        self._news[print_] = now

    def since(self, print_: int, began: float) -> bool:
        """Tell whether there may have been news of an item at a time, or since."""
        return began <= self._all or began <= self._news.get(print_, float("-inf"))
