"""Drafts: saved at once, changed by their owner alone, and published once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from weakref import WeakKeyDictionary

import pytest

from ibi.archive.deposits.deposits import DAY, LIFE
from ibi.archive.drafts import drafts as drafts_module
from ibi.archive.drafts.description import RecordForm
from ibi.archive.drafts.drafts import DraftLimits, Drafts
from ibi.archive.drafts.files import DraftFiles
from ibi.archive.ports.drafts import DepositDraft, DraftState
from ibi.archive.rules.drafts.draft import LARGEST_FIELDS, DraftPurpose, Fields, read
from ibi.errors import (
    ArchiveRequestError,
    DescriptionError,
    DraftConflictError,
    InProgressError,
    StateError,
    TooLargeError,
    UnknownError,
)
from tests.support.scenes.small_archive import SmallArchive, contents, forms, unchanged

FIELDS: Fields = (("title", "Soil moisture"), ("year", "20226"), ("creator", "Vilela, Renata"))
WHOLE: Fields = (
    *(("title", "Soil moisture"), ("year", "2026"), ("type", "Dataset")),
    ("creator", "Vilela, Renata"),
)
FILES: WeakKeyDictionary[Drafts, DraftFiles] = WeakKeyDictionary()
KEY = "0123456789abcdef" * 2


def drafts_of(small: SmallArchive, **limits: Any) -> Drafts:  # noqa: ANN401
    drafts = Drafts(small.archive, small.deposits, RecordForm("An archive"), DraftLimits(**limits))
    return with_files(small, drafts)


def with_files(small: SmallArchive, drafts: Drafts) -> Drafts:
    FILES[drafts] = DraftFiles(small.archive, small.deposits, drafts)
    return drafts


def files_of(drafts: Drafts) -> DraftFiles:
    return FILES[drafts]


def send(drafts: Drafts, draft: DepositDraft, files: Mapping[str, bytes]) -> None:
    for path, content in files.items():
        with files_of(drafts).receive(draft.id, draft.owner, path, 0) as sink:
            sink.write(content)
            sink.finish()


def ready(drafts: Drafts, files: Mapping[str, bytes] | None = None) -> DepositDraft:
    draft = drafts.open("me", fields=WHOLE)
    send(drafts, draft, {"a": b"1"} if files is None else files)
    return draft


# --- what is typed --------------------------------------------------------------------------------


def test_a_draft_has_a_label_at_once_and_keeps_what_is_typed(small: SmallArchive) -> None:
    drafts = drafts_of(small)
    draft = drafts.open("me")
    assert (draft.forms, draft.version, draft.state) == (forms(1), 0, DraftState.OPEN)
    faulty = (("year", "20226"), ("title", ""), ("creator", "é\0"), ("creator", ""))
    saved = drafts.save(draft.id, "me", 0, faulty)
    assert (saved.version, saved.title) == (1, "")
    small.restart()
    again = drafts_of(small).get(draft.id, "me")
    assert again == saved
    assert read(again.fields) == faulty
    [line] = [each for each in small.catalogue.history.entries(0, 9) if each.act == "reserve"]
    assert line.who == "me"


def test_a_form_that_is_sent_twice_opens_one_draft(small: SmallArchive) -> None:
    drafts = drafts_of(small)
    draft = drafts.open("me", KEY, fields=FIELDS)
    with unchanged(small):
        assert drafts.open("me", KEY) == draft
    with unchanged(small), pytest.raises(UnknownError):
        drafts.open("other", KEY)
    for key in ("x", KEY.upper(), f"{KEY}0", "../" + KEY[3:]):
        with unchanged(small), pytest.raises(ArchiveRequestError):
            drafts.open("me", key)


def test_an_older_form_does_not_replace_a_newer_one(small: SmallArchive) -> None:
    drafts = drafts_of(small)
    draft = drafts.open("me")
    drafts.save(draft.id, "me", 0, FIELDS)
    with unchanged(small), pytest.raises(DraftConflictError) as conflict:
        drafts.save(draft.id, "me", 0, WHOLE)
    assert conflict.value.version == 1
    # An answer was lost, and the form is sent again.
    with unchanged(small):
        assert drafts.save(draft.id, "me", 0, FIELDS).version == 1
    assert drafts.save(draft.id, "me", 1, WHOLE).version == 2


def test_a_form_that_is_too_large_is_not_kept(small: SmallArchive) -> None:
    drafts = drafts_of(small)
    draft = drafts.open("me")
    for fields in (
        (("abstract", "x" * LARGEST_FIELDS),),
        tuple(("creator", "x") for _ in range(20_001)),
        (("title", "\ud800"),),
    ):
        with unchanged(small), pytest.raises(ArchiveRequestError):
            drafts.save(draft.id, "me", 0, fields)


def test_to_others_a_draft_does_not_exist(small: SmallArchive) -> None:
    drafts = drafts_of(small)
    draft = ready(drafts)
    acts: list[Callable[[str], object]] = [
        lambda who: drafts.get(draft.id, who),
        lambda who: drafts.save(draft.id, who, 0, FIELDS),
        lambda who: drafts.discard(draft.id, who),
        lambda who: drafts.submit(draft.id, who),
        lambda who: drafts.withdraw(draft.id, who),
        lambda who: drafts.publish(draft.id, who),
        lambda who: files_of(drafts).receive(draft.id, who, "b", 0),
        lambda who: files_of(drafts).staged_file(draft.id, who, "a"),
        lambda who: files_of(drafts).remove(draft.id, who, "a"),
        lambda who: files_of(drafts).unpack(draft.id, who, "a"),
        lambda _: drafts.reviewed(draft.id),
        lambda who: drafts.send_back(draft.id, who, "x"),
        lambda who: drafts.approve(draft.id, who),
    ]
    for act in acts:
        with unchanged(small), pytest.raises(UnknownError):
            act("other")
    assert drafts.unfinished("other", None, 9) == []
    assert drafts.unfinished("me", None, 9) == [draft]


# --- publication ----------------------------------------------------------------------------------


def test_a_draft_becomes_an_item_under_its_label(small: SmallArchive) -> None:
    drafts = drafts_of(small)
    draft = ready(drafts, {"a/b": b"1", "c": b"2"})
    with pytest.raises(UnknownError):
        small.archive.get(forms(1).label)
    look = drafts.publish(draft.id, "me", 0)
    assert look.item.forms == draft.forms == forms(1)
    assert look.record is not None
    assert look.record.title.value == "Soil moisture"
    place = small.folder / "col" / str(look.item.forms.label) / "doc"
    assert contents(place) == {"a/b": b"1", "c": b"2"}
    published = drafts.get(draft.id, "me")
    assert (published.state, published.item) == (
        DraftState.PUBLISHED,
        look.item.forms.label.canonical,
    )
    assert drafts.published("me", None, 9) == [published]
    with unchanged(small):
        assert drafts.publish(draft.id, "me", 0) == look
        for act in (
            lambda: drafts.save(draft.id, "me", 0, FIELDS),
            lambda: drafts.discard(draft.id, "me"),
            lambda: files_of(drafts).receive(draft.id, "me", "b", 0),
        ):
            with pytest.raises(StateError):
                act()
    assert files_of(drafts).staged(published) == []


def test_two_clicks_at_once_publish_one_item(small: SmallArchive) -> None:
    drafts = drafts_of(small)
    draft = ready(drafts)
    start = threading.Barrier(8)

    def click() -> str:
        start.wait(60)
        return str(drafts.publish(draft.id, "me").item.forms)

    with ThreadPoolExecutor(8) as threads:
        found = {each.result(60) for each in [threads.submit(click) for _ in range(8)]}
    assert found == {str(draft.forms)}
    assert len(small.catalogue.items.page(0, 9, "data")) == 1


def test_only_what_was_shown_is_published(small: SmallArchive) -> None:
    drafts = drafts_of(small)
    draft = ready(drafts)
    drafts.save(draft.id, "me", 0, (*WHOLE, ("abstract", "Other")))
    with unchanged(small), pytest.raises(DraftConflictError):
        drafts.publish(draft.id, "me", 0)
    assert drafts.publish(draft.id, "me", 1).item.forms == draft.forms


def test_a_draft_with_a_fault_is_not_published(small: SmallArchive) -> None:
    drafts = drafts_of(small)
    draft = drafts.open("me", fields=(("year", "2026"),))
    with unchanged(small), pytest.raises(DescriptionError) as fault:
        drafts.publish(draft.id, "me")
    assert fault.value.faults[0][:2] == ("title", 0)
    draft = ready(drafts)
    with files_of(drafts).receive(draft.id, "me", "half", 0) as sink:
        sink.write(b"1")
        sink.suspend()
    with unchanged(small), pytest.raises(StateError, match="half"):
        drafts.publish(draft.id, "me")
    files_of(drafts).remove(draft.id, "me", "half")
    drafts.publish(draft.id, "me")


def test_nothing_is_changed_while_a_draft_is_published(small: SmallArchive) -> None:
    drafts = drafts_of(small)
    draft = ready(drafts)
    on_its_way, decided = threading.Event(), threading.Event()

    def prepare(_: object) -> None:
        on_its_way.set()
        assert decided.wait(60)

    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(1) as threads:
        patch.setattr(small.store, "prepare", prepare)
        patch.setattr(drafts_module, "_PATIENCE", 0)
        publishing = threads.submit(drafts.publish, draft.id, "me")
        assert on_its_way.wait(60)
        try:
            with pytest.raises(InProgressError):
                drafts.save(draft.id, "me", 0, FIELDS)
            with (
                pytest.raises(InProgressError),
                files_of(drafts).receive(draft.id, "me", "b", 0),
            ):
                pass
        finally:
            decided.set()
        assert publishing.result(60).item.target == "a"


def test_nobody_else_takes_the_label_of_a_draft(small: SmallArchive) -> None:
    drafts = drafts_of(small)
    draft = ready(drafts)
    label = str(draft.forms.label) if draft.forms else ""
    for given in (label, str(forms(1).short)):
        with unchanged(small), pytest.raises(StateError, match="draft"):
            small.open({}, label=given)
    drafts.discard(draft.id, "me")
    with unchanged(small), pytest.raises(StateError, match="draft"):
        small.open({}, label=label)


def test_a_discarded_draft_leaves_nothing_but_its_label(small: SmallArchive) -> None:
    drafts = drafts_of(small)
    draft = ready(drafts)
    drafts.discard(draft.id, "me")
    drafts.discard(draft.id, "me")
    assert not (small.folder / "incoming" / draft.id).exists()
    found = drafts.get(draft.id, "me")
    assert (found.state, found.fields, found.title) == (DraftState.DISCARDED, "[]", "")
    with unchanged(small), pytest.raises(StateError):
        drafts.publish(draft.id, "me")
    assert drafts.open("me").forms != draft.forms


# --- new editions, translations, and new files ----------------------------------------------------


def test_a_draft_becomes_the_next_edition(small: SmallArchive) -> None:
    drafts = drafts_of(small)
    before = small.label({"a": b"1"})
    draft = drafts.open("me", purpose=DraftPurpose(edition_of=before), fields=WHOLE)
    item = drafts.publish(draft.id, "me").item
    assert str(item.previous_edition.label if item.previous_edition else "") == before
    with unchanged(small), pytest.raises(StateError):
        drafts.open("me", purpose=DraftPurpose(edition_of=before))


def test_a_draft_becomes_a_translation(small: SmallArchive) -> None:
    drafts = drafts_of(small)
    before = small.label({"a": b"1"}, language="pt")
    draft = drafts.open("me", purpose=DraftPurpose(translation_of=before), fields=WHOLE)
    with unchanged(small), pytest.raises(ArchiveRequestError, match="language"):
        drafts.publish(draft.id, "me")
    drafts.save(draft.id, "me", 0, (*WHOLE, ("language", "en")))
    item = drafts.publish(draft.id, "me").item
    assert [str(language) for language, _ in item.translations] == ["pt"]


def test_a_draft_replaces_the_files_of_an_item(small: SmallArchive) -> None:
    drafts = drafts_of(small)
    label = small.label({"a": b"1", "b": b"2", "c": b"3"})
    draft = drafts.open("me", purpose=DraftPurpose(item=label))
    assert draft.forms is None
    send(drafts, draft, {"a": b"new"})
    drafts.save(draft.id, "me", 0, (("remove", "b"), ("target", "c")))
    item = drafts.publish(draft.id, "me").item
    assert (str(item.forms.label), item.target) == (label, "c")
    assert contents(small.folder / "col" / label / "doc") == {"a": b"new", "c": b"3"}
    with unchanged(small):
        assert drafts.publish(draft.id, "me").item == item


@pytest.mark.parametrize(
    "purpose",
    [
        DraftPurpose(edition_of="not a label"),
        DraftPurpose(edition_of=str(forms(99).label)),
        DraftPurpose(translation_of=str(forms(99).label)),
        DraftPurpose(item=str(forms(99).label)),
    ],
)
def test_a_draft_of_nothing_is_not_opened(small: SmallArchive, purpose: DraftPurpose) -> None:
    with unchanged(small), pytest.raises(Exception, match=r"."):
        drafts_of(small).open("me", purpose=purpose)


# --- review ---------------------------------------------------------------------------------------


def test_a_curator_returns_a_draft_and_publishes_it_later(small: SmallArchive) -> None:
    moves: list[tuple[DraftState, str]] = []
    limits = DraftLimits(review=True)
    drafts = Drafts(
        small.archive,
        small.deposits,
        RecordForm("An archive"),
        limits,
        lambda _, state, comment: moves.append((state, comment)),
    )
    with_files(small, drafts)
    draft = ready(drafts)
    with unchanged(small), pytest.raises(StateError, match="submit"):
        drafts.publish(draft.id, "me")
    assert drafts.submit(draft.id, "me", 0).state is DraftState.SUBMITTED
    with unchanged(small):
        drafts.submit(draft.id, "me")
        for act in (
            lambda: drafts.save(draft.id, "me", 0, FIELDS),
            lambda: files_of(drafts).receive(draft.id, "me", "b", 0),
            lambda: files_of(drafts).remove(draft.id, "me", "a"),
        ):
            with pytest.raises(StateError):
                act()
        with pytest.raises(ArchiveRequestError):
            drafts.send_back(draft.id, "curator", " \n ")
    [waiting] = drafts.submitted(None, 9)
    assert drafts.reviewed(draft.id) == waiting
    assert [each.path for each in files_of(drafts).staged(waiting)] == ["a"]
    drafts.send_back(draft.id, "curator", " Say where. ")
    with unchanged(small), pytest.raises(StateError):
        drafts.approve(draft.id, "curator")
    [comment] = drafts.comments(draft)
    assert (comment.who, comment.text) == ("curator", "Say where.")
    drafts.save(draft.id, "me", 0, (*WHOLE, ("abstract", "In Caatinga")))
    drafts.submit(draft.id, "me")
    drafts.withdraw(draft.id, "me")
    drafts.submit(draft.id, "me")
    look = drafts.approve(draft.id, "curator", 1)
    assert look.item.forms == draft.forms
    with unchanged(small):
        assert drafts.approve(draft.id, "curator") == look
        assert drafts.publish(draft.id, "me") == look
    line = small.catalogue.history.entries(0, 99)[-1]
    assert (line.act, line.who, line.detail) == ("deposit", "curator", '{"depositor":"me"}')
    assert [state for state, _ in moves] == [
        DraftState.SUBMITTED,
        DraftState.RETURNED,
        DraftState.SUBMITTED,
        DraftState.OPEN,
        DraftState.SUBMITTED,
        DraftState.PUBLISHED,
    ]
    assert moves[1][1] == "Say where."


# --- limits ---------------------------------------------------------------------------------------


def test_open_drafts_outlive_abandoned_deposits(small: SmallArchive) -> None:
    drafts = drafts_of(small, days=30)
    draft, deposit = ready(drafts), small.open({"a": b"1"})
    small.clock.now += LIFE + DAY
    small.deposits.sweep()
    drafts.sweep()
    with pytest.raises(UnknownError):
        small.deposits.get(deposit)
    assert [each.path for each in files_of(drafts).staged(drafts.get(draft.id, "me"))] == ["a"]
    small.clock.now += 15 * DAY
    send(drafts, draft, {"b": b"2"})  # this is a change too
    small.clock.now += 20 * DAY
    drafts.sweep()
    assert drafts.get(draft.id, "me").state is DraftState.OPEN
    small.clock.now += 11 * DAY
    drafts.sweep()
    assert drafts.get(draft.id, "me").state is DraftState.DISCARDED
    assert not (small.folder / "incoming" / draft.id).exists()


def test_drafts_are_kept_for_ever_if_the_settings_say_so(small: SmallArchive) -> None:
    drafts = drafts_of(small, days=0)
    draft = ready(drafts)
    small.clock.now += 10_000 * DAY
    small.deposits.sweep()
    drafts.sweep()
    assert drafts.publish(draft.id, "me").item.forms == draft.forms


def test_the_files_of_all_drafts_of_an_owner_stay_within_a_quota(small: SmallArchive) -> None:
    drafts = drafts_of(small, bytes_each=10)
    one, two = drafts.open("me"), drafts.open("me")
    send(drafts, one, {"a": b"12345"})
    with pytest.raises(TooLargeError):
        send(drafts, two, {"b": b"123456"})
    send(drafts, drafts.open("other"), {"b": b"123456"})
    send(drafts, one, {"a": b"1"})
    assert drafts.quota.used("me") == 1
    send(drafts, two, {"b": b"123456"})
    with files_of(drafts).receive(two.id, "me", "c", 0) as sink:
        sink.write(b"12")
        sink.suspend()
    assert drafts.quota.used("me") == 9
    with pytest.raises(TooLargeError), files_of(drafts).receive(two.id, "me", "c", 2) as sink:
        sink.write(b"34")
    assert drafts.quota.used("me") == 9
    with files_of(drafts).receive(two.id, "me", "c", 2) as sink:
        sink.write(b"3")
        sink.finish()
    assert drafts.quota.used("me") == 10
    # A replacement that broke off leaves what was there.
    files_of(drafts).remove(two.id, "me", "b")
    assert drafts.quota.used("me") == 4
    with files_of(drafts).receive(two.id, "me", "c", 0) as sink:
        sink.write(b"12")
    assert drafts.quota.used("me") == 4
    small.restart()
    drafts = drafts_of(small, bytes_each=10)
    assert drafts.quota.used("me") == 4
    drafts.discard(one.id, "me")
    assert drafts.quota.used("me") == 3


def test_an_owner_has_a_limited_number_of_drafts(
    small: SmallArchive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drafts_module, "MOST_DRAFTS", 2)
    drafts = drafts_of(small)
    first = drafts.open("me")
    drafts.open("me")
    with unchanged(small), pytest.raises(StateError):
        drafts.open("me")
    drafts.open("other")
    drafts.discard(first.id, "me")
    drafts.open("me")
