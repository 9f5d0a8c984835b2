"""How long to wait before somebody takes the place of a worker that died."""

from __future__ import annotations

from ibi.foundation.processes.supervisor import MAX_RESTART_SECONDS, restart_delay


def test_the_first_is_replaced_at_once_and_others_ever_more_slowly() -> None:
    pauses = [restart_delay(deaths) for deaths in range(12)]
    assert pauses[:5] == [0, 0, 0.5, 1, 2]
    assert pauses == sorted(pauses)


def test_nobody_waits_longer_than_the_longest_pause() -> None:
    assert restart_delay(1_000_000) == MAX_RESTART_SECONDS
