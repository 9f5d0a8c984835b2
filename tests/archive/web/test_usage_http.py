"""Views and downloads, counted over HTTP by one process and by several."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.servers.archive import ArchiveServer
from tests.support.waiting import wait_until

BROWSER: Final = {"User-Agent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Firefox/140.0"}
ANOTHER: Final = {"User-Agent": "Mozilla/5.0 (Macintosh) Version/18.0 Safari/605.1.15"}
EMBEDDED: Final = {"Sec-Fetch-Dest": "image", "Sec-Fetch-Site": "same-origin"}


def counted(archive: ArchiveServer, what: str, label: str) -> int:
    answer = archive.api("GET", f"statistics?count={what}&item={label}")
    assert answer.status == 200, answer.body
    total: int = answer.json()["total"]
    return total


def read_by_many(archive: ArchiveServer, item: dict[str, Any]) -> None:
    """Read an item as people and robots do: 3 views and 4 downloads count."""
    page = f"/col/{item['metadata']['rep']}/doc/metadata"
    file = f"/col/{item['rep']}/doc/a.txt"
    for headers in (BROWSER, ANOTHER):
        for _ in range(3):  # double clicks
            assert archive.get(page, **headers).status == 200
        assert archive.get(file, **headers).status == 200
    etag = archive.get(file, **BROWSER).headers["etag"]
    assert archive.get(file, **BROWSER, if_none_match=etag).status == 304
    third = {"User-Agent": "Mozilla/5.0 Chrome/140.0"}
    assert archive.get(f"{page}?choice=bibtex", **third).status == 200
    assert archive.get(file, **third, range="bytes=2-3").status == 206
    assert archive.get(file, **third, range="bytes=0-1").status == 206
    assert archive.get(f"/col/{item['rep']}/doc/b.png", **third).status == 200
    for robot in ("Googlebot/2.1", "curl/8.0", "python-requests/2.32", "ibi", ""):
        assert archive.get(page, **{"User-Agent": robot}).status == 200
        assert archive.get(file, **{"User-Agent": robot}).status == 200
    fourth = {"User-Agent": "Mozilla/5.0 Chrome/139.0"}
    assert archive.ask("HEAD", file, token="", headers=fourth).status == 200
    assert archive.get(f"/col/{item['rep']}/doc/b.png", **fourth, **EMBEDDED).status == 200
    assert archive.get(f"/col/{item['rep']}/doc/missing", **fourth).status == 404


def shown_in_statistics(archive: ArchiveServer) -> None:
    """Check that the page with the statistics of the archive has the same numbers."""

    def page() -> str:
        return archive.get("/statistics", accept="text/html").body.decode()

    wait_until(lambda: "The archive is counting" not in page())
    text = page()
    assert re.findall(r"<dt>(views|downloads)</dt><dd>([^<]*)</dd>", text) == [
        ("views", "3"),
        ("downloads", "4"),
    ]
    [summary] = re.findall(r'aria-label="(Views and downloads in each month from [^"]*)"', text)
    assert summary.endswith(", at last 3 and 4.")
    for name, count in (("Views", 3), ("Downloads", 4)):  # of the month, and of the year
        assert text.count(f'data-label="{name}">{count}</td>') == 2


@pytest.mark.parametrize("workers", ["", "2"])
def test_people_are_counted_and_robots_are_not(tmp_path: Path, workers: str) -> None:
    archive = ArchiveServer(tmp_path)
    archive.wanted_workers = workers
    with archive:
        made = archive.deposit({"a.txt": b"abcdef", "b.png": b"\x89PNG"}, target="a.txt")
        item = archive.item(made["rep"])
        read_by_many(archive, item)
        assert archive.stop() == 0  # what waits is counted then
    with archive:
        assert counted(archive, "views", item["rep"]) == 3
        assert counted(archive, "downloads", item["rep"]) == 4
        assert counted(archive, "accesses", item["rep"]) == 0
        shown_in_statistics(archive)
        assert counted(archive, "views", item["metadata"]["rep"]) == 0
        page = archive.get(f"/col/{item['metadata']['rep']}/doc/metadata").body.decode()
        assert "Views <b>3</b>" in page
        assert "Downloads <b>4</b>" in page
        done = archive.ibi("stats", "accesses", "--count", "downloads")
        assert "4 in all" in done.stdout
        assert archive.api("GET", "statistics?count=sales").status == 400
