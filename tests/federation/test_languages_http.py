"""Which translation readers of each language get, at a resolver and at an archive themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from tests.support.clients.http import Answer
from tests.support.servers.archive import ArchiveServer, neighbour
from tests.support.servers.federation import linked_archives
from tests.support.servers.resolver import ResolverServer
from tests.support.waiting import wait_until

ENGLISH_READER: Final = "en-GB,en;q=0.9"


@dataclass(frozen=True)
class World:
    """A resolver and an archive with an item in English, Portuguese and Spanish."""

    resolver: ResolverServer
    archive: ArchiveServer
    label: str
    """Of the English item. Portuguese is that of Portugal, then that of Brazil; Spanish is general
    and that of Mexico, deposited before."""

    def content(self, at: str, modifiers: str, languages: str, query: str = "") -> str:
        """Follow a persistent URL at the resolver or at the archive, and return the file."""
        server = self.resolver if at == "resolver" else self.archive
        path = f"/{self.label}{modifiers}{query}"
        answer = server.get(path, **({"Accept_Language": languages} if languages else {}))
        assert answer.status == 302, answer.body
        return followed(self.archive, answer).body.decode()


def followed(archive: ArchiveServer, answer: Answer) -> Answer:
    location = answer.headers["location"]
    assert location.startswith(f"{archive.address}/")
    return archive.get(location.removeprefix(archive.address))


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder: Path = tmp_path_factory.mktemp("languages")
    with linked_archives(folder, 1) as (resolver, [archive]):
        english = archive.deposit({"a.txt": b"en"}, language="en")["rep"]
        for language in ("pt-PT", "pt-BR", "es-MX", "es"):
            name = language.encode()
            archive.deposit({"a.txt": name}, language=language, translation_of=english)
        yield World(resolver, archive, english)


PREFERENCES: Final = {
    "pt": "pt-PT",  # the first deposited of two countries
    "pt-AO": "pt-PT",
    "pt-BR": "pt-BR",
    "en;q=0.1,pt;q=0.9": "pt-PT",
    "de,pt-BR;q=0.8,en;q=0.5": "pt-BR",
    "es-MX": "es-MX",
    "es-AR": "es",  # the one without a country
    "es": "es",
    "fr": "en",
    "": "en",
}


@pytest.mark.parametrize("at", ["resolver", "archive"])
@pytest.mark.parametrize("languages", PREFERENCES)
def test_a_language_preference_finds_the_nearest_translation(
    world: World, at: str, languages: str
) -> None:
    for modifiers in ("+", "!+", "+!"):
        assert world.content(at, modifiers, languages) == PREFERENCES[languages]


@pytest.mark.parametrize("at", ["resolver", "archive"])
@pytest.mark.parametrize("language", [each for each in PREFERENCES if len(each) in {2, 5}])
def test_a_language_in_the_url_finds_the_same(world: World, at: str, language: str) -> None:
    expected = PREFERENCES[language]
    query = f"?ibiurl.language={language}"
    assert world.content(at, "+", ENGLISH_READER, query) == expected
    if expected != "en":
        for modifiers in ("+({})", "!+({})", "+({})!"):
            asked = modifiers.format(language)
            assert world.content(at, asked, ENGLISH_READER) == expected


@pytest.mark.parametrize("at", ["resolver", "archive"])
def test_metadata_of_a_translation_are_found_by_the_same_rule(world: World, at: str) -> None:
    server = world.resolver if at == "resolver" else world.archive
    wanted = world.archive.get(f"/{world.label}+(pt-PT):").headers["location"]
    for path, languages in (("+:", "pt-AO"), ("+(pt):", "en"), ("!+:", "pt")):
        answer = server.get(f"/{world.label}{path}", Accept_Language=languages)
        assert answer.headers["location"] == wanted


def title(server: ResolverServer | ArchiveServer, archive: ArchiveServer, path: str) -> str:
    """Follow a persistent URL to a page of metadata in an archive; return the title there."""
    answer = server.get(path)
    assert answer.status == 302, answer.body
    page = followed(archive, answer).body.decode()
    found = re.search(r"<h1><span[^>]*>([^<]*)</span></h1>", page)
    assert found is not None
    return found[1]


def done(archive: ArchiveServer, *command: str, **environment: str) -> None:
    ended = archive.ibi(*command, **environment)
    assert ended.returncode == 0, ended.stderr


def test_metadata_in_further_languages_go_where_their_item_goes(tmp_path: Path) -> None:
    with linked_archives(tmp_path, 3) as (resolver, [one, two, three]):
        item = one.deposit({"a.txt": b"a"}, language="en", metadata={"titles": ["A report"]})
        label = item["rep"]
        done(one, "describe", label, "--title-in", "pt", "Um relatório")
        done(one, "translation", item["metadata"]["rep"], "fr", "LK47B6W/362SFKH", "--unchecked")
        english, portuguese = f"/{label}:+(en)", f"/{label}:+(pt)"

        def has_both(archive: ArchiveServer) -> bool:
            assert title(archive, archive, english) == "A report"
            assert title(archive, archive, portuguese) == "Um relatório"
            metadata = archive.item(item["metadata"]["rep"])
            return bool(metadata["translations"] == {"fr": {"ibip": "LK47B6W/362SFKH"}})

        assert has_both(one)
        done(two, "copy", label, "--from", one.address)
        assert has_both(two)
        token = three.add_token("friends", "receive")
        arguments = ("transfer", label, "--to", three.address, "--yes")
        done(one, *arguments, IBI_TO_TOKEN=token)
        assert three.item(label)["state"] == "Original"
        assert has_both(three)
        original = f"{portuguese}?ibiurl.requireditemstatus=Original"
        wait_until(lambda: location(resolver, original).startswith(three.address))
        assert title(resolver, three, original) == "Um relatório"
        three.stop()
        done(three, "rebuild")
        three.start()
        assert has_both(three)
        done(three, "export", label, str(tmp_path / "bag"))
        with neighbour(tmp_path, 4) as four:
            done(four, "import", str(tmp_path / "bag"))
            assert has_both(four)


def location(resolver: ResolverServer, path: str) -> str:
    return resolver.get(path).headers.get("location", "")
