"""A real installation for tests: `ibi up`, in a temporary folder, at two reserved ports."""

from __future__ import annotations

import os
import select
import signal
import subprocess
from pathlib import Path
from typing import Self

from ibi.minting.storage.machine_folder import FOLDER
from tests.support.clients.http import Answer, Client
from tests.support.processes.environment import own_environment
from tests.support.processes.fork_server import run
from tests.support.processes.shell import IBI, Done
from tests.support.servers.port_reservation import reserved_port
from tests.support.waiting import PATIENCE


class InstallationServer:
    """A resolver and an archive in one process, of somebody whose home is a folder."""

    def __init__(self, folder: Path, *options: str) -> None:
        """Get ready to start it, in the usual folder of that home unless `options` say other."""
        self.folder = folder
        self.data = folder / "data" / "ibi"
        self.port = reserved_port(2)
        self.options = options
        self.process: subprocess.Popen[str] | None = None
        self.said = ""
        self.machine = str(folder / "machine")
        self._log = folder / "up.log"

    @property
    def resolver(self) -> str:
        """The address of the resolver."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def archive(self) -> str:
        """The address of the archive."""
        return f"http://127.0.0.1:{self.port + 1}"

    @property
    def ready(self) -> str:
        """What it says when it is ready."""
        return f"ready resolver={self.resolver} archive={self.archive}\n"

    def begin(self, *options: str) -> None:
        """Start it, and do not wait."""
        self._log.unlink(missing_ok=True)
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(  # noqa: S603
                [IBI, "up", "--port", str(self.port), *self.options, *options],
                stdout=subprocess.PIPE,
                stderr=log,
                stdin=subprocess.DEVNULL,
                env=self.environment,
                text=True,
            )

    def start(self, *options: str) -> Self:
        """Start it, and wait until it says that it is ready."""
        self.begin(*options)
        assert self.process
        assert self.process.stdout
        found, _, _ = select.select([self.process.stdout], [], [], PATIENCE)
        self.said = self.process.stdout.readline() if found else ""
        if self.said != self.ready:
            self.kill()
            raise AssertionError(self.said + self.log())
        return self

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Ask it to end; return its exit code."""
        assert self.process
        self.process.send_signal(number)
        return self._collected()

    def kill(self) -> None:
        """Kill it, as a power cut would."""
        if self.process and self.process.stdout and not self.process.stdout.closed:
            self.process.kill()
            self._collected()

    def _collected(self) -> int:
        assert self.process
        assert self.process.stdout
        code = self.process.wait(PATIENCE)
        with self.process.stdout:
            self.said += self.process.stdout.read()
        return code

    def __enter__(self) -> Self:
        """Start it."""
        return self.start()

    def __exit__(self, *_: object) -> None:
        """Kill it, if it is still there."""
        self.kill()

    @property
    def environment(self) -> dict[str, str]:
        """The environment of its owner's shell, which finds `ibi`."""
        found = own_environment(self.folder, **{FOLDER: self.machine})
        return {**found, "PATH": f"{Path(IBI).parent}{os.pathsep}{found['PATH']}"}

    def log(self) -> str:
        """Return what it wrote to its standard error since it was started."""
        return self._log.read_text("utf-8")

    def ibi(self, *arguments: str) -> Done:
        """Run a command as its owner does."""
        return run(arguments, self.environment, self.folder)

    def shell(self, line: str) -> Done:
        """Run a line in its owner's shell; what it says and what it complains of is one."""
        return subprocess.run(  # noqa: S602  # lines that the program itself, or its README, prints
            line,
            shell=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
            env=self.environment,
            cwd=self.folder,
            timeout=PATIENCE,
        )

    def get(self, url: str, **headers: str) -> Answer:
        """Read something, as a browser does that follows no redirection."""
        client = Client("", "")
        try:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            return client.ask("GET", url, headers=named)
        finally:
            client.close()

    def follow(self, url: str, **headers: str) -> Answer:
        """Read something, as a browser does; another machine is never asked."""
        for _ in range(10):
            answer = self.get(url, **headers)
            where = answer.headers.get("location", "")
            if not where.startswith((self.resolver, self.archive)):
                return answer
            url = where
        raise AssertionError(url)
