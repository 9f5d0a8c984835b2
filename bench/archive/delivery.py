"""Delivery of files, against nginx with sendfile on the same files.

Server and client each have a core of their own. The client throws away what it gets without
copying it (MSG_TRUNC), so that it costs less than any server.
"""

from __future__ import annotations

import json
import os
import select
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.support.clients import cpu_seconds
from bench.support.goals import at_least
from bench.support.nginx import nginx, reserved_port, running
from ibi.archive.rules.file_path import check_path
from ibi.archive.storage.files.folder_listing import LocalFile
from ibi.foundation.system.safe_open import open_beneath

LARGE = 1 << 30
SMALL = 100_000
CONNECTIONS = 32
SECONDS = 2.0
ROUNDS = 7
LEAST = 0.5


def against_nginx() -> list[str]:
    """Fetch one file of 1 GB by one client, and one of 100 kB by 32 at once."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "files").mkdir()
        with (folder / "files" / "large").open("wb") as file:
            for _ in range(LARGE >> 20):
                file.write(os.urandom(1 << 20))
        (folder / "files" / "small").write_bytes(os.urandom(SMALL))
        server = f"root {folder}/files; etag on;"
        with (
            nginx(folder, server, "sendfile on; tcp_nopush on;") as theirs,
            _ours(folder) as ours,
        ):
            return _compared({"nginx": theirs, "ours": ours})


def _compared(servers: dict[str, tuple[int, int]]) -> list[str]:
    # Of each figure: the path, how many fetch it at once, the bytes of its unit.
    loads = {
        "1 GB, MB/s": ("/large", 1, 1e6),
        "100 kB, files/s": ("/small", CONNECTIONS, SMALL),
    }
    rates: dict[tuple[str, str], list[float]] = {}
    costs: dict[tuple[str, str], list[float]] = {}
    for _ in range(ROUNDS):
        for title, (path, connections, unit) in loads.items():
            for name, (process, port) in servers.items():
                before = cpu_seconds(process)
                fetched, seconds = _fetch(port, path, connections)
                rates.setdefault((title, name), []).append(fetched / unit / seconds)
                spent = (cpu_seconds(process) - before) / fetched
                costs.setdefault((title, name), []).append(spent)
    lines = [
        "| | nginx | ours | of nginx | CPU, nginx, s/GB | CPU, ours, s/GB |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    ratios = {}
    for title in loads:
        theirs, ours = (statistics.median(rates[title, name]) for name in servers)
        used = " | ".join(f"{statistics.median(costs[title, name]) * 1e9:.2f}" for name in servers)
        ratios[title] = ours / theirs
        lines.append(f"| {title} | {theirs:,.0f} | {ours:,.0f} | {ours / theirs:.2f} | {used} |")
    large = ratios["1 GB, MB/s"]
    lines += [
        "",
        at_least("large files, of nginx", large, LEAST),
        "",
        (
            f"Median of {ROUNDS} interleaved rounds of "
            f"{SECONDS:g} s, one process and one core for each server, the files in memory; "
            f"the small file by {CONNECTIONS} connections at once. Small files are bounded by the "
            "Python of a request, as is everything else (minting over HTTP); ours walks to the "
            "file without following links, and says thirteen things in its headers."
        ),
    ]
    return lines


@contextmanager
def _ours(folder: Path) -> Iterator[tuple[int, int]]:
    port = reserved_port()
    with running(
        [sys.executable, "-m", __name__, "serve", str(folder / "files"), str(port)], port
    ) as (process):
        yield process, port


def _fetch(port: int, path: str, connections: int) -> tuple[int, float]:
    command = [sys.executable, "-m", __name__, "fetch", str(port), path, str(connections)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
    fetched, seconds = json.loads(done.stdout)
    return fetched, seconds


class _Client:
    """Fetches a file again as soon as it has it."""

    def __init__(self, port: int, path: str) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self._request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
        self._left = 0
        self._buffer = bytearray(4 << 20)
        self.socket.sendall(self._request)

    def receive(self) -> int:
        """Take what is there; return how many bytes of files it was."""
        if self._left:
            count = self.socket.recv_into(
                self._buffer, min(self._left, len(self._buffer)), socket.MSG_TRUNC
            )
        else:
            head, _, body = self.socket.recv(4096).partition(b"\r\n\r\n")
            if not head.startswith(b"HTTP/1.1 200"):
                raise SystemExit(head.decode())
            length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
            self._left, count = int(length), len(body)
        self._left -= count
        if not self._left:
            self.socket.sendall(self._request)
        return count


def _load(port: int, path: str, connections: int) -> tuple[int, float]:
    poll = select.epoll()
    clients = {client.socket.fileno(): client for client in _clients(port, path, connections)}
    for number in clients:
        poll.register(number, select.EPOLLIN)
    fetched = 0
    start = time.perf_counter()
    while (seconds := time.perf_counter() - start) < SECONDS:
        for number, _ in poll.poll():
            fetched += clients[number].receive()
    return fetched, seconds


def _clients(port: int, path: str, connections: int) -> Iterator[_Client]:
    for _ in range(connections):
        yield _Client(port, path)


def _serve(folder: Path, port: int) -> None:
    import uvicorn  # noqa: PLC0415  # the client, whose time is measured, needs none of this
    from starlette.applications import Starlette  # noqa: PLC0415
    from starlette.requests import Request  # noqa: PLC0415
    from starlette.responses import Response  # noqa: PLC0415
    from starlette.routing import Route  # noqa: PLC0415

    from ibi.archive.web.delivery.file_delivery import Content, deliver  # noqa: PLC0415
    from ibi.foundation.web.bounded_http import BoundedHttp  # noqa: PLC0415

    async def answer(request: Request) -> Response:
        path = check_path(request.path_params["path"])
        fd = open_beneath(folder, path.split("/"))
        content = Content(
            file=LocalFile(fd),
            name=path,
            sha256="0" * 64,
            cite_as="http://urlib.net/8JMKD3MGP8W/34PGRBS",
        )
        return await deliver(request, content)

    app = Starlette(routes=[Route("/{path:path}", answer)])
    uvicorn.run(
        app,
        host="127.0.0.1",
        port=port,
        http=BoundedHttp,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        lifespan="off",
    )


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve", folder, port]:
            _serve(Path(folder), int(port))
        case ["fetch", port, path, connections]:
            os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
            sys.stdout.write(json.dumps(_load(int(port), path, int(connections))))
        case _:
            print("\n".join(against_nginx()))
