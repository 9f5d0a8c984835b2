"""The persistent URL beyond the examples of the standard."""

from __future__ import annotations

import pytest

from ibi import LabelError, Language, PersistentUrl, PersistentUrlError
from ibi.errors import ModifierOrderError
from ibi.identifier.verbs import GetLastEdition, GetMetadata, GetTranslation

ITEM = "http://urlib.net/LK47B6W/362SFKH"


@pytest.mark.parametrize(
    "text",
    [
        "http://resolver.example/LK47B6W/362SFKH!:",
        "https://resolver.example/LK47B6W/362SFKH!:",
        "http://resolver.example/ibi/LK47B6W/362SFKH!:",
        "http://resolver.example/rep/LK47B6W/362SFKH!:",
        "resolver.example/LK47B6W/362SFKH!:",
        "/LK47B6W/362SFKH!:",
        "LK47B6W/362SFKH!:",
        "LK47B6W/362SFKH%21%3A",
        "LK47B6W/362SFKH!??",
        "<http://resolver.example/LK47B6W/362SFKH!:>.",
        "http://resolver.example/LK47B6W/362SFKH!:#page=2",
        "http://resolver.example/LK47B6W/362SFKH!?ibiurl.verblist=GetMetadata",
        "http://resolver.example/LK47B6W/362SFKH?ibiurl.verblist=GetLastEdition%2BGetMetadata",
        "http://resolver.example/LK47B6W/362SFKH?ibiurl.verblist=GetLastEdition%20GetMetadata",
        "http://resolver.example/LK47B6W/362SFKH?ibiurl.verblist=getlastedition+GETMETADATA",
        "http://resolver.example/LK47B6W/362SFKH!?&ibiurl.verblist=GetMetadata+GetLastEdition&",
    ],
)
def test_one_question_in_many_spellings(text: str) -> None:
    url = PersistentUrl.parse(text)
    assert str(url.label) == "LK47B6W/362SFKH"
    assert url.verbs == (GetLastEdition(), GetMetadata())
    assert url.verblist == "GetLastEdition+GetMetadata"
    assert url.at("http://r.example") == "http://r.example/LK47B6W/362SFKH!:"


@pytest.mark.parametrize(
    ("modifiers", "verblist", "together"),
    [
        ("+", "GetMetadata", "GetTranslation+GetMetadata"),
        ("+", "GetTranslation", "GetTranslation"),
        ("+:", "GetTranslation", "GetTranslation+GetMetadata"),
        (
            "",
            "GetTranslation(en)+GetMetadata+GetTranslation(pt)",
            "GetTranslation(en)+GetMetadata+GetTranslation(pt)",
        ),
        (
            "",
            "GetTranslation+GetMetadata+GetTranslation",
            "GetTranslation+GetMetadata+GetTranslation",
        ),
        (
            "+",
            "GetTranslation+GetMetadata+GetTranslation",
            "GetTranslation+GetMetadata+GetTranslation",
        ),
        ("", "GetLastEdition+GetLastEdition", "GetLastEdition"),
        ("!", "GetMetadata+GetLastEdition", "GetLastEdition+GetMetadata"),
        ("!", "GetFileList", "GetLastEdition+GetFileList"),
        ("", "GetFileList+GetFileList", "GetFileList"),
        ("", "", ""),
    ],
)
def test_modifiers_and_verbs_are_united_without_repetition(
    modifiers: str, verblist: str, together: str
) -> None:
    url = PersistentUrl.parse(f"{ITEM}{modifiers}?ibiurl.verblist={verblist}")
    assert url.verblist == together


@pytest.mark.parametrize(
    ("modifiers", "verblist", "position"),
    [
        (":", "GetLastEdition", 18),
        ("", "GetMetadata+GetLastEdition", 17),
        ("+(pt)", "GetTranslation(en)", 22),
        (":!", "", 0),
    ],
)
def test_an_order_that_no_table_has_is_refused_with_all_that_exist(
    modifiers: str, verblist: str, position: int
) -> None:
    with pytest.raises(ModifierOrderError) as caught:
        PersistentUrl.parse(f"{ITEM}{modifiers}?ibiurl.verblist={verblist}")
    assert caught.value.expected.startswith("one of : :+ ! ")
    assert caught.value.position == len(ITEM) + position


