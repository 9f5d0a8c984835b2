"""`ibi` at a real terminal: a pseudo-terminal, and what is typed there."""

from __future__ import annotations

import os
import pty
import select
import subprocess
from contextlib import ExitStack
from pathlib import Path

from tests.support.processes.environment import own_environment
from tests.support.processes.shell import IBI
from tests.support.waiting import PATIENCE


def at_a_terminal(
    folder: Path, *arguments: str, typed: bytes = b"", stderr: Path | None = None
) -> tuple[int, str]:
    """Run `ibi` at a terminal; return its exit code and all that stands there.

    Its errors go there too, or to a file.
    """
    ours, theirs = pty.openpty()
    with ExitStack() as files:
        process = subprocess.Popen(  # noqa: S603
            [IBI, *arguments],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs if stderr is None else files.enter_context(stderr.open("wb")),
            env=own_environment(folder, TERM="xterm", COLUMNS="100"),
        )
    os.close(theirs)
    os.write(ours, typed)
    shown = b""
    try:
        while select.select([ours], [], [], PATIENCE)[0]:
            shown += os.read(ours, 65_536)
    except OSError:  # how the end of a terminal is told
        pass
    finally:
        os.close(ours)
    return process.wait(PATIENCE), shown.decode()
