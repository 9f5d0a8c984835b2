"""Previews of files on the page of an item."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import quote

import pytest

from tests.support.servers.archive import ArchiveServer

FILES: Final = {
    "map.png": b"\x89PNG",
    "drawing.svg": b"<svg xmlns='http://www.w3.org/2000/svg'/>",
    "sound.mp3": b"ID3",
    "film.webm": b"\x1aE",
    "README.md": b"# A <b>title\n\n[this](https://a.example/), [that](b.md), [js](javascript:x)\n",
    "rates.csv": b'state;km2\n"Acre; <west>";12\nPar\xc3\xa1;7\n',
    "notes.txt": "Ação & <reação>\n".encode() * 2_000,
    "latin.txt": "Ação".encode("cp1252"),
    "utf16.txt": "Ação".encode("utf-16"),
    "code.py": b"print(1 < 2)\n",
    "folder/page.html": b"<script>alert(1)</script>",
    "paper.pdf": b"%PDF-1.4",
    "packed.zip": b"PK",
    "binary.txt": b"\0\1\2",
    "empty.txt": b"",
}


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ArchiveServer]:
    with ArchiveServer(tmp_path_factory.mktemp("archive")) as started:
        yield started


@pytest.fixture(scope="module")
def item(archive: ArchiveServer) -> dict[str, Any]:
    return archive.item(archive.deposit(FILES, target="README.md")["rep"])


def shown(archive: ArchiveServer, item: dict[str, Any], path: str = "") -> str:
    """Return what the page of an item shows of a file; empty if nothing."""
    query = f"?preview={quote(path)}" if path else ""
    answer = archive.get(f"/col/{item['metadata']['rep']}/doc/metadata{query}")
    assert answer.status == 200
    assert "media-src 'self'" in answer.headers["content-security-policy"]
    page = answer.body.decode()
    return page.partition('<figure class="preview"')[2].partition("</figure>")[0]


@pytest.mark.parametrize(
    ("path", "part"),
    [
        ("map.png", '<img src="{file}" alt="Preview of map.png">'),
        ("drawing.svg", '<img src="{file}" alt="Preview of drawing.svg">'),
        ("sound.mp3", '<audio controls preload="none" src="{file}"></audio>'),
        ("film.webm", '<video controls preload="none" src="{file}"></video>'),
        ("README.md", "<h3>A &lt;b&gt;title</h3>"),
        ("README.md", '<a href="https://a.example/" rel="nofollow noopener">this</a>, that, [js]'),
        ("rates.csv", '<th scope="col" dir="auto">km2</th>'),
        ("rates.csv", '<td dir="auto">Acre; &lt;west&gt;</td>\n<td dir="auto">12</td>'),
        ("notes.txt", "Ação &amp; &lt;reação&gt;"),
        ("notes.txt", 'The beginning of <a href="{file}"'),
        ("latin.txt", ">\nAção</pre>"),
        ("utf16.txt", ">\nAção</pre>"),
        ("code.py", ">\nprint(1 &lt; 2)\n</pre>"),
    ],
)
def test_a_file_is_shown(
    archive: ArchiveServer, item: dict[str, Any], path: str, part: str
) -> None:
    file = f"/col/{item['rep']}/doc/{path}"
    assert part.format(file=file) in shown(archive, item, path)


@pytest.mark.parametrize(
    "path",
    [
        *("folder/page.html", "paper.pdf", "packed.zip", "binary.txt", "empty.txt"),
        *("missing.txt", "../../../etc/passwd", "\0", "x" * 5_000),
    ],
)
def test_nothing_is_shown_of_other_files(
    archive: ArchiveServer, item: dict[str, Any], path: str
) -> None:
    assert shown(archive, item, path) == ""


def test_the_target_is_shown_first(archive: ArchiveServer, item: dict[str, Any]) -> None:
    assert "README.md" in shown(archive, item)


def test_little_of_a_long_file_is_shown(archive: ArchiveServer, item: dict[str, Any]) -> None:
    assert 5_000 < len(shown(archive, item, "notes.txt")) < 15_000


def test_the_lists_of_files_link_to_previews(archive: ArchiveServer, item: dict[str, Any]) -> None:
    address = f"/col/{item['metadata']['rep']}/doc/metadata"
    link = f'href="{archive.address}{address}?preview=rates.csv#preview"'
    page = archive.get(address).body.decode()
    listed = archive.get(f"/displaydoccontent.cgi/{item['rep']}").body.decode()
    assert link in page
    assert link in listed
    assert page.count("#preview") == len(FILES) - 4


def test_files_of_limited_readers_have_no_preview(archive: ArchiveServer) -> None:
    id_ = archive.open_deposit(target="a.txt", readers=["192.0.2.0/24"])
    archive.send(id_, "a.txt", b"secret words")
    item = archive.item(archive.complete(id_)["rep"])
    assert shown(archive, item) == shown(archive, item, "a.txt") == ""


def test_a_list_that_is_not_public_gives_away_the_target_alone(archive: ArchiveServer) -> None:
    id_ = archive.open_deposit(target="a.txt", list_public=False)
    archive.send(id_, "a.txt", b"target")
    archive.send(id_, "b.txt", b"another")
    item = archive.item(archive.complete(id_)["rep"])
    assert "target" in shown(archive, item)
    assert shown(archive, item, "b.txt") == ""
