"""Archives of many items that run, and clients that ask them: each on a core of its own."""

from __future__ import annotations

import asyncio
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.archive.item_rows import HOST, IP, labels
from bench.support.clients import AskingClient, cpu_seconds
from ibi.minting.storage.machine_folder import FOLDER

CLIENTS = 16
SECONDS = 3.0
CONSTANT = "a constant (`/healthz`)"
URL_REQUEST = "urlRequest"
LAST_METADATA = "urlRequest, !:(oai_dc)"
FILE = "a file of 1 kB"
METADATA = "metadata, oai_dc"

_REQUESTS = 20_000
_FILES = 2_000
"""Items whose file is really there, to be asked for."""


@dataclass(frozen=True)
class ArchiveServer:
    """An archive that runs."""

    items: int
    process: int
    address: str
    service: str
    start: float
    """Seconds until it answered."""


@dataclass(frozen=True)
class Load:
    """What clients saw, and what it cost the server."""

    rate: float
    median: float
    p99: float
    cpu: float


def make(folder: Path, catalogue: str = "") -> str:
    """Make an archive that audits no files, for it lacks most; return the label of its service."""
    command = [sys.executable, "-m", "ibi", "archive", "init", "--data", str(folder)]
    command += ["--address", f"http://{HOST}", "--ip", IP, "--json"]
    command += ["--catalogue", catalogue] if catalogue else []
    done = subprocess.run(  # noqa: S603
        command, check=True, capture_output=True, text=True, env=_environment(folder)
    )
    settings = folder / "archive.toml"
    text = settings.read_text(encoding="utf-8")
    settings.write_text(f"{text}audit_days = 0\n", encoding="utf-8")
    return str(json.loads(done.stdout)["service"])


def put_files(folder: Path, items: int) -> None:
    """Put the files of some items where the catalogue says that they are."""
    for number in _with_file(items):
        place = folder / "col" / labels(2 * number)[0] / "doc"
        place.mkdir(parents=True)
        file = place / "report.pdf"
        file.write_bytes(bytes(1000))
        os.utime(file, (0, 0))


def _with_file(items: int) -> list[int]:
    return random.Random(items).sample(range(items), min(_FILES, items))  # noqa: S311  # no secret


def _environment(folder: Path) -> dict[str, str]:
    return os.environ | {FOLDER: str(folder.with_suffix(".machine"))}


@contextmanager
def running(folder: Path, items: int, service: str, core: int) -> Iterator[ArchiveServer]:
    """Run an archive on one core."""
    command = [sys.executable, "-m", "ibi", "archive", "serve", "--data", str(folder)]
    started = time.monotonic()
    server = subprocess.Popen(  # noqa: S603
        [*command, "--listen", "127.0.0.1:0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=_environment(folder),
    )
    try:
        os.sched_setaffinity(server.pid, {core})
        assert server.stdout is not None  # noqa: S101  # a pipe was asked for
        address = server.stdout.readline().split("http://")[1].strip()
        start = time.monotonic() - started
        yield ArchiveServer(items, server.pid, address, service, start)
    finally:
        server.terminate()
        server.wait()


def load(server: ArchiveServer, kind: str, core: int) -> Load:
    """Have clients ask for a while, from another core."""
    given = [server.address, str(core), kind, str(server.items), server.service]
    before = cpu_seconds(server.process)
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", __name__, *given], check=True, capture_output=True, text=True
    )
    rate, median, p99, answered = json.loads(done.stdout)
    return Load(rate, median, p99, (cpu_seconds(server.process) - before) / max(1, answered))


class _Client(AskingClient):
    """Notes how long each answer took."""

    took: list[float] = []  # noqa: RUF012  # one list for all clients of the process

    def __init__(self, requests: list[bytes]) -> None:
        super().__init__()
        self._requests = requests

    def request(self) -> bytes:
        self._sent = time.perf_counter()
        return random.choice(self._requests)  # noqa: S311  # no secret

    def answered(self) -> None:
        _Client.took.append(time.perf_counter() - self._sent)


async def _clients(address: str, requests: list[bytes]) -> tuple[float, float, float, int]:
    host, _, port = address.partition(":")
    loop = asyncio.get_running_loop()
    for _ in range(CLIENTS):
        await loop.create_connection(lambda: _Client(requests), host, int(port))
    await asyncio.sleep(0.3)
    before = len(_Client.took)
    await asyncio.sleep(SECONDS)
    took = sorted(_Client.took[before:])
    median, p99 = took[len(took) // 2], took[len(took) * 99 // 100]
    return len(took) / SECONDS, median * 1e3, p99 * 1e3, len(_Client.took)


def _target(kind: str, items: int, service: str) -> str:
    number = random.randrange(items)  # noqa: S311  # no secret
    match kind:
        case "urlRequest" | "urlRequest, !:(oai_dc)":
            label = random.choice(labels(2 * number))  # noqa: S311  # no secret
            verbs = "&parsedibiurl.verblist=GetLastEdition%20GetMetadata(oai_dc)"
            return (
                f"{service}?servicesubject=urlRequest&clientinformation.ipaddress=150.163.2.175"
                f"&parsedibiurl.ibi={label}{verbs if kind == LAST_METADATA else ''}"
            )
        case "metadata, oai_dc":
            return f"col/{labels(2 * number + 1)[0]}/doc/metadata?choice=oai_dc"
        case _:
            return "healthz"


def _requests(address: str, kind: str, items: int, service: str) -> list[bytes]:
    if kind == FILE:
        targets = [f"col/{labels(2 * each)[0]}/doc/report.pdf" for each in _with_file(items)]
    else:
        targets = [_target(kind, items, service) for _ in range(_REQUESTS)]
    return [f"GET /{each} HTTP/1.1\r\nHost: {address}\r\n\r\n".encode() for each in targets]


if __name__ == "__main__":
    import uvloop

    address, core, kind, items, service = sys.argv[1:]
    os.sched_setaffinity(0, {int(core)})
    ready = _requests(address, kind, int(items), service)
    sys.stdout.write(json.dumps(uvloop.run(_clients(address, ready))))
    sys.stdout.flush()
    os._exit(0)
