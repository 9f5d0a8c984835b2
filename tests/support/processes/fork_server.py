"""Commands of `ibi` in processes forked from one that has imported everything.

A start of the command takes a second of a core, hundreds of times in a run of all tests; a fork of
it takes some milliseconds. Tests of the start itself run the command as it is.
"""

from __future__ import annotations

import atexit
import faulthandler
import json
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from io import FileIO
from pathlib import Path
from subprocess import CompletedProcess
from tempfile import TemporaryFile
from typing import Final

_LONGEST: Final = 1 << 17
BEFORE_IMPORTS: Final = "# Before all imports.\n"
"""The first line of the lines of a twin that must run before anything is imported."""
SHOW_STACKS: Final = signal.SIGUSR2
"""The signal by which a process writes the stacks of its threads to its log."""
_PATH: Final = os.environ.get("PYTHONPATH", "")
"""The path of modules of this process, before any test makes it that of a twin."""
PRELOADED: Final = (
    *("ibi.archive.cli", "ibi.archive.cli.instance", "ibi.resolver.cli", "ibi.minting.cli.service"),
    *(
        "ibi.resolver.cli.instance",
        "ibi.archive.wiring.app",
        "ibi.resolver.wiring.app",
        "uvicorn.protocols.http.httptools_impl",
    ),
    *(
        "ibi.foundation.sql.postgres",
        "ibi.archive.peers.resolver_client",
        "ibi.archive.storage.unpack.unpack",
    ),
    *(
        "ibi.archive.web.app",
        "ibi.archive.web.item_pages",
        "ibi.resolver.web.app",
        "ibi.minting.web.app",
    ),
    *(
        "ibi.resolver.peers.archive_client",
        "ibi.archive.web.public_routes",
        "ibi.archive.web.api.administration",
        "uvloop",
    ),
)


def extend_transactions() -> None:
    """Let PostgreSQL wait for 20 s, not 2, for a process that stalls in a transaction.

    A busy machine may stall for some seconds, and the transaction would be lost.
    """
    postgres = import_module("ibi.foundation.sql.postgres")
    postgres._SETTINGS["idle_in_transaction_session_timeout"] = "20000"  # noqa: SLF001


def _extend_reads() -> None:
    """Let readers of a resolver wait for 20 s, not 0.5, for what its database has on an item.

    Without that, the resolver trusts fewer archives, and answers 503.
    """
    for name in ("ibi.resolver.search.owners", "ibi.resolver.digests.locations"):
        import_module(name).READ_TIMEOUT_SECONDS = 20.0  # type: ignore[attr-defined]


class ForkedProcess:
    """A process, used as one of `subprocess` is."""

    def __init__(self, pid: int, stdout: int, status: int) -> None:
        """Take its pipe, and the one at which its end is told."""
        self.pid = pid
        self.stdout = FileIO(stdout)
        self._status = FileIO(status)
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return its exit code, None while it runs."""
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end, and return its exit code."""
        if self.returncode is None:
            told, _, _ = select.select([self._status], [], [], timeout)
            if not told:
                raise subprocess.TimeoutExpired("ibi", timeout or 0)
            self.returncode = int(self._status.read() or -signal.SIGKILL)
            self._status.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, if it still runs."""
        if self.poll() is None:
            with suppress(ProcessLookupError):  # it has ended, and that is not told yet
                os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill it."""
        self.send_signal(signal.SIGKILL)


def fork(  # noqa: PLR0913  # what a process is started with
    arguments: Sequence[str],
    environment: Mapping[str, str],
    log: int,
    most_files: int = 0,
    *,
    folder: Path | None = None,
    stdin: int | None = None,
    umask: int = 0o022,
) -> ForkedProcess:
    """Run `ibi` with arguments in a folder; its log goes to an open file, its output to a pipe.

    It may open so many files until it asks for more; with 0, as many as we may. It reads an open
    file, or nothing.
    """
    reading, writing = os.pipe()
    status, told = os.pipe()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = (min(hard, most_files or soft), hard)
    request = json.dumps([arguments, dict(environment), str(folder or Path.cwd()), files, umask])
    forge = _forge(os.getpid())
    nothing = os.open(os.devnull, os.O_RDONLY)
    try:
        given = nothing if stdin is None else stdin
        socket.send_fds(forge, [request.encode()], [given, writing, log, told])
        pid = int(forge.recv(64))
    finally:
        os.close(nothing)
        os.close(writing)
        os.close(told)
    return ForkedProcess(pid, reading, status)


