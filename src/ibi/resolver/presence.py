"""Which of the included archives answer: heard at every question, so it must be quick."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ibi.ports import Clock
from ibi.resolver.outage import Breaker
from ibi.resolver.roster import Roster


class Presence:
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
        self._began = clock.uptime()

    def is_asked(self, name: str) -> bool:
        """Tell whether searches ask an archive: not while it is down."""
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
        self._asked[name] = self._clock.uptime()
        if not silence:
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

    def forgive(self, name: str) -> None:
        """Hold nothing against an archive any more: it has shown that it is there, or moved."""
        self._silences.pop(name, None)
        self._asked[name] = self._clock.uptime()

    def forget(self, name: str) -> None:
        """Forget an archive."""
        self._silences.pop(name, None)
        self._asked.pop(name, None)
