"""A daemon thread that repeats one step, and rests after the catalogue failed."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread
from typing import Final

import structlog

from ibi.errors import IbiError

_REST: Final = 30.0
"""Seconds before the step is repeated after it failed."""
_LOG: Final = structlog.get_logger()


class RepeatingThread:
    """Repeats a step from start to stop, or until the step returns False."""

    def __init__(self, name: str, step: Callable[[], bool], *, pause: float, failure: str) -> None:
        """Wait `pause` seconds between two steps; `failure` is the line of the log for an error."""
        self._step = step
        self._pause = pause
        self._failure = failure
        self._stopping = Event()
        self._thread = Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread, and wait until it has ended."""
        self._stopping.set()
        self._thread.join()

    def is_stopping(self, seconds: float) -> bool:
        """Wait for so many seconds, within a long step; return whether the thread has to stop."""
        return self._stopping.wait(seconds)

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                if not self._step():
                    return
            except IbiError as failure:
                _LOG.warning(self._failure, error=str(failure))
                self._stopping.wait(_REST)
            self._stopping.wait(self._pause)
