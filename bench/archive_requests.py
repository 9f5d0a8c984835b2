"""An archive of a thousand items and one of a million: what a resolver's question costs.

Both run at the same time on one core, and are asked in turn by the same clients on the other.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import apsw

from asking import AskingClient, cpu_seconds, most_memory
from ibi.adapters.machine import FOLDER
from ibi.identifier.ibip import Ibip
from ibi.identifier.instant import Instant
from ibi.identifier.repository_name import RepositoryName

SIZES = (1_000, 1_000_000)
CLIENTS = 16
SECONDS = 3.0
ROUNDS = 5
MOST = 3.0
"""Times that the 99th percentile may be at a million items what it is at a thousand."""
LONGEST_START = 5.0

_HOST, _PORT, _IP = "archive.example.org", 80, "150.163.34.243"
_FIRST = 1_000_000_000


@dataclass(frozen=True)
class _Server:
    items: int
    process: int
    address: str
    service: str
    start: float


def url_requests() -> list[str]:
    """Load two archives, start them, and ask them."""
    cores = sorted(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as folder:
        for items in SIZES:
            sys.stderr.write(f"  loading {items:,} items ...\n")
            _fill(Path(folder, str(items)), items)
        with (
            _running(Path(folder), SIZES[0], cores[0]) as small,
            _running(Path(folder), SIZES[1], cores[0]) as large,
        ):
            return _measure([small, large], cores[-1])


def _fill(folder: Path, items: int) -> None:
    command = [sys.executable, "-m", "ibi", "archive", "init", "--data", str(folder)]
    command += ["--address", f"http://{_HOST}", "--ip", _IP]
    environment = os.environ | {FOLDER: str(folder.with_suffix(".machine"))}
    subprocess.run(command, check=True, capture_output=True, env=environment)  # noqa: S603
    connection = apsw.Connection(str(folder / "catalogue.sqlite"))
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("BEGIN")
    for start in range(0, items, 10_000):
        rows = [_rows(number) for number in range(start, min(start + 10_000, items))]
        connection.executemany(
            "INSERT INTO archive_item (id, label, kind, state, version, document) "
            "VALUES (?, ?, ?, 'Original', 1, ?)",
            [each for item, _, _ in rows for each in item],
        )
        connection.executemany(
            "INSERT INTO archive_name (name, item) VALUES (?, ?)",
            [each for _, names, _ in rows for each in names],
        )
        connection.executemany(
            "INSERT INTO archive_file VALUES (?, 'report.pdf', 1000, ?, ?, 0, '')",
            [file for _, _, file in rows],
        )
    connection.execute("COMMIT")
    connection.close()


def _labels(number: int) -> tuple[str, str]:
    instant = Instant(_FIRST + number)
    return (
        RepositoryName.mount(_HOST, _PORT, instant).spelling,
        Ibip.mount(_IP, 800, instant).spelling,
    )


def _rows(
    number: int,
) -> tuple[list[tuple[object, ...]], list[tuple[str, int]], tuple[object, ...]]:
    """Return the rows of an item and of its metadata: numbers 10 and 11, 12 and 13, and so on."""
    id_ = 10 + 2 * number
    rep, ibip = _labels(2 * number)
    meta_rep, meta_ibip = _labels(2 * number + 1)
    forms, meta = f"rep {rep} ibip {ibip}", f"rep {meta_rep} ibip {meta_ibip}"
    times = {"created": 10**18, "updated": 10**18}
    item = {"version": 1, "forms": forms, "language": "en", "target": "report.pdf", **times}
    describing = {"version": 1, "forms": meta, "kind": "metadata", "target": "metadata", **times}
    record = {"titles": [{"value": f"Report {number}", "language": "en"}]}
    documents: list[tuple[object, ...]] = [
        (id_, rep, "data", json.dumps({**item, "metadata": meta})),
        (
            id_ + 1,
            meta_rep,
            "metadata",
            json.dumps({**describing, "describes": forms, "record": record}),
        ),
    ]
    names = [(rep, id_), (ibip, id_), (meta_rep, id_ + 1), (meta_ibip, id_ + 1)]
    return documents, names, (id_, "0" * 64, "0" * 128)


@contextmanager
def _running(folder: Path, items: int, core: int) -> Iterator[_Server]:
    data = folder / str(items)
    command = [sys.executable, "-m", "ibi", "archive", "serve", "--data", str(data)]
    environment = os.environ | {FOLDER: str(data.with_suffix(".machine"))}
    started = time.monotonic()
    server = subprocess.Popen(  # noqa: S603
        [*command, "--listen", "127.0.0.1:0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment,
    )
    try:
        os.sched_setaffinity(server.pid, {core})
        assert server.stdout is not None  # noqa: S101  # a pipe was asked for
        address = server.stdout.readline().split("http://")[1].strip()
        start = time.monotonic() - started
        connection = apsw.Connection(str(data / "catalogue.sqlite"))
        [(service,)] = connection.execute("SELECT label FROM archive_item WHERE kind = 'service'")
        connection.close()
        yield _Server(items, server.pid, address, str(service), start)
    finally:
        server.terminate()
        server.wait()


def _measure(servers: list[_Server], core: int) -> list[str]:
    kinds = ("urlRequest", "urlRequest, !:(oai_dc)", "a constant (`/healthz`)")
    measured: dict[tuple[int, str], list[_Load]] = {}
    for _ in range(ROUNDS):
        for server in servers:
            for kind in kinds:
                measured.setdefault((server.items, kind), []).append(_load(server, kind, core))
    lines = [
        "| items | | requests a second | of the constant | p50, ms | p99, ms | CPU, us a request |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for (items, kind), loads in measured.items():
        rate = statistics.median(load.rate for load in loads)
        constant = statistics.median(load.rate for load in measured[items, kinds[-1]])
        lines.append(
            f"| {items:,} | {kind} | {rate:,.0f} | {rate / constant:.2f} | "
            f"{statistics.median(load.median for load in loads):.2f} | "
            f"{statistics.median(load.p99 for load in loads):.2f} | "
            f"{statistics.median(load.cpu for load in loads) * 1e6:.0f} |"
        )
    small, large = (
        statistics.median(load.p99 for load in measured[items, kinds[0]]) for items in SIZES
    )
    starts = ", ".join(f"{server.start:.2f} s with {server.items:,} items" for server in servers)
    memory = ", ".join(
        f"{most_memory(server.process):.0f} MB with {server.items:,}" for server in servers
    )
    lines += [
        "",
        (
            f"The 99th percentile at a million items is {large / small:.2f} times that at a "
            f"thousand (limit {MOST:g}). {CLIENTS} clients, medians of {ROUNDS} interleaved rounds "
            f"of {SECONDS:g} s, items at random, both servers on one core. Ready after {starts} "
            f"(limit {LONGEST_START:g} s). Largest memory: {memory} (page cache not counted)."
        ),
    ]
    return lines


@dataclass(frozen=True)
class _Load:
    rate: float
    median: float
    p99: float
    cpu: float


def _load(server: _Server, kind: str, core: int) -> _Load:
    before = cpu_seconds(server.process)
    done = subprocess.run(  # noqa: S603
        [
            sys.executable,
            __file__,
            server.address,
            str(core),
            kind,
            str(server.items),
            server.service,
        ],
        check=True,
        capture_output=True,
        text=True,
    )
    rate, median, p99 = json.loads(done.stdout)
    return _Load(
        rate, median, p99, (cpu_seconds(server.process) - before) / max(1.0, rate * SECONDS)
    )


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


async def _clients(address: str, requests: list[bytes]) -> tuple[float, float, float]:
    host, _, port = address.partition(":")
    loop = asyncio.get_running_loop()
    for _ in range(CLIENTS):
        await loop.create_connection(lambda: _Client(requests), host, int(port))
    await asyncio.sleep(0.3)
    _Client.took.clear()
    await asyncio.sleep(SECONDS)
    took = sorted(_Client.took)
    return len(took) / SECONDS, took[len(took) // 2] * 1e3, took[len(took) * 99 // 100] * 1e3


def _requests(address: str, kind: str, items: int, service: str) -> list[bytes]:
    verbs = (
        "&parsedibiurl.verblist=GetLastEdition%20GetMetadata(oai_dc)" if "oai_dc" in kind else ""
    )
    requests = []
    for _ in range(20_000):
        label = random.choice(_labels(2 * random.randrange(items)))  # noqa: S311  # no secret
        question = (
            f"{service}?servicesubject=urlRequest&clientinformation.ipaddress=150.163.2.175"
            f"&parsedibiurl.ibi={label}{verbs}"
        )
        path = question if kind.startswith("urlRequest") else "healthz"
        requests.append(f"GET /{path} HTTP/1.1\r\nHost: {address}\r\n\r\n".encode())
    return requests


if __name__ == "__main__":
    import uvloop

    address, core, kind, items, service = sys.argv[1:]
    os.sched_setaffinity(0, {int(core)})
    ready = _requests(address, kind, int(items), service)
    sys.stdout.write(json.dumps(uvloop.run(_clients(address, ready))))
    sys.stdout.flush()
    os._exit(0)
