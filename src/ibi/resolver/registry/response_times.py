"""How long archives take to answer, as this process has measured it."""

from __future__ import annotations

from typing import Final

_WEIGHT: Final = 0.2
"""The weight of the last answer: some ten answers decide the figure."""


class ResponseTimes:
    """The response times of archives, smoothed; kept in memory only."""

    def __init__(self) -> None:
        """Begin without any."""
        self._seconds: dict[str, float] = {}

    def note(self, archive: str, seconds: float) -> None:
        """Note the time of an answer of an archive."""
        before = self._seconds.get(archive, seconds)
        self._seconds[archive] = before + _WEIGHT * (seconds - before)

    def of(self, archive: str) -> float | None:
        """Return the seconds that an archive takes; None if it has not answered yet."""
        return self._seconds.get(archive)
