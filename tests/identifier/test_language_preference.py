"""Preferences among languages, and the choice by them."""

from __future__ import annotations

import pytest

from ibi import Language
from ibi.identifier.language_preference import LanguagePreference, nearest

OFFERED = [Language("en"), Language("pt", "BR"), Language("zh"), Language("fr")]


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
        ("pt-PT, en;q=0.5", "pt-BR"),
        ("zh-Hant-CN-x-private1-private2, en;q=0.5", "zh"),
        ("zh-x, en", "zh"),
        ("pt, en;q=0.5", "pt-BR"),
        ("en;q=0.1, pt;q=0.9", "pt-BR"),
        ("PT", "pt-BR"),
        ("pt-Latn-PT, en;q=0.5", "pt-BR"),
        ("en-US, pt", "en"),
        ("de, pt", "pt-BR"),
        ("p, en", "en"),
        ("por, en", "en"),
        ("pt, pt-BR;q=0, fr", "fr"),
        ("pt;q=0, pt-BR", "pt-BR"),
        ("pt-BR;q=0, pt-BR", "pt-BR"),
        ("de, *;q=0.5", None),
        ("", None),
    ],
)
def test_the_exact_tag_then_the_range_truncated_then_the_same_language(
    accept_language: str, found: str | None
) -> None:
    language = LanguagePreference.parse(accept_language).look_up(OFFERED)
    assert (str(language) if language else None) == found


def test_a_language_can_be_put_before_all() -> None:
    preference = LanguagePreference.parse("en").preferring(Language("fr"))
    assert preference.look_up(OFFERED) == Language("fr")

    refusing = LanguagePreference.parse("en, fr;q=0").preferring(Language("fr"))
    assert refusing.look_up(OFFERED) == Language("fr")


@pytest.mark.parametrize(
    ("offered", "found"),
    [
        (["pt-BR", "pt-PT"], "pt-BR"),
        (["pt-PT", "pt-BR"], "pt-PT"),  # the first of the same language
        (["pt-PT", "pt-BR", "pt"], "pt"),  # the one without a country before them
        (["pt-PT", "pt-AO", "pt"], "pt-AO"),  # the exact tag before all
        (["en", "fr"], None),
        ([], None),
    ],
)
def test_the_nearest_of_several(offered: list[str], found: str | None) -> None:
    languages = [Language.parse(each) for each in offered]
    best = nearest("pt-AO", languages)
    assert (str(best) if best else None) == found
