"""Which of the included archives answer. Every reply updates it, so it must be quick.

An outage, or the end of one, that another process recorded is adopted. But a process that has just
received an answer does not adopt the outage, nor does it record the contrary: else two machines, of
which one reaches the archive, would record down and up in turn for ever. Such an archive is
disputed: searches of this process ask it, and the process that runs the health check tries it like
any archive that is down.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from ibi.model.clock import SECOND, Clock
from ibi.model.registration import Outage, RegisteredArchive
from ibi.resolver.rules.archive_roster import Roster
from ibi.resolver.rules.outage import (
    Breaker,
)

RECENT: Final = 5 * SECOND
"""Nanoseconds for which an answer that this process received counts more than a recorded outage."""
_WEIGHT: Final = 0.2
"""The weight of the last answer: some ten answers decide the figure."""
_LEAST: Final = 0.001
"""Seconds of the quickest answer: the clock of the event loop has milliseconds."""


class ResponseTimes:
    """The response times of archives, smoothed; kept in memory only."""

    def __init__(self) -> None:
        """Begin without any."""
        self._seconds: dict[str, float] = {}

    def note(self, archive: str, seconds: float) -> None:
        """Note the time of an answer of an archive."""
        measured = max(seconds, _LEAST)
        before = self._seconds.get(archive, measured)
        self._seconds[archive] = before + _WEIGHT * (measured - before)

    def of(self, archive: str) -> float | None:
        """Return the seconds that an archive takes; None if it has not answered yet."""
        return self._seconds.get(archive)


class Availability:
    """Begins and ends outages in a roster; `report` gets the archive, what happened, and why."""

    def __init__(
        self,
        roster: Roster,
        clock: Clock,
        report: Callable[[str, str, str], None],
        jitter: Callable[[], float],
    ) -> None:
        """Begin without silences."""
        self._roster = roster
        self._clock = clock
        self._report = report
        self._jitter = jitter
        self._silences: dict[str, Breaker] = {}
        """Archives that were silent, and are not down yet."""
        self._asked: dict[str, int] = {}
        self._answered: dict[str, int] = {}
        self._disputed: dict[str, Outage] = {}
        self._began = clock.uptime()

    def is_asked(self, name: str) -> bool:
        """Return whether searches ask an archive: not while it is down."""
        archive = self._roster.find(name)
        return archive is not None and archive.inclusion is not None and archive.outage is None

    def last_asked(self, name: str) -> int:
        """Return the uptime at which an archive last answered or was silent, or of the start."""
        return self._asked.get(name, self._began)

    def note_reply(self, name: str, silence: str) -> None:
        """Record that an archive answered, or the reason for which it did not."""
        archive = self._roster.find(name)
        if archive is None or archive.inclusion is None:
            return
        now = self._asked[name] = self._clock.uptime()
        if not silence:
            self._answered[name] = now
            self._silences.pop(name, None)
            if archive.outage is not None:
                self._roster.put(replace(archive, outage=None))
                self._report(name, "up", "")
            return
        before = self._silences.pop(name, None) or Breaker.of(archive)
        after = before.after_silence(silence, self._clock.wall(), self._jitter())
        if after.outage is None:
            self._silences[name] = after
        elif after.outage != archive.outage:
            self._roster.put(replace(archive, outage=after.outage))
            if archive.outage is None:  # later tries are not recorded
                self._disputed.pop(name, None)
                self._report(name, "down", silence)

    def note_confirmation(self, name: str) -> None:
        """Record that an archive that was down sent its confirmation.

        Searches ask it again. But its silences still count until it answers a question: else an
        archive that confirms and does not answer would go up and down all the time.
        """
        archive = self._roster.find(name)
        failures = archive.outage.failures if archive is not None and archive.outage else 0
        before = self._silences.get(name)
        self.note_reply(name, "")
        if failures or before is not None:
            self._silences[name] = Breaker(failures or (before.silences if before else 0))
        if self._disputed.pop(name, None) is not None:
            self._report(name, "up", "")

    def down(self) -> tuple[RegisteredArchive, ...]:
        """Return the archives that are down, by this process or by the record."""
        disputed = (
            replace(archive, outage=outage)
            for name, outage in self._disputed.items()
            if (archive := self._roster.find(name)) is not None
        )
        return (*self._roster.down(), *disputed)

    def adopt(self, archive: RegisteredArchive, *, is_ours: bool) -> None:
        """Adopt the recorded state; `is_ours` if an outage noticed here is still being written."""
        name, mine = archive.id, self._roster.find(archive.id)
        if mine is None or archive.inclusion is None or archive.address != mine.address:
            self.forget(name)
            self._roster.put(archive)
            return
        disputed = self._disputed.pop(name, None)
        if archive.outage is None and mine.outage is not None and not is_ours:
            self._silences[name] = Breaker(mine.outage.failures)
        elif archive.outage is not None and mine.outage is None and not is_ours:
            if self._has_answered(name):
                self._disputed[name] = disputed or archive.outage
                archive = replace(archive, outage=None)
            else:
                self._silences.pop(name, None)
        else:  # the tries since then are in this process only
            archive = replace(archive, outage=mine.outage)
        self._roster.put(archive)

    def end_disputes(self) -> None:
        """Adopt the recorded outages of archives that have not answered this process recently."""
        for name, outage in list(self._disputed.items()):
            archive = self._roster.find(name)
            if archive is not None and not self._has_answered(name):
                del self._disputed[name]
                self._silences.pop(name, None)
                self._roster.put(replace(archive, outage=outage))

    def _has_answered(self, name: str) -> bool:
        answered = self._answered.get(name)
        return answered is not None and self._clock.uptime() - answered < RECENT

    def reset(self, name: str) -> None:
        """Discard the silences of an archive: it has confirmed, or moved."""
        self._silences.pop(name, None)
        self._disputed.pop(name, None)
        self._asked[name] = self._clock.uptime()

    def forget(self, name: str) -> None:
        """Remove an archive."""
        for known in (self._silences, self._asked, self._answered, self._disputed):
            known.pop(name, None)
