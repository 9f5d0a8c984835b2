"""All files of an item as one ZIP file."""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterator
from datetime import UTC, datetime
from http.client import HTTPConnection, IncompleteRead
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit
from zipfile import ZIP_STORED, ZipFile

import pytest

from tests.support.clients.http import Answer
from tests.support.clients.local_address import read_from
from tests.support.servers.archive import ArchiveServer
from tests.support.servers.object_store import ObjectServer
from tests.support.waiting import PATIENCE

FILES: Final = {
    "São José/relatório.txt": "olá".encode(),
    "a.txt": b"abcdef",
    "empty": b"",
    "large.bin": bytes(range(256)) * 20_000,
}
BROWSER: Final = {"User-Agent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Firefox/140.0"}


@pytest.fixture(scope="module", params=["disk", "objects", "workers"])
def archive(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ArchiveServer]:
    folder = tmp_path_factory.mktemp("archive")
    options: list[str] = []
    if request.param == "objects":
        server: ObjectServer = request.getfixturevalue("object_server")
        options = ["--storage", server.storage(), "--storage-endpoint", server.endpoint]
    made = ArchiveServer(folder, *options)
    made.wanted_workers = "2" if request.param == "workers" else ""
    with made as started:
        yield started


def page_of(archive: ArchiveServer, item: dict[str, Any]) -> str:
    found = archive.item(item["rep"])["metadata"]["rep"]
    answer = archive.get(f"/col/{found}/doc/metadata", accept="text/html", accept_language="en")
    assert answer.status == 200
    return answer.body.decode()


def address_of(item: dict[str, Any]) -> str:
    return f"/displaydoccontent.cgi/{item['ibip']}?format=zip"


def unzipped(answer: Answer) -> dict[str, bytes]:
    """Return the files of a ZIP file, whose checksums are right."""
    assert (answer.status, answer.headers["content-type"]) == (200, "application/zip")
    with ZipFile(io.BytesIO(answer.body)) as opened:
        assert opened.testzip() is None
        return {name: opened.read(name) for name in opened.namelist()}


def test_all_files_come_in_one(archive: ArchiveServer) -> None:
    item = archive.deposit(FILES, target="a.txt")
    link = f'href="{address_of(item)}" rel="nofollow" download>'
    page = page_of(archive, item)
    assert link in page
    assert "Download all <span>4 files, 5.1\N{NO-BREAK SPACE}MB</span>" in page
    assert link in archive.get(f"/displaydoccontent.cgi/{item['rep']}").body.decode()
    answer = archive.get(address_of(item))
    assert unzipped(answer) == FILES
    name = f"{item['ibip'].replace('/', '-')}.zip"
    assert answer.headers["content-disposition"] == f'attachment; filename="{name}"'
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"
    assert item["persistent_url"] in answer.headers["link"]
    with ZipFile(io.BytesIO(answer.body)) as opened:
        entry = opened.getinfo("a.txt")
    assert entry.compress_type == ZIP_STORED
    assert abs(datetime(*entry.date_time, tzinfo=UTC) - datetime.now(UTC)).days < 2
    head = archive.ask("HEAD", address_of(item), token="")
    assert (head.status, head.headers["content-type"], head.body) == (200, "application/zip", b"")


def test_what_was_downloaded_can_be_deposited(archive: ArchiveServer) -> None:
    packed = archive.get(address_of(archive.deposit(FILES, target="a.txt"))).body
    id_ = archive.open_deposit(target="a.txt")
    assert archive.send(id_, "all.zip", packed).status == 201
    unpacked = archive.api("POST", f"deposits/{id_}/unpacking", {"path": "all.zip"})
    assert unpacked.status == 200, unpacked.body
    assert unzipped(archive.get(address_of(archive.complete(id_)))) == FILES


def test_one_file_needs_no_zip_file(archive: ArchiveServer) -> None:
    item = archive.deposit({"a.txt": b"a"}, target="a.txt")
    assert "Download all" not in page_of(archive, item)
    listed = archive.get(f"/displaydoccontent.cgi/{item['rep']}").body.decode()
    assert "Download all" not in listed
    assert unzipped(archive.get(address_of(item))) == {"a.txt": b"a"}


