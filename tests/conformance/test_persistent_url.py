"""004, section 6.1 and appendix A: persistent URLs, but for their grammars."""

from __future__ import annotations

import pytest

from ibi import Ibip, Language, PersistentUrl, PersistentUrlError, RepositoryName
from ibi.errors import ModifierOrderError
from ibi.identifier.language_preference import LanguagePreference
from ibi.identifier.verbs import (
    COMPOSITIONS,
    GetLastEdition,
    GetMetadata,
    GetTranslation,
    Verb,
    read_verblist,
)
from tests.conformance.grammar import COUNTRIES, LANGUAGES
from tests.conformance.standard import covers

ITEM = "http://urlib.net/8JMKD3MGP8W/35MME4E"
PORTUGUESE = Language("pt")


@covers("004", "Example 6.1")
@pytest.mark.parametrize(
    ("url", "label"),
    [
        ("http://urlib.net/8JMKD3MGP8W/35MME4E", Ibip.parse("8JMKD3MGP8W/35MME4E")),
        ("http://urlib.net/8JMKD3MGP8W/35MMLL8", Ibip.parse("8JMKD3MGP8W/35MMLL8")),
        ("http://urlib.net/LK47B6W/362SFKH", Ibip.parse("LK47B6W/362SFKH")),
        (
            "http://urlib.net/iconet.com.br/banon/2009/09.09.22.01",
            RepositoryName.parse("iconet.com.br/banon/2009/09.09.22.01"),
        ),
    ],
)
def test_example_6_1(url: str, label: Ibip | RepositoryName) -> None:
    assert PersistentUrl.parse(url, strict=True) == PersistentUrl(label)


# What each composition returns, as Table 6.2 puts it, innermost step first.
TABLE_6_2: dict[str, tuple[type[Verb], ...]] = {
    ":": (GetMetadata,),
    ":+": (GetMetadata, GetTranslation),
    "!": (GetLastEdition,),
    "!+": (GetLastEdition, GetTranslation),
    "!:": (GetLastEdition, GetMetadata),
    "!+:": (GetLastEdition, GetTranslation, GetMetadata),
    "!:+": (GetLastEdition, GetMetadata, GetTranslation),
    "!+:+": (GetLastEdition, GetTranslation, GetMetadata, GetTranslation),
    "+": (GetTranslation,),
    "+!": (GetTranslation, GetLastEdition),
    "+:": (GetTranslation, GetMetadata),
    "+!:": (GetTranslation, GetLastEdition, GetMetadata),
    "+:+": (GetTranslation, GetMetadata, GetTranslation),
    "+!:+": (GetTranslation, GetLastEdition, GetMetadata, GetTranslation),
}


@covers("004", "Table 6.2")
@pytest.mark.parametrize("modifiers", TABLE_6_2)
def test_table_6_2(modifiers: str) -> None:
    url = PersistentUrl.parse(ITEM + modifiers, strict=True)
    assert tuple(type(verb) for verb in url.verbs) == TABLE_6_2[modifiers]
    assert str(url) == ITEM + modifiers


@covers("004", "Table 6.2")
def test_table_6_2_has_no_other_order() -> None:
    assert set(COMPOSITIONS) == set(TABLE_6_2)
    for modifiers in (":!", "!!", "++", "::", "!+!", "+!+", ":+!", "!:+:"):
        with pytest.raises(ModifierOrderError, match=r"one of : :\+ ! "):
            PersistentUrl.parse(ITEM + modifiers)


@covers("004", "Example 6.2")
def test_example_6_2() -> None:
    assert PersistentUrl.parse(f"{ITEM}:", strict=True).verbs == (GetMetadata(),)
    assert PersistentUrl.parse(f"{ITEM}:(oai_dc)", strict=True).verbs == (GetMetadata("oai_dc"),)


@covers("004", "Example 6.3")
def test_example_6_3() -> None:
    assert PersistentUrl.parse(f"{ITEM}+", strict=True).verbs == (GetTranslation(),)
    assert PersistentUrl.parse(f"{ITEM}+(pt)", strict=True).verbs == (GetTranslation(PORTUGUESE),)


@covers("004", "Example 6.4")
def test_example_6_4() -> None:
    item = "http://urlib.net/8JMKD3MGP8W/35MMLL8"
    assert PersistentUrl.parse(f"{item}!", strict=True).verbs == (GetLastEdition(),)
    metadata = PersistentUrl.parse(f"{item}!:(oai_dc)", strict=True)
    assert metadata.verbs == (GetLastEdition(), GetMetadata("oai_dc"))


