"""The supervisor of several worker processes: starts them, replaces dead ones, and ends all.

They are forked after all imports, and before there is a thread, an event loop or a database, so
that they share the memory of the program. Listening sockets belong to the supervisor: a connection
that is not accepted yet is not lost with a worker.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Final

import click
import structlog

from ibi.errors import IbiError
from ibi.foundation.cli.exit_status import conclude
from ibi.foundation.processes.worker_slot import (
    CLOSING,
    GO,
    READY,
    RETIRE,
    ControlChannel,
    WorkerProcess,
    WorkerSlot,
)
from ibi.model.clock import SECOND
from ibi.model.pace import Backoff

STABLE_SECONDS: Final = 10.0
"""Seconds that a worker must live for its death not to count as immediate."""
MAX_RESTART_SECONDS: Final = 30.0
"""The longest delay in seconds until a worker is replaced whose predecessors died at once."""
_RESTART: Final = Backoff(SECOND // 2, int(MAX_RESTART_SECONDS * SECOND))


def restart_delay(deaths: int) -> float:
    """Return the seconds to wait after so many workers in succession died at once.

    The first is replaced without delay, because readers wait for it. A cause that kills each one in
    turn, such as a full disk, gets time to go away.
    """
    if deaths <= 1:
        return 0.0
    return _RESTART.wait(deaths - 2) / SECOND


_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)


@contextmanager
def signals_to_socket() -> Iterator[socket.socket]:
    """Write signals to a socket, each as one byte with its number."""
    waking, woken = socket.socketpair()
    woken.settimeout(0)
    with closing(waking), closing(woken):
        before = {number: signal.signal(number, lambda *_: None) for number in _SIGNALS}
        previous = signal.set_wakeup_fd(woken.fileno(), warn_on_full_buffer=False)
        try:
            yield waking
        finally:
            signal.set_wakeup_fd(previous)
            for number, handler in before.items():
                signal.signal(number, handler)


def fork() -> int:
    """Fork with signals blocked in the child, which `restore_signals` unblocks there.

    Otherwise the inherited handlers would write the child's signals to the socket of the parent.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    pid = -1
    try:
        pid = os.fork()
    finally:
        if pid:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
    return pid


def restore_signals() -> None:
    """Restore the default signal handlers in the child, and deliver blocked signals."""
    signal.set_wakeup_fd(-1)
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # it is the parent's
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)


_LOG: Final = structlog.get_logger()
_BEGINNING: Final = 120.0
"""Seconds in which a replacement must be ready."""
_LEAVING: Final = 10.0
"""Seconds to wait for a replaced worker to end before the next one is replaced."""
_ENDING: Final = 30.0
"""Seconds in which a worker must end after SIGTERM."""
_CLOSING: Final = 6.0
"""Seconds for the announcement that the service is about to end."""
_POLL: Final = 1.0
"""The longest wait of one poll in seconds."""