def test_what_a_reader_may_not_read_is_in_no_zip_file(archive: ArchiveServer) -> None:
    two = {"a.txt": b"a", "b.txt": b"b"}
    limited = archive.deposit(two, target="a.txt", readers=["127.0.0.2/32"])
    refused = archive.get(address_of(limited))
    assert refused.status == 403
    assert refused.json()["type"] == "urn:ibi:problem:limited-readers"
    inside = read_from("127.0.0.2", archive.address, address_of(limited))
    assert unzipped(inside) == two
    token = {"Authorization": f"Bearer {archive.token}"}
    assert unzipped(archive.get(address_of(limited), **token)) == two
    secret = archive.deposit(two, target="a.txt", list_public=False)
    assert "Download all" not in page_of(archive, secret)
    assert archive.get(address_of(secret)).status == 403
    service = archive.deposit(service="https://example.org/service")
    assert archive.get(address_of(service)).status == 404
    gone = archive.deposit(two, target="a.txt")
    assert archive.api("POST", f"items/{gone['rep']}/deletion", {"reason": "x"}).status == 200
    assert archive.get(address_of(gone)).status == 410
    assert (
        archive.get("/displaydoccontent.cgi/x.example/a/2009/01.01.01.01?format=zip").status == 404
    )


def test_an_item_that_changes_meanwhile_breaks_the_download_off(archive: ArchiveServer) -> None:
    item = archive.deposit({"a.bin": bytes(40_000_000), "b.txt": b"b"}, target="b.txt")
    connection = HTTPConnection(urlsplit(archive.address).netloc, timeout=PATIENCE)
    try:
        connection.request("GET", address_of(item))
        answer = connection.getresponse()
        beginning = answer.read(1000)
        assert beginning.startswith(b"PK\x03\x04")
        changed = archive.api("PATCH", f"items/{item['rep']}", {"language": "pt"})
        assert changed.status == 200, changed.body
        with pytest.raises(IncompleteRead):
            answer.read()
    finally:
        connection.close()
    assert len(unzipped(archive.get(address_of(item)))) == 2


def test_a_whole_download_counts_once(tmp_path: Path) -> None:
    archive = ArchiveServer(tmp_path)
    with archive:
        item = archive.deposit(FILES, target="a.txt")
        for _ in range(3):  # double clicks
            assert archive.get(address_of(item), **BROWSER).status == 200
        assert archive.get(address_of(item), **{"User-Agent": "Googlebot/2.1"}).status == 200
        assert archive.ask("HEAD", address_of(item), token="", headers=BROWSER).status == 200
        assert archive.stop() == 0  # what waits is counted then
    with archive:
        for what, expected in (("downloads", 1), ("views", 0)):
            answer = archive.api("GET", f"statistics?count={what}&item={item['rep']}")
            assert answer.json()["total"] == expected


def resident(archive: ArchiveServer) -> int:
    """Return the peak of the memory of the process that serves, in kB."""
    assert archive.process is not None
    status = Path(f"/proc/{archive.process.pid}/status").read_text("ascii")
    return int(status.partition("VmHWM:")[2].split()[0])


def test_memory_and_disk_do_not_grow_with_the_files(tmp_path: Path) -> None:
    with ArchiveServer(tmp_path) as archive:
        small = archive.deposit({"a": b"a", "b": b"b"}, target="a")
        big = archive.deposit({"a": bytes(150_000_000), "b": bytes(150_000_000)}, target="a")
        assert len(unzipped(archive.get(address_of(small)))) == 2
        before = resident(archive)
        connection = HTTPConnection(urlsplit(archive.address).netloc, timeout=PATIENCE)
        try:
            connection.request("GET", address_of(big))
            answer = connection.getresponse()
            pieces = itertools.takewhile(bool, iter(lambda: answer.read(1 << 20), None))
            assert sum(map(len, pieces)) > 300_000_000
        finally:
            connection.close()
        assert resident(archive) - before < 50_000
