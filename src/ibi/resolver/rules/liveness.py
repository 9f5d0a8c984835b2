"""Detects which processes of one resolver have ended, by their heartbeats.

Machines have different clocks. So no clock is read: each process increments a number in the
database, and a process whose number stays the same too often counts as gone. Only reads count that
succeeded, in which the observer also incremented its own number: a process that sleeps counts
nothing, and while the database is down no process does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

MAX_MISSED_BEATS: Final = 6
"""Observations in a row without a new beat of a process, after which it counts as gone."""


class Liveness:
    """The beats of the other processes, as one process has observed them."""

    def __init__(self) -> None:
        """Begin without observations."""
        self._seen: dict[str, tuple[int, int]] = {}
        """By process: its last beat, and how often it was observed again."""

    def observe(self, beats: Mapping[str, int]) -> None:
        """Compare the beats of all processes with those of the last observation."""
        seen = {}
        for process, beat in beats.items():
            last, looks = self._seen.get(process, (beat, -1))
            seen[process] = (beat, looks + 1 if beat == last else 0)
        self._seen = seen

    def gone(self) -> dict[str, int]:
        """Return the processes that count as gone, each with its last observed beat."""
        return {
            process: beat
            for process, (beat, looks) in self._seen.items()
            if looks >= MAX_MISSED_BEATS
        }
