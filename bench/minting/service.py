"""Minting over HTTP: requests a second, against the same server answering a constant.

Server and clients each have a core of their own; the clients are one process.
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

from bench.support.clients import AskingClient, cpu_seconds
from bench.support.goals import at_least
from ibi.minting.storage.machine_folder import FOLDER

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
            before = cpu_seconds(server)
            done = _load(address, request, core)
            rates[name].append(done / SECONDS)
            costs[name].append((cpu_seconds(server) - before) / max(done, 1))
    reference = statistics.median(rates["a constant (`/healthz`)"])
    lines = [
        "| | requests a second | of the constant | server CPU, us a request |",
        "| --- | --- | --- | --- |",
    ]
    for name, measured in rates.items():
        rate, cost = statistics.median(measured), statistics.median(costs[name]) * 1e6
        lines.append(f"| {name} | {rate:,.0f} | {rate / reference:.2f} | {cost:.0f} |")
    one = statistics.median(rates["mint one"]) / reference
    lines += [
        "",
        at_least("minting one over HTTP, of what a constant answer takes", one, LEAST),
        "",
        (
            f"{CLIENTS} clients, median of {ROUNDS} interleaved rounds of {SECONDS:g} s, one core "
            "for the server. What limits it is the HTTP stack: the label itself costs what it "
            "costs in process. A key adds two transactions of the ledger for each group, and the "
            "way to the thread that does them."
        ),
    ]
    return lines


def _load(address: str, request: str, core: int) -> int:
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", __name__, address, str(core), request],
        check=True,
        capture_output=True,
        text=True,
    )
    return int(json.loads(done.stdout))


class _Client(AskingClient):
    """Counts the answers of all."""

    count = 0
    number = 0

    def __init__(self, request: str) -> None:
        super().__init__()
        self._request = request
        self._bytes = b"" if "{key}" in request else request.encode()

    def request(self) -> bytes:
        _Client.number += 1
        key = f"{os.getpid()}-{time.time_ns()}-{_Client.number}"
        return self._bytes or self._request.replace("{key}", key).encode()

    def answered(self) -> None:
        _Client.count += 1


async def _clients(address: str, request: str) -> int:
    host, _, port = address.partition(":")
    loop = asyncio.get_running_loop()
    for _ in range(CLIENTS):
        await loop.create_connection(lambda: _Client(request), host, int(port))
    await asyncio.sleep(0.3)
    before = _Client.count
    await asyncio.sleep(SECONDS)
    return _Client.count - before


if __name__ == "__main__":
    import uvloop

    os.sched_setaffinity(0, {int(sys.argv[2])})
    sys.stdout.write(json.dumps(uvloop.run(_clients(sys.argv[1], sys.argv[3]))))
    sys.stdout.flush()
    os._exit(0)
