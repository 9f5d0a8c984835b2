"""Tasks: begun, reported on, cancelled, interrupted and gone on with, whatever fails meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ibi.archive.ports.maintenance import TaskStore
from ibi.archive.tasks import CancelledError, InterruptedTaskError, TaskProgress, Tasks, Work
from ibi.errors import ArchiveRequestError, StateError, StorageError
from ibi.model.task import Task, TaskState
from tests.support.scenes.small_archive import SECOND, TickingClock, open_catalogue
from tests.support.waiting import PATIENCE, wait_until


@pytest.fixture
def store(tmp_path: Path) -> Iterator[TaskStore]:
    catalogue = open_catalogue(tmp_path / "catalogue.sqlite")
    yield catalogue.tasks
    catalogue.close()


@pytest.fixture
def clock() -> TickingClock:
    return TickingClock()


@contextmanager
def at_work(store: TaskStore, clock: TickingClock, works: Mapping[str, Work]) -> Iterator[Tasks]:
    """Let tasks be done while the block runs."""
    tasks = Tasks(store, clock, works)
    tasks.start()
    try:
        yield tasks
    finally:
        tasks.stop()


def ended(tasks: Tasks, task: Task) -> Task:
    """Wait until a task has ended, and return it."""
    wait_until(lambda: tasks.get(task.id).state.has_ended)
    return tasks.get(task.id)


@dataclass
class Gate:
    """Work that goes on, step by step, when the test lets it."""

    steps: int = 1
    total: int = 0
    reached: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    let: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    begun_at: list[str] = field(default_factory=list)
    at_once: int = 0
    most_at_once: int = 0

    def __call__(self, progress: TaskProgress) -> None:
        """Take steps from the place that was reported last."""
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        self.begun_at.append(progress.task.place)
        try:
            for step in range(int(progress.task.place or 0), self.steps):
                self.reached.release()
                assert self.let.acquire(timeout=PATIENCE)
                progress.report(done=step + 1, total=self.total or self.steps, place=str(step + 1))
        finally:
            self.at_once -= 1

    def wait(self) -> None:
        """Wait until it stands at a step."""
        assert self.reached.acquire(timeout=PATIENCE)


def nothing(_: TaskProgress) -> None:
    """Be done at once."""


# --- begun, reported, done ------------------------------------------------------------------------


def test_a_task_is_done_and_tells_what_came_of_it(store: TaskStore, clock: TickingClock) -> None:
    seen: list[object] = []

    def work(progress: TaskProgress) -> None:
        seen.extend([progress.request, progress.result, progress.task.state])
        progress.report(done=2, total=2, place="b", note="at b", result={"found": ["x"]})
        seen.append(progress.result)

    with at_work(store, clock, {"audit": work}) as tasks:
        task = tasks.begin("audit", {"item": "ç"}, "me")
        assert (task.state, task.who, task.kind) == (TaskState.WAITING, "me", "audit")
        done = ended(tasks, task)
    assert seen == [{"item": "ç"}, {}, TaskState.RUNNING, {"found": ["x"]}]
    assert (done.state, done.done, done.total, done.place) == (TaskState.DONE, 2, 2, "b")
    assert (done.note, done.result) == ("", '{"found":["x"]}')
    assert done.ended > done.begun == task.begun


def test_what_was_begun_before_anybody_works_is_done_then(
    store: TaskStore, clock: TickingClock
) -> None:
    task = Tasks(store, clock, {"audit": nothing}).begin("audit", {}, "me")
    assert store.unfinished() == [task]
    with at_work(store, clock, {"audit": nothing}) as tasks:
        assert ended(tasks, task).state is TaskState.DONE


def test_works_may_be_registered_after_the_tasks_were_made(
    store: TaskStore, clock: TickingClock
) -> None:
    works: dict[str, Work] = {}
    tasks = Tasks(store, clock, works)
    works["late"] = nothing
    tasks.start()
    try:
        assert ended(tasks, tasks.begin("late", {}, "me")).state is TaskState.DONE
    finally:
        tasks.stop()


def test_the_newest_come_first(store: TaskStore, clock: TickingClock) -> None:
    tasks = Tasks(store, clock, {"a": nothing, "b": nothing})
    made = [tasks.begin(kind, {}, "me") for kind in ("a", "b", "a")]
    assert tasks.newest(9) == made[::-1]
    assert tasks.newest(1) == made[2:]
    assert tasks.newest(9, "b") == made[1:2]


class CountingStore:
    """A store that counts what it keeps, and may fail."""

    def __init__(self, store: TaskStore) -> None:
        """Keep in another."""
        self._store = store
        self.kept: list[Task] = []
        self.failures = 0

    def keep(self, task: Task) -> None:
        """Keep a task, or fail."""
        self._fail()
        self.kept.append(task)
        self._store.keep(task)

    def get(self, id: str) -> Task | None:  # noqa: A002  # what it is called everywhere
        """Return a task."""
        return self._store.get(id)

    def newest(self, limit: int, kind: str = "") -> list[Task]:
        """Return the newest tasks."""
        return self._store.newest(limit, kind)

    def unfinished(self) -> list[Task]:
        """Return those that have not ended, or fail."""
        self._fail()
        return self._store.unfinished()

    def _fail(self) -> None:
        if self.failures:
            self.failures -= 1
            raise StorageError("of the test", "it is gone")


def test_a_report_is_kept_once_in_a_second_and_when_it_must_be(
    store: TaskStore, clock: TickingClock
) -> None:
    counting = CountingStore(store)

    def work(progress: TaskProgress) -> None:
        for done in range(1, 100):
            progress.report(done=done)
        clock.sleep(SECOND)
        progress.report(done=100)
        progress.report(done=101)
        progress.keep()

    with at_work(counting, clock, {"audit": work}) as tasks:
        ended(tasks, tasks.begin("audit", {}, "me"))
    # Begun, running, after a second, when it must be, done.
    assert [task.done for task in counting.kept] == [0, 0, 100, 101, 101]


# --- one at a time --------------------------------------------------------------------------------


def test_of_one_kind_there_is_one_at_a_time_in_their_order(
    store: TaskStore, clock: TickingClock
) -> None:
    gate = Gate()
    with at_work(store, clock, {"audit": gate}) as tasks:
        made = [tasks.begin("audit", {}, "me") for _ in range(3)]
        for turn in range(3):
            gate.wait()
            states = [tasks.get(task.id).state for task in made]
            assert states == [TaskState.DONE] * turn + [TaskState.RUNNING] + [TaskState.WAITING] * (
                2 - turn
            )
            gate.let.release()
        ended(tasks, made[2])
    assert gate.most_at_once == 1


def test_one_kind_waits_for_no_other(store: TaskStore, clock: TickingClock) -> None:
    gate = Gate()
    with at_work(store, clock, {"audit": gate, "copy": nothing}) as tasks:
        slow = tasks.begin("audit", {}, "me")
        gate.wait()
        assert ended(tasks, tasks.begin("copy", {}, "me")).state is TaskState.DONE
        assert tasks.get(slow.id).state is TaskState.RUNNING
        gate.let.release()
        assert ended(tasks, slow).state is TaskState.DONE


# --- cancelled ------------------------------------------------------------------------------------


def test_a_task_at_work_ends_where_it_reports_next(store: TaskStore, clock: TickingClock) -> None:
    gate = Gate(steps=5)
    with at_work(store, clock, {"audit": gate}) as tasks:
        task = tasks.begin("audit", {}, "me")
        gate.wait()
        gate.let.release()
        gate.wait()
        told = tasks.cancel(task.id)
        assert (told.state, told.note) == (TaskState.CANCELLED, "This task was cancelled.")
        gate.let.release()
        wait_until(lambda: tasks.get(task.id).place == "2")
        with pytest.raises(StateError, match="ended already: cancelled"):
            tasks.cancel(task.id)
        # The next one of its kind is done.
        gate.let.release(5)
        assert ended(tasks, tasks.begin("audit", {}, "me")).state is TaskState.DONE
    found = tasks.get(task.id)
    assert (found.state, found.done) == (TaskState.CANCELLED, 2)
    assert gate.begun_at == ["", ""]


def test_a_task_that_waits_is_never_begun(store: TaskStore, clock: TickingClock) -> None:
    gate = Gate()
    with at_work(store, clock, {"audit": gate}) as tasks:
        first, second, third = (tasks.begin("audit", {}, "me") for _ in range(3))
        gate.wait()
        tasks.cancel(second.id)
        gate.let.release(2)
        assert ended(tasks, third).state is TaskState.DONE
        assert ended(tasks, first).state is TaskState.DONE
        assert tasks.get(second.id).state is TaskState.CANCELLED
    assert len(gate.begun_at) == 2


def test_a_cancelled_task_stays_so_after_a_restart(store: TaskStore, clock: TickingClock) -> None:
    """Also if the process ends before the work notices."""
    gate = Gate(steps=5)
    tasks = Tasks(store, clock, {"audit": gate})
    tasks.start()
    task = tasks.begin("audit", {}, "me")
    gate.wait()
    tasks.cancel(task.id)
    stopping = threading.Thread(target=tasks.stop)
    stopping.start()
    gate.let.release(5)
    stopping.join(PATIENCE)
    with at_work(store, clock, {"audit": gate}) as again:
        gate.let.release(5)
        assert ended(again, again.begin("audit", {}, "me")).state is TaskState.DONE
        assert again.get(task.id).state is TaskState.CANCELLED
    assert gate.begun_at == ["", ""]


def test_a_task_of_a_kind_that_nobody_does_can_be_cancelled(
    store: TaskStore, clock: TickingClock
) -> None:
    task = Tasks(store, clock, {"old": nothing}).begin("old", {}, "me")
    with at_work(store, clock, {"audit": nothing}) as tasks:
        assert tasks.get(task.id).state is TaskState.WAITING
        tasks.cancel(task.id)
        assert tasks.get(task.id).state is TaskState.CANCELLED


def test_work_that_ends_before_it_reports_is_done_though_it_was_cancelled(
    store: TaskStore, clock: TickingClock
) -> None:
    reached, let = threading.Event(), threading.Event()

    def work(_: TaskProgress) -> None:
        reached.set()
        assert let.wait(PATIENCE)

    with at_work(store, clock, {"audit": work}) as tasks:
        task = tasks.begin("audit", {}, "me")
        assert reached.wait(PATIENCE)
        tasks.cancel(task.id)
        let.set()
        wait_until(lambda: tasks.get(task.id).state is TaskState.DONE)


# --- failed ---------------------------------------------------------------------------------------


def test_a_task_that_fails_says_why_and_the_next_is_done(
    store: TaskStore, clock: TickingClock, capsys: pytest.CaptureFixture[str]
) -> None:
    faults: list[Exception] = [ArchiveRequestError("It cannot be."), ZeroDivisionError("x")]

    def work(progress: TaskProgress) -> None:
        progress.report(done=1, total=2)
        if faults:
            raise faults.pop(0)

    with at_work(store, clock, {"audit": work}) as tasks:
        made = [tasks.begin("audit", {}, "me") for _ in range(3)]
        found = [ended(tasks, task) for task in made]
    failed, done = TaskState.FAILED, TaskState.DONE
    assert [task.state for task in found] == [failed, failed, done]
    assert found[0].note == "It cannot be."
    assert found[1].note == "Something unforeseen happened (ZeroDivisionError)."
    assert [task.done for task in found] == [1, 1, 1]
    assert all(task.ended for task in found)
    assert "ZeroDivisionError" in capsys.readouterr().out


# --- interrupted ----------------------------------------------------------------------------------


def test_a_task_goes_on_from_its_place_after_a_restart(
    store: TaskStore, clock: TickingClock
) -> None:
    gate = Gate(steps=3)
    tasks = Tasks(store, clock, {"audit": gate})
    tasks.start()
    task = tasks.begin("audit", {"a": 1}, "me")
    gate.wait()
    gate.let.release()
    gate.wait()
    stopping = threading.Thread(target=tasks.stop)
    stopping.start()
    gate.let.release()  # the second step is done, and reporting it ends the work
    stopping.join(PATIENCE)
    assert not stopping.is_alive()
    left = tasks.get(task.id)
    assert (left.state, left.place, left.done) == (TaskState.RUNNING, "2", 2)
    with at_work(store, clock, {"audit": gate}) as again:
        gate.let.release(3)
        done = ended(again, task)
    assert gate.begun_at == ["", "2"]
    assert (done.state, done.done, done.request) == (TaskState.DONE, 3, '{"a":1}')


def test_a_task_whose_process_was_killed_goes_on(store: TaskStore, clock: TickingClock) -> None:
    killed = Task(
        id="t", kind="audit", who="me", begun=1, state=TaskState.RUNNING, place="1", done=1
    )
    store.keep(killed)
    gate = Gate(steps=2)
    gate.let.release(2)
    with at_work(store, clock, {"audit": gate}) as tasks:
        assert ended(tasks, killed).state is TaskState.DONE
    assert gate.begun_at == ["1"]


def test_tasks_stop_at_once_when_there_is_nothing_to_do(
    store: TaskStore, clock: TickingClock
) -> None:
    tasks = Tasks(store, clock, {str(number): nothing for number in range(5)})
    for _ in range(20):
        tasks.start()
        stopping = threading.Thread(target=tasks.stop)
        stopping.start()
        stopping.join(PATIENCE)
        assert not stopping.is_alive()


def test_who_reports_is_told_to_end(store: TaskStore, clock: TickingClock) -> None:
    raised: list[type[Exception]] = []
    began = threading.Semaphore(0)

    def work(progress: TaskProgress) -> None:
        began.release()
        try:
            while True:
                progress.keep()
        except (CancelledError, InterruptedTaskError) as end:
            raised.append(type(end))
            raise

    with at_work(store, clock, {"audit": work}) as tasks:
        first, _ = (tasks.begin("audit", {}, "me") for _ in range(2))
        assert began.acquire(timeout=PATIENCE)
        tasks.cancel(first.id)
        assert began.acquire(timeout=PATIENCE)
    assert raised == [CancelledError, InterruptedTaskError]


# --- the storage fails ----------------------------------------------------------------------------


def test_a_storage_that_fails_is_tried_again(store: TaskStore, clock: TickingClock) -> None:
    failing = CountingStore(store)
    failing.failures = 2
    with at_work(failing, clock, {"audit": nothing}) as tasks:
        wait_until(lambda: failing.failures < 2)  # when it was started
        with pytest.raises(StorageError):
            tasks.begin("audit", {}, "me")
        assert tasks.newest(9) == []
        assert ended(tasks, tasks.begin("audit", {}, "me")).state is TaskState.DONE


def test_work_whose_end_cannot_be_kept_is_done_again(store: TaskStore, clock: TickingClock) -> None:
    failing = CountingStore(store)
    done: list[str] = []
    seen = threading.Event()

    def work(progress: TaskProgress) -> None:
        if done:  # the worker may look again by itself, and soon
            assert seen.wait(PATIENCE)
        else:
            progress.report(done=1, place="1")
            progress.keep()
            failing.failures = 1
        done.append(progress.task.place)

    with at_work(failing, clock, {"audit": work}) as tasks:
        task = tasks.begin("audit", {}, "me")
        wait_until(lambda: len(done) == 1 and not failing.failures)
        assert tasks.get(task.id).state is TaskState.RUNNING
        seen.set()
        other = tasks.begin("audit", {}, "me")  # by which the worker looks again
        assert ended(tasks, task).state is TaskState.DONE
        assert ended(tasks, other).state is TaskState.DONE
    assert done[:2] == ["1", "1"]


# --- due ------------------------------------------------------------------------------------------


def test_what_is_due_was_begun_long_ago_and_has_ended(
    store: TaskStore, clock: TickingClock
) -> None:
    tasks = Tasks(store, clock, {"audit": nothing, "copy": nothing})
    hour = 3600 * SECOND
    due: Callable[[], bool] = lambda: tasks.is_due("audit", hour)  # noqa: E731
    assert due()
    task = tasks.begin("audit", {}, "me")
    tasks.begin("copy", {}, "me")
    clock.sleep(2 * hour)
    assert not due()  # nobody does it twice because it takes long
    tasks.cancel(task.id)
    assert due()
    store.keep(Task(id="t", kind="audit", who="me", begun=clock.now, state=TaskState.FAILED))
    assert not due()
    clock.sleep(hour - 3 * SECOND)
    assert not due()
    clock.sleep(2 * SECOND)
    assert due()
