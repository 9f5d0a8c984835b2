"""Who keeps workers at their posts: whoever dies, whenever it is told something."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from pathlib import Path

import pytest

from ibi.foundation.processes import supervisor as supervision
from ibi.foundation.processes.supervisor import Supervisor
from ibi.foundation.processes.worker_slot import READY, ControlChannel, WorkerSlot
from tests.support.processes.child import child_process
from tests.support.waiting import wait_until

SUPERVISOR: ContextVar[int] = ContextVar("supervisor")
"""The process id of the supervisor, as its workers inherit it."""


@pytest.fixture(autouse=True)
def nobody_has_to_be_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervision, "_CLOSING", 0.0)


def at_work(path: Path, leash: ControlChannel) -> None:
    """Say who is at a post, and that he answers, until the end; be it that of the supervisor."""
    note(path, os.getpid())
    leash.send(READY)
    while os.getppid() == SUPERVISOR.get():
        time.sleep(0.02)


def note(path: Path, pid: int) -> None:
    """Write a process id so that a reader sees all of it or no file."""
    begun = path.with_name(f"{path.name}.{os.getpid()}")
    begun.write_text(str(pid), "ascii")
    begun.replace(path)


def supervising(*posts: WorkerSlot, ready: Callable[[], None] = lambda: None) -> Callable[[], None]:
    def run() -> None:
        # A worker whose supervisor was killed early must see that its parent is another one.
        SUPERVISOR.set(os.getpid())
        Supervisor(posts, ready, lambda: None).run()

    return run


def who(path: Path) -> int:
    """Return who began at a post last; 0 if nobody did."""
    return int(path.read_text("ascii")) if path.exists() else 0


def test_who_answers_and_dies_before_all_others_answer_is_replaced(tmp_path: Path) -> None:
    first, second, killed = (tmp_path / name for name in ("first", "second", "killed"))

    def kill_and_work(leash: ControlChannel) -> None:
        if not killed.exists():
            note(killed, who(first))
            os.kill(who(killed), signal.SIGKILL)
            wait_until(lambda: not Path(f"/proc/{who(killed)}").exists())  # the supervisor knows
        at_work(second, leash)

    posts = (WorkerSlot("first", partial(at_work, first)), WorkerSlot("second", kill_and_work))
    with child_process(supervising(*posts)) as supervisor:
        wait_until(lambda: who(killed) > 0 and who(first) != who(killed))
        supervisor.signal(signal.SIGTERM)
        assert supervisor.end() == 0


def test_who_is_told_to_end_before_it_began_ends_at_the_first_word(tmp_path: Path) -> None:
    forked, insisted = tmp_path / "forked", tmp_path / "insisted"

    def work(leash: ControlChannel) -> None:
        try:
            at_work(tmp_path / "keeper", leash)
        except KeyboardInterrupt:
            insisted.touch()

    def supervise() -> None:
        def begin() -> None:
            forked.touch()
            wait_until(lambda: signal.SIGTERM in signal.sigpending())

        os.register_at_fork(after_in_child=begin)
        supervising(WorkerSlot("keeper", work, alone=True))()

    with child_process(supervise) as supervisor:
        wait_until(forked.exists)
        supervisor.signal(signal.SIGTERM)
        assert supervisor.end() == 0
    assert not insisted.exists()


def test_who_is_alone_stays_if_others_cannot_be_replaced(tmp_path: Path) -> None:
    keeper, reader, failed = (tmp_path / name for name in ("keeper", "reader", "failed"))

    def begin_once(leash: ControlChannel) -> None:
        if reader.exists():
            failed.touch()
            return
        at_work(reader, leash)

    posts = (
        WorkerSlot("keeper", partial(at_work, keeper), alone=True),
        WorkerSlot("reader", begin_once),
    )
    with child_process(supervising(*posts, ready=(tmp_path / "ready").touch)) as supervisor:
        wait_until((tmp_path / "ready").exists)
        before = who(keeper), who(reader)
        supervisor.signal(signal.SIGHUP)
        wait_until(failed.exists)
        assert (who(keeper), who(reader)) == before
        supervisor.signal(signal.SIGTERM)
        assert supervisor.end() == 0
    assert (who(keeper), who(reader)) == before
