"""The texts of deposited files become searchable in the background, on each database."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.support.servers.archive import ArchiveServer
from tests.support.servers.postgres import database_options
from tests.support.values.pdf_files import pdf
from tests.support.waiting import wait_for, wait_until


def find(archive: ArchiveServer, text: str) -> list[dict[str, Any]]:
    answer = archive.get(f"/api/v1/search?{urlencode({'q': text})}")
    assert answer.status == 200, answer.body
    items: list[dict[str, Any]] = answer.json()["items"]
    return items


def titles(archive: ArchiveServer, text: str) -> list[str]:
    return [item["title"] for item in find(archive, text)]


def wait_for_titles(archive: ArchiveServer, text: str, *expected: str) -> None:
    wait_until(lambda: titles(archive, text) == [*expected])


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def archive(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ArchiveServer]:
    options = database_options(request, "--catalogue")
    server = ArchiveServer(tmp_path_factory.mktemp(request.param), *options)
    server.set(full_text=True)
    with server:
        yield server


FILES = {
    "report.pdf": pdf("Introduction", "Burnings of the cerrado were mapped"),
    "page.html": b"<title>x</title><p>Burnings of the caatinga<script>pampa()</script>",
    "notes.txt": b"Queimadas no Pantanal",
    "readme.md": b"# Notes on the *restinga*",
    "table.csv": b"biome,area\nmangrove,17\n",
}


def test_texts_of_files_are_found_with_a_snippet_and_their_names(archive: ArchiveServer) -> None:
    item = archive.deposit(FILES, metadata={"titles": ["Biomes"]}, target="notes.txt")
    for word, path, snippet in (
        ("cerrado", "report.pdf", "Introduction Burnings of the cerrado were mapped"),
        ("caatinga", "page.html", "x Burnings of the caatinga"),
        ("queimada", "notes.txt", "Queimadas no Pantanal"),
        ("restingas", "readme.md", "# Notes on the *restinga*"),
        ("mangrove", "table.csv", "biome,area mangrove,17"),
    ):
        [found] = wait_for(lambda word=word: find(archive, word), bool)  # type: ignore[misc]
        assert (found["rep"], found["file"], found["file_snippet"]) == (item["rep"], path, snippet)
    assert titles(archive, "pampa") == []
    page = archive.get("/search?q=cerrado").body.decode()
    assert "In the file report.pdf: " in page
    assert "Burnings of the <mark>cerrado</mark> were mapped" in page
    [by_title] = find(archive, "biomes")
    assert "file" not in by_title
    assert titles(archive, '"burnings of the caatinga" biomes') == ["Biomes"]


def test_hits_in_files_follow_hits_in_descriptions(archive: ArchiveServer) -> None:
    archive.deposit({"a.txt": b"1"}, metadata={"titles": ["Igapó"]})
    archive.deposit({"a.txt": "igapó".encode()}, metadata={"titles": ["Newer"]})
    wait_for_titles(archive, "igapo", "Igapó", "Newer")


def test_files_that_not_all_may_read_are_not_found(archive: ArchiveServer) -> None:
    secret = {"a.txt": b"veredas"}
    archive.deposit(secret, metadata={"titles": ["Limited"]}, readers=["192.0.2.0/24"])
    unlisted = archive.deposit(secret, metadata={"titles": ["Unlisted"]}, list_public=False)
    public = archive.deposit(secret, metadata={"titles": ["Public"]})
    # The newest items are worked on first: the older ones are certainly done after another one.
    wait_for_titles(archive, "veredas", "Public")
    wait_until(lambda: archive.metric("ibi_archive_full_text_waiting") == 0)
    assert titles(archive, "veredas") == ["Public"]
    change = {"readers": ["192.0.2.0/24"]}
    assert archive.api("PATCH", f"items/{public['rep']}", change).status == 200
    assert titles(archive, "veredas") == []
    opened = archive.api("PATCH", f"items/{unlisted['rep']}", {"list_public": True})
    assert opened.status == 200
    wait_for_titles(archive, "veredas", "Unlisted")


def test_a_deleted_item_is_found_no_more(archive: ArchiveServer) -> None:
    item = archive.deposit({"a.txt": b"campinarana"}, metadata={"titles": ["Gone"]})
    wait_for_titles(archive, "campinarana", "Gone")
    archive.api("POST", f"items/{item['rep']}/deletion", {"reason": "a test"})
    assert titles(archive, "campinarana") == []


def test_files_that_cannot_be_read_leave_the_others_alone(archive: ArchiveServer) -> None:
    archive.deposit(
        {
            "broken.pdf": pdf("never")[:200],
            "bytes.txt": bytes(range(256)) * 10,
            "good.txt": b"a chapada",
        },
        metadata={"titles": ["Mixed"]},
        target="broken.pdf",
    )
    wait_for_titles(archive, "chapada", "Mixed")


def test_a_restarted_archive_continues(tmp_path_factory: pytest.TempPathFactory) -> None:
    first = ArchiveServer(tmp_path_factory.mktemp("restarted"))
    first.set(full_text=True)
    with first:
        first.deposit({"a.txt": b"sertao"}, metadata={"titles": ["Item"]})
        wait_for_titles(first, "sertao", "Item")
        first.stop()
        first.set(full_text=False)
        first.start()
        first.deposit({"b.txt": b"agreste"}, metadata={"titles": ["Other"]})
        assert (titles(first, "sertao"), titles(first, "item")) == ([], ["Item"])
        first.stop()
        first.set(full_text=True)
        first.start()
        wait_for_titles(first, "sertao", "Item")
        wait_for_titles(first, "agreste", "Other")
