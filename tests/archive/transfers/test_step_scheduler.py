"""Courses: each thing is taken further when it is due, by one thread at a time."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ibi.archive.transfers.step_scheduler import (
    NEVER,
    StepScheduler,
)
from ibi.errors import StorageError
from ibi.foundation.system.clock import SystemClock
from ibi.model.clock import SECOND
from tests.support.waiting import PATIENCE, wait_until


@contextmanager
def running(
    step: Callable[[str], int | None], look: Callable[[], list[str]] = list, threads: int = 3
) -> Iterator[StepScheduler]:
    courses = StepScheduler(SystemClock(), step, look, threads)
    courses.start("test")
    try:
        yield courses
    finally:
        courses.stop()


def test_what_is_there_at_the_start_goes_on_until_it_ends() -> None:
    steps: Counter[str] = Counter()

    def step(id_: str) -> int | None:
        steps[id_] += 1
        return 0 if steps[id_] < 3 else None

    with running(step, lambda: ["a", "b"]):
        wait_until(lambda: steps == {"a": 3, "b": 3})


def test_several_go_on_at_once_and_each_by_one_thread() -> None:
    together = threading.Barrier(3)
    busy: Counter[str] = Counter()
    most: Counter[str] = Counter()

    def step(id_: str) -> int:
        busy[id_] += 1
        most[id_] = max(most[id_], busy[id_])
        together.wait(PATIENCE)
        busy[id_] -= 1
        return NEVER

    with running(step) as courses:
        courses.wake("a", "b", "c")
        courses.wake("a", "b", "c")
        wait_until(lambda: most.total() == 3 and not busy.total())
    assert set(most.values()) == {1}


def test_who_is_woken_in_the_middle_of_a_step_is_looked_at_again() -> None:
    steps = 0
    begun, go_on = threading.Event(), threading.Event()

    def step(_: str) -> int | None:
        nonlocal steps
        steps += 1
        begun.set()
        go_on.wait(PATIENCE)
        return None

    with running(step) as courses:
        courses.wake("a")
        assert begun.wait(PATIENCE)
        courses.wake("a")
        go_on.set()
        wait_until(lambda: steps == 2)


def test_nobody_is_looked_at_before_it_is_due_or_after_the_end() -> None:
    steps: list[str] = []

    def step(id_: str) -> int:
        steps.append(id_)
        return NEVER

    with running(step) as courses:
        courses.wake("a")
        wait_until(lambda: steps == ["a"])
        courses.wake("b")
        wait_until(lambda: steps == ["a", "b"])
    courses.wake("a")
    assert steps == ["a", "b"]


def test_a_storage_that_fails_is_asked_later() -> None:
    asked = threading.Event()
    steps: list[str] = []

    def look() -> list[str]:
        asked.set()
        raise StorageError("of the catalogue", "it is locked")

    def step(id_: str) -> None:
        steps.append(id_)

    with running(step, look) as courses:
        assert asked.wait(PATIENCE)
        courses.wake("a")
        wait_until(lambda: steps == ["a"])


def test_a_fault_of_ours_does_not_end_the_others() -> None:
    steps: list[str] = []

    def step(id_: str) -> None:
        steps.append(id_)
        if id_ == "bad":
            raise ZeroDivisionError

    with running(step, threads=1) as courses:
        courses.wake("bad")
        wait_until(lambda: steps == ["bad"])
        courses.wake("good")
        wait_until(lambda: steps == ["bad", "good"])


def test_of_many_some_are_under_way_and_what_must_go_on_at_once_does() -> None:
    steps: list[str] = []
    ids = [str(number) for number in range(200)]

    def step(id_: str) -> int | None:
        steps.append(id_)
        match steps.count(id_):
            case 1:
                return 0
            case 2:
                return SECOND // 1000
            case _:
                return None

    with running(step, threads=1) as courses:
        courses.wake(*ids)
        wait_until(lambda: len(steps) == 3 * len(ids))
    assert all(steps[steps.index(id_) + 1] == id_ for id_ in ids)
    open_ones: Counter[str] = Counter()
    for id_ in steps:
        open_ones[id_] += 1
        if open_ones[id_] == 3:  # its last step
            del open_ones[id_]
        assert len(open_ones) <= 64


def test_those_that_rest_do_not_keep_others_from_beginning() -> None:
    steps: Counter[str] = Counter()

    def step(id_: str) -> int:
        steps[id_] += 1
        return NEVER

    with running(step) as courses:
        courses.wake(*map(str, range(150)))
        wait_until(lambda: len(steps) == 150)


def test_a_step_that_hangs_does_not_keep_the_process_from_its_end() -> None:
    hangs, go_on = threading.Event(), threading.Event()

    def step(_: str) -> None:
        hangs.set()
        go_on.wait(10 * PATIENCE)

    try:
        with running(step, threads=1) as courses:
            courses.wake("a")
            assert hangs.wait(PATIENCE)
        assert courses.is_stopping
    finally:
        go_on.set()
