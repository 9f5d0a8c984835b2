"""Minting over HTTP: requests a second, against the same server answering a constant.

Server and clients each have a core of their own. The clients are one process of bare protocols
that send what is ready-made and count answers, so that they cost less than the server.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import cast

from ibi.adapters.machine import FOLDER

CLIENTS = 64
SECONDS = 2.0
ROUNDS = 7
LEAST = 0.5


def over_http() -> list[str]:
    """Run the real service, and 64 clients who ask again as soon as they are answered."""
    cores = sorted(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {FOLDER: str(Path(folder, "machine"))}
        command = [sys.executable, "-m", "ibi", "minter", "serve", "--listen", "127.0.0.1:0"]
        command += ["--host", "mtc-m19.sid.inpe.br", "--ip", "150.163.34.243"]
        command += ["--ledger", str(Path(folder, "ledger"))]
        server = subprocess.Popen(  # noqa: S603
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
        )
        try:
            os.sched_setaffinity(server.pid, {cores[0]})
            assert server.stdout is not None  # noqa: S101  # a pipe was asked for
            token = server.stdout.readline().split()[1]
            address = server.stdout.readline().split("http://")[1].strip()
            return _measure(server.pid, address, token, cores[-1])
        finally:
            server.terminate()
            server.wait()


def _measure(server: int, address: str, token: str, core: int) -> list[str]:
    head = f"Host: {address}\r\nAuthorization: Bearer {token}\r\n"
    post = f"POST /api/v1/labels HTTP/1.1\r\n{head}"
    key = "Idempotency-Key: {key}\r\n"
    requests = {
        "a constant (`/healthz`)": f"GET /healthz HTTP/1.1\r\n{head}\r\n",
        "mint one": f"{post}Content-Length: 0\r\n\r\n",
        "mint 100": f'{post}Content-Length: 13\r\n\r\n{{"count":100}}',
        "mint one with an idempotency key": f"{post}{key}Content-Length: 0\r\n\r\n",
    }
    rates: dict[str, list[float]] = {name: [] for name in requests}
    costs: dict[str, list[float]] = {name: [] for name in requests}
    for _ in range(ROUNDS):
        for name, request in requests.items():
            before = _cpu(server)
            done = _load(address, request, core)
            rates[name].append(done / SECONDS)
            costs[name].append((_cpu(server) - before) / max(done, 1))
    reference = statistics.median(rates["a constant (`/healthz`)"])
    lines = [
        "| | requests a second | of the constant | server CPU, us a request |",
        "| --- | --- | --- | --- |",
    ]
    for name, measured in rates.items():
        rate, cost = statistics.median(measured), statistics.median(costs[name]) * 1e6
        lines.append(f"| {name} | {rate:,.0f} | {rate / reference:.2f} | {cost:.0f} |")
    lines += [
        "",
        (
            f"{CLIENTS} clients, median of {ROUNDS} interleaved rounds of {SECONDS:g} s, one core "
            f"for the server. Minting one must be at least {LEAST} of the constant. What limits it "
            "is the HTTP stack: the label itself costs what it costs in process. A key adds two "
            "transactions of the ledger for each group, and the way to the thread that does them."
        ),
    ]
    return lines


def _load(address: str, request: str, core: int) -> int:
    done = subprocess.run(  # noqa: S603
        [sys.executable, __file__, address, str(core), request],
        check=True,
        capture_output=True,
        text=True,
    )
    return int(json.loads(done.stdout))


def _cpu(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class _Client(asyncio.Protocol):
    """Sends a request, waits for its answer, and again."""

    answered = 0
    number = 0

    def __init__(self, request: str) -> None:
        self._request = request
        self._bytes = b"" if "{key}" in request else request.encode()
        self._left = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.WriteTransport", transport)
        self._send()

    def _send(self) -> None:
        _Client.number += 1
        text = self._request
        key = f"{os.getpid()}-{time.time_ns()}-{_Client.number}"
        self._transport.write(self._bytes or text.replace("{key}", key).encode())

    def data_received(self, data: bytes) -> None:
        if not self._left:
            head, _, body = data.partition(b"\r\n\r\n")
            if head[9:10] != b"2":
                raise SystemExit(data.decode())
            length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
            self._left = length - len(body)
        else:
            self._left -= len(data)
        if self._left <= 0:
            self._left = 0
            _Client.answered += 1
            self._send()


async def _clients(address: str, request: str) -> int:
    host, _, port = address.partition(":")
    loop = asyncio.get_running_loop()
    for _ in range(CLIENTS):
        await loop.create_connection(lambda: _Client(request), host, int(port))
    await asyncio.sleep(0.3)
    before = _Client.answered
    await asyncio.sleep(SECONDS)
    return _Client.answered - before


if __name__ == "__main__":
    import uvloop

    os.sched_setaffinity(0, {int(sys.argv[2])})
    sys.stdout.write(json.dumps(uvloop.run(_clients(sys.argv[1], sys.argv[3]))))
    sys.stdout.flush()
    os._exit(0)
