"""Announces the archive to its resolvers: carries out the rule `rules.announcement`.

One thread schedules; each request has a thread of its own, so that a resolver that does not answer
delays no other. All are daemon threads: the process never waits for a resolver in order to end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from threading import Condition, Lock, Thread
from typing import Final, Protocol

from ibi.archive.ports.maintenance import LinkStore
from ibi.archive.rules.announcement import (
    Link,
    LinkRequest,
    Outcome,
    Unreachable,
    after,
    document,
    due,
    leaving,
    read_document,
)
from ibi.errors import ArchiveError, UnknownError
from ibi.model.archive_record import ArchiveRecord
from ibi.model.clock import SECOND, Clock


class CatalogueLinks:
    """The links of one archive."""

    def __init__(self, links: LinkStore) -> None:
        """Keep links in a catalogue."""
        self._links = links

    def all(self) -> list[Link]:
        """Return all links."""
        kept = self._links.all()
        return [read_document(resolver, text) for resolver, text in kept.items()]

    def save(self, link: Link) -> None:
        """Keep a link, in the place of the one to the same resolver."""
        self._links.keep(link.resolver, document(link))

    def remove(self, resolver: str) -> None:
        """Forget a link."""
        self._links.drop(resolver)


class IncludingResolver:
    """Knows the address of a resolver that includes the archive."""

    def __init__(self, links: Iterable[Link], on_change: Callable[[str], None]) -> None:
        """Know these links; `on_change` is told the address now and whenever a link changes."""
        self._links = {link.resolver: link for link in links}
        self._on_change = on_change
        on_change(self.address())

    def observe(self, link: Link) -> None:
        """Take note of a link as it is now."""
        self._links[link.resolver] = link
        self._on_change(self.address())

    def address(self) -> str:
        """Return the address; empty if no resolver includes the archive."""
        found = (each.resolver for each in self._links.values() if each.state == "included")
        return next(found, "")


PATIENCE: Final = 10.0
"""Seconds to wait for a resolver's answer; it asks the archive for confirmation meanwhile."""
PATIENCE_AT_THE_END: Final = 4.0
LONGEST_STOP: Final = 5.0
LONGEST_NAP: Final = 60 * SECOND
"""Nanoseconds between two checks for changes, such as a new address of the machine."""
REST: Final = 5.0
"""Seconds before a failed catalogue is tried again."""
MOST_AT_ONCE: Final = 16


class Links(Protocol):
    """The store of links; every method raises ArchiveError if the store fails."""

    def all(self) -> list[Link]:
        """Return all links."""
        ...

    def save(self, link: Link) -> None:
        """Keep a link, in the place of the one to the same resolver."""
        ...

    def remove(self, resolver: str) -> None:
        """Forget a link."""
        ...


class ResolverClient(Protocol):
    """Sends requests to resolvers."""

    def ask(self, link: Link, request: LinkRequest, seconds: float) -> Outcome:
        """Send a request and return its outcome, within so many seconds."""
        ...


class Announcer:
    """Asks all resolvers to include the archive, and to exclude it when it stops."""

    def __init__(  # noqa: PLR0913  # what it needs of the world, by name
        self,
        links: Links,
        client: ResolverClient,
        record: Callable[[], ArchiveRecord],
        clock: Clock,
        *,
        observe: Callable[[Link], None],
        jitter: Callable[[], float],
    ) -> None:
        """Announce these links; `observe` gets a link after each attempt, in any thread."""
        self._links = links
        self._client = client
        self._record = record
        self._clock = clock
        self._observe = observe
        self._jitter = jitter
        self._said: dict[str, LinkRequest] = {}
        self._asking: set[str] = set()
        self._news = False
        self._on = True
        self._over = False
        self._changed = Condition()
        self._writing = Lock()
        self._thread = Thread(target=self._run, name="announcer", daemon=True)

    def start(self) -> None:
        """Start; the archive must answer already, since resolvers ask it at once."""
        self._thread.start()

    def wake(self) -> None:
        """Check the links and the archive's record now."""
        with self._changed:
            self._news = True
            self._changed.notify_all()

    def link(self, link: Link) -> None:
        """Link the archive to a resolver, or renew the link."""
        with self._writing:
            self._links.save(link)
        self.wake()

    def unlink(self, resolver: str) -> None:
        """Leave a resolver: the link is removed as soon as it has excluded the archive."""
        with self._writing:
            found = [link for link in self._links.all() if link.resolver == resolver]
            if not found:
                raise UnknownError("link to the resolver", resolver)
            self._links.save(leaving(found[0], self._clock.wall()))
        self.wake()

    def stop(self) -> None:
        """Ask all resolvers to exclude the archive, for as long as LONGEST_STOP allows."""
        self._on = False
        self.wake()
        if self._thread.is_alive():
            self._thread.join(LONGEST_STOP)
        self._over = True
        self.wake()

    def fall_silent(self) -> None:
        """Send no more requests: the archive stays on, and another process announces it."""
        self._over = True
        self.wake()

    def _run(self) -> None:
        while True:
            on = self._on
            nap = self._attend(on=on)
            with self._changed:
                if self._over or not (on or self._asking):
                    return
                if not self._news:
                    self._changed.wait(nap)
                self._news = False

    def _attend(self, *, on: bool) -> float:
        """Begin all requests that are due; return the seconds until the next one is."""
        try:
            links, record = self._links.all(), self._record()
        except ArchiveError:
            return REST
        now = self._clock.wall()
        nap = LONGEST_NAP
        for link in links:
            said = self._said.get(link.resolver)
            request = due(link, now, on=on, record=record, said=said)
            if request is None:
                nap = min(nap, max(link.next_try - now, SECOND))
            else:
                self._begin(link, request)
        return nap / SECOND

    def _begin(self, link: Link, request: LinkRequest) -> None:
        with self._changed:
            # The end of a request wakes this thread, which then begins those left out here.
            if link.resolver in self._asking or len(self._asking) >= MOST_AT_ONCE:
                return
            self._asking.add(link.resolver)
        self._said[link.resolver] = request
        Thread(target=self._ask, args=(link, request), name="announcement", daemon=True).start()

    def _ask(self, link: Link, request: LinkRequest) -> None:
        try:
            self._conclude(link, self._outcome(link, request))
        except ArchiveError:
            # The link is unchanged, so that it would be due again at once.
            with self._changed:
                self._changed.wait_for(lambda: not self._on, REST)
        finally:
            with self._changed:
                self._asking.discard(link.resolver)
            self.wake()

    def _outcome(self, link: Link, request: LinkRequest) -> Outcome:
        try:
            seconds = PATIENCE if self._on else PATIENCE_AT_THE_END
            return self._client.ask(link, request, seconds)
        except Exception as fault:  # noqa: BLE001  # a bug must not be retried without a pause
            return Unreachable(f"something unforeseen happened ({type(fault).__name__})")

    def _conclude(self, link: Link, outcome: Outcome) -> None:
        concluded = after(link, outcome, self._clock.wall(), self._jitter())
        with self._writing:
            # The outcome does not apply to a link that was changed or removed meanwhile.
            if self._over or link not in self._links.all():
                return
            if concluded is None:
                self._links.remove(link.resolver)
            else:
                self._links.save(concluded)
        self._observe(concluded or replace(link, state="excluded", reason=""))
