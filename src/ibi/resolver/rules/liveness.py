"""Which of the processes that serve one resolver are still there: pure.

No two machines have the same time. So nobody looks at a clock: whoever is there counts a number in
the database up, and whoever sees the same number too often says that the other is gone. A look is
one that succeeded, when the looker showed itself: who sleeps does not count, and while the database
is down nobody does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

LOOKS: Final = 6
"""In a row that see no beat of a process, after which it counts as gone."""


class Liveness:
    """What one process has seen of the others."""

    def __init__(self) -> None:
        """Begin without suspicion."""
        self._seen: dict[str, tuple[int, int]] = {}
        """By process: its last beat, and how often that was seen since it was new."""

    def look(self, beats: Mapping[str, int]) -> None:
        """Note who is there, and how often each has said so."""
        seen = {}
        for process, beat in beats.items():
            last, looks = self._seen.get(process, (beat, -1))
            seen[process] = (beat, looks + 1 if beat == last else 0)
        self._seen = seen

    def gone(self) -> dict[str, int]:
        """Return who has not been heard of for too long, by the beat that was seen last."""
        return {process: beat for process, (beat, looks) in self._seen.items() if looks >= LOOKS}
