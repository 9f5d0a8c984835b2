"""What a catalogue keeps so that an archive lasts, and its numbers: the same on every database."""

from __future__ import annotations

import secrets
import threading
from dataclasses import replace
from typing import Any

import pytest

from ibi.archive.ports.catalogue import Catalogue, HistoryChoice, HistoryEntry, StoredChange
from ibi.archive.ports.maintenance import CopyRecord, Damage, TransferRecord
from ibi.archive.ports.statistics import (
    Access,
    DayAccesses,
    HoldingCount,
    MaintenanceCounts,
    TaskCount,
    TransferCount,
)
from ibi.errors import StateError
from ibi.identifier.label import parse
from ibi.model.change import Act, Change, ItemChange
from ibi.model.item import File, Item, State
from ibi.model.task import Task, TaskState
from tests.support.scenes.catalogue import CatalogueDatabase
from tests.support.scenes.small_archive import file, forms
from tests.support.waiting import PATIENCE

LEGACY = parse("6qtX3pFwXQZGivnK2Y/SskcB")
DAY = 86_400 * 10**9
HOSTILE = "'; DROP TABLE archive_task; --\n\N{REPLACEMENT CHARACTER}é\U0001f600"


def task(name: str, **facts: Any) -> Task:  # noqa: ANN401
    return replace(Task(id=name, kind="audit", who="me", begun=1), **facts)


def apply(catalogue: Catalogue, *items: ItemChange, act: Act = "deposit", at: int = 7) -> None:
    label = items[0].item.forms.label.canonical
    changed = Change(id=secrets.token_hex(4), at=at, who="me", act=act, label=label, items=items)
    catalogue.items.apply(changed, lambda _: None)


def put(catalogue: Catalogue, item: Item, *files: File) -> int:
    apply(catalogue, ItemChange(item=item, files=files, adopted="d" if files else ""))
    held = catalogue.items.find(item.forms.label.canonical)
    assert held is not None
    return held.id


# --- tasks ----------------------------------------------------------------------------------------


def test_a_task_is_kept_as_it_is(place: CatalogueDatabase) -> None:
    kept = Task(
        id="t1",
        kind="audit",
        who="é",
        begun=2**62,
        request='{"ç": "\\u0000"}',
        state=TaskState.RUNNING,
        done=2**61,
        total=2**62,
        place=HOSTILE,
        note=HOSTILE,
        result='{"x": [1]}',
        ended=5,
    )
    place().tasks.keep(kept)
    assert place().tasks.get("t1") == kept
    for unknown in ("t2", "", "t1\0", "\ud800"):
        assert place().tasks.get(unknown) is None


def test_what_is_known_later_of_a_task_takes_the_place_of_what_was(catalogue: Catalogue) -> None:
    first = task("t1", request='{"a": 1}')
    later = task(
        "t1", state=TaskState.DONE, done=3, total=4, place="p", note="n", result='{"b": 2}', ended=9
    )
    catalogue.tasks.keep(first)
    catalogue.tasks.keep(later)
    # What was asked for, by whom and when, nobody changes any more.
    assert catalogue.tasks.get("t1") == replace(later, request=first.request)


def test_a_note_that_no_database_can_have_is_kept_with_marks(catalogue: Catalogue) -> None:
    catalogue.tasks.keep(task("t1", note="a\0b\ud800c"))
    found = catalogue.tasks.get("t1")
    assert found is not None
    assert found.note == "a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}c"


def test_tasks_come_the_newest_first(catalogue: Catalogue) -> None:
    kept = [
        task("b", begun=5),
        task("a", begun=5, kind="copy"),
        task("c", begun=9, state=TaskState.DONE),
        task("d", begun=1, state=TaskState.RUNNING),
    ]
    for each in kept:
        catalogue.tasks.keep(each)
    assert [each.id for each in catalogue.tasks.newest(9)] == ["c", "a", "b", "d"]
    assert [each.id for each in catalogue.tasks.newest(2)] == ["c", "a"]
    assert [each.id for each in catalogue.tasks.newest(9, "audit")] == ["c", "b", "d"]
    assert [each.id for each in catalogue.tasks.newest(1, "audit")] == ["c"]
    for unknown in ("nothing", "a\0", "\ud800"):
        assert catalogue.tasks.newest(9, unknown) == []
    assert [each.id for each in catalogue.tasks.unfinished()] == ["d", "a", "b"]


