"""Notifies resolvers that the digest has changed: carries out the rule `Notifications`.

One thread reads the position of the log every second; each message has a thread of its own, so that
a resolver that does not answer delays no other. All are daemon threads.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock, Thread
from typing import Final, Protocol

from ibi.archive.ports.catalogue import NameLog
from ibi.archive.repeating_thread import RepeatingThread
from ibi.archive.rules.announcement import Link, LogPosition, Notifications
from ibi.identifier.label import Label
from ibi.model.clock import Clock

TICK: Final = 1.0
"""Seconds between two reads of the position of the log."""
PATIENCE: Final = 5.0
"""Seconds to wait for the answer of a resolver."""
MOST_AT_ONCE: Final = 16


class NotificationClient(Protocol):
    """Sends notifications to resolvers."""

    def notify(self, link: Link, service: Label, seconds: float) -> bool:
        """Notify a resolver, within so many seconds; return False to try again later."""
        ...


class ChangeNotifier(RepeatingThread):
    """Notifies the resolvers that include the archive of changes, from start to stop."""

    def __init__(  # noqa: PLR0913  # what it needs of the world, by name
        self,
        log: NameLog,
        service: Label,
        links: Callable[[], list[Link]],
        client: NotificationClient,
        clock: Clock,
        *,
        tick: float = TICK,
    ) -> None:
        """Follow the log of the archive of a service label; `links` returns its links."""
        super().__init__(
            "ibi-notifier", self._notify_due, pause=tick, failure="changes cannot be read"
        )
        self._service = service
        self._log = log
        self._links = links
        self._client = client
        self._clock = clock
        self._notifications = Notifications()
        self._sending: set[str] = set()
        self._changing = Lock()

    def _notify_due(self) -> bool:
        """Begin all notifications that are due; return True, because more may follow."""
        links = self._links()
        if not links:
            return True
        state = self._log.state()
        position = LogPosition(state.epoch, state.last)
        with self._changing:
            due = self._notifications.due(links, position, self._clock.uptime())
            begun = [link for link in due if link.resolver not in self._sending]
            begun = begun[: MOST_AT_ONCE - len(self._sending)]
            self._sending.update(link.resolver for link in begun)
        for link in begun:
            Thread(
                target=self._send, args=(link, position), name="notification", daemon=True
            ).start()
        return True

    def _send(self, link: Link, position: LogPosition) -> None:
        is_delivered = False
        try:
            is_delivered = self._client.notify(link, self._service, PATIENCE)
        finally:
            now = self._clock.uptime()
            with self._changing:
                self._sending.discard(link.resolver)
                if is_delivered:
                    self._notifications.delivered(link.resolver, position, now)
                else:
                    self._notifications.failed(link.resolver, now)
