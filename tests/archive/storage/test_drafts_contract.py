"""What a catalogue keeps of drafts: the same on every database."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ibi.archive.ports.catalogue import Catalogue
from ibi.archive.ports.deposits import Deposit
from ibi.archive.ports.drafts import (
    DepositDraft,
    DraftComment,
    DraftPlace,
    DraftState,
    PublishedChoice,
)
from ibi.model.change import Change, ItemChange
from ibi.model.item import Item
from tests.support.scenes.catalogue import CatalogueDatabase
from tests.support.scenes.small_archive import forms

HOSTILE = "'; DROP TABLE archive_draft; --\N{REPLACEMENT CHARACTER}é\U0001f600"
OPEN = (DraftState.OPEN,)


def draft(number: int, owner: str = "me", changed: int = 5) -> DepositDraft:
    return DepositDraft(
        id=f"draft{number:032x}",
        owner=owner,
        forms=forms(number),
        purpose="{}",
        fields="[]",
        title="",
        state=DraftState.OPEN,
        version=0,
        opened=5,
        changed=changed,
    )


def complete(catalogue: Catalogue, kept: DepositDraft, number: int) -> None:
    item = Item(forms=forms(number), kind="data", metadata=forms(number + 500))
    label = item.forms.label.canonical
    items = (ItemChange(item=item),)
    change = Change(
        id=str(number), at=7, who="me", act="deposit", label=label, items=items, deposit=kept.id
    )
    catalogue.items.apply(change, lambda _: None)


def test_a_draft_is_kept_as_it_is(place: CatalogueDatabase) -> None:
    kept = replace(draft(1), purpose='{"a": "\\u0000"}', fields='[["ç", ""]]', title=HOSTILE)
    assert place().drafts.open(kept)
    assert place().drafts.get(kept.id) == kept
    assert place().deposits.get(kept.id) == Deposit(kept.id, 5, "me", "")
    assert place().drafts.with_label(forms(1).label.canonical) == kept.id
    assert place().drafts.with_label(forms(2).label.canonical) == ""
    for unknown in ("draft2", "", "a\0", "\ud800"):
        assert place().drafts.get(unknown) is None


def test_a_draft_is_opened_once(catalogue: Catalogue) -> None:
    assert catalogue.drafts.open(draft(1))
    assert not catalogue.drafts.open(replace(draft(1, owner="other"), forms=forms(9)))
    assert not catalogue.drafts.open(replace(draft(2), forms=forms(1)))
    found = catalogue.drafts.get(draft(1).id)
    assert found == draft(1)
    # Drafts of new files for an item have no labels of their own.
    for number in (3, 4):
        assert catalogue.drafts.open(replace(draft(number), forms=None))
        found = catalogue.drafts.get(draft(number).id)
        assert found is not None
        assert found.forms is None


def test_only_the_version_that_was_shown_is_replaced(catalogue: Catalogue) -> None:
    catalogue.drafts.open(draft(1))
    assert catalogue.drafts.save(draft(1).id, 0, '[["a","1"]]', "T\ud800", 6)
    assert not catalogue.drafts.save(draft(1).id, 0, '[["a","2"]]', "U", 7)
    assert not catalogue.drafts.save(draft(2).id, 0, "[]", "", 7)
    expected = replace(draft(1), version=1, fields='[["a","1"]]', changed=6)
    assert catalogue.drafts.get(draft(1).id) == replace(
        expected, title="T\N{REPLACEMENT CHARACTER}"
    )
    assert catalogue.drafts.save(draft(1).id, 1, "[]", "", 8)


def test_a_draft_is_published_when_its_deposit_is_completed(catalogue: Catalogue) -> None:
    catalogue.drafts.open(draft(1))
    complete(catalogue, draft(1), 1)
    found = catalogue.drafts.get(draft(1).id)
    assert found is not None
    assert (found.state, found.item) == (DraftState.PUBLISHED, forms(1).label.canonical)
    assert not catalogue.drafts.save(draft(1).id, 0, '[["a","1"]]', "", 6)
    for state in (DraftState.DISCARDED, DraftState.SUBMITTED):
        assert not catalogue.drafts.move(draft(1).id, state, OPEN, DraftComment(8, "me", "x"))
    assert catalogue.drafts.of_owner("me", None, 9) == []
    assert catalogue.drafts.published_by("me", None, 9) == [found]
    assert catalogue.drafts.count("me") == 0
    assert catalogue.drafts.unchanged_since(99, 9) == []


@pytest.mark.parametrize("state", [DraftState.SUBMITTED, DraftState.RETURNED])
def test_the_state_changes_from_the_one_that_was_meant(
    catalogue: Catalogue, state: DraftState
) -> None:
    catalogue.drafts.open(draft(1))
    comment = DraftComment(6, "curator", HOSTILE)
    assert not catalogue.drafts.move(draft(1).id, state, (DraftState.SUBMITTED,), comment)
    assert catalogue.drafts.comments(draft(1).id) == []
    assert catalogue.drafts.move(draft(1).id, state, OPEN, comment)
    assert catalogue.drafts.move(draft(1).id, DraftState.OPEN, (state,), DraftComment(7, "me", ""))
    assert catalogue.drafts.move(draft(1).id, state, OPEN, replace(comment, at=8))
    assert catalogue.drafts.comments(draft(1).id) == [comment, replace(comment, at=8)]
    found = catalogue.drafts.get(draft(1).id)
    assert found == replace(draft(1), state=state, changed=8)
    is_editable = state is DraftState.RETURNED
    assert catalogue.drafts.save(draft(1).id, 0, '[["a","1"]]', "", 9) is is_editable
    submitted = [] if is_editable else [found]
    assert catalogue.drafts.submitted(None, 9) == submitted


def test_published_drafts_are_searched_filtered_and_sorted(catalogue: Catalogue) -> None:
    titles = ("ONÇA", "anta 100%", "Zebra_\\", HOSTILE)
    for number, title in enumerate(titles, 1):
        kept = replace(draft(number, changed=number), title=title)
        catalogue.drafts.open(kept)
        complete(catalogue, kept, number)
    unfinished, revision = draft(11), replace(draft(12), forms=None)
    for each in (unfinished, revision, replace(draft(13, owner="other"), title="Onça")):
        catalogue.drafts.open(each)
    complete(catalogue, revision, 20)

    def found(skip: int = 0, limit: int = 9, **choice: str) -> list[int]:
        pages = catalogue.drafts.published(PublishedChoice(owner="me", **choice), skip, limit)
        return [int(each.draft.id.removeprefix("draft"), 16) for each in pages]

    assert found() == [4, 3, 2, 1]
    assert found(order="oldest") == [1, 2, 3, 4]
    assert found(order="title") == [4, 2, 1, 3]
    assert (found(1, 2), found(4, 2)) == ([3, 2], [])
    assert found(words="ANTA") == [2]
    assert (found(words="100%"), found(words="_\\"), found(words="%")) == ([2], [3], [2])
    assert found(words=HOSTILE[:20]) == [4]
    assert found(words=forms(3).label.canonical.lower()) == [3]
    assert (found(words="onça"), found(words="Onça"), found(words="豹")) == ([1], [1], [])
    assert (found(words="\ud800zz"), found(words="a\0")) == ([], [])
    assert (found(state="Original"), found(state="Deleted")) == ([4, 3, 2, 1], [])
    [first, *_] = catalogue.drafts.published(PublishedChoice(owner="me"), 0, 1)
    assert (first.draft.state, first.state) == (DraftState.PUBLISHED, "Original")


def test_of_a_discarded_draft_only_the_label_is_kept(catalogue: Catalogue) -> None:
    catalogue.drafts.open(replace(draft(1), fields='[["a","1"]]', title="T"))
    catalogue.drafts.move(draft(1).id, DraftState.DISCARDED, OPEN, DraftComment(6, "me", ""))
    assert catalogue.drafts.get(draft(1).id) == replace(
        draft(1), state=DraftState.DISCARDED, changed=6
    )
    assert catalogue.deposits.get(draft(1).id) is None
    assert catalogue.drafts.with_label(forms(1).label.canonical) == draft(1).id
    assert catalogue.drafts.of_owner("me", None, 9) == catalogue.drafts.submitted(None, 9) == []


def test_drafts_are_listed_in_pages_those_that_changed_last_first(catalogue: Catalogue) -> None:
    kept = [draft(number, changed=number // 2) for number in range(9)]
    for each in (*kept, draft(20, owner="other")):
        catalogue.drafts.open(each)
    expected = sorted(kept, key=lambda each: (each.changed, each.id), reverse=True)
    found: list[DepositDraft] = []
    after = None
    while page := catalogue.drafts.of_owner("me", after, 2):
        found += page
        after = DraftPlace(page[-1].changed, page[-1].id)
    assert found == expected
    assert catalogue.drafts.count("me") == len(expected)
    assert [each.id for each in catalogue.drafts.unchanged_since(2, 3)] == [
        each.id for each in kept[:3]
    ]
    catalogue.drafts.touch(kept[0].id, 7)
    catalogue.drafts.touch(kept[0].id, 6)
    [newest] = catalogue.drafts.of_owner("me", None, 1)
    assert newest == replace(kept[0], changed=7)
