"""Translations of metadata, on a resolver and archives that run: Table 6.2 and Example 7.5 of 004.

An item in English is in one archive, its translation into Portuguese in another; each has two
editions, and metadata with texts in both languages.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote

import pytest
from lxml import etree

from ibi.identifier.persistent_url import PersistentUrl
from ibi.identifier.verbs import COMPOSITIONS
from ibi.wire import pairlist
from tests.conformance.report_archives import ReportFederation, answered
from tests.conformance.standard import covers

_DC: Final = "{http://purl.org/dc/elements/1.1/}"
_XML: Final = "{http://www.w3.org/XML/1998/namespace}"


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
@pytest.mark.parametrize("family", ["family", "family_in_one_archive"])
def test_table_6_2_each_composition_is_resolved(
    federation: ReportFederation, family: str, composition: str
) -> None:
    """A reader of English follows each of them; a language in the URL goes before that."""
    label = getattr(federation, family).label
    assert federation.followed(f"{label}{composition}", "en") == TABLE_6_2[composition]


@covers("004", "Table 6.2")
@pytest.mark.parametrize("composition", TABLE_6_2)
def test_table_6_2_each_composition_is_answered_by_one_url(
    federation: ReportFederation, composition: str
) -> None:
    """An archive that has all of it answers at once, where the resolver sends readers."""
    family = federation.family_in_one_archive
    url = PersistentUrl.parse(f"{family.label}{composition}")
    verbs = " ".join(map(str, url.verbs))
    pairs = answered(family.archive, family.label, verbs)
    [there] = [value for name, value in pairs.items() if name.startswith("url.")]
    assert there == federation.location(f"{family.label}{composition}")
    # Without languages every one is offered, and the choice is left to the resolver.
    offered = answered(family.archive, family.label, re.sub(r"\(\w\w\)", "", verbs))
    urls = [value for name, value in offered.items() if name.startswith("url.")]
    assert there in urls
    assert len(urls) == 2 ** composition.count("+")


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
    federation: ReportFederation, composition: str
) -> None:
    english, portuguese = PREFERRED[composition]
    path = f"{federation.family.label}{composition}"
    assert federation.followed(path, "en-GB,en;q=0.8") == english
    assert federation.followed(path, "pt-BR,en;q=0.5") == portuguese
    # The page is where the main language is, for readers of none of the two.
    assert federation.followed(f"{federation.family.label}{composition}", "fr").endswith("in en")


@covers("004", "Example 7.5")
def test_example_7_5_an_archive_names_translations_of_metadata(
    federation: ReportFederation,
) -> None:
    archive = federation.family.archive

    def listed(label: str, verbs: str) -> dict[str, str]:
        asked = f"parsedibiurl.ibi={label}&parsedibiurl.verblist={quote(verbs)}"
        head = "servicesubject=urlRequest&clientinformation.ipaddress=150.163.2.2"
        answer = archive.get(f"/{archive.service}?{head}&{asked}")
        assert answer.status == 200
        return dict(pairlist.decode(answer.body.decode()))

    page = f"{archive.address}/col/{federation.family.metadata}/doc/metadata"
    pairs = listed(federation.family.label, "GetMetadata GetTranslation")
    for language in ("en", "pt"):
        relation = f".metadata.translation({language})"
        assert federation.family.metadata in pairs[f"ibi{relation}"]
        assert pairs[f"url{relation}"] == f"{page}?lang={language}"
        assert pairs[f"contenttype{relation}"] == "Metadata"
        assert pairs[f"state{relation}"] == "Original"
        assert f"timestamp{relation}" in pairs
    pairs = listed(federation.family.label, "GetMetadata(oai_dc) GetTranslation(pt)")
    relation = ".metadata(oai_dc).translation(pt)"
    assert pairs[f"url{relation}"] == f"{page}?choice=oai_dc&lang=pt"
    pairs = listed(federation.family.metadata, "GetTranslation(pt)")
    assert pairs["url.translation(pt)"] == f"{page}?lang=pt"


@covers("004", "Example 7.5")
@covers("004", "Example 6.2")
def test_example_7_5_a_format_has_the_texts_of_the_language_alone(
    federation: ReportFederation,
) -> None:
    def written(modifiers: str) -> list[tuple[str, str | None]]:
        answer = federation.resolver.get(f"/{federation.family.label}{modifiers}")
        archive = federation.family.archive
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
def test_table_6_2_a_metadata_label_has_the_translations_itself(
    federation: ReportFederation,
) -> None:
    for modifiers in ("+(pt)", "+(pt-PT)"):
        assert federation.followed(f"{federation.family.metadata}{modifiers}", "en") == "en1 in pt"
    assert federation.followed(f"{federation.family.metadata}+", "pt-BR") == "en1 in pt"
    assert federation.followed(f"{federation.family.metadata}+", "fr") == "en1 in en"


@covers("004", "Table 6.2")
@pytest.mark.parametrize("modifiers", [":+(fr)", "!:+(fr)", "+(pt):+(fr)"])
def test_table_6_2_a_language_that_metadata_do_not_have_is_not_found(
    federation: ReportFederation, modifiers: str
) -> None:
    assert federation.resolver.get(f"/{federation.family.label}{modifiers}").status == 404