@pytest.mark.parametrize("state", TaskState)
def test_only_what_has_not_ended_is_unfinished(catalogue: Catalogue, state: TaskState) -> None:
    catalogue.tasks.keep(task("t1", state=state))
    assert (catalogue.tasks.unfinished() == []) is state.has_ended


# --- transfers, copies, damage --------------------------------------------------------------------


def exchange(name: str, **facts: Any) -> TransferRecord:  # noqa: ANN401
    made = TransferRecord(id=name, label="l", role="giving", peer="http://p", secret="s", since=1)  # noqa: S106
    return replace(made, **facts)


def test_transfers_are_kept_the_oldest_first(catalogue: Catalogue) -> None:
    kept = [
        exchange("b", since=5, role="receiving"),
        exchange("a", since=5, state="done"),
        exchange("c", since=2**62, state="undone", fault=HOSTILE),
        exchange("d"),
    ]
    for each in kept:
        catalogue.transfers.keep(each)
        assert catalogue.transfers.get(each.id) == each
    assert [each.id for each in catalogue.transfers.listed()] == ["d", "a", "b", "c"]
    assert [each.id for each in catalogue.transfers.listed(limit=2)] == ["b", "c"]
    assert [each.id for each in catalogue.transfers.listed("open")] == ["d", "b"]
    assert [each.id for each in catalogue.transfers.listed("open", 1)] == ["b"]
    for unknown in ("e", "", "a\0", "\ud800"):
        assert catalogue.transfers.get(unknown) is None


def test_what_ends_a_transfer_is_kept_and_what_it_is_about_stays(catalogue: Catalogue) -> None:
    catalogue.transfers.keep(exchange("x"))
    ended = exchange("x", peer="http://q", secret="", state="done", fault="a\0")
    catalogue.transfers.keep(replace(ended, label="other", role="receiving", since=99))
    assert catalogue.transfers.get("x") == replace(ended, fault="a\N{REPLACEMENT CHARACTER}")


def test_copies_that_were_looked_at_longest_ago_come_first(catalogue: Catalogue) -> None:
    kept = [CopyRecord(label=name, checked=at) for name, at in (("b", 3), ("a", 3), ("c", 0))]
    for each in kept:
        catalogue.copies.keep(each)
    assert [each.label for each in catalogue.copies.due(4, 9)] == ["c", "a", "b"]
    assert [each.label for each in catalogue.copies.due(4, 2)] == ["c", "a"]
    assert [each.label for each in catalogue.copies.due(3, 9)] == ["c"]
    later = CopyRecord(label="c", checked=2**62, missing=7, fault=HOSTILE)
    catalogue.copies.keep(later)
    assert catalogue.copies.get("c") == later
    catalogue.copies.drop("c")
    catalogue.copies.drop("nobody")
    assert catalogue.copies.get("c") is None
    assert catalogue.copies.get("a") == kept[1]


PATHS = ["Z/z", "a", "a b", "a-b", "a/b", "b", "á", "中", "\U0001f600"]


def test_damage_comes_by_label_and_path_on_every_database(catalogue: Catalogue) -> None:
    kept = [
        Damage(label=label, path=path, found=5, what="it is shorter")
        for label in ("b", "B", "a/c")
        for path in reversed(PATHS)
    ]
    for each in kept:
        catalogue.damages.keep(each)
    ordered = sorted(kept, key=lambda each: (each.label, each.path))
    assert catalogue.damages.page() == ordered
    pages: list[Damage] = []
    while page := catalogue.damages.page(
        (pages[-1].label, pages[-1].path) if pages else ("", ""), 4
    ):
        assert len(page) <= 4
        pages += page
    assert pages == ordered
    assert catalogue.damages.page(("b", "a\0zzz"), 1) == [ordered[-7]]


def test_damage_is_known_since_it_was_found_first(catalogue: Catalogue) -> None:
    first = Damage(label="a", path="p", found=5, what="it is shorter")
    catalogue.damages.keep(first)
    catalogue.damages.keep(replace(first, found=9, what="it is\0gone"))
    [found] = catalogue.damages.page()
    assert found == replace(first, what="it is\N{REPLACEMENT CHARACTER}gone")
    catalogue.damages.drop("a", "q")
    catalogue.damages.drop("b", "p")
    assert catalogue.damages.page() == [found]
    catalogue.damages.drop("a", "p")
    assert catalogue.damages.page() == []


