"""An archive whose files lie in an object store, as readers and depositors see it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest

from ibi.archive.storage.object_store.bucket import PART
from tests.support.clients.http import Answer
from tests.support.servers.archive import ArchiveServer
from tests.support.servers.object_store import ObjectServer

LARGE = os.urandom(2 * PART + 12_345)
"""More than one part of an upload, and more than one piece of a delivery."""


@pytest.fixture(scope="module")
def storage(object_server: ObjectServer) -> str:
    return object_server.storage()


def on_objects(server: ObjectServer, storage: str) -> list[str]:
    return ["--storage", storage, "--storage-endpoint", server.endpoint]


@pytest.fixture(scope="module")
def archive(
    object_server: ObjectServer, storage: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ArchiveServer]:
    folder = tmp_path_factory.mktemp("archive")
    with ArchiveServer(folder, *on_objects(object_server, storage)) as started:
        yield started


@pytest.fixture(scope="module")
def item(archive: ArchiveServer) -> dict[str, Any]:
    files = {"page.html": "<p>é".encode(), "large/data.bin": LARGE, "empty.txt": b""}
    return archive.deposit(files, target="page.html")


def read(archive: ArchiveServer, item: dict[str, Any], path: str, **headers: str) -> Answer:
    return archive.get(f"/col/{item['rep']}/doc/{path}", **headers)


def test_files_lie_in_the_bucket_as_they_would_in_a_folder(
    archive: ArchiveServer, item: dict[str, Any], object_server: ObjectServer, storage: str
) -> None:
    objects = object_server.objects(storage)
    keys = {key for key, _ in objects.keys(f"col/{item['rep']}")}
    below = ("ibi.json", "doc/page.html", "doc/large/data.bin", "doc/empty.txt")
    assert keys == {f"col/{item['rep']}/{each}" for each in below}
    kept = objects.open(f"col/{item['rep']}/doc/large/data.bin")
    assert kept.attributes["sha256"] == hashlib.sha256(LARGE).hexdigest()
    assert not (archive.data / "col").exists()
    assert not list((archive.data / "incoming").iterdir())
    assert "AWS" not in (archive.data / "archive.toml").read_text("utf-8")


def test_files_are_delivered_whole_in_parts_and_not_again(
    archive: ArchiveServer, item: dict[str, Any]
) -> None:
    page = read(archive, item, "page.html")
    assert (page.status, page.body) == (200, "<p>é".encode())
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "sandbox" in page.headers["content-security-policy"]
    digest = hashlib.sha256("<p>é".encode()).hexdigest()
    assert page.headers["etag"] == f'"{digest}"'  # it is what the catalogue says
    assert read(archive, item, "page.html", If_None_Match=page.headers["etag"]).status == 304
    assert read(archive, item, "large/data.bin").body == LARGE
    empty = read(archive, item, "empty.txt")
    assert (empty.status, empty.body) == (200, b"")
    head = archive.ask("HEAD", f"/col/{item['rep']}/doc/large/data.bin", token="")
    assert (head.status, head.headers["content-length"]) == (200, str(len(LARGE)))
    assert read(archive, item, "nothing").status == 404


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("0-0", slice(0, 1)),
        ("65535-65536", slice(65_535, 65_537)),
        ("70000-5000000", slice(70_000, 5_000_001)),
        ("16000000-", slice(16_000_000, None)),
        ("-100000", slice(-100_000, None)),
    ],
    ids=["first", "seam", "middle", "rest", "end"],
)
def test_parts_are_delivered(
    archive: ArchiveServer, item: dict[str, Any], asked: str, expected: slice
) -> None:
    part = read(archive, item, "large/data.bin", Range=f"bytes={asked}")
    assert (part.status, part.body) == (206, LARGE[expected])


def test_several_parts_are_delivered_in_one_answer(
    archive: ArchiveServer, item: dict[str, Any]
) -> None:
    parts = read(archive, item, "large/data.bin", Range="bytes=1-3,9000000-9000009")
    assert parts.status == 206
    assert LARGE[1:4] in parts.body
    assert LARGE[9_000_000:9_000_010] in parts.body


def test_files_are_replaced_removed_and_deleted(
    archive: ArchiveServer, object_server: ObjectServer, storage: str
) -> None:
    made = archive.deposit({"a.txt": b"one", "b.txt": b"two"}, target="a.txt")
    label = made["rep"]
    id_ = archive.open_deposit(item=label, metadata={}, remove=["b.txt"])
    assert archive.send(id_, "a.txt", b"other").status == 201
    assert archive.send(id_, "c/new.txt", b"new").status == 201
    archive.complete(id_)
    assert read(archive, made, "a.txt").body == b"other"
    assert read(archive, made, "c/new.txt").body == b"new"
    assert read(archive, made, "b.txt").status == 404
    objects = object_server.objects(storage)
    old = [key for key, _ in objects.keys(f"col/{label}/old")]
    assert sorted(objects.get(key) for key in old) == [b"one", b"two"]
    assert archive.api("POST", f"items/{label}/deletion", {"reason": "a test"}).status == 200
    assert read(archive, made, "a.txt").status == 410
    left = [key for key, _ in objects.keys(f"col/{label}")]
    assert left == [f"col/{label}/ibi.json"]


def test_an_interrupted_upload_is_gone_on_with_after_a_restart(archive: ArchiveServer) -> None:
    id_ = archive.open_deposit()
    half = len(LARGE) // 2
    assert archive.send(id_, "data", LARGE[:half], Upload_Complete="?0").status == 200
    archive.kill()
    archive.start()
    path = f"deposits/{id_}/files/data"
    rest = archive.api("PATCH", path, LARGE[half:], Upload_Offset=str(half))
    assert rest.status == 201, rest.body
    assert read(archive, archive.complete(id_), "data").body == LARGE


def test_the_catalogue_is_rebuilt_from_the_bucket(
    archive: ArchiveServer, item: dict[str, Any]
) -> None:
    before = archive.api("GET", "items?limit=1000").json()
    assert archive.stop() == 0
    for path in archive.data.glob("catalogue.sqlite*"):
        path.unlink()
    rebuilt = archive.ibi("rebuild")
    assert rebuilt.returncode == 0, rebuilt.stderr
    archive.start()
    archive.token = archive.local_token
    after = archive.api("GET", "items?limit=1000").json()
    assert {each["rep"] for each in after["items"]} == {each["rep"] for each in before["items"]}
    assert read(archive, item, "large/data.bin").body == LARGE


def test_a_bucket_that_cannot_be_used_is_told_in_a_sentence(
    object_server: ObjectServer, tmp_path: Path
) -> None:
    archive = ArchiveServer(tmp_path, *on_objects(object_server, object_server.storage()))
    secret = archive.ibi("serve", AWS_SECRET_ACCESS_KEY="wrong")  # noqa: S106  # it is none
    assert secret.returncode != 0
    [line] = secret.stderr.splitlines()
    assert "s3://ibi/" in line
    assert "refuses access" in line
    text = (archive.data / "archive.toml").read_text("utf-8")
    (archive.data / "archive.toml").write_text(text.replace("s3://ibi/", "s3://nobody/"), "utf-8")
    missing = archive.ibi("serve")
    assert missing.returncode != 0
    assert "there is no such bucket" in missing.stderr


# --- readers are sent to the store ----------------------------------------------------------------


@pytest.fixture(scope="module")
def presigned(
    object_server: ObjectServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ArchiveServer]:
    options = on_objects(object_server, object_server.storage())
    archive = ArchiveServer(tmp_path_factory.mktemp("presigned"), *options)
    archive.set(storage_delivery="presigned")
    with archive:
        yield archive


def test_readers_are_sent_to_the_store_for_a_while(
    presigned: ArchiveServer, object_server: ObjectServer
) -> None:
    files = {"é.html": b"<script>1</script>", "a.pdf": b"%PDF", "big": LARGE}
    item = presigned.deposit(files, target="a.pdf")
    for path, content in files.items():
        answer = read(presigned, item, path)
        assert answer.status == 302, answer.body
        assert answer.headers["cache-control"] == "no-store"
        url = answer.headers["location"]
        assert url.startswith(f"{object_server.endpoint}/ibi/")
        assert "X-Amz-Expires=300" in url
        assert object_server.access_key in url
        with urlopen(url) as found:  # noqa: S310  # where the archive sends us
            assert found.read() == content
            shown = found.headers["content-disposition"].partition(";")[0]
            assert shown == ("inline" if path == "a.pdf" else "attachment")
    assert read(presigned, item, "nothing").status == 404
    head = presigned.ask("HEAD", f"/col/{item['rep']}/doc/a.pdf", token="")
    assert head.status == 302
    assert urlsplit(head.headers["location"]).query


def test_what_a_page_of_the_archive_shows_comes_from_the_archive(presigned: ArchiveServer) -> None:
    """The policy of the page forbids images of another host."""
    item = presigned.deposit({"a.png": b"\x89PNG", "b.md": b"# Title"}, target="b.md")
    embedded = {"Sec-Fetch-Dest": "image", "Sec-Fetch-Site": "same-origin"}
    answer = presigned.get(f"/col/{item['rep']}/doc/a.png", **embedded)
    assert (answer.status, answer.body) == (200, b"\x89PNG")
    assert answer.headers["content-security-policy"].startswith("sandbox")
    described = presigned.item(item["rep"])["metadata"]["rep"]
    assert b"<h3>Title</h3>" in presigned.get(f"/col/{described}/doc/metadata").body


def test_nobody_is_sent_there_who_may_not_read(presigned: ArchiveServer) -> None:
    item = presigned.deposit({"a.txt": b"secret"}, target="a.txt")
    amended = presigned.api("PATCH", f"items/{item['rep']}", {"readers": ["192.0.2.0/24"]})
    assert amended.status == 200, amended.body
    refused = read(presigned, item, "a.txt")
    assert refused.status in {401, 403}
    assert "location" not in refused.headers
