"""Notices of changes, from an archive's log to resolvers over real sockets."""

from __future__ import annotations

import socket

import pytest

from ibi.archive.peers.resolver_client import HttpResolverClient
from ibi.archive.ports.catalogue import DigestState, NameChange
from ibi.archive.resolver_links.change_notifier import ChangeNotifier
from ibi.archive.rules.announcement import Link
from ibi.foundation.system.clock import SystemClock
from ibi.identifier.label import parse
from ibi.model.archive_record import RegistrationKey
from tests.support.doubles.faulty_servers import CannedServer
from tests.support.waiting import PATIENCE, wait_until

SERVICE = parse("LK47B6W/362SFKH")
KEY = RegistrationKey("1" * 39)


class Log:
    """The log of a catalogue, of which only the end matters."""

    def __init__(self) -> None:
        self.last = 7

    def state(self) -> DigestState:
        """Return the state."""
        return DigestState("5a" * 16, self.last, whole=True)

    def has(self, number: int) -> bool:
        """Know every number."""
        return bool(number)

    def changes(self, after: int, last: int, limit: int) -> list[NameChange]:
        """Return none."""
        del after, last, limit
        return []

    def fill(self) -> bool:
        """Have nothing to fill."""
        return False


def link(address: str) -> Link:
    return Link(address, KEY, state="included")


@pytest.mark.parametrize(
    ("status", "is_received"),
    [
        ("204 No Content", True),
        ("404 Not Found", True),
        ("429 Too Many Requests", False),
        ("503 Service Unavailable", False),
    ],
)
def test_a_resolver_has_received_what_it_answers_for_good(
    status: str, *, is_received: bool
) -> None:
    with CannedServer(status) as resolver:
        assert HttpResolverClient().notify(link(resolver.address), SERVICE, PATIENCE) == is_received
        [head] = resolver.heard
    assert head.startswith(b"POST /api/v1/archives/LK47B6W/362SFKH/changes HTTP/1.1\r\n")


def test_a_resolver_that_is_not_there_has_received_nothing() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        host, port = free.getsockname()
        assert not HttpResolverClient().notify(link(f"http://{host}:{port}"), SERVICE, PATIENCE)


def test_each_resolver_is_notified_of_each_change_whatever_the_others_do() -> None:
    log = Log()
    with CannedServer("204 No Content") as one, CannedServer("503 Service Unavailable") as other:
        links = [link(one.address), link(other.address)]
        notifier = ChangeNotifier(
            log, SERVICE, lambda: links, HttpResolverClient(), SystemClock(), tick=0.01
        )
        notifier.start()
        try:
            wait_until(lambda: len(one.heard) == 1)
            log.last = 9
            wait_until(lambda: len(one.heard) == 2)
            # The other one is tried again, though nothing has changed.
            wait_until(lambda: len(other.heard) >= 2)
            assert len(one.heard) == 2
        finally:
            notifier.stop()
