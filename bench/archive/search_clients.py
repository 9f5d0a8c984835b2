"""Clients that search an archive at an address, from one core: the searches are their input."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from typing import Final

from bench.support.clients import AskingClient

CLIENTS: Final = 4


class _Client(AskingClient):
    """Asks for one search after the other, and notes how long each took."""

    left: list[bytes] = []  # noqa: RUF012  # one list for all clients of the process
    took: list[float] = []  # noqa: RUF012
    count = 0
    done: asyncio.Event

    def request(self) -> bytes:
        self._sent = time.perf_counter()
        return _Client.left.pop() if _Client.left else b""

    def answered(self) -> None:
        _Client.took.append(time.perf_counter() - self._sent)
        if len(_Client.took) == _Client.count:
            _Client.done.set()


async def _clients(address: str, requests: list[bytes]) -> list[float]:
    host, _, port = address.partition(":")
    loop = asyncio.get_running_loop()
    _Client.done = asyncio.Event()
    _Client.left, _Client.count = [*requests], len(requests)
    for _ in range(CLIENTS):
        await loop.create_connection(_Client, host, int(port))
    await _Client.done.wait()
    return _Client.took


if __name__ == "__main__":
    import uvloop

    address, core = sys.argv[1:]
    os.sched_setaffinity(0, {int(core)})
    ready = [
        f"GET {each} HTTP/1.1\r\nHost: {address}\r\n\r\n".encode()
        for each in sys.stdin.read().split("\n")
    ]
    sys.stdout.write(json.dumps(uvloop.run(_clients(address, ready))))
    sys.stdout.flush()
    os._exit(0)
