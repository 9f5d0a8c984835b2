"""The languages of a record, its texts in one of them, and new texts in one of them."""

from __future__ import annotations

import pytest

from ibi.errors import MetadataError
from ibi.identifier.language import Language
from ibi.metadata.json_record import record_as_dict, record_from
from ibi.metadata.record_languages import in_language, languages_of, with_texts
from ibi.model.metadata_record import MetadataRecord

EN, PT, BR, FR = Language("en"), Language("pt"), Language("pt", "BR"), Language("fr")


def text(value: str, language: str) -> dict[str, str]:
    return {"value": value, "language": language}


RECORD = record_from(
    {
        "titles": ["A report", text("Um relatório", "pt"), text("Zdravo", "sr-Latn")],
        "descriptions": [text("Sobre", "pt"), text("Au sujet", "fr"), "About"],
        "subjects": ["soil", text("solo", "pt"), text("chuva", "pt")],
        "rights": [text("Todos", "pt")],
        "creators": ["Banon, Gerald"],
    }
)


def values(record: MetadataRecord, name: str) -> list[str]:
    return [each.value for each in getattr(record, name)]


def test_languages_are_those_of_titles_and_descriptions_in_their_order() -> None:
    assert languages_of(RECORD, EN) == (EN, PT, FR)
    assert languages_of(RECORD, None) == (None, PT, FR)
    assert languages_of(record_from({"titles": [text("Zdravo", "sr-Latn")]}), EN) == (None,)
    tagged = record_from({"titles": [text("Um", "pt-br")], "subjects": [text("one", "en")]})
    assert languages_of(tagged, FR) == (BR,)


def test_a_record_is_offered_in_forty_languages_at_the_most() -> None:
    countries = ["AO", "BE", "BR", "CH", "DE", "ES", "FR", "GB", "IT", "MX", "MZ", "PT", "US"]
    tags = [f"{code}-{country}" for code in ("en", "fr", "pt", "es") for country in countries]
    record = record_from({"titles": [text("T", tag) for tag in tags]})
    assert list(map(str, languages_of(record, None))) == tags[:40]


@pytest.mark.parametrize(
    ("wanted", "texts"),
    [
        (EN, (["A report"], ["About"], ["soil"], ["Todos"])),
        (PT, (["Um relatório"], ["Sobre"], ["solo", "chuva"], ["Todos"])),
        # What is not in the language is in the main one, and what is in neither stays.
        (FR, (["A report"], ["Au sujet"], ["soil"], ["Todos"])),
        (Language("de"), (["A report"], ["About"], ["soil"], ["Todos"])),
    ],
)
def test_a_record_in_one_language(wanted: Language, texts: tuple[list[str], ...]) -> None:
    record = in_language(RECORD, EN, wanted)
    names = ("titles", "descriptions", "subjects", "rights")
    assert tuple(values(record, name) for name in names) == texts
    assert record.creators == RECORD.creators


def test_a_record_in_an_unknown_language_is_whole_in_it() -> None:
    record = record_from({"titles": ["One", "Two"], "subjects": ["a", text("b", "en")]})
    assert values(in_language(record, None, None), "titles") == ["One", "Two"]
    assert values(in_language(record, None, EN), "subjects") == ["b"]


def test_texts_in_a_further_language_come_after_the_others_and_replace_their_own() -> None:
    german = with_texts(RECORD, EN, Language("de"), {"titles": ["Bericht"], "keywords": "Boden"})
    assert languages_of(german, EN) == (EN, PT, Language("de"), FR)
    assert values(german, "subjects") == ["soil", "solo", "chuva", "Boden"]
    again = with_texts(german, EN, Language("de"), {"title": [{"value": "Ein Bericht"}]})
    assert values(again, "titles") == ["A report", "Um relatório", "Zdravo", "Ein Bericht"]
    assert again.titles[-1].language == "de"
    assert with_texts(again, EN, Language("de"), None) == RECORD


@pytest.mark.parametrize("language", [None, EN])
def test_texts_in_the_main_language_come_first_and_leave_the_others(
    language: Language | None,
) -> None:
    changed = with_texts(RECORD, EN, language, {"titles": ["A better report"]})
    assert record_as_dict(changed)["titles"] == [
        {"value": "A better report"},
        *record_as_dict(RECORD)["titles"][1:],
    ]
    assert (changed.descriptions, changed.subjects) == (RECORD.descriptions, RECORD.subjects)


def test_the_main_title_keeps_its_tag() -> None:
    record = record_from({"titles": [text("Zdravo", "sr-Latn"), text("Hello", "en")]})
    changed = with_texts(record, None, None, {"titles": ["Dobar dan"]})
    assert record_as_dict(changed)["titles"] == [
        text("Dobar dan", "sr-Latn"),
        text("Hello", "en"),
    ]
    tagged = with_texts(record_from({"titles": [text("Um", "pt")]}), EN, PT, {"titles": ["Dois"]})
    assert record_as_dict(tagged)["titles"] == [text("Dois", "pt")]


@pytest.mark.parametrize(
    ("language", "given"),
    [
        (PT, {"creators": ["Banon"]}),
        (PT, {"publisher": ["INPE"]}),
        (PT, {"title": ["a"], "titles": ["b"]}),
        (PT, {"titles": [{"value": "a", "language": "en"}]}),
        (PT, {"titles": [5]}),
        (PT, {"titles": ["\x00"]}),
        (None, {"titles": []}),
    ],
)
def test_texts_that_are_none(language: Language | None, given: dict[str, object]) -> None:
    record = record_from({"titles": ["A report"]})
    with pytest.raises(MetadataError):
        with_texts(record, EN, language, given)


def test_the_only_language_cannot_be_removed() -> None:
    with pytest.raises(MetadataError):
        with_texts(record_from({"titles": ["A report"]}), EN, EN, None)
