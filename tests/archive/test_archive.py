"""What may be done to items: editions, translations, descriptions, deletions; and what may not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ibi.archive.archive import MAX_RESERVED
from ibi.archive.rules.amendment import Amendment
from ibi.archive.rules.item_languages import own_languages
from ibi.errors import (
    ArchiveRequestError,
    DeletedError,
    IbiError,
    LabelError,
    LanguageError,
    MetadataError,
    NotHeldError,
    StateError,
    UnknownError,
)
from ibi.identifier.label import parse
from ibi.identifier.language import Language
from ibi.model.change import ItemChange
from ibi.model.item import Item, State
from ibi.model.label_pair import Forms
from ibi.model.metadata_record import MetadataRecord, Text
from tests.support.scenes.small_archive import SmallArchive, contents, forms, unchanged

ELSEWHERE = str(forms(7, "other.example.net").label)
LEGACY = "6qtX3pFwXQZGivnK2Y/SskcB"


def item(small: SmallArchive, label: str) -> Item:
    return small.archive.get(label).item


def amend(small: SmallArchive, label: str, **facts: object) -> Item:
    amendment = msgspec.convert(facts, Amendment)
    return small.archive.amend(label, amendment, "me").item


def copy_of(small: SmallArchive, label: str) -> None:
    """Make an item a Copy, as if it had come from elsewhere."""
    held = small.archive.get(label)
    copied = replace(held.item, state=State.COPY)
    files = small.archive.files(held)
    change = ItemChange(item=copied, files=files, version=held.version)
    small.archive.make(small.archive.change("relate", "me", held.item.forms.label, [change], 1))


def languages(small: SmallArchive, label: str) -> dict[str, str]:
    return {str(into): str(each.label) for into, each in item(small, label).translations}


# --- editions -------------------------------------------------------------------------------------


def test_an_edition_is_known_on_both_sides(small: SmallArchive) -> None:
    first = small.label({"a": b"1"})
    second = small.label({"a": b"2"}, edition_of=first)
    third = small.label({"a": b"3"}, edition_of=str(item(small, second).forms.short))
    assert item(small, first).next_edition == item(small, second).forms
    assert item(small, second).previous_edition == item(small, first).forms
    assert item(small, second).next_edition == item(small, third).forms
    assert item(small, third).previous_edition == item(small, second).forms
    assert item(small, third).next_edition is None


def test_an_item_has_one_next_edition_and_it_is_said_before_files_are_sent(
    small: SmallArchive,
) -> None:
    first = small.label()
    early = small.open({"a": b"early"}, edition_of=first)
    second = small.label(edition_of=first)
    with unchanged(small), pytest.raises(StateError, match=f"next edition already: {second}"):
        small.open({}, edition_of=first)
    with unchanged(small), pytest.raises(StateError, match="next edition already"):
        small.deposits.complete(early, "me")


def test_an_edition_of_what_is_held_elsewhere_knows_it(small: SmallArchive) -> None:
    with unchanged(small), pytest.raises(NotHeldError, match="linked to no resolver"):
        small.open({}, edition_of=ELSEWHERE)
    label = small.label(edition_of=ELSEWHERE, unchecked=True)
    assert item(small, label).previous_edition == Forms.of(ELSEWHERE)


def test_a_translation_of_what_is_held_elsewhere_needs_its_language(small: SmallArchive) -> None:
    wanted: dict[str, Any] = {"language": "pt", "translation_of": ELSEWHERE}
    with unchanged(small), pytest.raises(NotHeldError):
        small.open({}, **wanted)
    with unchanged(small), pytest.raises(StateError, match="--translated-from"):
        small.open({}, **wanted, unchecked=True)
    with unchanged(small), pytest.raises(StateError, match="is in pt itself"):
        small.open({}, **wanted, translated_from="pt", unchecked=True)
    with unchanged(small), pytest.raises(ArchiveRequestError, match="of which item"):
        small.open({}, translated_from="en")
    label = small.label(**wanted, translated_from="en", unchecked=True)
    assert item(small, label).translations == ((Language.parse("en"), Forms.of(ELSEWHERE)),)


def test_a_slip_of_the_pen_is_told_with_the_label_that_is_here(small: SmallArchive) -> None:
    label = small.label()
    rep, ibip = (str(each) for each in item(small, label).forms)
    for slip, meant in (
        (rep[:-1] + ("4" if rep[-1] != "4" else "6"), rep),
        (rep.replace("archive", "arhcive"), rep),
        (rep.replace("archive", "archives"), rep),
        (ibip[:-1] + ("4" if ibip[-1] != "4" else "6"), ibip),
    ):
        with unchanged(small), pytest.raises(NotHeldError, match="Did you mean") as refused:
            small.open({}, edition_of=slip)
        assert meant in refused.value.suggestions


def test_editions_are_amended_on_both_sides(small: SmallArchive) -> None:
    one, two, three = small.label(), small.label(), small.label()
    amend(small, one, next_edition=two)
    assert item(small, two).previous_edition == item(small, one).forms
    amend(small, three, previous_edition=two)
    assert item(small, two).next_edition == item(small, three).forms
    amend(small, one, next_edition=None)
    assert item(small, one).next_edition is None
    assert item(small, two).previous_edition is None
    amend(small, three, previous_edition=None)
    assert item(small, two).next_edition is None
    assert item(small, three).previous_edition is None
    amend(small, one, next_edition=ELSEWHERE)
    assert item(small, one).next_edition == Forms.of(ELSEWHERE)
    amend(small, one, next_edition=three)  # in the place of the other
    assert item(small, three).previous_edition == item(small, one).forms


def test_editions_do_not_go_in_a_circle(small: SmallArchive) -> None:
    one = small.label()
    two = small.label(edition_of=one)
    three = small.label(edition_of=two)
    for label, facts in (
        (three, {"next_edition": one}),
        (three, {"next_edition": three}),
        (one, {"previous_edition": three}),
        (one, {"previous_edition": one}),
        (one, {"previous_edition": str(item(small, two).forms.short)}),
    ):
        with unchanged(small), pytest.raises(StateError, match="leads back"):
            amend(small, label, **facts)


def test_one_edition_does_not_follow_two(small: SmallArchive) -> None:
    one, other = small.label(), small.label()
    two = small.label(edition_of=one)
    with unchanged(small), pytest.raises(StateError, match=r"next edition of .* already"):
        amend(small, other, next_edition=two)


def test_metadata_the_service_copies_and_the_deleted_have_no_editions_made_here(
    small: SmallArchive,
) -> None:
    service = small.archive.create_service(MetadataRecord(titles=(Text("Archive"),)), "me")
    one, copy, gone = small.label(), small.label(), small.label()
    metadata = str(item(small, one).metadata and item(small, one).metadata.label)  # type: ignore[union-attr]
    copy_of(small, copy)
    small.archive.delete(gone, "me", "wrong")
    for label in (metadata, str(service.forms.label), copy, gone):
        with unchanged(small), pytest.raises(StateError):
            small.open({}, edition_of=label)
    for label in (str(service.forms.label), copy, gone):
        with unchanged(small), pytest.raises(StateError):
            amend(small, label, next_edition=one)


# --- translations ---------------------------------------------------------------------------------


def test_a_group_of_translations_knows_each_other(small: SmallArchive) -> None:
    en = small.label(language="en")
    pt = small.label(language="pt", translation_of=en)
    fr = small.label(language="fr", translation_of=str(item(small, pt).forms.short))
    assert languages(small, en) == {"fr": fr, "pt": pt}
    assert languages(small, pt) == {"en": en, "fr": fr}
    assert languages(small, fr) == {"en": en, "pt": pt}


def test_a_group_has_one_item_in_a_language(small: SmallArchive) -> None:
    en = small.label(language="en")
    early = small.open({}, language="pt", translation_of=en)
    pt = small.label(language="pt", translation_of=en)
    for language, label in (("pt", en), ("en", en), ("en", pt), ("pt", pt)):
        with unchanged(small), pytest.raises(StateError, match="already"):
            small.open({}, language=language, translation_of=label)
    with unchanged(small), pytest.raises(StateError, match="already"):
        small.deposits.complete(early, "me")


def test_what_is_held_elsewhere_is_known_to_all_of_the_group(small: SmallArchive) -> None:
    en = small.label(language="en")
    amend(small, en, translations={"es": ELSEWHERE})
    pt = small.label(language="pt", translation_of=en)
    assert languages(small, pt) == {"en": en, "es": ELSEWHERE}


def test_translations_are_amended_on_all_sides(small: SmallArchive) -> None:
    en, pt, fr = (small.label(language=each) for each in ("en", "pt", "fr"))
    amend(small, en, translations={"pt": pt})
    assert languages(small, pt) == {"en": en}
    amend(small, pt, translations={"fr": fr, "es": ELSEWHERE})
    assert languages(small, en) == {"es": ELSEWHERE, "fr": fr, "pt": pt}
    assert languages(small, fr) == {"en": en, "es": ELSEWHERE, "pt": pt}
    amend(small, fr, translations={"pt": None})
    assert languages(small, en) == {"es": ELSEWHERE, "fr": fr}
    assert languages(small, fr) == {"en": en, "es": ELSEWHERE}
    assert languages(small, pt) == {}
    amend(small, en, translations={"es": None, "de": None})
    assert languages(small, en) == {"fr": fr}
    assert languages(small, fr) == {"en": en}


def test_two_groups_become_one(small: SmallArchive) -> None:
    en, de = small.label(language="en"), small.label(language="de")
    pt = small.label(language="pt", translation_of=en)
    fr = small.label(language="fr", translation_of=de)
    amend(small, pt, translations={"fr": fr})
    everyone = {"en": en, "de": de, "pt": pt, "fr": fr}
    for language, label in everyone.items():
        assert languages(small, label) == {
            into: each for into, each in everyone.items() if into != language
        }


def test_a_translation_takes_the_place_of_another(small: SmallArchive) -> None:
    en, pt, new = (small.label(language=each) for each in ("en", "pt", "pt"))
    amend(small, en, translations={"pt": pt})
    amend(small, en, translations={"pt": new})
    assert languages(small, en) == {"pt": new}
    assert languages(small, new) == {"en": en}
    assert languages(small, pt) == {}


def test_translations_that_cannot_be(small: SmallArchive) -> None:
    en, pt, de = (small.label(language=each) for each in ("en", "pt", "de"))
    other = small.label(language="pt", translation_of=de)
    amend(small, en, translations={"pt": pt})
    for label, facts, error in (
        (en, {"translations": {"en": pt}}, StateError),  # it is in that language itself
        (en, {"translations": {"fr": pt}}, StateError),  # which is in another
        (de, {"translations": {"en": en}}, StateError),  # whose group has one into pt too
        (pt, {"language": "en"}, StateError),  # in which there is one
        (en, {"translations": {"xx": pt}}, LanguageError),
        (en, {"translations": {"pt": "no label"}}, LabelError),
        (en, {"language": "english"}, LanguageError),
    ):
        with unchanged(small), pytest.raises(error):
            amend(small, label, **facts)
    assert languages(small, other) == {"de": de}


def test_another_language_of_an_item_is_told_to_its_group(small: SmallArchive) -> None:
    en = small.label(language="en")
    pt = small.label(language="pt", translation_of=en)
    amend(small, pt, language="pt-BR")
    assert languages(small, en) == {"pt-BR": pt}
    amend(small, pt, language=None)
    assert languages(small, en) == {}
    assert item(small, pt).language is None
    assert languages(small, pt) == {"en": en}


def test_an_item_that_is_both_edition_and_translation(small: SmallArchive) -> None:
    en = small.label(language="en")
    both = small.label(language="pt", edition_of=en, translation_of=en)
    assert item(small, en).next_edition == item(small, both).forms
    assert languages(small, en) == {"pt": both}
    assert languages(small, both) == {"en": en}


def test_copies_and_the_deleted_are_known_and_not_told(small: SmallArchive) -> None:
    en, copy = small.label(language="en"), small.label(language="pt")
    copy_of(small, copy)
    amend(small, en, translations={"pt": copy})
    assert languages(small, copy) == {}
    gone = small.label(language="fr", translation_of=en)
    small.archive.delete(gone, "me", "wrong")
    tombstone = item(small, gone)
    de = small.label(language="de", translation_of=en)
    assert item(small, gone) == tombstone
    assert languages(small, de) == {"en": en, "fr": gone, "pt": copy}


def test_an_item_and_metadata_or_the_service_are_no_translations_of_each_other(
    small: SmallArchive,
) -> None:
    service = str(
        small.archive.create_service(MetadataRecord(titles=(Text("Archive"),)), "me").forms.label
    )
    en = small.label(language="en")
    look = small.archive.get_described(en)
    assert look.metadata is not None
    metadata = str(look.metadata.item.forms.label)
    for label in (service, metadata):
        with unchanged(small), pytest.raises(StateError):
            small.open({}, language="pt", translation_of=label)
        with unchanged(small), pytest.raises(StateError):
            amend(small, en, translations={"pt": label})
    for label in (service, metadata):
        with unchanged(small), pytest.raises(StateError):
            amend(small, label, translations={"pt": en})


def metadata_of(small: SmallArchive, label: str) -> str:
    forms = item(small, label).metadata
    assert forms is not None
    return str(forms.label)


def test_a_relation_of_a_metadata_label_belongs_to_the_metadata(small: SmallArchive) -> None:
    en, pt = small.label(language="en"), small.label(language="pt")
    amend(small, en, translations={"pt": pt})
    english, portuguese = (metadata_of(small, each) for each in (en, pt))
    before = item(small, en)
    assert str(amend(small, english, translations={"pt": portuguese}).forms.label) == english
    assert languages(small, english) == {"pt": portuguese}
    assert languages(small, portuguese) == {"en": english}
    amend(small, english, translations={"fr": ELSEWHERE}, further_names=[LEGACY])
    assert languages(small, portuguese) == {"en": english, "fr": ELSEWHERE}
    assert item(small, LEGACY).forms == item(small, english).forms
    assert item(small, en) == before
    amend(small, english, translations={"pt": None, "fr": None})
    assert languages(small, english) == languages(small, portuguese) == {}
    for facts in (
        {"next_edition": ELSEWHERE},
        {"previous_edition": ELSEWHERE},
        {"target": "metadata"},
        {"list_public": False},
        {"readers": ["10.0.0.0/8"]},
        {"translations": {"en": portuguese}},
    ):
        with unchanged(small), pytest.raises(StateError):
            amend(small, english, **facts)


def test_metadata_are_described_in_further_languages(small: SmallArchive) -> None:
    label = small.label(language="en", metadata={"titles": ["A report"], "subjects": ["soil"]})
    metadata = metadata_of(small, label)
    data = item(small, label)
    amend(small, label, texts={"pt": {"titles": ["Um relatório"], "subjects": ["solo"]}})
    amend(small, metadata, texts={"": {"titles": ["A better report"]}})
    record = item(small, metadata).record
    assert record is not None
    assert [(each.value, each.language) for each in record.titles] == [
        ("A better report", ""),
        ("Um relatório", "pt"),
    ]
    assert [each.value for each in record.subjects] == ["soil", "solo"]
    assert item(small, label) == data
    amend(small, label, texts={"pt": None})
    assert own_languages(item(small, metadata)) == (Language("en"),)
    for facts, error in (
        ({"texts": {"en": None}}, MetadataError),
        ({"texts": {"pt": {"creators": ["x"]}}}, MetadataError),
        ({"texts": {"xx": {"titles": ["x"]}}}, LanguageError),
    ):
        with unchanged(small), pytest.raises(error):
            amend(small, label, **facts)


def test_metadata_in_a_language_exist_once(small: SmallArchive) -> None:
    en, pt = small.label(language="en"), small.label(language="pt")
    english, portuguese = (metadata_of(small, each) for each in (en, pt))
    amend(small, english, translations={"pt": portuguese})
    for facts in (
        {"texts": {"pt": {"titles": ["Um título"]}}},
        {"metadata": {"titles": [{"value": "Um título", "language": "pt"}]}},
    ):
        with unchanged(small), pytest.raises(StateError):
            amend(small, en, **facts)
    amend(small, en, texts={"fr": {"titles": ["Un titre"]}})
    assert languages(small, portuguese) == {"en": english, "fr": english}
    with unchanged(small), pytest.raises(StateError):
        amend(small, english, translations={"fr": ELSEWHERE})
    amend(small, en, texts={"fr": None})
    assert languages(small, portuguese) == {"en": english}


def test_metadata_without_a_language_follow_that_of_the_item(small: SmallArchive) -> None:
    label = small.label()
    metadata = metadata_of(small, label)
    amend(small, label, language="en")
    assert item(small, metadata).language == Language("en")
    amend(small, metadata, language="pt")
    amend(small, label, language="fr")
    assert item(small, metadata).language == Language("pt")


# --- descriptions ---------------------------------------------------------------------------------


def test_what_is_left_out_stays_and_null_takes_away(small: SmallArchive) -> None:
    one = small.label({"a": b"1", "b": b"2"}, target="a", language="en")
    two = small.label(edition_of=one)
    before = item(small, one)
    assert amend(small, one) == before
    after = amend(small, one, list_public=False)
    assert after == replace(before, list_public=False, updated=after.updated)
    assert after.updated > before.updated
    after = amend(small, one, language=None, next_edition=None, target="b")
    assert (after.language, after.next_edition, after.target) == (None, None, "b")
    assert item(small, two).previous_edition is None
    assert after.list_public is False


def test_what_changes_nothing_is_no_change(small: SmallArchive) -> None:
    one = small.label({"a": b"1"}, language="en")
    two = small.label(language="pt", edition_of=one, translation_of=one)
    with unchanged(small):
        amend(
            small, one, language="en", target="a", list_public=True, metadata={"title": "A title"}
        )
        amend(small, one, next_edition=two, translations={"pt": two, "fr": None}, further_names=[])
        amend(small, two, previous_edition=one, translations={"en": one})
        amend(small, one, further_names=[one])


def test_metadata_are_described_by_either_label(small: SmallArchive) -> None:
    one = small.label()
    look = small.archive.get_described(one)
    assert look.metadata is not None
    metadata = str(look.metadata.item.forms.short)
    amend(small, metadata, metadata={"title": "By metadata", "creator": "Banon, Gerald"})
    record = small.archive.get_described(one).record
    assert record is not None
    assert record.title == Text("By metadata")
    assert item(small, one).updated < item(small, metadata).updated
    with unchanged(small), pytest.raises(IbiError):
        amend(small, one, metadata={"title": ""}, list_public=False)


def test_further_names_are_found_and_never_given_again(small: SmallArchive) -> None:
    one = small.label(further_names=[LEGACY, LEGACY])
    assert item(small, one).further_names == (parse(LEGACY),)
    other = small.label()
    amend(small, one, further_names=[ELSEWHERE, LEGACY, ELSEWHERE])
    assert item(small, LEGACY) == item(small, ELSEWHERE) == item(small, one)
    assert item(small, one).further_names == (parse(LEGACY), parse(ELSEWHERE))
    small.archive.delete(one, "me", "wrong")
    for name in (LEGACY, ELSEWHERE, one, str(item(small, one).forms.short)):
        with unchanged(small), pytest.raises(StateError, match="no label is given twice"):
            amend(small, other, further_names=[name])
        with unchanged(small), pytest.raises(StateError, match="no label is given twice"):
            small.open({}, further_names=[name])
    with unchanged(small), pytest.raises(LabelError):
        amend(small, other, further_names=["no label"])


@pytest.mark.parametrize(
    "facts",
    [
        {"list_public": False},
        {"language": "en"},
        {"metadata": {"title": "New"}},
        {"next_edition": ELSEWHERE},
        {"translations": {"pt": ELSEWHERE}},
        {"further_names": [LEGACY]},
        {},
    ],
)
@pytest.mark.parametrize("state", [State.COPY, State.DELETED])
def test_a_copy_and_a_tombstone_stay_as_they_are(
    small: SmallArchive, facts: dict[str, object], state: State
) -> None:
    one = small.label({"a": b"1"})
    if state is State.COPY:
        copy_of(small, one)
    else:
        small.archive.delete(one, "me", "wrong")
    with unchanged(small), pytest.raises(StateError):
        amend(small, one, **facts)
    with unchanged(small), pytest.raises(StateError):
        small.open({}, item=one)
    with unchanged(small), pytest.raises(StateError):
        small.archive.delete(one, "me", "wrong")


# --- deletion -------------------------------------------------------------------------------------


def test_a_tombstone_says_who_when_why_and_what_replaces_it(
    small: SmallArchive, tmp_path: Path
) -> None:
    one = small.label({"a": b"1", "b/c": b"2"}, target="a")
    small.deposit({"a": b"new"}, item=one)
    two = small.label()
    look = small.archive.delete(one, "me", "  wrong data ", str(item(small, two).forms.short))
    assert look.item.state is State.DELETED
    stone = look.item.tombstone
    assert stone is not None
    assert (stone.who, stone.reason, stone.replaced_by) == (
        "me",
        "wrong data",
        item(small, two).forms,
    )
    [*_, line] = small.catalogue.history.entries(0, 100)
    assert stone.deleted == look.item.updated == line.at
    assert look.item.target == ""
    assert small.archive.files(look.held) == ()
    place = tmp_path / "col" / one
    assert list(contents(place)) == ["ibi.json"]  # nor the bytes that were replaced before
    assert look.record is not None
    assert look.metadata is not None
    assert look.metadata.item.state is State.ORIGINAL
    with pytest.raises(DeletedError):
        small.archive.get_live(one)
    assert small.archive.get_described(str(look.item.forms.short)) == look


def test_metadata_may_go_with_the_item_but_not_alone(small: SmallArchive) -> None:
    one = small.label()
    look = small.archive.get_described(one)
    assert look.metadata is not None
    metadata = str(look.metadata.item.forms.label)
    with unchanged(small), pytest.raises(ArchiveRequestError, match="not alone"):
        small.archive.delete(metadata, "me", "wrong")
    look = small.archive.delete(one, "me", "wrong", with_metadata=True)
    assert look.record is None
    assert item(small, metadata).state is State.DELETED
    assert "A title" not in str(item(small, metadata))
    with unchanged(small), pytest.raises(DeletedError):
        amend(small, metadata, metadata={"title": "Back"})


def test_a_bad_replacement_is_refused(small: SmallArchive) -> None:
    one = small.label(further_names=[LEGACY])
    for label in (one, str(item(small, one).forms.short), LEGACY):
        with unchanged(small), pytest.raises(StateError, match="replaced by itself"):
            small.archive.delete(one, "me", "wrong", label)
    with unchanged(small), pytest.raises(LabelError):
        small.archive.delete(one, "me", "wrong", "no label")
    look = small.archive.delete(one, "me", "wrong", ELSEWHERE)
    assert look.item.tombstone is not None
    assert look.item.tombstone.replaced_by == Forms.of(ELSEWHERE)


def test_the_archive_service_is_founded_once_and_stays(small: SmallArchive) -> None:
    record = MetadataRecord(titles=(Text("Archive"),))
    service = small.archive.create_service(record, "me")
    assert (service.kind, service.transferable, service.state) == (
        "service",
        False,
        State.ORIGINAL,
    )
    with unchanged(small):
        assert small.archive.create_service(record, "other") == service
    label = str(service.forms.label)
    with unchanged(small), pytest.raises(StateError, match="cannot be deleted"):
        small.archive.delete(label, "me", "wrong")
    with unchanged(small), pytest.raises(StateError):
        small.open({}, item=label)
    with unchanged(small), pytest.raises(StateError):
        amend(small, label, target="a")
    amend(small, label, metadata={"title": "Another name"})


# --- reserved labels ------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [0, -1, MAX_RESERVED + 1])
def test_so_many_labels_cannot_be_reserved(small: SmallArchive, count: int) -> None:
    with unchanged(small), pytest.raises(ArchiveRequestError, match="cannot be reserved"):
        small.archive.reserve(count, "me")


def test_reserved_labels_are_no_items_yet(small: SmallArchive) -> None:
    [one, two] = small.archive.reserve(2, "me", "Proceedings")
    assert (one.who, one.note) == ("me", "Proceedings")
    with pytest.raises(UnknownError):
        small.archive.get_described(one.forms.label)
    other = small.label()
    for label in two.forms:
        with unchanged(small), pytest.raises(StateError, match="reserved"):
            amend(small, other, further_names=[str(label)])
