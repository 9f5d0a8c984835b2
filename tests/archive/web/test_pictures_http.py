"""Pictures of the first pages of PDF files, made in the background, on each database."""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import count
from typing import Any, Final

import pytest
from PIL import Image

from tests.support.servers.archive import ArchiveServer
from tests.support.servers.postgres import database_options
from tests.support.values.pdf_files import HEAD, pdf
from tests.support.waiting import wait_for

NUMBERS: Final = count()
SHOWN: Final = 'class="sheet"'


@pytest.fixture(
    scope="module", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.long)]
)
def archive(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ArchiveServer]:
    options = database_options(request, "--catalogue")
    server = ArchiveServer(tmp_path_factory.mktemp(request.param), *options)
    server.set(full_text=True)
    with server:
        yield server


def address(item: dict[str, Any]) -> str:
    return f"/col/{item['metadata']['rep']}/doc/metadata"


def page(archive: ArchiveServer, item: dict[str, Any], preview: str = "") -> str:
    """Return the page of an item, made anew."""
    query = f"?preview={preview}&round={next(NUMBERS)}"
    return archive.get(f"{address(item)}{query}").body.decode()


def test_the_page_shows_the_first_page_of_its_pdf(archive: ArchiveServer) -> None:
    files = {"paper.pdf": pdf("First page", "Second page"), "more.pdf": pdf("Another")}
    item = archive.deposit(files, target="paper.pdf")
    shown = wait_for(lambda: page(archive, item), lambda found: SHOWN in found)
    source = f"{archive.address}{address(item)}?picture=paper.pdf"
    assert f'<img class="sheet" src="{source}" alt="The first page of paper.pdf">' in shown
    file = f"/col/{item['rep']}/doc/paper.pdf"
    assert f'The first page of <a href="{file}" dir="auto">paper.pdf</a>' in shown
    answer = archive.get(f"{address(item)}?picture=paper.pdf")
    assert (answer.status, answer.headers["content-type"]) == (200, "image/webp")
    assert answer.headers["content-security-policy"] == "default-src 'none'; sandbox"
    assert answer.headers["x-content-type-options"] == "nosniff"
    with Image.open(io.BytesIO(answer.body)) as image:
        assert image.size == (800, 1036)
        shades = image.convert("L").histogram()
    assert (any(shades[:100]), any(shades[240:])) == (True, True)
    other = wait_for(lambda: page(archive, item, "more.pdf"), lambda found: SHOWN in found)
    assert "?picture=more.pdf" in other
    assert "preview=more.pdf" in other
    listed = archive.get(f"/displaydoccontent.cgi/{item['ibip']}?displaytype=FileList")
    assert listed.body.decode().count(">preview</a>") == 2


def test_a_broken_pdf_has_no_picture(archive: ArchiveServer) -> None:
    item = archive.deposit({"a.pdf": HEAD + b"broken", "b.pdf": pdf("Good")}, target="a.pdf")
    # The target comes first: it was tried once the other one is shown.
    wait_for(lambda: page(archive, item, "b.pdf"), lambda found: SHOWN in found)
    assert SHOWN not in page(archive, item)
    assert archive.get(f"{address(item)}?picture=a.pdf").status == 404
    assert archive.get(f"{address(item)}?picture=c.pdf").status == 404
    assert archive.get(f"{address(item)}?picture=../a.pdf").status == 404


def test_only_what_every_reader_may_read_has_a_picture(archive: ArchiveServer) -> None:
    item = archive.deposit({"a.pdf": pdf("For a while")})
    wait_for(lambda: page(archive, item), lambda found: SHOWN in found)
    path = f"items/{item['rep']}"
    for change in ({"readers": ["192.0.2.0/24"]}, {"readers": [], "list_public": False}):
        assert archive.api("PATCH", path, change).status == 200
        assert archive.get(f"{address(item)}?picture=a.pdf").status == 404
        assert SHOWN not in page(archive, item)
    assert archive.api("PATCH", path, {"list_public": True}).status == 200
    wait_for(lambda: page(archive, item), lambda found: SHOWN in found)
    id_ = archive.open_deposit(item=item["rep"], metadata={})
    archive.send(id_, "a.pdf", HEAD + b"broken")
    archive.complete(id_)
    assert archive.get(f"{address(item)}?picture=a.pdf").status == 404
    assert archive.api("POST", f"{path}/deletion", {"reason": "wrong"}).status == 200
    assert archive.get(f"{address(item)}?picture=a.pdf").status in {404, 410}


def test_without_extraction_there_is_no_picture(archive: ArchiveServer) -> None:
    item = archive.deposit({"a.pdf": pdf("For a while")})
    wait_for(lambda: page(archive, item), lambda found: SHOWN in found)
    archive.stop()
    archive.set(full_text=False)
    archive.start()
    assert archive.get(f"{address(item)}?picture=a.pdf").status == 404
    archive.stop()
    archive.set(full_text=True)
    archive.start()
    wait_for(lambda: page(archive, item), lambda found: SHOWN in found)
