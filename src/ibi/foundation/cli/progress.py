"""The progress of a command, on a terminal only: its phase, bytes, rate and time left.

Every phase that may take long has a name, and its line moves at least once a second: by bytes if
they can be counted, otherwise by the time that has passed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Lock, Thread
from typing import Final, TextIO, TypeAlias

from ibi.foundation.cli.options import is_terminal

Progress: TypeAlias = Callable[[str, int, int], None]
"""Is called with a phase, the bytes done in it, and all of its bytes; 0 if they are not known."""

_OFTEN: Final = 0.1
"""Seconds between two lines at least."""
_TICK: Final = 1.0
"""Seconds after which a line is written again, although nothing was reported."""
_SIZES: Final = ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB"))
_LONGEST: Final = 79


def progress_line(phase: str, done: int, total: int, begun: int, seconds: float) -> str:
    """Return the line of a phase that began with `begun` bytes, so many seconds ago."""
    if not total:
        amount = f"  {size_text(done)}" if done else ""
        return f"{phase}{amount}  {time_text(seconds)}"
    line = f"{phase}  {100 * done // total} %  {size_text(done)} of {size_text(total)}"
    moved = done - begun
    if moved <= 0 or seconds <= 0:
        return line
    rate = moved / seconds
    return f"{line}  {size_text(int(rate))}/s  {time_text((total - done) / rate)} left"


def size_text(size: int) -> str:
    """Return a number of bytes for people."""
    for unit, name in _SIZES:
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size} B"


def time_text(seconds: float) -> str:
    """Return a duration as minutes and seconds, or hours, minutes and seconds."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class ProgressDisplay:
    """Shows the progress of one command; threads may report at once."""

    def __init__(self, out: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        """Write lines to a terminal."""
        self._out = out
        self._clock = clock
        self._lock = Lock()
        self._phase = ""
        self._done = self._total = self._begun = 0
        self._since = self._shown = clock()

    def report(self, phase: str, done: int, total: int) -> None:
        """Show a phase, and how much of it is done."""
        with self._lock:
            now = self._clock()
            if phase != self._phase:
                self._end_line()
                self._phase, self._begun, self._since = phase, done, now
                self._shown = now - _OFTEN
            self._done, self._total = (min(done, total) if total else done), total
            if now - self._shown >= _OFTEN or (total and done >= total):
                self._write(now)

    def tick(self) -> None:
        """Show the time that passes."""
        with self._lock:
            if self._phase:
                self._write(self._clock())

    def close(self) -> None:
        """Leave the last line on the terminal."""
        with self._lock:
            self._end_line()
            self._phase = ""

    def _end_line(self) -> None:
        if self._phase:
            self._write(self._clock())
            self._out.write("\n")
            self._out.flush()

    def _write(self, now: float) -> None:
        self._shown = now
        line = progress_line(self._phase, self._done, self._total, self._begun, now - self._since)[
            :_LONGEST
        ]
        with suppress(OSError):  # the terminal may be gone
            self._out.write(f"\r{line:<{_LONGEST}}")
            self._out.flush()


@contextmanager
def shown_progress() -> Iterator[Progress]:
    """Show progress while the block runs; without a terminal, show nothing."""
    if not is_terminal():
        yield lambda *_: None
        return
    display, ended = ProgressDisplay(sys.stderr), Event()

    def run() -> None:
        while not ended.wait(_TICK):
            display.tick()

    ticker = Thread(target=run, name="progress", daemon=True)
    ticker.start()
    try:
        yield display.report
    finally:
        ended.set()
        ticker.join()
        display.close()
