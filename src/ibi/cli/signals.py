"""Signals to a process that starts others: who is meant hears them, and nobody else."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Final

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
