"""The page of an item: with very many files and editions, beside a constant answer, for a crowd.

The archive runs on one core, and the clients on the other. The constant answer is `/healthz`, which
goes through the same server, router and log. The archive lies in memory where the machine has a
file system there: ten thousand files take minutes to become durable, and no page depends on that.
"""

from __future__ import annotations

import asyncio
import io
import os
import statistics
import tempfile
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from bench.support.clients import AskingClient, cpu_seconds
from bench.support.goals import at_most, none_of
from tests.support.servers.archive import ArchiveServer

FEW: Final = 10
MANY_FILES: Final = int(os.environ.get("BENCH_FILES", "10_000"))
MANY_EDITIONS: Final = int(os.environ.get("BENCH_EDITIONS", "1_000"))
"""The variables are for a quick try."""
ROUNDS: Final = 10
ASKED: Final = 20
"""Requests of one round for each page."""
MOST_TIMES: Final = 2.0
"""Times that the first byte of a large item may take what that of a small one takes."""
MOST_CPU: Final = 3.0
"""Times the CPU of a constant answer."""
CROWD: Final = 500
"""Readers at once."""
CONSTANT: Final = "/healthz"
_IN_MEMORY: Final = next((each for each in ("/dev/shm",) if Path(each).is_dir()), None)  # noqa: S108  # the folder below it is new
_METADATA: Final = {
    "titles": ["Deforestation in the Brazilian Legal Amazon: annual maps"],
    "creators": ["Alencar, Marina Tavares de", "Kuroda, João Batista"],
    "dates": ["2013-09-04"],
    "types": ["Dataset"],
    "descriptions": ["Yearly maps of clear-cut deforestation, interpreted from satellite images."],
}


def pages_of_items() -> list[str]:
    """Measure the pages of small and large items."""
    with _archive() as archive:
        pages = {
            "ten files": _with_files(archive, FEW),
            f"{MANY_FILES:,} files": _with_files(archive, MANY_FILES),
            "ten editions": _with_editions(archive, FEW),
            f"{MANY_EDITIONS:,} editions": _with_editions(archive, MANY_EDITIONS),
        }
        return [*_first_bytes(archive, pages), *_cpu(archive, pages), *_crowd(archive, pages)]


@contextmanager
def _archive() -> Iterator[ArchiveServer]:
    own = os.sched_getaffinity(0)
    with tempfile.TemporaryDirectory(prefix="ibi-bench-", dir=_IN_MEMORY) as folder:
        archive = ArchiveServer(Path(folder))
        archive.wanted_workers = ""
        with archive:
            os.sched_setaffinity(archive.pid, {0})
            os.sched_setaffinity(0, {max(own)})
            try:
                yield archive
            finally:
                os.sched_setaffinity(0, own)


def _with_files(archive: ArchiveServer, count: int) -> str:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as opened:
        opened.writestr("0000.pdf", b"%PDF-1.4")
        for number in range(1, count):
            opened.writestr(f"{number % 7}/{number:05}.tif", b"x")
    id_ = archive.open_deposit(target="0000.pdf", metadata=_METADATA)
    sent = archive.send(id_, "all.zip", packed.getvalue())
    if sent.status not in {200, 201}:
        raise SystemExit(sent.body.decode())
    unpacked = archive.api("POST", f"deposits/{id_}/unpacking", {"path": "all.zip"})
    if unpacked.status >= 300:  # noqa: PLR2004
        raise SystemExit(unpacked.body.decode())
    return _page(archive, archive.complete(id_))


def _with_editions(archive: ArchiveServer, count: int) -> str:
    """Return the page of the edition in the middle."""
    before: dict[str, Any] = {}
    middle: dict[str, Any] = {}
    for number in range(count):
        wanted = {"edition_of": before["rep"]} if before else {}
        before = archive.deposit({"a.pdf": b"%PDF"}, metadata=_METADATA, target="a.pdf", **wanted)
        middle = before if number == count // 2 else middle
    return _page(archive, middle)


def _page(archive: ArchiveServer, item: dict[str, Any]) -> str:
    return f"/col/{archive.item(item['rep'])['metadata']['rep']}/doc/metadata"


