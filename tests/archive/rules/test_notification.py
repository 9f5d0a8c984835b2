"""When resolvers are notified of changes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ibi.archive.rules.announcement import Link, LinkState, LogPosition, Notifications
from ibi.model.archive_record import RegistrationKey
from ibi.model.clock import SECOND

LINK = Link("http://resolver.example", RegistrationKey("1" * 39), state="included")
FIRST, NEXT = LogPosition("0" * 32, 7), LogPosition("0" * 32, 9)
NOW = 100 * SECOND


def test_a_resolver_is_notified_after_a_start_and_then_of_each_new_position() -> None:
    notifications = Notifications()
    assert notifications.due([LINK], FIRST, NOW) == [LINK]
    notifications.delivered(LINK.resolver, FIRST, NOW)
    assert notifications.due([LINK], FIRST, NOW + 9 * SECOND) == []
    assert notifications.due([LINK], NEXT, NOW + 9 * SECOND) == [LINK]


def test_changes_in_a_row_are_one_notification_a_second() -> None:
    notifications = Notifications()
    notifications.due([LINK], FIRST, NOW)
    notifications.delivered(LINK.resolver, FIRST, NOW)
    assert notifications.due([LINK], NEXT, NOW + SECOND - 1) == []
    assert notifications.due([LINK], NEXT, NOW + SECOND) == [LINK]


def test_a_resolver_that_cannot_be_notified_is_tried_until_it_can() -> None:
    notifications = Notifications()
    now, waits = NOW, []
    for _ in range(9):
        assert notifications.due([LINK], FIRST, now) == [LINK]
        notifications.failed(LINK.resolver, now)
        begun = now
        while not notifications.due([LINK], FIRST, now):
            now += SECOND
        waits.append((now - begun) // SECOND)
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    notifications.delivered(LINK.resolver, FIRST, now)
    assert notifications.due([LINK], FIRST, now + 100 * SECOND) == []


@pytest.mark.parametrize(
    ("state", "is_notified"),
    [
        ("included", True),
        ("unconfirmed", True),
        ("pending", False),
        ("refused", False),
        ("excluded", False),
        ("unreachable", False),
        ("leaving", False),
    ],
)
def test_resolvers_that_include_the_archive_are_notified(
    state: LinkState, *, is_notified: bool
) -> None:
    link = replace(LINK, state=state)
    assert bool(Notifications().due([link], FIRST, NOW)) == is_notified


def test_a_resolver_that_includes_the_archive_again_is_notified_again() -> None:
    notifications = Notifications()
    notifications.due([LINK], FIRST, NOW)
    notifications.delivered(LINK.resolver, FIRST, NOW)
    assert notifications.due([replace(LINK, state="excluded")], FIRST, NOW + SECOND) == []
    assert notifications.due([LINK], FIRST, NOW + 2 * SECOND) == [LINK]