@pytest.mark.parametrize(
    ("tail", "part", "position"),
    [
        ("+(xx)", "the language of the translation", 2),
        ("+(pt-QQ)", "the language of the translation", 5),
        ("+()", "the language of the translation", 2),
        (":(no.format)", "the format of the metadata", 2),
        ("!(pt)", "the last edition", 1),
        ("+(pt", "what follows the label", 1),
        ("!x", "what follows the label", 1),
        ("/a\x00b", "the path", 2),
        ("/a\x07b", "the path", 2),
        ("?a=\x1b", "the query", 3),
        ("?ibiurl.requireditemstatus=Copy", "ibiurl.requireditemstatus", 27),
        ("?x=1&ibiurl.verblist=GetMetadata+GetFoo", "the verb", 33),
        ("?ibiurl.verblist=GetTranslation(xx)", "the language of the translation", 32),
        ("?ibiurl.verblist=GetFileList(x)", "the verb", 17),
        ("?ibiurl.verblist=GetLastEdition%2BGetFoo", "the verb", 34),
        ("?ibiurl.verblist=GetTranslation%28zz%29", "the language of the translation", 34),
        ("/\udc80", "the path", 1),
        ("?x=\udc80", "the query", 3),
        ("?ibiurl.verblist=\udc80", "the query", 17),
    ],
)
def test_a_fault_is_named_with_its_place(tail: str, part: str, position: int) -> None:
    with pytest.raises(PersistentUrlError) as caught:
        PersistentUrl.parse(ITEM + tail)
    assert (caught.value.part, caught.value.position) == (part, len(ITEM) + position)


@pytest.mark.parametrize(
    ("encoded", "decoded", "written"),
    [
        ("/reference.bib", "/reference.bib", "/reference.bib"),
        ("/Relat%f3rio%20Final.pdf", "/Relatório Final.pdf", "/Relat%C3%B3rio%20Final.pdf"),
        ("/Relat%C3%B3rio%20Final.pdf", "/Relatório Final.pdf", "/Relat%C3%B3rio%20Final.pdf"),
        ("/Relatório Final.pdf", "/Relatório Final.pdf", "/Relat%C3%B3rio%20Final.pdf"),
        ("/a%252e", "/a%2e", "/a%252e"),  # decoded once
        ("/100%", "/100%", "/100%25"),
        ("/a+b:c!", "/a+b:c!", "/a+b:c!"),
        ("/x%0d%0ay", "/x\r\ny", "/x%0D%0Ay"),
        ("/", "/", "/"),
    ],
)
def test_paths_are_decoded_once_and_written_in_utf_8(
    encoded: str, decoded: str, written: str
) -> None:
    url = PersistentUrl.parse(ITEM + encoded)
    assert url.path == decoded
    assert str(url) == ITEM + written
    assert PersistentUrl.parse(str(url)) == url


def test_a_blank_in_the_name_of_a_file_stays_whatever_else_is_cleaned_up() -> None:
    assert PersistentUrl.parse(f"<{ITEM}/my file.pdf>").path == "/my file.pdf"
    assert PersistentUrl.parse(f"{ITEM}%2B%28pt%29/a b.pdf").path == "/a b.pdf"
    broken = PersistentUrl.parse("http://urlib.net/LK47 B6W/\n362SFKH/a b.pdf")
    assert (str(broken.label), broken.path) == ("LK47B6W/362SFKH", "/a b.pdf")


def test_a_path_that_looks_like_a_date_is_a_path() -> None:
    url = PersistentUrl.parse(f"{ITEM}/2009/09.09.22.01.pdf", strict=True)
    assert (str(url.label), url.path) == ("LK47B6W/362SFKH", "/2009/09.09.22.01.pdf")


