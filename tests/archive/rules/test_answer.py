"""What an archive answers, beyond the examples of the standard."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ibi import Language
from ibi.archive.rules.answer import Identity, answer, relations_of
from ibi.archive.rules.relations import MOST_EDITIONS
from ibi.identifier.verbs import read_modifiers
from ibi.model.item import ContentType, Item, State
from ibi.model.label_pair import Forms
from ibi.model.relation import Relation
from ibi.wire.requests import UrlRequest
from ibi.wire.responses import Related, UrlList
from tests.support.doubles.answer_source import KEY, MemoryAnswerSource, issue_key, nanoseconds

IDENTITY = Identity("https://archive.example:8801", Forms.of("arq.br/service/2020/01.01.00.00"))
EN, PT, BR, PORTUGAL = Language("en"), Language("pt"), Language("pt", "BR"), Language("pt", "PT")


def forms(number: int) -> Forms:
    return Forms.of(f"arq.br/item/{2020 + number}/01.01.00.00")


ITEM = Item(forms=forms(0), target="a.pdf", updated=nanoseconds("2020-01-01T00:00:00Z"))


def asked(
    shelf: MemoryAnswerSource, modifiers: str = "", path: str = "", *, file_list: bool = False
) -> UrlList:
    verbs = read_modifiers(modifiers)[0]
    request = UrlRequest(("10.0.0.1",), forms(0).label, verbs, file_list, path)
    listed = answer(shelf, IDENTITY, request, issue_key)
    assert listed is not None
    return listed


def urls(listed: UrlList) -> dict[str, str]:
    """Return what the answer leads to: the last part of each URL, or nothing."""
    return {
        str(relation): related.url.partition("/item/")[2]
        for relation, related in listed.related.items()
    }


def test_an_item_is_found_by_any_of_its_names_and_answers_by_its_own() -> None:
    older = Forms.of("LK47B6W/362SFKH")
    shelf = MemoryAnswerSource(replace(ITEM, further_names=tuple(older)))
    request = UrlRequest(("10.0.0.1",), older.label)
    listed = answer(shelf, IDENTITY, request, issue_key)
    assert listed is not None
    assert listed.forms == forms(0)
    assert listed.address == "archive.example:8801"


def test_without_verbs_nothing_is_said_of_editions() -> None:
    shelf = MemoryAnswerSource(replace(ITEM, next_edition=forms(1)), replace(ITEM, forms=forms(1)))
    listed = asked(shelf)
    assert urls(listed) == {"": "2020/01.01.00.00/doc/a.pdf"}
    assert listed.next_edition is None


# Translations.

TRANSLATED = replace(ITEM, language=EN, translations=((BR, forms(1)), (PORTUGAL, forms(2))))
BRAZILIAN = replace(ITEM, forms=forms(1), language=BR)
IBERIAN = replace(ITEM, forms=forms(2), language=PORTUGAL)
TRANSLATIONS = MemoryAnswerSource(TRANSLATED, BRAZILIAN, IBERIAN)


@pytest.mark.parametrize(
    ("modifiers", "relations"),
    [
        # Of two countries without a general one, the language alone leads to the first deposited.
        (
            "+",
            [
                ".translation(en)",
                ".translation(pt)",
                ".translation(pt-BR)",
                ".translation(pt-PT)",
            ],
        ),
        ("+(pt-PT)", [".translation(pt-PT)"]),
        ("+(pt)", [".translation(pt)"]),
        ("+(pt-AO)", [".translation(pt)"]),
        ("+(en-US)", [".translation(en)"]),  # in general
        ("+(fr)", []),
    ],
)
def test_the_translation_that_fits_best(modifiers: str, relations: list[str]) -> None:
    listed = asked(TRANSLATIONS, modifiers)
    assert [str(relation) for relation in listed.related] == relations
    assert all(related.url for related in listed.related.values())
    assert (listed.key == KEY) == bool(relations)


def test_a_language_in_general_comes_before_that_of_some_country() -> None:
    shelf = MemoryAnswerSource(
        replace(TRANSLATED, translations=((BR, forms(1)), (PT, forms(2)))), IBERIAN
    )
    listed = asked(shelf, "+(pt-PT)")
    assert urls(listed) == {".translation(pt)": "2022/01.01.00.00/doc/a.pdf"}


@pytest.mark.parametrize("modifiers", ["+(pt)", "+(pt-AO)", "+"])
def test_of_two_countries_the_first_deposited_stands_for_the_language(modifiers: str) -> None:
    first, second = ((PORTUGAL, forms(1)), (BR, forms(2)))
    for translations in ((first, second), (second, first)):
        item = replace(TRANSLATED, translations=translations)
        listed = asked(MemoryAnswerSource(item, BRAZILIAN, IBERIAN), modifiers)
        assert urls(listed)[".translation(pt)"] == "2021/01.01.00.00/doc/a.pdf"


def test_a_country_alone_needs_no_general_language() -> None:
    item = replace(TRANSLATED, translations=((BR, forms(1)),))
    listed = asked(MemoryAnswerSource(item, BRAZILIAN), "+")
    assert list(map(str, listed.related)) == [".translation(en)", ".translation(pt-BR)"]
    listed = asked(MemoryAnswerSource(item, BRAZILIAN), "+(pt-PT)")
    assert list(map(str, listed.related)) == [".translation(pt-BR)"]


def test_an_item_without_a_language_is_its_own_translation_where_none_is_named() -> None:
    shelf = MemoryAnswerSource(replace(ITEM, translations=((PT, forms(1)),)), BRAZILIAN)
    assert urls(asked(shelf, "+")) == {
        ".translation": "2020/01.01.00.00/doc/a.pdf",
        ".translation(pt)": "2021/01.01.00.00/doc/a.pdf",
    }
    assert urls(asked(shelf, "+(en)")) == {}


def test_a_translation_elsewhere_or_deleted_is_named_and_no_more() -> None:
    gone = replace(BRAZILIAN, state=State.DELETED)
    listed = asked(MemoryAnswerSource(TRANSLATED, gone), "+")
    assert listed.related[Relation.parse(".translation(pt-BR)")] == Related(forms(1))
    assert listed.related[Relation.parse(".translation(pt-PT)")] == Related(forms(2))


def test_where_the_way_ends_elsewhere_the_last_item_known_is_named() -> None:
    described = replace(IBERIAN, metadata=forms(4))
    page = replace(ITEM, forms=forms(4), kind="metadata", target="metadata")
    listed = asked(MemoryAnswerSource(TRANSLATED, described, page), "+:")
    assert urls(listed) == {
        ".translation(en)": "",  # has no metadata
        ".translation(pt)": "",  # is the next
        ".translation(pt-BR)": "",  # is elsewhere
        ".translation(pt-PT).metadata": "2024/01.01.00.00/doc/metadata",
    }
    assert listed.related[Relation.parse(".translation(pt-BR)")] == Related(forms(1))


# Editions.


def editions(count: int) -> list[Item]:
    items = [replace(ITEM, forms=forms(number)) for number in range(count)]
    return [
        replace(item, next_edition=forms(number + 1)) if number + 1 < count else item
        for number, item in enumerate(items)
    ]


@pytest.mark.parametrize("count", [1, 2, 3, MOST_EDITIONS])
def test_the_last_edition_is_followed_to_the_end(count: int) -> None:
    listed = asked(MemoryAnswerSource(*editions(count)), "!")
    assert urls(listed) == {".lastedition": f"{2019 + count}/01.01.00.00/doc/a.pdf"}
    assert listed.next_edition == (forms(1) if count > 1 else None)


@pytest.mark.parametrize("length", [1, 2, 50])
def test_editions_in_a_circle_have_no_last_one(length: int) -> None:
    circle = editions(length)
    circle[-1] = replace(circle[-1], next_edition=forms(0))
    listed = asked(MemoryAnswerSource(*circle), "!")
    assert urls(listed) == {}
    assert (listed.next_edition, listed.key) == (forms(1 % length), None)


@pytest.mark.parametrize("items", [editions(3)[:2], editions(MOST_EDITIONS + 1)])
def test_editions_that_go_on_elsewhere_or_too_far_are_left_to_the_resolver(
    items: list[Item],
) -> None:
    listed = asked(MemoryAnswerSource(*items), "!:")
    assert urls(listed) == {}
    assert (listed.next_edition, listed.key) == (forms(1), None)


def test_the_next_edition_is_of_the_item_and_not_of_its_translation() -> None:
    """Who asks for the last edition of a translation begins with the translation."""
    shelf = MemoryAnswerSource(
        replace(TRANSLATED, next_edition=forms(5)), replace(BRAZILIAN, next_edition=forms(6))
    )
    listed = asked(shelf, "+(pt-BR)!")
    assert dict(listed.related) == {Relation.parse(".translation(pt-BR)"): Related(forms(1))}
    assert listed.next_edition is None


def test_an_edition_that_was_deleted_is_passed_over_if_another_follows() -> None:
    first, second, third = editions(3)
    gone = replace(second, state=State.DELETED)
    assert urls(asked(MemoryAnswerSource(first, gone, third), "!")) == {
        ".lastedition": "2022/01.01.00.00/doc/a.pdf"
    }
    last = replace(gone, next_edition=None)
    assert dict(asked(MemoryAnswerSource(first, last), "!").related) == {
        Relation.parse(".lastedition"): Related(forms(1))
    }


# Metadata.

DESCRIBED = replace(ITEM, metadata=forms(1))
PAGE = replace(ITEM, forms=forms(1), kind="metadata", target="metadata", language=EN)


def test_metadata_in_a_format_that_the_archive_has() -> None:
    shelf = MemoryAnswerSource(DESCRIBED, PAGE)
    assert urls(asked(shelf, ":")) == {".metadata": "2021/01.01.00.00/doc/metadata"}
    assert urls(asked(shelf, ":(oai_dc)")) == {
        ".metadata(oai_dc)": "2021/01.01.00.00/doc/metadata?choice=oai_dc"
    }
    assert urls(asked(shelf, ":(oai_dc)+")) == {
        ".metadata(oai_dc).translation(en)": "2021/01.01.00.00/doc/metadata?choice=oai_dc"
    }
    assert urls(asked(shelf, ":(bibtex)")) == {}


def test_what_has_no_file_is_seen_by_its_metadata() -> None:
    rock = replace(DESCRIBED, target="")
    related = asked(MemoryAnswerSource(rock, PAGE)).related[Relation()]
    assert related.url.endswith("/2021/01.01.00.00/doc/metadata")
    assert (related.forms, related.content) == (forms(0), ContentType.METADATA)
    for shelf in (
        MemoryAnswerSource(rock),
        MemoryAnswerSource(rock, replace(PAGE, state=State.DELETED)),
        MemoryAnswerSource(replace(rock, metadata=None), PAGE),
    ):
        assert urls(asked(shelf)) == {}


# Files.


def test_a_file_of_the_item_to_which_the_verbs_lead() -> None:
    shelf = MemoryAnswerSource(DESCRIBED, PAGE, files={PAGE: {"sub folder/b?#%.txt"}})
    assert urls(asked(shelf, path="/sub folder/b?#%.txt")) == {}
    assert urls(asked(shelf, ":", "/sub folder/b?#%.txt")) == {
        ".metadata": "2021/01.01.00.00/doc/sub%20folder/b%3F%23%25.txt"
    }
    # That of the target has a mark: the address without it is that of the label alone.
    assert urls(asked(shelf, path="/a.pdf")) == {"": "2020/01.01.00.00/doc/a.pdf?by-path"}
    assert urls(asked(shelf, path="/")) == {"": "2020/01.01.00.00/doc/a.pdf"}


def test_the_list_of_files_of_the_item_to_which_the_verbs_lead() -> None:
    listed = asked(MemoryAnswerSource(DESCRIBED, PAGE), ":", "/nothing", file_list=True)
    assert listed.related[Relation.parse(".metadata")].url == (
        "https://archive.example:8801/displaydoccontent.cgi/"
        "arq.br/item/2021/01.01.00.00?displaytype=FileList"
    )


def test_a_service_that_runs_elsewhere_is_passed_through_the_archive() -> None:
    shelf = MemoryAnswerSource(replace(ITEM, target="", runs_at="http://model.example/run"))
    assert urls(asked(shelf)) == {"": "2020/01.01.00.00/doc/"}
    assert urls(asked(shelf, path="/run/a b")) == {"": "2020/01.01.00.00/doc/run/a%20b"}
    assert urls(asked(shelf, path="/../../x")) == {}


def test_the_relations_of_verbs_are_those_of_the_answer() -> None:
    found = relations_of(TRANSLATIONS, IDENTITY, TRANSLATED, read_modifiers("+(pt)!")[0])
    assert list(map(str, found)) == [".translation(pt).lastedition"]
