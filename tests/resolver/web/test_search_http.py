"""The search by words at a resolver, over HTTP, among real archives and hostile ones."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlsplit

import pytest

from ibi.resolver.rules.word_search import MAX_ARCHIVES
from tests.support.clients.http import Answer
from tests.support.doubles.archive import ArchiveDouble
from tests.support.doubles.searchable_archive import SearchableArchive, found
from tests.support.servers.archive import ArchiveServer
from tests.support.servers.attacked_resolver import label, service_of
from tests.support.servers.federation import linked_archives
from tests.support.servers.resolver import ResolverServer
from tests.support.waiting import wait_until

HTML: Final = {"Accept": "text/html"}
LABEL: Final = "8JMKD3MGP7W/3EPGUE5"


def page(resolver: ResolverServer, words: str, language: str = "en", forced: str = "") -> str:
    more = f"&words={forced}" if forced else ""
    answer = resolver.get(
        f"/search?q={quote(words)}{more}", **HTML, **{"Accept-Language": language}
    )
    assert answer.status == 200, answer.body
    return answer.body.decode()


def results(resolver: ResolverServer, words: str) -> dict[str, Any]:
    answer = resolver.get(f"/api/v1/search?q={quote(words)}")
    assert answer.status == 200, answer.body
    found_: dict[str, Any] = answer.json()
    return found_


@pytest.fixture(scope="module")
def linked(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[ResolverServer, list[ArchiveServer]]]:
    with linked_archives(tmp_path_factory.mktemp("search"), 2) as (resolver, archives):
        for number, archive in enumerate(archives):
            archive.deposit(
                {"a.txt": b"water"},
                metadata={"titles": [f"Water of river {number}"], "creators": ["Lins, Beatriz"]},
            )
        archives[0].deposit({"b.txt": b"b"}, metadata={"titles": ["Fires of the Cerrado"]})
        wait_until(lambda: results(resolver, "river")["count"] == 2)
        yield resolver, archives


def test_words_are_found_in_all_archives_under_their_names(
    linked: tuple[ResolverServer, list[ArchiveServer]],
) -> None:
    resolver, archives = linked
    answer = results(resolver, "water river")
    assert {each["address"] for each in answer["archives"]} == {each.place for each in archives}
    assert [each["count"] for each in answer["archives"]] == [1, 1]
    for each in answer["archives"]:
        (item,) = each["items"]
        assert item["title"].startswith("Water of river")
        assert item["creators"] == ["Lins, Beatriz"]
        assert item["persistent_url"] == f"{resolver.address}/{item['ibi']}"
        assert resolver.get(f"/{item['ibi']}").status == 302
        assert each["search"] == f"http://{each['address']}/search?q=water%20river"
    assert answer["silent"] == []
    assert answer["not_asked"] == 0


def test_the_page_shows_the_names_that_archives_give_themselves(
    linked: tuple[ResolverServer, list[ArchiveServer]],
) -> None:
    resolver, archives = linked
    name = archives[0].api("GET", "archive").json()["name"]
    wait_until(lambda: all(each["name"] for each in results(resolver, "water")["archives"]))
    assert {each["name"] for each in results(resolver, "water")["archives"]} == {name}
    shown = page(resolver, "water")
    assert name in shown
    assert "2 items were found." in shown
    assert "2 itens foram encontrados." in page(resolver, "water", "pt-BR")
    assert "Archives that found nothing" in page(resolver, "Cerrado")


def test_what_no_archive_has_is_said_so(
    linked: tuple[ResolverServer, list[ArchiveServer]],
) -> None:
    resolver, _ = linked
    assert results(resolver, "zebra")["count"] == 0
    assert "No archive that answered found anything." in page(resolver, "zebra")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (LABEL, "This is a label"),
        (f"https://elsewhere.example/{LABEL}!", "This is a persistent URL"),
        ("doi:10.1000/182", "identifier of another system: DOI"),
        ("https://www.example.org/", "This is an address on the Web"),
        ("8JMKD3MGP7W/3EPGUE0", "This is no identifier that can be read"),
        (f"Silva, J. Maps. 2013. {LABEL}.", "There is a label in this text"),
        ("", "Write something into the field above."),
    ],
)
def test_identifiers_are_not_searched_for(resolver: ResolverServer, text: str, shown: str) -> None:
    with SearchableArchive(service_of(0)) as archive:
        key = resolver.include(archive)
        try:
            assert shown in page(resolver, text)
            assert archive.searches == []
            if text:
                page(resolver, text, "en", "1")
                assert archive.searches == [text]
        finally:
            remove(resolver, archive, key)


def remove(resolver: ResolverServer, archive: ArchiveDouble, key: str) -> None:
    resolver.announce(archive, key, "exclusionRequest")
    path = quote(archive.service, safe="")
    assert resolver.api("DELETE", f"archives/{path}").status == 204


def test_an_answer_is_used_again_for_a_moment(resolver: ResolverServer) -> None:
    with SearchableArchive(service_of(0)) as archive:
        key = resolver.include(archive)
        try:
            archive.results = found({"ibip": label(1), "title": "Rivers"})
            for _ in range(3):
                assert results(resolver, "  some   rivers ")["count"] == 1
            assert archive.searches == ["some rivers"]
        finally:
            remove(resolver, archive, key)


def test_an_archive_without_a_search_is_not_asked_again(resolver: ResolverServer) -> None:
    with ArchiveDouble(service_of(1)) as archive:
        key = resolver.include(archive)
        try:
            archive.behaviour = "not found"
            first = results(resolver, "words")
            asked = len(archive.queries)
            assert asked
            assert results(resolver, "other words") == {**first, "words": "other words"}
            assert len(archive.queries) == asked
            assert first["archives"] == first["silent"] == []
            assert "No archive of this resolver can be searched." in page(resolver, "words")
        finally:
            remove(resolver, archive, key)


HOSTILE: Final[dict[str, bytes]] = {
    "no json": b"<html>",
    "another document": b'{"name": "x"}',
    "a list": b"[1, 2]",
    "brackets": b"[" * 100_000,
    "nested": b'{"items": [{"ibip": ' + b"[" * 100_000 + b"]" * 100_000 + b"}]}",
    "not utf-8": b'{"items": [{"ibip": "\xff"}]}',
    "too long": json.dumps({"items": [], "x": "y" * 300_000}).encode(),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_an_answer_that_makes_no_sense_is_told(resolver: ResolverServer, kind: str) -> None:
    with SearchableArchive(service_of(2)) as archive:
        key = resolver.include(archive)
        try:
            archive.results = HOSTILE[kind]
            answer = results(resolver, f"words {kind}")
            assert answer["archives"] == []
            (silent,) = answer["silent"]
            assert silent["reason"].startswith("its answer ")
            assert "1 archive has not answered, and may have more." in page(resolver, f"w {kind}")
        finally:
            remove(resolver, archive, key)


def test_only_labels_and_texts_are_taken_from_an_answer(resolver: ResolverServer) -> None:
    with SearchableArchive(service_of(3)) as archive:
        key = resolver.include(archive)
        try:
            archive.results = found(
                {"ibip": label(1), "title": "a\x00b\u202ec" + " d" * 900, "creators": [1, "E"]},
                {"ibip": "no label", "rep": "javascript:alert(1)", "title": "dropped"},
                {"ibip": label(2), "title": ["x"], "persistent_url": "https://evil.example/"},
                *({"ibip": label(10 + number)} for number in range(50)),
                count=-5,
            )
            (each,) = results(resolver, "texts")["archives"]
            first, second = each["items"][:2]
            assert first["title"].startswith("a bc d d")
            assert 290 < len(first["title"]) <= 300
            assert first["creators"] == ["E"]
            assert second == {
                "ibi": label(2),
                "title": "",
                "persistent_url": f"{resolver.address}/{label(2)}",
            }
            assert (each["count"], len(each["items"])) == (52, 5)
            assert "evil.example" not in page(resolver, "texts")
            hosts = {urlsplit(link).netloc for link in links(page(resolver, "texts"))}
            assert hosts <= {"", urlsplit(resolver.address).netloc, archive.address}
        finally:
            remove(resolver, archive, key)


def links(html: str) -> list[str]:
    return [part.split('"')[0] for part in html.split('href="')[1:]]


def test_a_bounded_number_of_archives_is_asked(tmp_path: Path) -> None:
    with ResolverServer(tmp_path) as resolver, SearchableArchive(service_of(0)) as archive:
        for number in range(MAX_ARCHIVES + 3):
            # All of them are at one address, where every service is confirmed.
            archive.confirms_every_label = True
            archive.service = service_of(number)
            resolver.include(archive)
        answer = results(resolver, "many")
        assert len(archive.searches) == MAX_ARCHIVES
        assert len(answer["archives"]) == MAX_ARCHIVES
        assert answer["not_asked"] == 3
        assert "3 other archives were not asked." in page(resolver, "many")


def test_a_mistyped_label_is_explained_and_not_searched_for(resolver: ResolverServer) -> None:
    html = page(resolver, "IBI: 8JMKD3MGP7W/3EPGUEI5")
    assert "This is no identifier that can be read" in html
    assert "at character 19" in html
    assert "every character counts" in html
    assert "No archive" not in html
    assert "cada caractere conta" in page(resolver, "IBI: 8JMKD3MGP7W/3EPGUEI5", "pt")


def test_a_label_leads_to_its_description_and_its_newest_edition(resolver: ResolverServer) -> None:
    found_ = links(page(resolver, f"IBI: {LABEL[:12]} {LABEL[12:]}"))
    assert {f"/{LABEL}", f"/{LABEL}:", f"/{LABEL}!", f"/{LABEL}+"} <= set(found_)


def test_a_search_needs_words(resolver: ResolverServer) -> None:
    for query in ("", "?q=", "?q=%20"):
        refused: Answer = resolver.get(f"/api/v1/search{query}")
        assert refused.status == 400
        assert "The parameter q is missing" in refused.json()["detail"]
