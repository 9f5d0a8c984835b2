"""Translations of metadata, on a resolver and archives that run: Table 6.2 and Example 7.5 of 004.

An item in English is in one archive, its translation into Portuguese in another; each has two
editions, and metadata with texts in both languages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

import pytest
from lxml import etree

from ibi.identifier.verbs import COMPOSITIONS
from ibi.wire import pairlist
from tests.conformance.standard import covers
from tests.support.servers.archive import ArchiveServer
from tests.support.servers.federation import linked_archives
from tests.support.servers.resolver import ResolverServer

_TITLE: Final = re.compile(r"<h1><span[^>]*>(.*?)</span></h1>")
_DC: Final = "{http://purl.org/dc/elements/1.1/}"
_XML: Final = "{http://www.w3.org/XML/1998/namespace}"


@dataclass(frozen=True)
class Federation:
    """The services, and the first edition in English."""

    resolver: ResolverServer
    archives: tuple[ArchiveServer, ...]
    label: str
    metadata: str
    """The label of its metadata."""

    def followed(self, path: str, languages: str) -> str:
        """Follow a persistent URL as a browser does; return the file, or the title of a page."""
        answer = self.resolver.get(f"/{path}", Accept_Language=languages)
        assert answer.status == 302, answer.body
        location = answer.headers["location"]
        [archive] = [each for each in self.archives if location.startswith(f"{each.address}/")]
        found = archive.get(location.removeprefix(archive.address), Accept_Language=languages)
        assert found.status == 200
        title = _TITLE.search(found.body.decode())
        return title[1] if title else found.body.decode()


def deposited(archive: ArchiveServer, name: str, language: str, **related: str) -> dict[str, str]:
    """Deposit an item whose metadata have texts in its own language and in the other."""
    other = {"en": "pt", "pt": "en"}[language]
    metadata = {
        "titles": [f"{name} in {language}", {"value": f"{name} in {other}", "language": other}],
        "subjects": [f"subject in {language}", {"value": f"subject in {other}", "language": other}],
    }
    item = archive.deposit(
        {"a.txt": name.encode()}, metadata=metadata, language=language, **related
    )
    return {"rep": item["rep"], "metadata": item["metadata"]["rep"]}


@pytest.fixture(scope="module")
def federation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Federation]:
    folder = tmp_path_factory.mktemp("metadata")
    with linked_archives(folder, 2) as (resolver, [one, two]):
        en1 = deposited(one, "en1", "en")
        en2 = deposited(one, "en2", "en", edition_of=en1["rep"])
        pt1 = deposited(two, "pt1", "pt")
        pt2 = deposited(two, "pt2", "pt", edition_of=pt1["rep"])
        for english, portuguese in ((en1, pt1), (en2, pt2)):
            told = one.ibi("translation", english["rep"], "pt", portuguese["rep"])
            assert told.returncode == 0, told.stderr
        yield Federation(resolver, (one, two), en1["rep"], en1["metadata"])


# Where each composition of Table 6.2 leads, with + for Portuguese of the item and English or
# Portuguese of the metadata.
TABLE_6_2: Final = {
    ":": "en1 in en",
    ":+(pt)": "en1 in pt",
    ":+(en)": "en1 in en",
    "!": "en2",
    "!+(pt)": "pt2",
    "!:": "en2 in en",
    "!+(pt):": "pt2 in en",
    "!:+(pt)": "en2 in pt",
    "!+(pt):+(pt)": "pt2 in pt",
    "!+(pt):+(en)": "pt2 in en",
    "+(pt)": "pt1",
    "+(pt)!": "pt2",
    "+(pt):": "pt1 in en",
    "+(pt)!:": "pt2 in en",
    "+(pt):+(pt)": "pt1 in pt",
    "+(pt):+(en)": "pt1 in en",
    "+(pt)!:+(pt)": "pt2 in pt",
    "+(pt)!:+(en)": "pt2 in en",
}


@covers("004", "Table 6.2")
def test_table_6_2_is_whole() -> None:
    plain = {re.sub(r"\(\w\w\)", "", composition) for composition in TABLE_6_2}
    assert plain == set(COMPOSITIONS)


@covers("004", "Table 6.2")
@covers("004", "Example 6.3")
@pytest.mark.parametrize("composition", TABLE_6_2)
def test_table_6_2_each_composition_is_resolved(federation: Federation, composition: str) -> None:
    """A reader of English follows each of them; a language in the URL goes before that."""
    found = federation.followed(f"{federation.label}{composition}", "en")
    assert found == TABLE_6_2[composition]


PREFERRED: Final = {
    ":+": ("en1 in en", "en1 in pt"),
    "!:+": ("en2 in en", "en2 in pt"),
    "+:+": ("en1 in en", "pt1 in pt"),
    "!+:+": ("en2 in en", "pt2 in pt"),
    "+!:+": ("en2 in en", "pt2 in pt"),
}


@covers("004", "Table 6.2")
@pytest.mark.parametrize("composition", PREFERRED)
def test_table_6_2_a_translation_of_metadata_goes_by_the_reader(
    federation: Federation, composition: str
) -> None:
    english, portuguese = PREFERRED[composition]
    path = f"{federation.label}{composition}"
    assert federation.followed(path, "en-GB,en;q=0.8") == english
    assert federation.followed(path, "pt-BR,en;q=0.5") == portuguese
    # The page is where the main language is, for readers of none of the two.
    assert federation.followed(f"{federation.label}{composition}", "fr").endswith("in en")


@covers("004", "Example 7.5")
def test_example_7_5_an_archive_names_translations_of_metadata(federation: Federation) -> None:
    archive = federation.archives[0]

    def listed(label: str, verbs: str) -> dict[str, str]:
        asked = f"parsedibiurl.ibi={label}&parsedibiurl.verblist={quote(verbs)}"
        head = "servicesubject=urlRequest&clientinformation.ipaddress=150.163.2.2"
        answer = archive.get(f"/{archive.service}?{head}&{asked}")
        assert answer.status == 200
        return dict(pairlist.decode(answer.body.decode()))

    page = f"{archive.address}/col/{federation.metadata}/doc/metadata"
    pairs = listed(federation.label, "GetMetadata GetTranslation")
    for language in ("en", "pt"):
        relation = f".metadata.translation({language})"
        assert federation.metadata in pairs[f"ibi{relation}"]
        assert pairs[f"url{relation}"] == f"{page}?lang={language}"
        assert pairs[f"contenttype{relation}"] == "Metadata"
        assert pairs[f"state{relation}"] == "Original"
        assert f"timestamp{relation}" in pairs
    pairs = listed(federation.label, "GetMetadata(oai_dc) GetTranslation(pt)")
    relation = ".metadata(oai_dc).translation(pt)"
    assert pairs[f"url{relation}"] == f"{page}?choice=oai_dc&lang=pt"
    pairs = listed(federation.metadata, "GetTranslation(pt)")
    assert pairs["url.translation(pt)"] == f"{page}?lang=pt"


@covers("004", "Example 7.5")
@covers("004", "Example 6.2")
def test_example_7_5_a_format_has_the_texts_of_the_language_alone(federation: Federation) -> None:
    def written(modifiers: str) -> list[tuple[str, str | None]]:
        answer = federation.resolver.get(f"/{federation.label}{modifiers}")
        archive = federation.archives[0]
        document = archive.get(answer.headers["location"].removeprefix(archive.address)).body
        names = ("title", "subject")
        elements = [each for name in names for each in etree.fromstring(document).iter(_DC + name)]
        return [(each.text or "", each.get(f"{_XML}lang")) for each in elements]

    portuguese = [("en1 in pt", "pt"), ("subject in pt", "pt")]
    english = [("en1 in en", None), ("subject in en", None)]
    assert written(":(oai_dc)+(pt)") == portuguese
    assert written(":(oai_dc)+(pt-BR)") == portuguese
    assert written(":(oai_dc)+(en)") == english
    assert written(":(oai_dc)") == [english[0], portuguese[0], english[1], portuguese[1]]


@covers("004", "Table 6.2")
def test_table_6_2_a_metadata_label_has_the_translations_itself(federation: Federation) -> None:
    for modifiers in ("+(pt)", "+(pt-PT)"):
        assert federation.followed(f"{federation.metadata}{modifiers}", "en") == "en1 in pt"
    assert federation.followed(f"{federation.metadata}+", "pt-BR") == "en1 in pt"
    assert federation.followed(f"{federation.metadata}+", "fr") == "en1 in en"


@covers("004", "Table 6.2")
@pytest.mark.parametrize("modifiers", [":+(fr)", "!:+(fr)", "+(pt):+(fr)"])
def test_table_6_2_a_language_that_metadata_do_not_have_is_not_found(
    federation: Federation, modifiers: str
) -> None:
    assert federation.resolver.get(f"/{federation.label}{modifiers}").status == 404
