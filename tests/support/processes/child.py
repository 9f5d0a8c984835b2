"""Work in a process of its own, forked from that of the test."""

from __future__ import annotations

import os
import signal
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from tests.support.waiting import wait_until


class ChildProcess:
    """A process that works until it has done, or is ended."""

    def __init__(self, work: Callable[[], None]) -> None:
        """Begin."""
        self.code: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            _do(work)

    def has_ended(self) -> bool:
        """Tell whether it has ended, by which code."""
        if self.code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.code = os.waitstatus_to_exitcode(status) if pid else None
        return self.code is not None

    def end(self) -> int:
        """Wait for its end, and return its exit code."""
        wait_until(self.has_ended)
        assert self.code is not None
        return self.code

    def signal(self, number: int) -> None:
        """Send it a signal."""
        os.kill(self.pid, number)


@contextmanager
def child_process(work: Callable[[], None]) -> Iterator[ChildProcess]:
    """Have work done by a process, which is killed if it has not ended by then."""
    worker = ChildProcess(work)
    try:
        yield worker
    finally:
        if not worker.has_ended():
            with suppress(ProcessLookupError):
                os.kill(worker.pid, signal.SIGKILL)
            worker.end()


def _do(work: Callable[[], None]) -> None:
    code = 1
    try:
        silent = os.open(os.devnull, os.O_RDWR)
        for number in range(3):
            os.dup2(silent, number)
        work()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001  # as the interpreter does
        traceback.print_exc()
    finally:
        os._exit(code)
