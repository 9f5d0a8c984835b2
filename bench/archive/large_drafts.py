"""Drafts of people with much: ten gigabytes over a connection that breaks, and ten thousand files.

The large file is sent as the script of the page sends it: in parts of 16 MiB, which go on from
where the archive says. Its bytes are made on the way. The ten thousand files lie in memory where
the machine has a file system there, as each is made durable on its own.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import urllib3

from bench.support.clients import most_memory
from bench.support.goals import at_most, none_of
from tests.support.clients.browser import Browser, main_part
from tests.support.servers.archive import ArchiveServer
from tests.support.servers.cutting_proxy import CuttingProxy

GIGABYTES: Final = float(os.environ.get("BENCH_GIGABYTES", "10"))
FILES: Final = int(os.environ.get("BENCH_FILES", "10_000"))
"""The variables are for a quick try."""
PART: Final = 16 << 20
"""Bytes of one request, as the script of the page sends them."""
MOST: Final = 50
"""Megabytes by which the server may grow."""
MOST_PAGE: Final = 200_000
"""Bytes of a page of the draft, however many files it has."""
_IN_MEMORY: Final = next((each for each in ("/dev/shm",) if Path(each).is_dir()), None)  # noqa: S108  # the folder below it is new
_FIELDS: Final = [
    *(["title", "Soil moisture"], ["creator", "Vilela, Renata"], ["year", "2026"]),
    ["type", "Dataset"],
]


def large_drafts() -> list[str]:
    """Measure both."""
    return [*ten_gigabytes_cut(), "", *ten_thousand_files()]


def ten_gigabytes_cut() -> list[str]:
    """Send a file in parts by a proxy that cuts in the middle, and publish the draft."""
    with tempfile.TemporaryDirectory() as folder, CuttingProxy() as proxy:
        archive = ArchiveServer(Path(folder))
        place = urlsplit(archive.address)
        proxy.target = (str(place.hostname), int(place.port or 0))
        with archive as running:
            return _send_cut(running, proxy)


def _send_cut(archive: ArchiveServer, proxy: CuttingProxy) -> list[str]:
    draft = archive.api("POST", "drafts", {"fields": _FIELDS}).json()
    before = _forget_most_memory(archive)
    parts = int(GIGABYTES * (1 << 30)) // PART
    sender = _Sender(archive, f"{proxy.address}/api/v1/drafts/{draft['id']}/files/large.bin")
    proxy.cut_after(parts * PART // 2 - PART // 3)
    started = time.monotonic()
    found = sender.send(parts)
    taken = time.monotonic() - started
    published, publishing = _timed(
        lambda: archive.api("POST", f"drafts/{draft['id']}/publication", {"version": 0})
    )
    files = archive.api("GET", f"items/{draft['rep']}/files").json()["files"]
    faults = [] if proxy.has_cut and sender.cuts else ["the connection was not cut"]
    if published.status != 200 or files[0]["sha256"] != found:  # noqa: PLR2004  # done
        faults.append("the item is not what was sent")
    again = proxy.sent - parts * PART
    return [
        (
            f"{GIGABYTES:g} GB in one file of a draft, in parts of {PART >> 20} MiB, by a proxy "
            f"that cut all connections once in the middle: in with its SHA-256 checked in "
            f"{taken:.0f} s, {again / (1 << 20):.1f} MiB sent besides the file, published in "
            f"{publishing:.1f} s. The server's memory was {before:.0f} MB before and at most "
            f"{most_memory(_process(archive)):.0f} MB."
        ),
        "",
        none_of("faults of ten gigabytes over a connection that breaks", faults),
        at_most(
            "growth of the server meanwhile", most_memory(_process(archive)) - before, MOST, " MB"
        ),
    ]


class _Sender:
    """Sends a file in parts, and goes on after each broken connection."""

    def __init__(self, archive: ArchiveServer, place: str) -> None:
        self._place = place
        self._headers = {"Authorization": f"Bearer {archive.token}"}
        self._http = urllib3.PoolManager(retries=False, timeout=urllib3.Timeout(600))
        self._block = random.Random(1).randbytes(PART)  # noqa: S311  # any bytes
        self.cuts = 0
        """Requests that broke off."""

    def part(self, number: int) -> bytes:
        """Return the bytes of one part: no two are equal."""
        return number.to_bytes(8, "big") + self._block[8:]

    def send(self, parts: int) -> str:
        """Send all parts; return the checksum of what was sent, which the archive has too."""
        whole, offset = hashlib.sha256(), 0
        for number in range(parts):
            part = self.part(number)
            whole.update(part)
            end = offset + PART
            while offset < end:
                answer = self._send(part[offset - end :], offset, is_last=number == parts - 1)
                offset = end if answer is not None else self._offset()
        found = whole.hexdigest()
        if json.loads(self._ask("GET").data).get("sha256") != found:
            raise SystemExit("another checksum than that of what was sent")
        return found

    def _send(self, data: bytes, offset: int, *, is_last: bool) -> object:
        headers = {"Upload-Complete": "?1" if is_last else "?0"}
        if offset:
            headers["Upload-Offset"] = str(offset)
        try:
            answer = self._ask("PATCH" if offset else "PUT", data, headers)
        except urllib3.exceptions.HTTPError:
            self.cuts += 1
            return None
        if answer.status == 409:  # noqa: PLR2004  # the broken request is not over yet
            time.sleep(0.1)
            return None
        if answer.status not in {200, 201}:
            raise SystemExit(f"{answer.status} {answer.data!r}")
        return answer

    def _offset(self) -> int:
        """Ask how much is there."""
        return int(self._ask("GET").headers["Upload-Offset"])

    def _ask(
        self, method: str, data: bytes | None = None, headers: dict[str, str] | None = None
    ) -> Any:  # noqa: ANN401  # of urllib3
        return self._http.request(
            method, self._place, body=data, headers=self._headers | (headers or {})
        )


def ten_thousand_files() -> list[str]:
    """Fill a draft with small files; look at its pages, and publish it."""
    with tempfile.TemporaryDirectory(dir=_IN_MEMORY) as folder:
        archive = ArchiveServer(Path(folder))
        with archive as running:
            return _many(running, running.signed_in("depositor", name="ana"))


def _many(archive: ArchiveServer, ana: Browser) -> list[str]:
    place = ana.submit(ana.get("/deposit"), "/deposit", {}).headers["location"]
    fields = dict(_FIELDS)
    ana.submit(ana.get(place), place, fields)
    empty, _ = _timed(lambda: ana.get(place))
    before = _forget_most_memory(archive)
    named = {"X-CSRF-Token": ana.csrf, "Origin": ana.address}
    api = f"/api/v1/drafts/{place.rpartition('/')[2]}"
    started = time.monotonic()
    for path in _paths():
        sent = ana.send("PUT", f"{api}/files/{path}", path.encode(), named)
        if sent.status != 201:  # noqa: PLR2004  # created
            raise SystemExit(f"{sent.status} {sent.body!r}")
    taken = time.monotonic() - started
    rows, sizes = [], []
    for name, path in (
        ("the page of the draft", place),
        ("the list of its files", f"{place}/files"),
        ("the preview", f"{place}/preview"),
        ("the summary", f"{place}/publish"),
        ("a list of 1,000 files by the API", f"{api}/files?limit=1000"),
    ):
        answer, seconds = _timed(lambda path=path: ana.get(path))  # type: ignore[misc]
        rows.append(f"| {name} | {answer.status} | {seconds:.2f} | {len(answer.body):,} |")
        sizes.append(len(answer.body))
    listed = _listed(ana, f"{place}/files")
    summary = ana.get(f"{place}/publish")
    published, publishing = _timed(lambda: ana.submit(summary, f"{place}/publish", {}))
    page = main_part(ana.get(place))
    label = re.search(r'data-copy="[^"]*/([^"/]+/[^"/]+)"', page)
    faults = [] if published.status == 303 and label else [f"published: {published.status}"]  # noqa: PLR2004
    if listed != FILES:
        faults.append(f"{listed} files on the pages of the list")
    if label:
        address = urlsplit(ana.get(f"/{label[1]}:").headers["location"])
        item, seconds = _timed(lambda: ana.get(address.path))
        rows.append(
            f"| the page of the item | {item.status} | {seconds:.2f} | {len(item.body):,} |"
        )
    most = most_memory(_process(archive))
    return [
        (
            f"{FILES:,} files in folders of a draft, one request each: in {taken:.0f} s; published "
            f"in {publishing:.1f} s. The server's memory was {before:.0f} MB before and at most "
            f"{most:.0f} MB."
        ),
        "",
        "| with all files | status | s | bytes |",
        "| --- | --- | --- | --- |",
        f"| the page of the draft without files | {empty.status} | | {len(empty.body):,} |",
        *rows,
        "",
        none_of(f"faults of a draft of {FILES:,} files", faults),
        at_most("growth of the server with all files and pages", most - before, MOST, " MB"),
        at_most(
            "the largest page of the draft, in kilobytes", max(sizes[:4]) / 1000, MOST_PAGE / 1000
        ),
    ]


def _paths() -> Iterator[str]:
    for number in range(FILES):
        yield f"folder-{number % 100:02}/measured-{number:05}.csv"


def _listed(ana: Browser, place: str) -> int:
    """Return how many files are on all pages of the list, as a person turns them."""
    count, address = 0, place
    while True:
        page = main_part(ana.get(address))
        count += page.count('name="remove-file"')
        more = re.search(r'href="[^"]*\?([^"]*after=[^"]*)"', page)
        if more is None:
            return count
        address = f"{place}?{more[1].replace('&amp;', '&')}"


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    started = time.monotonic()
    return work(), time.monotonic() - started


def _forget_most_memory(archive: ArchiveServer) -> float:
    """Measure the most memory anew from here on: a sign-in takes much; return what it is now."""
    process = _process(archive)
    Path(f"/proc/{process}/clear_refs").write_text("5", encoding="ascii")
    return most_memory(process)


def _process(archive: ArchiveServer) -> int:
    assert archive.process is not None  # noqa: S101  # it runs
    return archive.process.pid


if __name__ == "__main__":
    print("\n".join(large_drafts()))
