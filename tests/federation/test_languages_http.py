"""Which translation readers of each language get, at a resolver and at an archive themselves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from tests.support.clients.http import Answer
from tests.support.servers.archive import ArchiveServer
from tests.support.servers.federation import linked_archives
from tests.support.servers.resolver import ResolverServer

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
