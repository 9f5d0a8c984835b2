"""Copies from archive to archive: many small items and a large one, and what limits each.

Small items are copied twice: some on the disk, where making things durable is what takes long, and
many in memory, where it is not. `IBI_BENCH_ITEMS` and `IBI_BENCH_MEGABYTES` make it smaller.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from bench.archive.archive_pair import NAME, Copied, Pair, Running, Syncs, copy, syncs

ITEMS = int(os.environ.get("IBI_BENCH_ITEMS", "100000"))
ON_DISK = min(ITEMS, 5000)
MEMORY = Path("/dev/shm")  # noqa: S108  # made for it
MEGABYTES = int(os.environ.get("IBI_BENCH_MEGABYTES", "10000"))
SMALL = 1000
"""Bytes of the file of a small item."""
SAMPLE = 200
"""Items of which it is counted how often they are made durable."""
ONE_BY_ONE = 2000
"""Files that are written and synced, each before the next."""
_MB = 1_000_000
_MOST_OF_IT = 0.5


def small_items_on_disk() -> list[str]:
    """Copy some items of a file of 1 kB, and as many such files without an archive."""
    return _small_items(ON_DISK, None)


def small_items_in_memory() -> list[str]:
    """Copy many of them where the disk is not waited for."""
    return _small_items(ITEMS, MEMORY if MEMORY.is_dir() else None)


def _small_items(items: int, within: Path | None) -> list[str]:
    with tempfile.TemporaryDirectory(dir=within) as name:
        folder = Path(name)
        pair = Pair(folder)
        sys.stderr.write(f"  making {items + SAMPLE:,} items ...\n")
        sample = pair.make(items + SAMPLE, SMALL)[:SAMPLE]
        references = [_plain_copies(folder, items)]
        with pair.running() as (giving, taking):
            with syncs(taking.process) as synced:
                traced = copy(giving, taking, items=sample)
            copied = copy(giving, taking, all=True)
        references.append(_plain_copies(folder, items))
    copies, singles = (min(each) for each in zip(*references, strict=True))
    return _small_lines(copied, copies, singles, synced, traced.seconds)


def _plain_copies(folder: Path, items: int) -> tuple[float, float]:
    """Return the seconds a file takes: copied all at once, and written and synced one by one."""
    source, target, one = (folder / each for each in ("plain", "plain-copy", "one"))
    source.mkdir()
    for number in range(items):
        place = source / f"{number // 1000}" / f"{number}"
        place.mkdir(parents=True)
        (place / NAME).write_bytes(os.urandom(SMALL))
    os.sync()
    started = time.monotonic()
    subprocess.run(["cp", "-r", str(source), str(target)], check=True)  # noqa: S603, S607
    for path in target.rglob("*"):
        _sync(path)
    copies = (time.monotonic() - started) / items
    one.mkdir()
    started = time.monotonic()
    for number in range(ONE_BY_ONE):
        with (one / f"{number}").open("wb") as file:
            file.write(os.urandom(SMALL))
            file.flush()
            os.fsync(file.fileno())
        _sync(one)
    singles = (time.monotonic() - started) / ONE_BY_ONE
    for place in (source, target, one):
        shutil.rmtree(place)
    return copies, singles


def _sync(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _small_lines(
    copied: Copied, copies: float, singles: float, synced: Syncs, traced: float
) -> list[str]:
    one = copied.seconds / copied.copied
    rows = [
        ("`cp -r`, then fsync of each file", copies),
        ("write and fsync, file by file", singles),
        ("`ibi archive copy --all`", one),
    ]
    giving, taking = (1000 * each / copied.copied for each in copied.cpu)
    busy = (giving + taking) / (1000 * one)
    return [
        "| | a second | ms each | of `cp -r` | of file by file |",
        "| --- | --- | --- | --- | --- |",
        *(
            f"| {title} | {1 / took:,.0f} | {1000 * took:.2f} | {copies / took:.3f} "
            f"| {singles / took:.2f} |"
            for title, took in rows
        ),
        "",
        (
            f"{copied.copied:,} items, each of one file of 1 kB and its metadata, in "
            f"{copied.seconds:.0f} s. CPU, ms an item: {giving:.1f} of the archive that gives, "
            f"{taking:.1f} of that which takes; together {busy:.2f} of one core. Most memory: "
            f"{copied.memory[0]:.0f} MB and {copied.memory[1]:.0f} MB. "
            + _small_limit(synced, traced, taking / (1000 * one))
        ),
    ]


def _small_limit(synced: Syncs, traced: float, working: float) -> str:
    """Say what a copy waits for: the disk, as strace saw it in a sample, or the processor."""
    if not synced.calls:
        return "How often the archive that takes makes something durable was not counted."
    waiting = synced.seconds / traced
    if max(waiting, working) < _MOST_OF_IT:
        limit = "neither alone; the machine had other things to do"
    elif waiting > working:
        limit = "the disk, for changes come one after the other, each durable before the next"
    else:
        limit = "the Python of the archive that takes, of which one thread runs at a time"
    return (
        f"The archive that takes makes something durable {synced.calls / SAMPLE:.1f} times an "
        "item: the file, two manifests, the decision, the catalogue, and the folders of each. Its "
        f"threads waited for the disk {waiting:.2f} of the time in a sample of {SAMPLE} items, "
        f"and worked {working:.2f} of it. What limits it: {limit}."
    )


def large_item() -> list[str]:
    """Copy an item of one large file, and do apart what a copy consists of."""
    size = MEGABYTES * _MB
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pair = Pair(folder)
        sys.stderr.write(f"  making a file of {MEGABYTES:,} MB ...\n")
        [label] = pair.make(1, size)
        source = folder / "giving" / "col" / label / "doc" / NAME
        with pair.running() as (giving, taking):
            parts = {
                "`cp`, then fsync": _timed(lambda: _plain_copy(source, folder / "copy")),
                "SHA-256 and SHA-512, one thread": _timed(lambda: _digests(source)),
                "GET over loopback, thrown away": _timed(lambda: _fetched(giving, label, size)),
            }
            copied = copy(giving, taking, items=[label])
            come = folder / "taking" / "col" / label / "doc" / NAME
            is_whole = come.stat().st_size == size and copied.copied == 1
    parts["`ibi archive copy`"] = copied.seconds
    alone = sum(list(parts.values())[:-1])
    return [
        "| | MB/s | s | of `cp` |",
        "| --- | --- | --- | --- |",
        *(
            f"| {title} | {MEGABYTES / took:,.0f} | {took:.1f} "
            f"| {parts['`cp`, then fsync'] / took:.2f} |"
            for title, took in parts.items()
        ),
        "",
        (
            f"{MEGABYTES:,} MB in one file, {'whole' if is_whole else 'NOT whole'}. CPU: "
            f"{copied.cpu[0]:.1f} s of the archive that gives, {copied.cpu[1]:.1f} s of that which "
            f"takes. Most memory: {copied.memory[0]:.0f} MB and {copied.memory[1]:.0f} MB. The "
            f"parts, one after the other, would take {alone:.1f} s. What limits it: both digests "
            "in one thread of the archive that takes, between reading the socket and writing the "
            "disk; the network of one machine is many times as quick."
        ),
    ]


def _timed(do: Callable[[], None]) -> float:
    started = time.monotonic()
    do()
    return time.monotonic() - started


def _plain_copy(source: Path, target: Path) -> None:
    subprocess.run(["cp", str(source), str(target)], check=True)  # noqa: S603, S607
    _sync(target)
    target.unlink()


def _digests(source: Path) -> None:
    digests = (hashlib.sha256(), hashlib.sha512())
    with source.open("rb", buffering=0) as file:
        while piece := file.read(1 << 18):
            for digest in digests:
                digest.update(piece)


def _fetched(giving: Running, label: str, size: int) -> None:
    parts = urlsplit(giving.address)
    request = f"GET /col/{label}/doc/{NAME} HTTP/1.1\r\nHost: {parts.netloc}\r\n\r\n"
    buffer = bytearray(4 << 20)
    with socket.create_connection((parts.hostname, parts.port)) as connection:
        connection.sendall(request.encode())
        head, _, body = connection.recv(8192).partition(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200"):
            raise SystemExit(head.decode())
        left = size - len(body)
        while left:
            left -= connection.recv_into(buffer, min(left, len(buffer)), socket.MSG_TRUNC)


if __name__ == "__main__":
    print("\n".join([*small_items_on_disk(), "", *small_items_in_memory(), "", *large_item()]))
