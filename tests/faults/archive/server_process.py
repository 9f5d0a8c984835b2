"""An archive that can be killed and broken: `ibi archive serve`, in a process of its own.

Either the command itself, or, as its start takes a second, the same command in a process forked
from one that has imported everything, with a failpoint (`failpoint`), on a disk whose power can be
lost (`power_loss_tree`), or as a twin (`twins`).
"""

from __future__ import annotations

import multiprocessing
import os
import select
import sys
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from threading import Timer
from typing import Final, Self
from unittest.mock import patch

import urllib3

from ibi.cli import ibi
from ibi.minting.storage.machine_folder import FOLDER
from tests.faults.archive.failpoint import KILL, Failpoint, install
from tests.faults.archive.power_loss_tree import install_power_loss
from tests.faults.archive.twins import CARELESS, POWERED, TWINS
from tests.faults.figures import PATIENCE, Violation, set_up
from tests.faults.fork_server import PRELOADED, exit_with_parent
from tests.faults.sites import PostgresSite, Site
from tests.support.processes.environment import ENVIRONMENT, own_environment
from tests.support.servers.archive import IP, ArchiveServer

SERVER_GONE: Final = (urllib3.exceptions.HTTPError, OSError)
"""Exceptions of a client whose server is killed."""


class KillableArchive(ArchiveServer):
    """One archive, which is killed and restarted."""

    def __init__(self, site: Site, name: str, variant: str = "", ip: str = IP) -> None:
        """Create the archive; `variant` is its twin or its kind of disk."""
        folder = site.machine.parent / name
        folder.mkdir()
        on = site.ledger if isinstance(site, PostgresSite) else ""
        options = [f"--{part}={on}" for part in ("catalogue", "ledger") if on]
        super().__init__(folder, *options, ip=ip)
        self.site = site
        self.failpoint = Failpoint(folder / "failpoint")
        self.kills = 0
        self._variant = variant
        self._forked: BaseProcess | None = None
        self._kill_timer: Timer | None = None
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(PRELOADED)
        # The fork server imports by its environment, not by sys.path, which pytest has extended.
        with patch.dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, sys.path))):
            forkserver.ensure_running()

    def fork(self) -> bool:
        """Start it in a forked process; False if the failpoint was reached too early."""
        reading, writing = self._context.Pipe(duplex=False)
        self._forked = self._context.Process(
            target=_serve, args=(self.folder, self.data, self._variant, writing), daemon=True
        )
        self._forked.start()
        writing.close()
        said = b""
        while not said.endswith(b"\n"):
            ready, _, _ = select.select([reading], [], [], PATIENCE)
            chunk = os.read(reading.fileno(), 4096) if ready else b""
            if not chunk:
                self.end()
                reading.close()
                if self.failpoint.triggered:
                    return False
                raise Violation(f"the archive does not start: {self.log()[-3000:]}")
            said += chunk
        self._pipe = reading
        return True

    def kill_in(self, seconds: float) -> None:
        """Kill its process after some seconds; `end` waits for that."""
        process = self._forked or self.process
        assert process is not None
        self._kill_timer = Timer(seconds, process.kill)
        self._kill_timer.start()

    def end(self) -> None:
        """Kill its process if it still runs, and wait for its end."""
        self.kills += 1
        if self._kill_timer is not None:
            self._kill_timer.join()
            self._kill_timer = None
        self._end()

    def _end(self) -> None:
        if self._forked is None:
            self.kill()
            return
        self.close()
        self._forked.kill()
        self._forked.join(PATIENCE)
        self._forked = None

    def __enter__(self) -> Self:
        with set_up():
            self.fork()
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def revive(self, *, forked: bool = True, again: int = 0) -> Self:
        """Restart it; kill it once more at step `again` of its recovery, if not 0."""
        if again:
            self.failpoint.set(again, KILL)
            if not self.fork():
                self.failpoint.disable()
                self.fork()
        elif forked:
            self.fork()
        else:
            self.start()
        self.failpoint.disable()
        return self


def _serve(folder: Path, data: Path, variant: str, pipe: Connection) -> None:
    """Run `ibi archive serve` in this process."""
    exit_with_parent()
    os.dup2(pipe.fileno(), 1)
    with (folder / "log").open("ab") as log:
        os.dup2(log.fileno(), 2)
    sys.stdout = os.fdopen(1, "w", buffering=1, encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, encoding="utf-8", closefd=False)
    pipe.close()
    os.environ[FOLDER] = own_environment(folder)[FOLDER]
    for name in ENVIRONMENT:
        os.environ.pop(name, None)
    failpoint = Failpoint(folder / "failpoint")
    if variant in {POWERED, CARELESS}:
        install_power_loss(failpoint, data, careless=variant == CARELESS)
    else:
        install(failpoint)
        TWINS.get(variant, lambda: None)()
    ibi.main(["archive", "serve", "--data", str(data)], prog_name="ibi", standalone_mode=False)