def _first_bytes(archive: ArchiveServer, pages: dict[str, str]) -> list[str]:
    """Compare pages that are made anew: each address has a query of its own."""
    took: dict[str, list[float]] = {name: [] for name in pages}
    for number in range(ROUNDS * ASKED // 10):
        for name, path in pages.items():
            started = time.perf_counter()
            answer = archive.get(f"{path}?round={number}")
            took[name].append(time.perf_counter() - started)
            if answer.status != 200:  # noqa: PLR2004
                raise SystemExit(answer.body.decode())
    medians = {name: statistics.median(each) for name, each in took.items()}
    sizes = {name: len(archive.get(path).body) for name, path in pages.items()}
    small_files, many_files, small_editions, many_editions = medians
    lines = ["Pages that are made anew:", "", "| page of an item with | median, ms | kB |"]
    lines += ["| --- | --- | --- |"]
    lines += [
        f"| {name} | {1000 * medians[name]:.1f} | {sizes[name] / 1000:.1f} |" for name in pages
    ]
    return [
        *lines,
        "",
        at_most(
            f"the page of an item with {many_files}, times that of one with ten",
            medians[many_files] / medians[small_files],
            MOST_TIMES,
        ),
        at_most(
            f"the page of an item with {many_editions}, times that of one with ten",
            medians[many_editions] / medians[small_editions],
            MOST_TIMES,
        ),
    ]


class _Reader(AskingClient):
    """Asks for one path so many times."""

    def __init__(self, path: str, count: int, done: asyncio.Future[None]) -> None:
        super().__init__()
        self._wanted = (
            f"GET {path} HTTP/1.1\r\nHost: x\r\nAccept: text/html\r\nAccept-Language: en\r\n"
            "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Firefox/140.0\r\n\r\n"
        ).encode()
        self._count = count
        self._done = done

    def request(self) -> bytes:
        return self._wanted

    def answered(self) -> None:
        self._count -= 1
        if not self._count:
            self._done.set_result(None)
            self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._done.done():
            self._done.set_exception(exc or ConnectionError("closed before it was answered"))


async def _ask(port: int, path: str, readers: int, count: int) -> list[BaseException | None]:
    """Ask with several readers at once; return what went wrong with each."""
    loop = asyncio.get_running_loop()
    ends = [loop.create_future() for _ in range(readers)]
    made = [
        loop.create_connection(lambda end=end: _Reader(path, count, end), "127.0.0.1", port)  # type: ignore[misc]  # mypy infers no lambda with a default
        for end in ends
    ]
    opened = await asyncio.gather(*made, return_exceptions=True)
    for end, result in zip(ends, opened, strict=True):
        if isinstance(result, BaseException) and not end.done():
            end.set_exception(result)
    return list(await asyncio.gather(*ends, return_exceptions=True))


def _port(archive: ArchiveServer) -> int:
    return int(archive.address.rpartition(":")[2])


def _cpu(archive: ArchiveServer, pages: dict[str, str]) -> list[str]:
    """Compare a page that readers ask for again with a constant answer, in interleaved rounds."""
    paths = {"constant": CONSTANT, "page": next(iter(pages.values()))}
    spent: dict[str, list[float]] = {name: [] for name in paths}
    for _ in range(ROUNDS):
        for name, path in paths.items():
            before = cpu_seconds(archive.pid)
            asyncio.run(_ask(_port(archive), path, 4, 25 * ASKED))
            spent[name].append((cpu_seconds(archive.pid) - before) / (100 * ASKED))
    least = {name: min(each) for name, each in spent.items()}
    return [
        "",
        (
            f"A page that is asked for again costs {1e6 * least['page']:.0f} us of CPU, a constant "
            f"answer (`{CONSTANT}`) {1e6 * least['constant']:.0f} us; each the least of {ROUNDS} "
            f"interleaved rounds of {100 * ASKED:,} requests over 4 connections."
        ),
        "",
        at_most(
            "CPU of the page of an item, times a constant answer",
            least["page"] / least["constant"],
            MOST_CPU,
        ),
    ]


def _crowd(archive: ArchiveServer, pages: dict[str, str]) -> list[str]:
    started = time.perf_counter()
    path = next(iter(pages.values()))
    failures = asyncio.run(_ask(_port(archive), path, CROWD, 10))
    seconds = time.perf_counter() - started
    refused = [repr(each) for each in failures if each is not None]
    return [
        "",
        (
            f"{CROWD} readers at once, each with 10 requests: {10 * CROWD / seconds:,.0f} pages a "
            "second by one core."
        ),
        "",
        none_of(f"of {CROWD} readers at once, those that were refused", refused[:3]),
    ]