@dataclass(slots=True, eq=False)
class Supervisor:
    """Keeps all worker slots filled."""

    slots: Sequence[WorkerSlot]
    on_ready: Callable[[], None]
    """Called once, when all workers answer."""
    check: Callable[[], object]
    """Raises IbiError if no worker could be started now."""
    _at: dict[WorkerSlot, WorkerProcess] = field(default_factory=dict)
    _all: list[WorkerProcess] = field(default_factory=list)
    _deaths: dict[WorkerSlot, int] = field(default_factory=dict)
    """How many workers in succession died at once, by slot."""
    _due: dict[WorkerSlot, float] = field(default_factory=dict)
    """When empty slots are to be filled again."""
    _is_open: bool = False
    _ending: int = 0
    _replacing: bool = False
    _waking: socket.socket = field(init=False)

    def run(self) -> None:
        """Fill all slots, and keep them filled until SIGTERM or SIGINT."""
        gc.collect()
        gc.freeze()  # memory that the collector does not touch stays shared
        with signals_to_socket() as self._waking:
            try:
                self._begin()
                while not self._ending:
                    if self._replacing:
                        self._replace_all()
                    self._poll()
            finally:
                self._end()

    def _begin(self) -> None:
        """Start the first worker alone, because it upgrades the database; then the others."""
        first, *others = self.slots
        for slots in ((first,), others):
            for slot in slots:
                self._at[slot] = self._start(slot)
            for slot in slots:
                process = self._at[slot]
                self._until(process.is_settled)
                if self._ending:
                    return
                if not process.is_ready:
                    raise click.exceptions.Exit(abs(process.code or 1))
        self._is_open = True
        for process in self._all:
            process.send(GO)
        for process in [each for each in self._at.values() if each not in self._all]:
            self._schedule_restart(process)  # it was ready, and died before the others were
        self.on_ready()
        if sys.stdout is not None:
            sys.stdout.flush()

    def _start(self, slot: WorkerSlot) -> WorkerProcess:
        ours, theirs = socket.socketpair()
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()  # otherwise both processes would write it
        pid = fork()
        if pid == 0:
            self._become(slot, ours, theirs)
        theirs.close()
        ours.settimeout(0)
        process = WorkerProcess(slot, pid, ours)
        self._all.append(process)
        return process

    def _become(self, slot: WorkerSlot, ours: socket.socket, theirs: socket.socket) -> None:
        """Run as a worker, and then exit without releasing what the supervisor holds."""
        code = 1
        try:
            os.setpgrp()  # Ctrl-C goes to the supervisor only, which ends the workers in order
            restore_signals()
            # While any copy of the other end is open, a worker cannot notice that it was closed.
            for held in (ours, self._waking, *(process.line for process in self._all)):
                held.close()
            conclude(lambda: slot.work(ControlChannel(theirs)))
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        except BaseException:  # noqa: BLE001  # as the interpreter does, which is left here
            sys.excepthook(*sys.exc_info())
        finally:
            for stream in (sys.stdout, sys.stderr):
                if stream is not None:
                    with suppress(OSError):
                        stream.flush()
            os._exit(code)

    def _until(self, is_so: Callable[[], bool], seconds: float = float("inf")) -> bool:
        """Poll until a condition holds; False after so many seconds, or when the service ends."""
        end = time.monotonic() + seconds
        while not is_so():
            if self._ending or time.monotonic() >= end:
                return False
            self._poll(end - time.monotonic())
        return True

    def _poll(self, seconds: float = _POLL) -> None:
        """Fill slots that are due, wait for events, and handle them."""
        now = time.monotonic()
        for slot in [slot for slot, due in self._due.items() if due <= now and not self._ending]:
            del self._due[slot]
            self._at[slot] = self._start(slot)
        lines = {process.line: process for process in self._all if process.line.fileno() >= 0}
        readable, _, _ = select.select(
            [self._waking, *lines], [], [], max(0.0, min(seconds, _POLL))
        )
        for each in readable:
            if each is self._waking:
                self._handle_signals(each.recv(4096))
            else:
                self._receive(lines[each])
        for process in [process for process in self._all if process.has_ended()]:
            process.line.close()
            self._all.remove(process)
            if self._at.get(process.slot) is process and not process.is_ending:
                self._schedule_restart(process)

    def _handle_signals(self, numbers: bytes) -> None:
        for number in numbers:
            if number == signal.SIGHUP:
                self._replacing = True
            elif number != signal.SIGCHLD:
                self._ending += 1

    def _receive(self, process: WorkerProcess) -> None:
        message = b""
        with suppress(OSError):
            message = process.line.recv(1)
        if message == READY:
            process.is_ready = True
            if self._is_open:
                process.send(GO)
        elif message == CLOSING:
            process.is_closing = True
        else:
            process.line.close()  # the worker has ended, or is ending

    def _schedule_restart(self, process: WorkerProcess) -> None:
        """Schedule a replacement for a worker that died."""
        lived = time.monotonic() - process.began
        if not self._is_open or self._ending:
            return
        slot = process.slot
        deaths = 0 if lived >= STABLE_SECONDS else self._deaths.get(slot, 0) + 1
        self._deaths[slot] = deaths
        pause = restart_delay(deaths)
        self._due[slot] = time.monotonic() + pause
        _LOG.error(
            "a worker died, and another takes its place",
            worker=slot.name,
            process=process.pid,
            ended_by=process.ended_by,
            seconds_until_then=pause,
        )

    def _replace_all(self) -> None:
        """Replace all workers, one after the other, until one cannot be replaced.

        A worker that must be alone comes last: it has to end before its replacement can be tried,
        and by then the others have shown that workers can start.
        """
        self._replacing = False
        try:
            self.check()
        except IbiError as fault:
            _LOG.error("workers are not replaced", error=str(fault))
            return
        _LOG.info("workers are replaced")
        for slot in sorted(self.slots, key=lambda each: each.alone):
            if not (self._replace_alone(slot) if slot.alone else self._replace(slot)):
                if not self._ending:
                    _LOG.error("a worker could not be replaced", worker=slot.name)
                return
        _LOG.info("workers were replaced")

    def _replace(self, slot: WorkerSlot) -> bool:
        """Start another worker before the present one ends."""
        new = self._start(slot)
        self._until(new.is_settled, _BEGINNING)
        if not new.is_ready or new.has_ended():
            new.end(signal.SIGKILL)
            return False
        # The present worker: the previous one may have died meanwhile.
        old, self._at[slot] = self._at[slot], new
        self._due.pop(slot, None)
        old.end(RETIRE)
        self._until(old.has_ended, _LEAVING)
        return True

    def _replace_alone(self, slot: WorkerSlot) -> bool:
        """Start another worker after the present one has ended; requests wait meanwhile."""
        old = self._at[slot]
        old.end(RETIRE)
        if not self._until(old.has_ended):
            return False
        self._due.pop(slot, None)
        new = self._at[slot] = self._start(slot)
        self._until(new.is_settled, _BEGINNING)
        return new.is_ready

    def _end(self) -> None:
        """End all workers, those that must be alone last."""
        self._ending = max(self._ending, 1)
        signals = self._ending
        self._announce_end()
        for is_last in (False, True):
            leaving = [each for each in self._all if each.slot.alone is is_last]
            for process in leaving:
                process.end(signal.SIGTERM)
            end = time.monotonic() + _ENDING
            while any(not process.has_ended() for process in leaving):
                self._poll(0.5)
                if self._ending > signals:
                    signals = self._ending
                    for process in leaving:
                        process.end(signal.SIGINT)
                if time.monotonic() > end and not is_last:
                    for process in leaving:
                        process.end(signal.SIGKILL)

    def _announce_end(self) -> None:
        """Let a worker announce the end of the service, while all workers still answer."""
        announcing = [each for each in self._all if each.slot.alone and each.is_ready]
        for process in announcing:
            process.send(CLOSING)
        end = time.monotonic() + _CLOSING
        while time.monotonic() < end:
            if all(process.is_closing or process.has_ended() for process in announcing):
                return
            self._poll(end - time.monotonic())
