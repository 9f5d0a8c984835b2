"""Several processes for one service: who starts them, replaces who dies, and ends them all.

They are forked when everything is imported, and before there is a thread, an event loop or a
database: so they share the memory of the program. Listening sockets belong to the supervisor; a
connection that nobody has accepted yet is lost with no worker.
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

LONG_ENOUGH: Final = 10.0
"""Seconds after which a worker did not die at once: the next one may do as well as it did."""
LONGEST: Final = 30.0
"""Seconds until a worker is replaced, if each one before it died at once."""
_RESTART: Final = Backoff(SECOND // 2, int(LONGEST * SECOND))


def restart_delay(deaths: int) -> float:
    """Return the seconds to wait after so many in a row died at once.

    The first is replaced without delay: readers wait for it. What kills each one in turn, a full
    disk for one, is given time to go away.
    """
    if deaths <= 1:
        return 0.0
    return _RESTART.wait(deaths - 2) / SECOND


_HEARD: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)


@contextmanager
def written() -> Iterator[socket.socket]:
    """Have signals written to a socket, each a byte of its number."""
    waking, woken = socket.socketpair()
    woken.settimeout(0)
    with closing(waking), closing(woken):
        before = {number: signal.signal(number, lambda *_: None) for number in _HEARD}
        previous = signal.set_wakeup_fd(woken.fileno(), warn_on_full_buffer=False)
        try:
            yield waking
        finally:
            signal.set_wakeup_fd(previous)
            for number, handler in before.items():
                signal.signal(number, handler)


def fork() -> int:
    """Fork, as the system does; what the child is told waits until it begins to `hear`.

    By the handlers of its parent, and the socket that they share, the parent alone would hear it.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, _HEARD)
    pid = -1
    try:
        pid = os.fork()
    finally:
        if pid:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _HEARD)
    return pid


def hear() -> None:
    """Let signals mean in the child what they mean to any process, those before now too."""
    signal.set_wakeup_fd(-1)
    for number in _HEARD:
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # it is the parent's
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _HEARD)


_LOG: Final = structlog.get_logger()
_BEGINNING: Final = 120.0
"""Seconds in which a process that takes the place of another has to be ready."""
_LEAVING: Final = 10.0
"""Seconds for which the next one is not replaced while this one finishes what is under way."""
_ENDING: Final = 30.0
"""Seconds in which who was told to end has to."""
_CLOSING: Final = 6.0
"""Seconds in which it has to be told that all is about to end."""
_TURN: Final = 1.0