@pytest.mark.parametrize(
    "resolver", ["http://evil\r\nSet-Cookie: a=b", "http://\x00", "http://a\x1bb", "http://a b"]
)
def test_a_resolver_cannot_smuggle_control_characters(resolver: str) -> None:
    with pytest.raises((LabelError, PersistentUrlError)):
        PersistentUrl.parse(f"{resolver}/LK47B6W/362SFKH", strict=True)
    try:
        url = PersistentUrl.parse(f"{resolver}/LK47B6W/362SFKH")
    except LabelError:
        return
    assert str(url).isprintable()
    assert " " not in str(url)


def test_line_ends_are_closed_up_and_never_reach_a_header() -> None:
    url = PersistentUrl.parse(f"{ITEM}/a\r\nSet-Cookie:x?b=c\r\nd")
    assert str(url) == f"{ITEM}/aSet-Cookie:x?b=cd"


def test_pairs_of_the_item_are_passed_on_as_they_came() -> None:
    query = (
        "a=1&b=x%20y&a=2&flag&ibiurl.requiredsite=mtc-m16d.sid.inpe.br"
        "&ibiurl.clientinformation.citingitem=LK47B6W/362SFKH&ibiurl.backgroundlanguage=pt"
    )
    assert PersistentUrl.parse(f"{ITEM}?{query}").passed_on == tuple(query.split("&"))


def test_a_raw_character_in_a_pair_is_passed_on_encoded() -> None:
    assert PersistentUrl.parse(f"{ITEM}?q=é").passed_on == ("q=%C3%A9",)


def test_a_language_in_the_url_is_a_preference_and_is_never_passed_on() -> None:
    url = PersistentUrl.parse(f"{ITEM}?ibiurl.language=pt-BR")
    assert (url.language, url.passed_on) == (Language("pt", "BR"), ())
    assert str(url) == f"{ITEM}?ibiurl.language=pt-BR"
    nonsense = PersistentUrl.parse(f"{ITEM}?ibiurl.language=klingon")
    assert (nonsense.language, nonsense.passed_on) == (None, ())
    for pair in ("ibiurl.Language=pt", "ibiurl%2Elanguage=pt", "IBIURL.LANGUAGE=pt"):
        spelled = PersistentUrl.parse(f"{ITEM}?{pair}&ibiurl.language=fr&a=b")
        assert (str(spelled.language), spelled.passed_on) == ("pt", ("a=b",))
    required = PersistentUrl.parse(f"{ITEM}?ibiurl.requiredItemStatus=Original&a=b")
    assert (required.original_required, required.passed_on) == (True, ("a=b",))


def test_further_formats_of_metadata_are_asked_for_by_the_same_syntax() -> None:
    assert PersistentUrl.parse(f"{ITEM}:(BibTeX)").verbs == (GetMetadata("bibtex"),)


def test_a_parameter_names_a_language_in_either_case() -> None:
    assert PersistentUrl.parse(f"{ITEM}+(PT-br)").verbs == (GetTranslation(Language("pt", "BR")),)


def test_a_strict_reading_takes_a_url_of_table_6_1_and_nothing_else() -> None:
    assert PersistentUrl.parse(f"{ITEM}!:", strict=True) == PersistentUrl.parse(f"{ITEM}!:")
    for text in (
        "LK47B6W/362SFKH",
        "http://urlib.net/ibi/LK47B6W/362SFKH",
        f"{ITEM}??",
        f"{ITEM}#x",
        f" {ITEM}",
        f"{ITEM}?flag",
        f"{ITEM}/Relatório",
        "http://urlib.net/sid.inpe.br/mtc-m18/2009/02.16.17.46-NTC",
    ):
        with pytest.raises(PersistentUrlError):
            PersistentUrl.parse(text, strict=True)


def test_no_label_is_another_error_than_a_bad_tail() -> None:
    with pytest.raises(LabelError, match="Did you mean 8JMKD3MGP8W/34PGRBS"):
        PersistentUrl.parse("http://urlib.net/8IMKD3MGP8W/34PGRBS!")
    with pytest.raises(LabelError, match="at most 8192"):
        PersistentUrl.parse(f"{ITEM}/{'x' * 8192}")
