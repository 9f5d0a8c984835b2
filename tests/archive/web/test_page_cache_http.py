"""Cached pages of items: every change shows at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from starlette.responses import Response

from ibi.archive.web.item import page_cache
from ibi.archive.web.item.page_cache import PageCache
from ibi.model.clock import SECOND
from tests.support.servers.archive import ArchiveServer


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ArchiveServer]:
    with ArchiveServer(tmp_path_factory.mktemp("archive")) as started:
        yield started


def page(archive: ArchiveServer, item: dict[str, Any], **headers: str) -> str:
    answer = archive.get(f"/col/{item['metadata']['rep']}/doc/metadata", **headers)
    assert answer.status == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert int(answer.headers["content-length"]) == len(answer.body)
    return answer.body.decode()


def test_every_change_shows_at_once(archive: ArchiveServer) -> None:
    made = archive.deposit({"a.txt": b"a"}, target="a.txt", metadata={"titles": ["Before"]})
    item = archive.item(made["rep"])
    assert "Before" in page(archive, item) == page(archive, item)
    changed = {"metadata": {"titles": ["After"]}}
    assert archive.api("PATCH", f"items/{item['rep']}", changed).status == 200
    assert "After" in page(archive, item)
    later = archive.deposit({"b.txt": b"b"}, edition_of=item["rep"])
    assert "A newer edition exists" in page(archive, item)
    assert archive.api("POST", f"items/{later['rep']}/deletion", {"reason": "x"}).status == 200
    assert archive.api("POST", f"items/{item['rep']}/deletion", {"reason": "x"}).status == 200
    assert "The item that is described here was deleted" in page(archive, item)


def test_each_language_has_its_page(archive: ArchiveServer) -> None:
    item = archive.item(archive.deposit({"a.txt": b"a"})["rep"])
    assert "How to cite" in page(archive, item, accept_language="en")
    assert "Como citar" in page(archive, item, accept_language="pt-BR")
    assert "How to cite" in page(archive, item, accept_language="en")


def test_pages_are_kept_within_a_size_and_an_age(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_cache, "MAX_BYTES", 250)
    cache = PageCache()
    for name in (b"a", b"b", b"c"):
        cache.put((name,), 7, 1, 0, Response(name * 100))
    assert (b"a",) not in cache
    found = cache.get((b"b",), 1, 59 * SECOND)
    assert found is not None
    assert (found[0], found[1].body) == (7, b"b" * 100)
    assert cache.get((b"b",), 2, 0) is None
    assert (b"b",) not in cache
    assert cache.get((b"c",), 1, 60 * SECOND) is None
