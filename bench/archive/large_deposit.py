"""Ten gigabytes in and out of an archive by HTTP, and the most memory that it took."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import urllib3

from bench.support.clients import most_memory
from bench.support.goals import at_most
from ibi.minting.storage.machine_folder import FOLDER

GIGABYTES = 10
MOST = 100
"""Megabytes."""

_PIECE = os.urandom(1 << 20)


def ten_gigabytes() -> list[str]:
    """Send a file, complete the deposit, read the file again."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {FOLDER: str(Path(folder, "machine"))}
        data = str(Path(folder, "archive"))
        command = [sys.executable, "-m", "ibi", "archive"]
        options = ["--address", "http://archive.example.org", "--ip", "150.163.34.243"]
        subprocess.run(  # noqa: S603
            [*command, "init", "--data", data, *options],
            check=True,
            capture_output=True,
            env=environment,
        )
        server = subprocess.Popen(  # noqa: S603
            [*command, "serve", "--data", data, "--listen", "127.0.0.1:0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )
        try:
            assert server.stdout is not None  # noqa: S101  # a pipe was asked for
            address = server.stdout.readline().partition("=")[2].strip()
            token = Path(data, "token").read_text(encoding="utf-8").strip()
            return _measure(server.pid, address, token)
        finally:
            server.terminate()
            server.wait()


def _measure(server: int, address: str, token: str) -> list[str]:
    pool = urllib3.PoolManager(retries=False, timeout=urllib3.Timeout(3600))
    headers = {"Authorization": f"Bearer {token}"}
    before = most_memory(server)
    opened = pool.request(
        "POST", f"{address}/api/v1/deposits", headers=headers, json={"metadata": {"title": "Large"}}
    )
    deposit = f"{address}/api/v1/deposits/{json.loads(opened.data)['id']}"
    size = GIGABYTES << 30
    started = time.monotonic()
    sent = pool.request(
        "PUT",
        f"{deposit}/files/large.bin",
        body=_pieces(size),
        headers={**headers, "Content-Length": str(size)},
    )
    taken = time.monotonic() - started
    item = json.loads(pool.request("POST", f"{deposit}/completion", headers=headers).data)
    started = time.monotonic()
    path = item["url"].partition("archive.example.org")[2]
    answer = pool.request("GET", f"{address}{path}", preload_content=False)
    received = sum(len(piece) for piece in answer.stream(1 << 20))
    given = time.monotonic() - started
    whole = sent.status == 201 and received == size  # noqa: PLR2004  # created
    return [
        (
            f"{GIGABYTES} GB in one file, {'whole' if whole else 'NOT whole'}: in with SHA-256 and "
            f"SHA-512 in {taken:.0f} s, out in {given:.0f} s. The server's memory was {before:.0f} "
            f"MB before."
        ),
        "",
        at_most("memory while 10 GB come in", most_memory(server), MOST, " MB"),
    ]


def _pieces(size: int) -> Iterator[bytes]:
    for _ in range(size // len(_PIECE)):
        yield _PIECE


if __name__ == "__main__":
    print("\n".join(ten_gigabytes()))