# --- a Copy that is dropped -----------------------------------------------------------------------


def test_of_a_dropped_copy_nothing_stays_but_the_history(catalogue: Catalogue) -> None:
    copy = Item(forms=forms(1), state=State.COPY, further_names=(LEGACY,))
    number = put(catalogue, copy, file("a"), file("b"))
    other = put(catalogue, Item(forms=forms(2)), file("a"))
    catalogue.statistics.count_accesses(
        [Access(each, "2026-11-15", 1, each, 9) for each in (number, other)]
    )
    canonical = forms(1).label.canonical
    catalogue.copies.keep(CopyRecord(label=canonical, checked=1))
    catalogue.damages.keep(Damage(label=canonical, path="a", found=1, what="x"))
    apply(catalogue, ItemChange(item=copy, version=1, dropped=True), act="drop")
    for label in copy.names:
        assert catalogue.items.find(label.canonical) is None
    assert catalogue.copies.get(canonical) is None
    assert catalogue.damages.page() == []
    assert catalogue.items.files(number) == []
    assert catalogue.statistics.accesses("", "9") == [DayAccesses("2026-11-15", 1)]
    assert [each.item for each in catalogue.statistics.most_read("", "9", 9)] == [other]
    assert [held.id for held in catalogue.items.page(0, 9)] == [other]
    past = catalogue.history.entries(0, 9, HistoryChoice(label=canonical))
    assert [line.act for line in past] == ["deposit", "drop"]
    # It may come again, and its names with it.
    put(catalogue, copy)
    held = catalogue.items.find(LEGACY.canonical)
    assert held is not None
    assert (held.item, held.version) == (copy, 1)


def test_a_name_that_a_dropped_copy_had_once_names_nothing_later(catalogue: Catalogue) -> None:
    """The item that comes next may get its number, but must not get its names."""
    copy = Item(forms=forms(1), state=State.COPY, further_names=(LEGACY,))
    put(catalogue, copy)
    nameless = replace(copy, further_names=())
    apply(catalogue, ItemChange(item=nameless, version=1), act="copy")
    apply(catalogue, ItemChange(item=nameless, version=2, dropped=True), act="drop")
    put(catalogue, Item(forms=forms(2)))
    assert catalogue.items.find(LEGACY.canonical) is None
    put(catalogue, Item(forms=forms(3), further_names=(LEGACY,)))
    held = catalogue.items.find(LEGACY.canonical)
    assert held is not None
    assert held.item.forms == forms(3)


def test_a_copy_that_was_changed_meanwhile_is_not_dropped(catalogue: Catalogue) -> None:
    copy = Item(forms=forms(1), state=State.COPY)
    put(catalogue, copy, file("a"))
    apply(catalogue, ItemChange(item=copy, files=(file("a"),), version=1), act="copy")
    with pytest.raises(StateError, match="was changed meanwhile"):
        apply(catalogue, ItemChange(item=copy, version=1, dropped=True), act="drop")
    [held] = catalogue.items.page(0, 9)
    assert len(catalogue.items.files(held.id)) == 1


def test_a_dropped_copy_is_restored_as_nothing(catalogue: Catalogue) -> None:
    put(catalogue, Item(forms=forms(1), state=State.COPY, further_names=(LEGACY,)), file("a"))
    label = forms(1).label.canonical
    stored = StoredChange("c9", 7, "me", "drop", label, "", "", (label,), (label,))
    for _ in range(2):
        catalogue.items.restore(stored, [], [label])
        assert catalogue.items.page(0, 9) == []
        assert catalogue.items.find(LEGACY.canonical) is None
        assert [line.act for line in catalogue.history.entries(0, 9)] == ["deposit", "drop"]


# --- history --------------------------------------------------------------------------------------


def noted(catalogue: Catalogue) -> list[HistoryEntry]:
    facts = [("link", "a", 3), ("reserve", "b", 5), ("link", "b", 5), ("link", "a", 2**62)]
    for number, (act, who, at) in enumerate(facts):
        catalogue.history.note(HistoryEntry(0, f"c{number}", at, who, act, "", "{}"))
    return catalogue.history.entries(0, 9)


