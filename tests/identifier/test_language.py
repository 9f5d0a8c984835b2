"""Languages and preferences among them."""

from __future__ import annotations

import pytest

from ibi import Language
from ibi.errors import LanguageError
from ibi.identifier.language import LanguagePreference

OFFERED = [Language("en"), Language("pt", "BR"), Language("zh"), Language("fr")]


@pytest.mark.parametrize("text", ["pt-BR", "PT-br", "pT-Br"])
def test_either_case_is_read_and_one_is_written(text: str) -> None:
    assert str(Language.parse(text)) == "pt-BR"


@pytest.mark.parametrize(
    ("text", "part", "position"),
    [
        ("", "the code", 0),
        ("p", "the code", 0),
        ("por", "the code", 0),
        ("pt_BR", "the code", 0),
        ("pt-BRA", "the code", 0),
        ("ſt", "the code", 0),
        ("xx", "the language", 0),
        ("pt-QQ", "the country", 3),
    ],
)
def test_what_is_no_language_is_refused(text: str, part: str, position: int) -> None:
    with pytest.raises(LanguageError) as caught:
        Language.parse(text)
    assert (caught.value.part, caught.value.position) == (part, position)


@pytest.mark.parametrize(
    ("accept_language", "ranges"),
    [
        ("", ()),
        ("pt-BR", ("pt-br",)),
        ("en;q=0.5, pt", ("pt", "en")),
        ("en, pt", ("en", "pt")),
        ("en;q=0, pt", ("pt",)),
        ("*, pt;q=0.1", ("*", "pt")),
        ("en;q=2, pt;q=x, fr;level=1, de", ("de",)),
        (",,;q=1, en", ("en",)),
        ("x" * 9 + ", en", ("en",)),
    ],
)
def test_a_preference_is_read_and_nonsense_in_it_is_not(
    accept_language: str, ranges: tuple[str, ...]
) -> None:
    assert LanguagePreference.parse(accept_language).ranges == ranges


def test_no_more_than_64_ranges_are_read() -> None:
    many = ",".join(["en"] * 10_000)
    assert len(LanguagePreference.parse(many).ranges) == 64


@pytest.mark.parametrize(
    ("accept_language", "found"),
    [
        ("pt-BR, en;q=0.5", "pt-BR"),
        ("pt-PT, en;q=0.5", "en"),
        ("zh-Hant-CN-x-private1-private2, en;q=0.5", "zh"),
        ("zh-x, en", "zh"),
        ("de, *;q=0.5", None),
        ("", None),
    ],
)
def test_look_up_of_rfc_4647(accept_language: str, found: str | None) -> None:
    language = LanguagePreference.parse(accept_language).look_up(OFFERED)
    assert (str(language) if language else None) == found


def test_a_language_can_be_put_before_all() -> None:
    preference = LanguagePreference.parse("en").preferring(Language("fr"))
    assert preference.look_up(OFFERED) == Language("fr")