@dataclass(slots=True, eq=False)
class Supervisor:
    """Keeps all posts filled."""

    slots: Sequence[WorkerSlot]
    on_ready: Callable[[], None]
    """Once: everybody answers."""
    check: Callable[[], object]
    """Raises IbiError if nobody could take the place of another now."""
    _at: dict[WorkerSlot, WorkerProcess] = field(default_factory=dict)
    _all: list[WorkerProcess] = field(default_factory=list)
    _deaths: dict[WorkerSlot, int] = field(default_factory=dict)
    """How many in a row died at once."""
    _due: dict[WorkerSlot, float] = field(default_factory=dict)
    """When posts that are empty are filled again."""
    _is_open: bool = False
    _ending: int = 0
    _renewing: bool = False
    _waking: socket.socket = field(init=False)

    def run(self) -> None:
        """Fill all posts, and keep them filled until SIGTERM or SIGINT."""
        gc.collect()
        gc.freeze()  # what the collector does not touch stays shared
        with written() as self._waking:
            try:
                self._begin()
                while not self._ending:
                    if self._renewing:
                        self._renew()
                    self._turn()
            finally:
                self._end()

    def _begin(self) -> None:
        """Begin with the first alone: it brings the database to the newest version."""
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
            process.say(GO)
        for process in [each for each in self._at.values() if each not in self._all]:
            self._miss(process)  # it answered, and died before all others did
        self.on_ready()
        if sys.stdout is not None:
            sys.stdout.flush()

    def _start(self, slot: WorkerSlot) -> WorkerProcess:
        ours, theirs = socket.socketpair()
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()  # or it would be written twice
        pid = fork()
        if pid == 0:
            self._become(slot, ours, theirs)
        theirs.close()
        ours.settimeout(0)
        process = WorkerProcess(slot, pid, ours)
        self._all.append(process)
        return process

    def _become(self, slot: WorkerSlot, ours: socket.socket, theirs: socket.socket) -> None:
        """Be a worker, and nothing else: what the supervisor holds is given back by it alone."""
        code = 1
        try:
            os.setpgrp()  # who types Ctrl-C ends the supervisor, and that ends us in its order
            hear()
            # As long as anybody holds the other end, nobody notices that the supervisor is gone.
            for held in (ours, self._waking, *(process.line for process in self._all)):
                held.close()
            conclude(lambda: slot.work(ControlChannel(theirs)))
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        except BaseException:  # noqa: BLE001  # as the interpreter does, which we leave from here
            sys.excepthook(*sys.exc_info())
        finally:
            for stream in (sys.stdout, sys.stderr):
                if stream is not None:
                    with suppress(OSError):
                        stream.flush()
            os._exit(code)

    def _until(self, is_so: Callable[[], bool], seconds: float = float("inf")) -> bool:
        """Wait until something is so, for so long at most, and unless all is to end."""
        end = time.monotonic() + seconds
        while not is_so():
            if self._ending or time.monotonic() >= end:
                return False
            self._turn(end - time.monotonic())
        return True

    def _turn(self, seconds: float = _TURN) -> None:
        """Fill what is due, wait for whatever happens next, and take note of it."""
        now = time.monotonic()
        for slot in [slot for slot, due in self._due.items() if due <= now and not self._ending]:
            del self._due[slot]
            self._at[slot] = self._start(slot)
        lines = {process.line: process for process in self._all if process.line.fileno() >= 0}
        heard, _, _ = select.select([self._waking, *lines], [], [], max(0.0, min(seconds, _TURN)))
        for each in heard:
            if each is self._waking:
                self._note(each.recv(4096))
            else:
                self._hear(lines[each])
        for process in [process for process in self._all if process.has_ended()]:
            process.line.close()
            self._all.remove(process)
            if self._at.get(process.slot) is process and not process.is_told:
                self._miss(process)

    def _note(self, told: bytes) -> None:
        """Take note of signals, each a byte of its number."""
        for number in told:
            if number == signal.SIGHUP:
                self._renewing = True
            elif number != signal.SIGCHLD:
                self._ending += 1

    def _hear(self, process: WorkerProcess) -> None:
        said = b""
        with suppress(OSError):
            said = process.line.recv(1)
        if said == READY:
            process.is_ready = True
            if self._is_open:
                process.say(GO)
        elif said == CLOSING:
            process.is_closing = True
        else:
            process.line.close()  # it ends, or has

    def _miss(self, process: WorkerProcess) -> None:
        """See to it that somebody takes the place of who died."""
        lived = time.monotonic() - process.began
        if not self._is_open or self._ending:
            return
        slot = process.slot
        deaths = 0 if lived >= LONG_ENOUGH else self._deaths.get(slot, 0) + 1
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

    def _renew(self) -> None:
        """Replace all, one after the other; whoever cannot be replaced stays, and so do others.

        Who is alone at his post comes last: he has to end before it shows whether another can
        begin, and by then it has shown of others.
        """
        self._renewing = False
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
        """Start another before the one that is there ends."""
        new = self._start(slot)
        self._until(new.is_settled, _BEGINNING)
        if not new.is_ready or new.has_ended():
            new.end(signal.SIGKILL)
            return False
        # Who is there by now: the one before may have died meanwhile.
        old, self._at[slot] = self._at[slot], new
        self._due.pop(slot, None)
        old.end(RETIRE)
        self._until(old.has_ended, _LEAVING)
        return True

    def _replace_alone(self, slot: WorkerSlot) -> bool:
        """Start another when the one that is there has ended: who comes meanwhile waits."""
        old = self._at[slot]
        old.end(RETIRE)
        if not self._until(old.has_ended):
            return False
        self._due.pop(slot, None)
        new = self._at[slot] = self._start(slot)
        self._until(new.is_settled, _BEGINNING)
        return new.is_ready

    def _end(self) -> None:
        """End all, those who are alone at their post last."""
        self._ending = max(self._ending, 1)
        insisted = self._ending
        self._announce()
        for is_last in (False, True):
            leaving = [each for each in self._all if each.slot.alone is is_last]
            for process in leaving:
                process.end(signal.SIGTERM)
            end = time.monotonic() + _ENDING
            while any(not process.has_ended() for process in leaving):
                self._turn(0.5)
                if self._ending > insisted:
                    insisted = self._ending
                    for process in leaving:
                        process.end(signal.SIGINT)
                if time.monotonic() > end and not is_last:
                    for process in leaving:
                        process.end(signal.SIGKILL)

    def _announce(self) -> None:
        """Let it be told that all is about to end, while everybody still answers."""
        telling = [each for each in self._all if each.slot.alone and each.is_ready]
        for process in telling:
            process.say(CLOSING)
        end = time.monotonic() + _CLOSING
        while time.monotonic() < end:
            if all(process.is_closing or process.has_ended() for process in telling):
                return
            self._turn(end - time.monotonic())
