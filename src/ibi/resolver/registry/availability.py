"""Which of the included archives answer: heard at every question, so it must be quick.

What another process has put on record of an archive is believed, down or up. But who has just had
an answer itself does not believe that the archive is down, nor does it contradict: else two
machines, of which one reaches the archive, would say down and up in turn for ever. Such an archive
is disputed: it is asked here, and whoever is on duty tries it, as any that is down.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from ibi.model.clock import Clock
from ibi.model.registration import Outage, RegisteredArchive
from ibi.resolver.rules.archive_roster import Roster
from ibi.resolver.rules.outage import SECOND, Breaker

RECENT: Final = 5 * SECOND
"""For which an answer that was had here counts more than what others say."""


class Availability:
    """Opens and ends outages in a roster; `tell` gets the archive, what happened, and why."""

    def __init__(
        self,
        roster: Roster,
        clock: Clock,
        tell: Callable[[str, str, str], None],
        jitter: Callable[[], float],
    ) -> None:
        """Begin without suspicion."""
        self._roster = roster
        self._clock = clock
        self._tell = tell
        self._jitter = jitter
        self._silences: dict[str, Breaker] = {}
        """Of archives that were silent, and are not down yet."""
        self._asked: dict[str, int] = {}
        self._answered: dict[str, int] = {}
        self._disputed: dict[str, Outage] = {}
        self._began = clock.uptime()

    def is_asked(self, name: str) -> bool:
        """Return whether searches ask an archive: not while it is down."""
        archive = self._roster.find(name)
        return archive is not None and archive.inclusion is not None and archive.outage is None

    def last_asked(self, name: str) -> int:
        """Return the uptime at which an archive was last heard of, or all this began."""
        return self._asked.get(name, self._began)

    def heard(self, name: str, silence: str) -> None:
        """Note that an archive answered, or by a reason that it did not."""
        archive = self._roster.find(name)
        if archive is None or archive.inclusion is None:
            return
        now = self._asked[name] = self._clock.uptime()
        if not silence:
            self._answered[name] = now
            self._silences.pop(name, None)
            if archive.outage is not None:
                self._roster.put(replace(archive, outage=None))
                self._tell(name, "up", "")
            return
        before = self._silences.pop(name, None) or Breaker.of(archive)
        after = before.after_silence(silence, self._clock.wall(), self._jitter())
        if after.outage is None:
            self._silences[name] = after
        elif after.outage != archive.outage:
            self._roster.put(replace(archive, outage=after.outage))
            if archive.outage is None:  # how often it was tried since is nothing to tell
                self._disputed.pop(name, None)
                self._tell(name, "down", silence)

    def returned(self, name: str) -> None:
        """Note that an archive that was down confirmed that it is there.

        It is asked again. But what was held against it is, until it answers a question: one that
        confirms and does not answer would else go up and down all the time.
        """
        archive = self._roster.find(name)
        failures = archive.outage.failures if archive is not None and archive.outage else 0
        before = self._silences.get(name)
        self.heard(name, "")
        if failures or before is not None:
            self._silences[name] = Breaker(failures or (before.silences if before else 0))
        if self._disputed.pop(name, None) is not None:
            self._tell(name, "up", "")

    def down(self) -> tuple[RegisteredArchive, ...]:
        """Return the archives that are down, here or as others say."""
        disputed = (
            replace(archive, outage=outage)
            for name, outage in self._disputed.items()
            if (archive := self._roster.find(name)) is not None
        )
        return (*self._roster.down(), *disputed)

    def believe(self, archive: RegisteredArchive, *, is_ours: bool) -> None:
        """Show an archive as it is on record; `is_ours` if our own word is on its way there."""
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
        else:  # how often it was tried since is known here alone
            archive = replace(archive, outage=mine.outage)
        self._roster.put(archive)

    def end_disputes(self) -> None:
        """Believe what others say of archives that have not answered here of late."""
        for name, outage in list(self._disputed.items()):
            archive = self._roster.find(name)
            if archive is not None and not self._has_answered(name):
                del self._disputed[name]
                self._silences.pop(name, None)
                self._roster.put(replace(archive, outage=outage))

    def _has_answered(self, name: str) -> bool:
        answered = self._answered.get(name)
        return answered is not None and self._clock.uptime() - answered < RECENT

    def forgive(self, name: str) -> None:
        """Hold nothing against an archive any more: it has shown that it is there, or moved."""
        self._silences.pop(name, None)
        self._disputed.pop(name, None)
        self._asked[name] = self._clock.uptime()

    def forget(self, name: str) -> None:
        """Forget an archive."""
        for known in (self._silences, self._asked, self._answered, self._disputed):
            known.pop(name, None)