CHOICES = [
    (HistoryChoice(), [0, 1, 2, 3]),
    (HistoryChoice(act="link"), [0, 2, 3]),
    (HistoryChoice(who="b"), [1, 2]),
    (HistoryChoice(act="link", who="a"), [0, 3]),
    (HistoryChoice(since=5), [1, 2, 3]),
    (HistoryChoice(before=5), [0]),
    (HistoryChoice(since=3, before=6, who="b", act="reserve"), [1]),
    (HistoryChoice(label="nothing"), []),
    (HistoryChoice(act="link\0"), []),
    (HistoryChoice(who="\ud800"), []),
]


@pytest.mark.parametrize(("choice", "expected"), CHOICES)
def test_history_is_read_by_choice(
    catalogue: Catalogue, choice: HistoryChoice, expected: list[int]
) -> None:
    entries = noted(catalogue)
    wanted = [entries[number] for number in expected]
    assert catalogue.history.entries(0, 9, choice) == wanted
    assert catalogue.history.entries(0, 9, choice, newest_first=True) == wanted[::-1]
    acts = [entry.act for entry in wanted]
    assert catalogue.history.acts(choice) == {act: acts.count(act) for act in sorted(set(acts))}


def test_history_is_read_from_the_end_page_by_page(catalogue: Catalogue) -> None:
    entries = noted(catalogue)
    pages: list[HistoryEntry] = []
    while page := catalogue.history.entries(pages[-1].number if pages else 0, 3, newest_first=True):
        pages += page
    assert pages == entries[::-1]


# --- numbers --------------------------------------------------------------------------------------


def test_holdings_are_told_by_kind_state_and_day(catalogue: Catalogue) -> None:
    assert catalogue.statistics.holdings() == []
    put(catalogue, Item(forms=forms(1), created=3 * DAY), file("a", b"12"), file("b", b"345"))
    put(catalogue, Item(forms=forms(2), created=4 * DAY - 1), file("a", b"6"))
    put(catalogue, Item(forms=forms(3), created=4 * DAY))
    put(catalogue, Item(forms=forms(4), created=4 * DAY, state=State.COPY), file("a", b""))
    put(catalogue, Item(forms=forms(5), kind="metadata"))
    assert catalogue.statistics.holdings() == [
        HoldingCount("data", "Copy", 4, 1, 1, 0),
        HoldingCount("data", "Original", 3, 2, 3, 6),
        HoldingCount("data", "Original", 4, 1, 0, 0),
        HoldingCount("metadata", "Original", 0, 1, 0, 0),
    ]


def test_upkeep_is_told_in_numbers(catalogue: Catalogue) -> None:
    nothing = MaintenanceCounts(copies=0, missing=0, faulty=0, damaged=0, exchanges=(), tasks=())
    assert catalogue.statistics.maintenance_counts() == nothing
    catalogue.copies.keep(CopyRecord(label="a", checked=1))
    catalogue.copies.keep(CopyRecord(label="b", checked=1, missing=2))
    catalogue.copies.keep(CopyRecord(label="c", checked=1, missing=2, fault="x"))
    catalogue.damages.keep(Damage(label="a", path="p", found=1, what="x"))
    for name, state in (("a", "open"), ("b", "done"), ("c", "done")):
        catalogue.transfers.keep(exchange(name, state=state))
    for name, begun in (("a", 3), ("b", 9), ("c", 5)):
        catalogue.tasks.keep(task(name, begun=begun, state=TaskState.DONE))
    catalogue.tasks.keep(task("d"))
    assert catalogue.statistics.maintenance_counts() == MaintenanceCounts(
        copies=3,
        missing=2,
        faulty=1,
        damaged=1,
        exchanges=(TransferCount("giving", "done", 2), TransferCount("giving", "open", 1)),
        tasks=(TaskCount("audit", "done", 3, 9), TaskCount("audit", "waiting", 1, 1)),
    )


def test_who_counts_waits_for_no_writer(place: CatalogueDatabase) -> None:
    """Nor would a reader wait for who counts: each has a connection of its own."""
    catalogue = place()
    put(catalogue, Item(forms=forms(1)))
    counted: list[int] = []

    def count(_: Change) -> None:
        thread = threading.Thread(
            target=lambda: counted.append(
                sum(each.items for each in catalogue.statistics.holdings())
            )
        )
        thread.start()
        thread.join(PATIENCE)

    changed = Change(
        id="c",
        at=1,
        who="me",
        act="deposit",
        label="x",
        items=(ItemChange(item=Item(forms=forms(2))),),
    )
    catalogue.items.apply(changed, count)
    assert counted == [1]
