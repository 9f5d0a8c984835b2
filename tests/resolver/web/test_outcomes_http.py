"""Pages for what went wrong, over HTTP: deleted items, labels that no archive can have."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from typing import Final

import pytest

from ibi.identifier.instant import Instant
from ibi.identifier.repository_name import RepositoryName
from tests.resolver.web.test_search_http import remove
from tests.support.clients.http import Answer
from tests.support.doubles.archive import ArchiveDouble
from tests.support.doubles.searchable_archive import SearchableArchive
from tests.support.servers.archive import ArchiveServer
from tests.support.servers.attacked_resolver import label, made_at, service_of
from tests.support.servers.federation import linked_archives
from tests.support.servers.resolver import ResolverServer
from tests.support.waiting import wait_until

HTML: Final = {"Accept": "text/html"}
DELETED: Final = {"state": "Deleted", "url": "", "contenttype": ""}
FAR: Final = RepositoryName.mount("far.example.org", 80, Instant(4_000_000_000)).spelling
STRANGE: Final = RepositoryName.mount("strange.example.org", 80, Instant(1_500_000_000)).spelling


def page(resolver: ResolverServer, target: str, status: int, language: str = "en") -> str:
    answer = resolver.get(f"/{target}", **HTML, **{"Accept-Language": language})
    assert answer.status == status, answer.body
    return answer.body.decode()


@pytest.fixture(scope="module")
def linked(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[ResolverServer, ArchiveServer]]:
    with linked_archives(tmp_path_factory.mktemp("outcomes"), 1) as (resolver, (archive,)):
        yield resolver, archive


def deleted(archive: ArchiveServer, **more: object) -> str:
    item = archive.deposit({"a.txt": b"a"}, metadata={"titles": ["Water of the Tapajós"]})
    name = str(item["ibip"] or item["rep"])
    wanted = {"reason": "It held names of residents.", **more}
    assert archive.api("POST", f"items/{name}/deletion", wanted).status == 200
    return name


def test_a_deleted_item_is_described_by_its_tombstone(
    linked: tuple[ResolverServer, ArchiveServer],
) -> None:
    resolver, archive = linked
    other = archive.deposit({"b.txt": b"b"}, metadata={"titles": ["The successor"]})
    successor = str(other["ibip"] or other["rep"])
    name = deleted(archive, replaced_by=successor)
    shown = page(resolver, name, 410)
    assert "It held names of residents." in shown
    assert f'href="/{successor}"' in shown
    assert f'href="http://{archive.place}/{name}"' in shown
    assert "None: no archive that answered has a copy." in shown
    assert "Nenhuma: nenhum acervo" in page(resolver, name, 410, "pt")
    assert f'<a class="act main" href="/{successor}:">Open the replacement' in shown
    assert '<p dir="auto">The successor</p>' in shown
    problem = resolver.get(f"/{name}", Accept="application/json").json()
    assert problem["reason"] == "It held names of residents."
    assert problem["replaced_by"] == successor
    assert problem["tombstone"] == f"http://{archive.place}/{name}"
    assert problem["archives"] == [archive.service]
    assert resolver.get(f"/api/v1/resolve?url={name}").json()["reason"] == problem["reason"]


def test_the_title_of_a_deleted_item_is_its_heading(
    linked: tuple[ResolverServer, ArchiveServer],
) -> None:
    resolver, archive = linked
    assert '<h1 dir="auto">Water of the Tapajós</h1>' in page(resolver, deleted(archive), 410)


def test_a_translation_that_is_not_there_is_named(
    linked: tuple[ResolverServer, ArchiveServer],
) -> None:
    resolver, archive = linked
    item = archive.deposit({"a.txt": b"a"}, language="en", metadata={"titles": ["T"]})
    name = str(item["ibip"] or item["rep"])
    shown = page(resolver, f"{name}+(de)", 404)
    assert "There is no translation into this language: German." in shown
    assert f'href="/{name}:">Its description names' in shown
    assert "este idioma: alemão." in page(resolver, f"{name}+(de)", 404, "pt")


def test_what_the_newest_edition_lacks_leads_to_the_newest_edition(
    linked: tuple[ResolverServer, ArchiveServer],
) -> None:
    resolver, archive = linked
    first = archive.deposit({"a.txt": b"a"}, language="en", metadata={"titles": ["T"]})
    newest = archive.deposit({"a.txt": b"b"}, language="en", edition_of=first["rep"])
    shown = page(resolver, f"{first['ibip']}!+(de)", 404)
    names = [newest["rep"], newest["ibip"]]
    assert any(f'<a class="act main" href="/{name}">' in shown for name in names)


def test_an_unknown_item_at_an_archive_leads_to_its_resolver(
    linked: tuple[ResolverServer, ArchiveServer],
) -> None:
    resolver, archive = linked
    found = archive.get("/8JMKD3MGP7W/3EPGUE5", **HTML)
    assert found.status == 404
    asked = f'{resolver.address}/search?q=8JMKD3MGP7W%2F3EPGUE5"'
    assert f'href="{asked}' in found.body.decode()
    assert f'href="{asked}' in archive.get("/search?q=8JMKD3MGP7W/3EPGUE5", **HTML).body.decode()


def test_a_mistyped_address_leads_to_what_was_perhaps_meant(
    linked: tuple[ResolverServer, ArchiveServer],
) -> None:
    resolver, _ = linked
    shown = page(resolver, "8JMKD3MGP7W/3EPGU05", 400)
    assert "Did you mean one of these?" in shown
    assert 'href="/search?q=8JMKD3MGP7W/3EPGUQ5">' in shown
    assert "at character 18" in shown
    assert 'value="8JMKD3MGP7W/3EPGU05"' in shown


def test_a_label_that_no_archive_lists_leads_to_the_one_that_was_meant(
    linked: tuple[ResolverServer, ArchiveServer],
) -> None:
    resolver, archive = linked
    item = archive.deposit({"a.txt": b"a"}, metadata={"titles": ["The meant one"]})
    name = str(item["ibip"])
    typed = long_before(name)
    # The first ones ask no archive, so they may be repeated until the digest has come.
    pasted = (f"search?q={typed}", f"search?q=IBI:+{typed},+2026")
    for target in (*pasted, typed, f"explain?url={typed}"):
        # A look-up that follows another one at once offers nothing.
        wait_until(partial(is_shown, resolver, target, f'href="/{name}"'))
    # The digest lists the label itself, so nothing near it is offered, whenever it is looked up.
    assert not is_shown(resolver, f"search?q={name}", "Did you mean")


def long_before(ibip: str) -> str:
    """Return a label with one other character, made long before any item of the test."""
    prefix, _, suffix = ibip.partition("/")
    seconds, mark, fraction = suffix.partition("W")
    # Each place is worth 27 times the next one, and 2 is the digit zero.
    place = next(i for i in range(len(seconds) - 4, 0, -1) if seconds[i] != "2")
    return f"{prefix}/{seconds[:place]}2{seconds[place + 1 :]}{mark}{fraction}"


def is_shown(resolver: ResolverServer, target: str, text: str) -> bool:
    page = resolver.get(f"/{target}", **HTML, **{"Accept-Language": "en"})
    return text in page.body.decode()


@pytest.mark.parametrize(
    "document",
    [
        (410, b"no json"),
        (410, b'{"type": "about:blank", "reason": "secret"}'),
        (200, b'{"reason": "secret"}'),
        (500, b'{"type": "urn:ibi:problem:deleted", "reason": "secret"}'),
        (410, b"[" * 100_000),
        (410, json.dumps({"type": "urn:ibi:problem:deleted", "x": "y" * 400_000}).encode()),
    ],
    ids=["no json", "another problem", "no tombstone", "failure", "brackets", "long"],
)
def test_a_page_is_shown_without_a_tombstone_that_cannot_be_read(
    resolver: ResolverServer, document: tuple[int, bytes]
) -> None:
    with SearchableArchive(service_of(0)) as archive:
        archive.platform = "ibi-0.1"
        key = resolver.include(archive)
        try:
            archive.hold(label(1), **DELETED)
            archive.documents[f"/{label(1)}"] = document
            shown = page(resolver, label(1), 410)
            assert "This item was deleted" in shown
            assert "secret" not in shown
        finally:
            remove(resolver, archive, key)


def outcome(resolver: ResolverServer, name: str) -> tuple[int, str]:
    answer: Answer = resolver.get(f"/{name}", Accept="application/json")
    return answer.status, answer.json()["title"]


def test_a_label_that_no_archive_can_have_is_not_found_while_one_is_silent(
    resolver: ResolverServer,
) -> None:
    with ArchiveDouble(service_of(1)) as archive:
        archive.publish()
        key = resolver.include(archive)
        try:
            wait_until(lambda: "digest" in resolver.archives()[archive.service])
            wait_until(lambda: resolver.archives()[archive.service]["digest"]["whole"])
            archive.behaviour = "error"
            # The silent archive is at home where this label was made. Its digest does not stand
            # for its answers any more.
            at_home = made_at("198.51.0.2", 7)
            assert outcome(resolver, at_home) == (503, "Not all archives have answered")
            impossible = (404, "No archive can have this item")
            assert outcome(resolver, FAR) == impossible
            assert outcome(resolver, STRANGE) == impossible
            shown = page(resolver, STRANGE, 404)
            assert "none of them can have it" in shown
            assert archive.address in shown
        finally:
            archive.behaviour = "archive"
            remove(resolver, archive, key)


def test_a_silent_archive_without_a_digest_may_have_any_label_of_the_past(
    resolver: ResolverServer,
) -> None:
    with ArchiveDouble(service_of(2)) as archive:
        key = resolver.include(archive)
        try:
            archive.behaviour = "error"
            assert outcome(resolver, STRANGE)[0] == 503
            assert outcome(resolver, FAR)[0] == 404
        finally:
            archive.behaviour = "archive"
            remove(resolver, archive, key)


def test_a_label_with_one_slip_leads_to_the_one_that_was_meant(
    linked: tuple[ResolverServer, ArchiveServer],
) -> None:
    resolver, archive = linked
    prefix = str(archive.deposit({"a.txt": b"a"})["rep"]).rsplit("/", 2)[0]
    name, wrong = f"{prefix}/2001/02.03.04.05", f"{prefix}/2001/02.03.04.06"
    archive.deposit({"a.txt": b"a"}, adoption={"labels": [name]})

    def is_offered() -> bool:
        return f'href="/{name}"' in page(resolver, wrong, 404)

    wait_until(is_offered)
