"""Accesses on their way are in the store once, whatever fails."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ibi.errors import StorageError
from ibi.model.clock import SECOND
from ibi.resolver.acknowledgments import outbox
from ibi.resolver.acknowledgments.outbox import AcknowledgmentOutbox
from ibi.resolver.rules.acknowledgment import (
    is_keyed,
)
from tests.support.doubles.minting_machine import FakeClock
from tests.support.scenes.acknowledgments import (
    KEYED,
    REFERRAL,
    MemoryStore,
    flush_at_once,
    keeper,
)


@pytest.fixture(autouse=True)
def _in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    flush_at_once(monkeypatch)


@pytest.mark.parametrize("failures", [(1, 0), (0, 1), (2, 0), (1, 1)])
async def test_what_was_written_or_not_is_written_once(failures: tuple[int, int]) -> None:
    store = MemoryStore()
    # A clock that stands still must not make two writes look like one.
    queue = AcknowledgmentOutbox(store, FakeClock(), keeper())
    other = replace(REFERRAL, url="http://a.example.org/b")
    # Rows that are new, that grow, and both at once.
    for notes in (
        [REFERRAL],
        [REFERRAL.without_key],
        [REFERRAL.without_key],
        [other, other.without_key],
    ):
        store.fails_before, store.fails_after = failures
        for referral in notes:
            queue.note(referral, 5)
        for _ in range(sum(failures)):
            with pytest.raises(StorageError):
                await queue.flush()
        queue.note(REFERRAL.without_key, 1)
        await queue.flush()
        await queue.flush()
    assert store.total() == 5 * 5 + 4 == queue.waiting
    [row] = [row for row in store.rows.values() if not is_keyed(row) and row.count > 4][:1]
    store.fails_before, store.fails_after = failures
    for _ in range(sum(failures)):
        with pytest.raises(StorageError):
            await queue.key(row, KEYED.acknowledgment, 2)
    queue.note(REFERRAL.without_key, 1)
    await queue.flush()
    assert store.total() == 5 * 5 + 5 == queue.waiting


async def test_one_row_grows_while_its_archive_is_out() -> None:
    clock = FakeClock()
    store = MemoryStore()
    queue = AcknowledgmentOutbox(store, clock, keeper())
    for _ in range(5):
        queue.note(REFERRAL.without_key, 3)
        await queue.flush()
    assert [row.count for row in store.rows.values()] == [15]
    clock.true += outbox.GROWING_TIME
    queue.note(REFERRAL.without_key, 2)
    await queue.flush()
    assert [row.count for row in store.rows.values()] == [15, 2]
    # The time of a key is that of its access, however long nothing was noted before.
    queue.note(REFERRAL, 1)
    await queue.flush()
    assert abs(store.rows[3].since - clock.wall()) < SECOND


async def test_a_row_that_grew_since_it_was_read_is_told_whole() -> None:
    store = MemoryStore()
    queue = AcknowledgmentOutbox(store, FakeClock(), keeper())
    queue.note(REFERRAL.without_key, 3)
    await queue.flush()
    _, [row] = await queue.page(0)
    queue.note(REFERRAL.without_key, 4)
    await queue.flush()
    keyed, rest = await queue.key(row, KEYED.acknowledgment, 5)
    assert keyed is not None
    assert rest is not None
    assert (keyed.count, rest.count) == (5, 2)
    queue.done(keyed)
    assert await queue.give_up(rest) == 2
    queue.note(REFERRAL.without_key, 1)
    await queue.flush()
    assert [row.count for row in store.rows.values()] == [1]
    assert queue.waiting == 1


async def test_memory_is_bounded_and_what_is_lost_is_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(outbox, "MAX_NOTED", 2)

    store = MemoryStore(fails_before=1)
    queue = AcknowledgmentOutbox(store, FakeClock(), keeper())
    queue.note(REFERRAL, 1)
    with pytest.raises(StorageError):
        await queue.flush()
    for number in range(3):
        queue.note(replace(REFERRAL, url=f"http://a.example.org/{number}"), 2)
        queue.note(replace(REFERRAL, url="http://a.example.org/0"), 1)
    assert queue.lost == 4
    await queue.flush()
    assert store.total() == 1 + 2 + 3


async def test_no_disk_is_filled_and_what_is_lost_is_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Anybody can read what is known faster than archives can be told."""
    monkeypatch.setattr(outbox, "MAX_ROWS", 3)

    store = MemoryStore()
    queue = AcknowledgmentOutbox(store, FakeClock(), keeper())
    others = [replace(REFERRAL.without_key, url=f"http://a.example.org/{n}") for n in range(4)]
    for each in (*others, REFERRAL):
        queue.note(each, 2)
    await queue.flush()
    # The access that has its key goes before the others.
    assert len(store.rows) == 3
    assert (queue.lost, queue.waiting, store.total()) == (5, 5, 5)
    # Where there is a row already, accesses are added to it.
    queue.note(others[0], 7)
    queue.note(others[3], 1)
    await queue.flush()
    assert (queue.lost, queue.waiting, store.total()) == (6, 12, 12)
    _, rows = await queue.page(0)
    queue.done(next(row for row in rows if is_keyed(row)))
    await queue.flush()
    queue.note(others[3], 1)
    await queue.flush()
    assert (queue.lost, queue.waiting, store.total()) == (6, 12, 12)
