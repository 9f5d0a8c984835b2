"""A server of `ibi` in a process of its own: started, read until it is ready, and ended."""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from subprocess import TimeoutExpired
from typing import Final, Self

from tests.support.clients.http import Client
from tests.support.processes.fork_server import SHOW_STACKS, ForkedProcess, fork
from tests.support.waiting import PATIENCE

SHOWING_SECONDS: Final = 2.0
"""Seconds in which a process writes the stacks of its threads."""
LONGEST_STACKS: Final = 20_000
"""Characters of a log that are shown of a process that does not end."""


class ServerProcess(Client):
    """A client of a server that runs in a forked process."""

    def __init__(self, address: str, log: Path) -> None:
        """Start nothing yet; the server will write its log to a file."""
        super().__init__(address, "")
        self.process: ForkedProcess | None = None
        self._log = log
        self._said = b""

    def _launch(
        self, command: Sequence[str], environment: Mapping[str, str], most_files: int = 0
    ) -> dict[str, str]:
        """Start it and wait until it is ready; return what it said, by the first word."""
        with self._log.open("ab") as log:
            self.process = fork(command, environment, log.fileno(), most_files)
        said = b""
        while not said.endswith(b"\n") or b"ready " not in said:
            ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE)
            chunk = os.read(self.process.stdout.fileno(), 4096) if ready else b""
            if not chunk:
                self.kill()
                raise AssertionError(said + self._log.read_bytes())
            said += chunk
        self._said += said
        return dict(line.split(" ", 1) for line in said.decode().splitlines())

    def start(self) -> Self:
        """Start it, and wait until it is ready."""
        raise NotImplementedError

    @property
    def pid(self) -> int:
        """The number of its process."""
        assert self.process
        return self.process.pid

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Ask it to end; return its exit code."""
        assert self.process
        self.close()
        self.process.send_signal(number)
        try:
            code = self.process.wait(PATIENCE)
        except TimeoutExpired:
            self._show_stacks()
            raise
        self._collect()
        return code

    def _show_stacks(self) -> None:
        """Let a process that does not end say in its log, and here, what its threads do."""
        assert self.process
        self.process.send_signal(SHOW_STACKS)
        with suppress(TimeoutExpired):
            self.process.wait(SHOWING_SECONDS)
        sys.stderr.write(self.log()[-LONGEST_STACKS:])

    def kill(self) -> None:
        """Kill it, as a power cut would."""
        self.close()
        if self.process:
            workers = self.workers()
            self.process.kill()
            for pid in workers:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.process.wait(PATIENCE)
            self._collect()

    def workers(self) -> list[int]:
        """Return the processes that its supervisor has started, if it has one."""
        with suppress(FileNotFoundError, ProcessLookupError):
            children = Path(f"/proc/{self.pid}/task/{self.pid}/children")
            return [int(each) for each in children.read_text(encoding="ascii").split()]
        return []

    def _collect(self) -> None:
        if self.process and not self.process.stdout.closed:
            self._said += self.process.stdout.read()
            self.process.stdout.close()

    def log(self) -> str:
        """Return what it wrote to its log."""
        return self._log.read_text("utf-8")

    def said(self) -> str:
        """Return what it wrote to its standard output, as far as it was read."""
        return self._said.decode()

    def __enter__(self) -> Self:
        """Start it."""
        return self.start()

    def __exit__(self, *_: object) -> None:
        """Kill it, if it is still there."""
        self.kill()
