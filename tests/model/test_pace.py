"""Back-off, token buckets and even pacing: pure rules."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ibi.model.clock import SECOND
from ibi.model.pace import Backoff, Pace, RetryTimes, TokenBuckets

NOW = 1_700_000_000 * SECOND


def test_a_wait_doubles_until_the_longest() -> None:
    backoff = Backoff(5, 300)
    assert [backoff.wait(n) for n in range(9)] == [5, 10, 20, 40, 80, 160, 300, 300, 300]
    assert backoff.wait(1_000_000) == 300


def test_a_wait_grows_by_another_factor() -> None:
    backoff = Backoff(1000, 3000, factor=1.5)
    assert [backoff.wait(n) for n in range(5)] == [1000, 1500, 2250, 3000, 3000]
    assert backoff.wait(1_000_000) == 3000


@given(st.integers(0, 10_000), st.floats(0, 1, exclude_max=True))
def test_half_of_a_wait_is_left_to_chance(failures: int, jitter: float) -> None:
    backoff = Backoff(1 * SECOND, 60 * SECOND)
    longest = backoff.jittered(failures, 1.0)
    assert longest // 2 <= backoff.jittered(failures, jitter) <= longest <= 60 * SECOND
    assert longest >= 1 * SECOND


def test_each_failure_of_a_key_makes_its_wait_longer_but_not_for_ever() -> None:
    retries = RetryTimes(Backoff(SECOND, 60 * SECOND))
    assert retries.retry_at("a") == 0
    found = []
    for _ in range(9):
        retries.failed("a", NOW)
        found.append((retries.retry_at("a") - NOW) // SECOND)
    assert found == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert retries.retry_at("b") == 0
    retries.forget("a")
    retries.forget("a")
    assert retries.retry_at("a") == 0


def test_a_bucket_gives_its_burst_at_once_and_its_rate_in_the_long_run() -> None:
    buckets = TokenBuckets(rate=2, burst=3, max_keys=10)
    assert [buckets.take("a", NOW) for _ in range(5)] == [0, 0, 0, SECOND // 2, SECOND // 2]
    assert buckets.take("b", NOW, cost=3) == 0
    assert buckets.take("b", NOW, cost=2) == SECOND
    assert buckets.take("a", NOW + SECOND // 2) == 0
    assert buckets.take("a", NOW + SECOND // 2) == SECOND // 2
    assert [buckets.take("a", NOW + 9 * SECOND) for _ in range(4)] == [0, 0, 0, SECOND // 2]


def test_more_than_a_bucket_holds_is_taken_from_a_full_one_and_owed() -> None:
    buckets = TokenBuckets(rate=2, burst=4, max_keys=10)
    assert buckets.take("a", NOW, cost=1) == 0
    assert buckets.take("a", NOW, cost=10) == SECOND // 2
    later = NOW + SECOND // 2
    assert buckets.take("a", later, cost=10) == 0
    # Six tokens are owed: three seconds, in which nothing can be taken.
    assert buckets.take("a", later, cost=0) == 3 * SECOND
    assert buckets.take("a", later + 3 * SECOND, cost=0) == 0
    assert buckets.take("a", later + 3 * SECOND, cost=1) == SECOND // 2


def test_the_bucket_that_was_used_longest_ago_is_forgotten_first() -> None:
    buckets = TokenBuckets(rate=1, burst=1, max_keys=2)
    assert [buckets.take(key, NOW) for key in "abc"] == [0, 0, 0]
    assert [buckets.take(key, NOW) for key in "cba"] == [SECOND, SECOND, 0]


def test_turns_are_spaced_out_for_each_key() -> None:
    pace = Pace(50)
    assert [pace.before(NOW, key="a") for _ in range(4)] == [n * SECOND // 50 for n in range(4)]
    assert pace.before(NOW, key="b") == 0
    assert pace.before(NOW + SECOND, key="a") == 0
    assert pace.before(NOW + SECOND + 1, key="a") == SECOND // 50 - 1