@covers("004", "Table 6.3")
def test_table_6_3() -> None:
    url = PersistentUrl.parse(
        f"{ITEM}?ibiurl.requireditemstatus=Original&ibiurl.verblist=GetLastEdition&year=2009",
        strict=True,
    )
    assert url.original_required
    assert url.verbs == (GetLastEdition(),)
    assert url.passed_on == ("year=2009",)
    with pytest.raises(PersistentUrlError, match="expected Original"):
        PersistentUrl.parse(f"{ITEM}?ibiurl.requireditemstatus=Copy")


@covers("004", "Table 6.5")
@pytest.mark.parametrize(
    ("verb", "synonym"),
    [
        ("GetMetadata", ":"),
        ("GetMetadata(oai_dc)", ":(oai_dc)"),
        ("GetLastEdition", "!"),
        ("GetTranslation", "+"),
        ("GetTranslation(pt-BR)", "+(pt-BR)"),
    ],
)
def test_table_6_5(verb: str, synonym: str) -> None:
    by_verb = PersistentUrl.parse(f"{ITEM}?ibiurl.verblist={verb}", strict=True)
    assert by_verb == PersistentUrl.parse(ITEM + synonym, strict=True)
    assert by_verb.verblist == verb


@covers("004", "Table 6.5")
def test_table_6_5_the_list_of_files_has_no_synonym_and_no_place() -> None:
    for verbs in ("GetFileList+GetLastEdition", "GetLastEdition+GetFileList"):
        url = PersistentUrl.parse(f"{ITEM}?ibiurl.verblist={verbs}", strict=True)
        assert (url.verbs, url.file_list) == ((GetLastEdition(),), True)
        assert url.verblist == "GetLastEdition+GetFileList"


@covers("004", "Example 6.5")
def test_example_6_5() -> None:
    item = "http://urlib.net/8JMKD3MGP8W/35MMLL8"
    verblist = "GetLastEdition+GetMetadata(oai_dc)"
    assert PersistentUrl.parse(
        f"{item}?ibiurl.verblist={verblist}", strict=True
    ) == PersistentUrl.parse(f"{item}!:(oai_dc)", strict=True)


@covers("004", "Example 6.6")
def test_example_6_6() -> None:
    url = "http://urlib.net/LK47B6W/362SFKH?ibiurl.verblist=GetFileList"
    assert PersistentUrl.parse(url, strict=True).file_list


@covers("004", "Example 6.7")
def test_example_6_7() -> None:
    url = PersistentUrl.parse("http://urlib.net/LK47B6W/362SFKH/reference.bib", strict=True)
    assert (str(url.label), url.path) == ("LK47B6W/362SFKH", "/reference.bib")


@covers("004", "Example 6.8")
@covers("004", "Table 6.8")
def test_example_6_8_what_is_captured_of_the_url() -> None:
    url = PersistentUrl.parse(
        "http://urlib.net/LK47B6W/362SFKH+"
        "?ibiurl.requireditemstatus=Original&ibiurl.verblist=GetMetadata",
        strict=True,
    )
    assert url.path == ""
    assert str(url.label) == "LK47B6W/362SFKH"
    assert url.original_required
    # The table divides them by a blank.
    assert url.verblist.split("+") == ["GetTranslation", "GetMetadata"]
    assert read_verblist("GetTranslation GetMetadata")[0] == url.verbs


@covers("004", "Table 6.7")
def test_table_6_7_the_language_preference() -> None:
    preference = LanguagePreference.parse("pt-br,fr;q=0.8,en;q=0.5,pt;q=0.3")
    assert preference.ranges == ("pt-br", "fr", "en", "pt")
    offered = (Language("en"), Language("pt"))
    assert preference.look_up(offered) == PORTUGUESE


@covers("004", "Table A.1")
def test_table_a_1_all_languages_are_accepted() -> None:
    for code in LANGUAGES:
        assert str(Language.parse(code)) == code


@covers("004", "Table A.1")
def test_table_a_1_all_countries_are_accepted() -> None:
    for code in COUNTRIES:
        assert str(Language.parse(f"pt-{code}")) == f"pt-{code}"
    assert (len(set(LANGUAGES)), len(set(COUNTRIES))) == (184, 249)
