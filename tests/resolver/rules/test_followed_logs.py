"""Which digests stand for an answer, and for how long."""

from __future__ import annotations

from ibi.identifier.ibip import Ibip
from ibi.identifier.instant import Instant
from ibi.model.clock import SECOND
from ibi.resolver.rules.followed_logs import (
    NOTIFY_SECONDS,
    PROMISE_SECONDS,
    FollowedLogs,
    is_young,
)

HOT = 10.0
NOW = 1_800_000_000


def read(followed: FollowedLogs, began: float, *, has_changes: bool = False) -> bool:
    if has_changes:
        followed.note_changes("a")
    return followed.note_page("a", began, notifies=True)


def test_a_digest_stands_for_an_answer_while_its_archive_has_no_news() -> None:
    followed = FollowedLogs(HOT)
    assert not followed.names(0.0)
    assert read(followed, 5.0)
    assert followed.names(5.0) == {"a"}
    assert followed.names(5.0 + PROMISE_SECONDS - 1) == {"a"}
    assert not followed.names(5.0 + PROMISE_SECONDS)


def test_an_archive_that_does_not_notify_is_not_followed() -> None:
    followed = FollowedLogs(HOT)
    assert followed.note_page("a", 1.0, notifies=False)
    assert not followed.names(1.0)
    read(followed, 2.0)
    followed.note_page("a", 3.0, notifies=False)
    assert not followed.names(3.0)


def test_nothing_is_followed_where_answers_must_be_fresher_than_notifications() -> None:
    for seconds in (0.0, 1.0, 3.9):
        followed = FollowedLogs(seconds)
        read(followed, 1.0)
        assert not followed.names(1.0)


def test_a_digest_that_is_not_read_again_after_a_notification_stands_for_half_the_time() -> None:
    followed = FollowedLogs(HOT)
    read(followed, 0.0)
    followed.note_notification("a", 100.0)
    assert followed.names(104.9) == {"a"}
    # A further notification does not extend it.
    followed.note_notification("a", 104.0)
    assert not followed.names(105.0)
    assert read(followed, 106.0, has_changes=True)
    assert followed.names(2000.0) == {"a"}


def test_a_page_that_was_requested_before_a_notification_is_read_again() -> None:
    followed = FollowedLogs(HOT)
    read(followed, 0.0)
    followed.note_notification("a", 100.0)
    assert not read(followed, 99.0)
    assert not followed.names(105.0)
    assert read(followed, 105.0, has_changes=True)
    assert followed.names(106.0) == {"a"}


def test_changes_without_a_notification_end_it_until_one_comes() -> None:
    followed = FollowedLogs(HOT)
    # The first pages of a digest are no news.
    assert read(followed, 0.0, has_changes=True)
    assert followed.names(0.0) == {"a"}
    assert read(followed, 60.0, has_changes=True)
    assert not followed.names(60.0)
    assert read(followed, 120.0)
    assert not followed.names(120.0)
    # One that brings no changes may be forged, and shows nothing.
    followed.note_notification("a", 125.0)
    assert read(followed, 126.0)
    assert not followed.names(126.0)
    followed.note_notification("a", 130.0)
    assert read(followed, 131.0, has_changes=True)
    assert followed.names(131.0) == {"a"}


def test_an_archive_that_is_silent_or_gone_is_not_followed() -> None:
    followed = FollowedLogs(HOT)
    read(followed, 0.0)
    followed.drop("a")
    assert not followed.names(1.0)
    read(followed, 2.0)
    followed.note_page("b", 2.0, notifies=True)
    followed.keep_only({"b"})
    assert followed.names(3.0) == {"b"}
    assert len(followed) == 1


def test_it_reports_what_came_and_went() -> None:
    followed = FollowedLogs(HOT)
    read(followed, 0.0)
    assert followed.take_changed() == {"a"}
    read(followed, 1.0)
    assert followed.take_changed() == set()
    assert not followed.names(2 * PROMISE_SECONDS)
    assert followed.take_changed() == {"a"}


def test_a_label_is_young_if_its_item_may_have_come_after_the_last_reading() -> None:
    def made(seconds: int) -> Ibip:
        return Ibip.mount("192.0.2.1", 80, Instant(seconds))

    assert not is_young(made(NOW - 11), NOW * SECOND, HOT)
    assert is_young(made(NOW - 10), NOW * SECOND, HOT)
    assert is_young(made(NOW + 10_000), NOW * SECOND, HOT)


def test_a_label_without_seconds_is_young_for_a_minute_more() -> None:
    """It may have been made at the end of its minute."""
    label = Ibip.mount("192.0.2.1", 80, Instant(NOW))
    assert is_young(label, (NOW + 69) * SECOND, HOT)
    assert not is_young(label, (NOW + 70) * SECOND, HOT)
    exact = Ibip.mount("192.0.2.1", 80, Instant(NOW, "5"))
    assert not is_young(exact, (NOW + 11) * SECOND, HOT)


def test_a_notification_that_was_passed_on_late_ends_a_promise_as_if_it_had_come_at_once() -> None:
    followed = FollowedLogs(HOT)
    read(followed, 0.0)
    followed.note_notification("a", 104.0, since=100.0)
    assert followed.names(104.9) == {"a"}
    assert not followed.names(105.0)
    # The change may have come after a page that was requested before the notification was here.
    assert not read(followed, 103.0)
    assert read(followed, 104.0)


def test_what_another_process_follows_is_used_until_its_word_is_too_old() -> None:
    followed = FollowedLogs(HOT)
    read(followed, 0.0)
    assert followed.is_valid(10.0**9)
    followed.begin(is_relayed=True)
    assert not followed.names(1.0)
    followed.note_relayed("b", is_followed=True)
    assert not followed.is_valid(1.0)
    followed.extend(5.0)
    followed.extend(4.0)
    assert followed.names(4.9) == {"b"}
    assert followed.is_valid(4.9)
    assert not followed.is_valid(5.0)
    # A page that was requested before the other process took over.
    assert read(followed, 2.0)
    assert followed.names(4.0) == {"b"}
    followed.note_relayed("b", is_followed=False)
    assert not followed.names(4.0)
    followed.begin(is_relayed=False)
    assert followed.is_valid(6.0)


def test_a_change_a_promise_and_a_relayed_promise_take_no_longer_than_an_answer_may_be_old() -> (
    None
):
    for seconds in (4.0, HOT, 60.0):
        followed = FollowedLogs(seconds)
        read(followed, 0.0)
        followed.note_notification("a", NOTIFY_SECONDS)
        end = NOTIFY_SECONDS + seconds / 2
        assert not followed.names(end)
        assert end + followed.relay_seconds <= seconds


def test_archives_that_came_or_went_are_told_twice_to_searches_and_to_other_processes() -> None:
    followed = FollowedLogs(HOT)
    read(followed, 0.0)
    assert followed.take_changed() == {"a"}
    assert followed.take_unpublished() == {"a"}
    read(followed, 1.0)
    assert followed.take_unpublished() == set()
    assert followed.drop("a")
    assert not followed.drop("a")
    assert followed.take_unpublished() == {"a"}