def run(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    folder: Path | None = None,
    stdin: bytes = b"",
    umask: int = 0o022,
) -> CompletedProcess[str]:
    """Run `ibi` with arguments to its end in a folder, with something on its standard input."""
    with TemporaryFile() as given, TemporaryFile() as errors:
        given.write(stdin)
        given.seek(0)
        process = fork(
            arguments,
            environment,
            errors.fileno(),
            folder=folder,
            stdin=given.fileno(),
            umask=umask,
        )
        said = b"".join(iter(lambda: process.stdout.read(65_536), b""))
        process.stdout.close()
        code = process.wait()
        errors.seek(0)
        return CompletedProcess(["ibi", *arguments], code, said.decode(), errors.read().decode())


@cache
def _forge(_: int) -> socket.socket:
    """Start the process that is forked, once in each process of the tests."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _LONGEST)
        process = subprocess.Popen(  # noqa: S603
            [sys.executable, __file__, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            env={**os.environ, "PYTHONPATH": _PATH},
        )
    atexit.register(process.wait)
    atexit.register(ours.close)
    return ours


def _serve(control: socket.socket) -> None:
    """Fork for whoever asks, and tell of each end, until nobody can ask any more."""
    # A thread that waits for children would be in the way of a fork.
    waking, woken = socket.socketpair()
    os.set_blocking(woken.fileno(), False)  # it has no name
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(woken.fileno(), warn_on_full_buffer=False)
    ends: dict[int, int] = {}
    while True:
        found, _, _ = select.select([control, waking], [], [])
        if waking in found:
            waking.recv(4096)
            _reap(ends)
        if control in found:
            request, descriptors, _, _ = socket.recv_fds(control, _LONGEST, 4)
            if not request:
                break
            stdin, writing, log, told = descriptors
            pid = os.fork()
            if pid == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for each in (control, waking, woken):
                    each.close()
                for end in (told, *ends.values()):
                    os.close(end)
                _become(request, stdin, writing, log)
            for descriptor in (stdin, writing, log):
                os.close(descriptor)
            ends[pid] = told
            control.send(str(pid).encode())
    for pid in ends:
        os.kill(pid, signal.SIGKILL)


def _reap(ends: dict[int, int]) -> None:
    while ends:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        told = ends.pop(pid)
        os.write(told, str(os.waitstatus_to_exitcode(status)).encode())
        os.close(told)


def _become(request: bytes, stdin: int, writing: int, log: int) -> None:
    """Be the command."""
    arguments, environment, folder, files, umask = json.loads(request)
    os.umask(umask)
    resource.setrlimit(resource.RLIMIT_NOFILE, files)
    os.chdir(folder)
    path = environment.get("PYTHONPATH", "")
    is_twin = path != _PATH
    os.environ.clear()
    os.environ.update(environment)
    for number, descriptor in enumerate((stdin, writing, log)):
        os.dup2(descriptor, number)
        os.close(descriptor)
    faulthandler.register(SHOW_STACKS, 2)
    if is_twin:
        _switch_off(Path(path.partition(os.pathsep)[0], "sitecustomize.py"), arguments)
    sys.stdin, sys.stdout, sys.stderr = (
        os.fdopen(number, mode, encoding="utf-8", closefd=False)
        for number, mode in enumerate("rww")
    )
    sys.argv = ["ibi", *arguments]
    from ibi.cli import main  # noqa: PLC0415  # imported by now

    code = 1
    try:
        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001  # as the interpreter does
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:  # or the command let go of it
                stream.flush()
        os._exit(code)


def _switch_off(lines: Path, arguments: Sequence[str]) -> None:
    """Run the lines that make this process a twin, in a new interpreter if they ask for one."""
    text = lines.read_text("utf-8")
    if text.startswith(BEFORE_IMPORTS):
        os.execv(sys.executable, [sys.executable, "-m", "ibi", *arguments])  # noqa: S606
    space = {"__name__": "sitecustomize", "__file__": str(lines)}
    exec(compile(text, lines, "exec"), space)  # noqa: S102


if __name__ == "__main__":
    for module in PRELOADED:
        import_module(module)
    extend_transactions()
    _extend_reads()
    _serve(socket.socket(fileno=int(sys.argv[1])))
