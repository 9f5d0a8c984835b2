"""What crawlers and harvesters fetch: sitemaps, robots.txt, the dump of all metadata."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.robotparser import RobotFileParser

import pytest
from lxml import etree
from usp.tree import sitemap_tree_for_homepage

from tests.support.clients.http import Answer
from tests.support.servers.archive import ArchiveServer
from tests.support.servers.postgres import database_options
from tests.support.waiting import wait_until

DUMP = "/dumps/metadata.jsonl.gz"


@dataclass(frozen=True)
class Shelf:
    """An archive with public items, and some that harvesters must not have."""

    archive: ArchiveServer
    public: list[dict[str, Any]]
    limited: dict[str, Any]
    gone: dict[str, Any]

    def dumped(self) -> list[dict[str, Any]]:
        """Return the lines of the dump."""
        answer = self.archive.get(DUMP)
        assert answer.status == 200
        assert answer.headers["content-type"] == "application/gzip"
        return [json.loads(line) for line in gzip.decompress(answer.body).splitlines()]

    def page(self, item: dict[str, Any]) -> str:
        """Return the URL of the page of an item."""
        return f"{self.archive.address}/col/{item['metadata']['rep']}/doc/metadata"


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def shelf(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Shelf]:
    options = database_options(request, "--catalogue")
    archive = ArchiveServer(tmp_path_factory.mktemp(request.param), *options)
    if request.param == "sqlite":  # one of them with several processes
        archive.wanted_workers = "2"
    with archive:
        public = [
            archive.deposit({"a.txt": b"a"}, metadata={"titles": [f"Title {n} & more"]})
            for n in range(3)
        ]
        limited = archive.deposit(
            {"a.txt": b"a"}, readers=["192.0.2.0/24"], metadata={"titles": ["For few readers"]}
        )
        gone = archive.deposit({"a.txt": b"a"}, metadata={"titles": ["Withdrawn title"]})
        archive.open_deposit(metadata={"titles": ["Not published"]})
        delete(archive, gone)
        archive.restart()  # which makes everything anew if something changed
        wait_until(lambda: made(archive, 3))
        yield Shelf(archive, public, limited, gone)


def delete(archive: ArchiveServer, item: dict[str, Any]) -> None:
    answer = archive.api("POST", f"items/{item['rep']}/deletion", {"reason": "It was wrong."})
    assert answer.status == 200


def made(archive: ArchiveServer, items: int) -> bool:
    """Return whether there is a dump of so many items."""
    dumps = archive.get("/dumps/index.json").json()["dumps"]
    return bool(dumps) and dumps[0]["items"] == items


def test_the_dump_has_what_is_public(shelf: Shelf) -> None:
    lines = shelf.dumped()
    found = {line["rep"]: line for line in lines}
    assert len(found) == len(lines) == 4
    for item in shelf.public:
        line = found[item["rep"]]
        assert line["persistent_url"] == item["persistent_url"]
        assert line["record"] == shelf.archive.item(item["rep"])["record"]
        assert line["page"] == shelf.page(item)
        assert line["state"] == "Original"
    stone = found[shelf.gone["rep"]]
    assert stone["state"] == "Deleted"
    assert stone["reason"] == "It was wrong."
    assert not {"record", "page"} & stone.keys()
    text = json.dumps(lines)
    assert shelf.limited["rep"] not in found
    for hidden in ("For few readers", "Withdrawn title", "Not published"):
        assert hidden not in text


def test_the_dump_is_fetched_in_parts_and_not_twice(shelf: Shelf) -> None:
    whole = shelf.archive.get(DUMP)
    [told] = shelf.archive.get("/dumps/index.json").json()["dumps"]
    assert told["size"] == len(whole.body)
    assert told["sha256"] == hashlib.sha256(whole.body).hexdigest()
    assert (told["items"], told["tombstones"]) == (3, 1)
    etag = whole.headers["etag"]
    first = shelf.archive.get(DUMP, range="bytes=0-9")
    rest = shelf.archive.get(DUMP, range="bytes=10-", if_range=etag)
    assert (first.status, rest.status) == (206, 206)
    assert first.body + rest.body == whole.body
    assert shelf.archive.get(DUMP, if_none_match=etag).status == 304
    assert shelf.archive.ask("HEAD", DUMP, token="").status == 200
    assert shelf.archive.get(DUMP, range="bytes=99999999-").status == 416


def test_a_crawler_finds_the_pages_of_public_items(shelf: Shelf) -> None:
    tree = sitemap_tree_for_homepage(shelf.archive.address + "/")
    pages = {page.url: page.last_modified for page in tree.all_pages()}
    home = f"{shelf.archive.address}/"
    assert pages.keys() == {home, *(shelf.page(item) for item in shelf.public)}
    for item in shelf.public:
        changed = pages[shelf.page(item)]
        assert changed is not None
        assert changed.strftime("%Y-%m-%dT%H:%M:%SZ") == shelf.archive.item(item["rep"])["updated"]
    index = etree.fromstring(shelf.archive.get("/sitemap.xml").body)
    [location] = index.findall(".//{*}loc")
    assert str(location.text) == f"{shelf.archive.address}/sitemap-1.xml.gz"
    assert index.find(".//{*}lastmod") is not None
    assert shelf.archive.get("/sitemap-2.xml.gz").status == 404
    assert shelf.archive.get("/sitemap-x.xml.gz").status == 404


def test_robots_may_read_pages_and_learn_of_the_dump(shelf: Shelf) -> None:
    answer = shelf.archive.get("/robots.txt")
    assert answer.headers["content-type"].startswith("text/plain")
    assert f"{shelf.archive.address}{DUMP}" in answer.body.decode()
    rules = RobotFileParser()
    rules.parse(answer.body.decode().splitlines())
    assert rules.site_maps() == [f"{shelf.archive.address}/sitemap.xml"]
    for path in (shelf.page(shelf.public[0]), f"/{shelf.public[0]['ibip']}:", DUMP, "/feed.atom"):
        assert rules.can_fetch("AnyBot", path)
    for path in ("/api/v1/items", "/search?q=a", "/deposit", "/sign-in"):
        assert not rules.can_fetch("AnyBot", path)
    llms = shelf.archive.get("/llms.txt").body.decode()
    assert llms.startswith("# Arquivo de prova\n")
    assert f"]({shelf.archive.address}{DUMP})" in llms
    home = shelf.archive.get("/", accept="text/html").body.decode()
    assert f'href="{DUMP}"' in home


def test_what_is_withdrawn_is_in_no_dump(shelf: Shelf) -> None:
    """An item is deleted and one is limited to readers: the former dump is not offered any more."""
    archive = shelf.archive
    doomed, closed = shelf.public[:2]

    def has_either(answer: Answer) -> bool:
        if answer.status == 503:
            assert answer.headers["retry-after"]
            return False
        text = gzip.decompress(answer.body).decode()
        return "Title 0" in text or "Title 1" in text

    assert has_either(archive.get(DUMP))
    delete(archive, doomed)
    limited = archive.api("PATCH", f"items/{closed['rep']}", {"readers": ["192.0.2.0/24"]})
    assert limited.status == 200
    assert not has_either(archive.get(DUMP))
    wait_until(lambda: made(archive, 1))
    assert not has_either(archive.get(DUMP))
    found = {line["rep"]: line for line in shelf.dumped()}
    assert found[doomed["rep"]]["state"] == "Deleted"
    assert closed["rep"] not in found
    tree = sitemap_tree_for_homepage(archive.address + "/")
    assert len({page.url for page in tree.all_pages()}) == 2
