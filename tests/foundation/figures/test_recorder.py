"""The recorder of figures: what is counted once, also if the storage fails meanwhile."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ibi.errors import StorageFullError
from ibi.foundation.figures import recorder
from ibi.foundation.figures.recorder import FiguresRecorder, FiguresWriter, Readings, encoded
from ibi.foundation.system.clock import SystemClock
from ibi.model.figures import Level, Period, Resolution, Tally, total


class Process:
    """Counters of a process, and a sink that can fail."""

    def __init__(self) -> None:
        self.count = 0
        self.failures = 0
        self.received: list[Tally] = []

    async def read(self) -> Readings:
        """Return the same number as a count, a duration and a level."""
        return Readings({"x": self.count}, {"t": {"0.1": self.count}}, {"l": self.count})

    async def sink(self, tally: Tally) -> None:
        """Take a tally, or fail."""
        if self.failures:
            self.failures -= 1
            raise StorageFullError("here", "the disk is full")
        self.received.append(tally)

    def recorder(self) -> FiguresRecorder:
        """Return the recorder of this process."""
        return FiguresRecorder(self.read, self.sink)


def test_it_records_how_counters_grew() -> None:
    process = Process()

    async def run() -> None:
        figures = process.recorder()
        for count in (3, 3, 10):
            process.count = count
            await figures.record()

    asyncio.run(run())
    assert [tally.counts.get("x", 0) for tally in process.received] == [3, 0, 7]
    assert total(process.received) == Tally(
        {"x": 10}, {"t": {"0.1": 10}}, {"l": Level(3, 16, 3, 10, 10)}
    )


def test_what_could_not_be_stored_is_stored_later_and_once() -> None:
    process = Process()

    async def run() -> None:
        figures = process.recorder()
        figures.open()
        process.failures = 2
        for count in (1, 2, 3):
            process.count = count
            await figures.record()
        process.count = 5
        await figures.close()

    asyncio.run(run())
    assert total(process.received).counts == {"x": 5}


def test_what_it_stores_while_it_is_closed_is_not_stored_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(recorder, "EVERY", 0.0)
    process = Process()
    process.count = 4
    storing, go_on = asyncio.Event(), asyncio.Event()

    async def slow(tally: Tally) -> None:
        storing.set()
        await go_on.wait()
        await process.sink(tally)

    async def run() -> None:
        figures = FiguresRecorder(process.read, slow)
        figures.open()
        await storing.wait()
        closing = asyncio.create_task(figures.close())
        go_on.set()
        await closing

    asyncio.run(run())
    assert total(process.received).counts == {"x": 4}


class Memory:
    """A store that remembers."""

    def __init__(self) -> None:
        self.added: list[tuple[int, Tally]] = []

    def add(self, wall: int, tally: Tally) -> None:
        """Remember a tally."""
        self.added.append((wall, tally))

    def periods(self, resolution: Resolution, first: int, last: int) -> list[Period]:
        """Nothing reads."""
        raise NotImplementedError


def test_tallies_of_other_processes_are_stored_and_garbage_is_not(tmp_path: Path) -> None:
    store = Memory()
    writer = FiguresWriter(store, SystemClock(), tmp_path)
    tally = Tally({"x": 2}, {}, {"l": Level.of(3)})
    asyncio.run(writer.add_encoded(encoded(tally)))
    asyncio.run(writer.add_encoded(b"garbage"))
    assert [each for _, each in store.added] == [tally]


def test_a_nearly_full_disk_is_left_to_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Memory()
    writer = FiguresWriter(store, SystemClock(), tmp_path)
    monkeypatch.setattr("ibi.foundation.system.disk._SMALL_CHANGE", 2**62)
    with pytest.raises(StorageFullError):
        asyncio.run(writer.add(Tally({"x": 1})))
    assert not store.added
