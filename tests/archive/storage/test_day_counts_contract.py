"""Counts by month: whatever happens, they are those that a look at all items gives."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import apsw
import pytest

from ibi.archive.ports.catalogue import Catalogue, ManifestItem, StoredChange
from ibi.archive.ports.statistics import Access, MonthCounts
from ibi.archive.rules.calendar import day_of
from ibi.archive.storage.catalogue.catalogue import sql_catalogue
from ibi.archive.storage.catalogue.day_counts import _PART
from ibi.archive.storage.migrations import ARCHIVE_MIGRATIONS
from ibi.foundation.sql.sqlite import Sqlite
from ibi.foundation.sql.upgrade import upgrade
from ibi.model.change import Change, ItemChange
from ibi.model.clock import SECOND
from ibi.model.item import File, Item, State
from tests.support.scenes.catalogue import CatalogueDatabase
from tests.support.scenes.small_archive import file, forms

DAY = 86_400 * SECOND
MAY, JUNE = 20_574 * DAY, 20_605 * DAY
"""2026-05-01 and 2026-06-01."""


class _CountedConnection(apsw.Connection):
    """A connection to SQLite whose steps are counted, ten at a time."""

    steps = 0

    def __init__(self, *given: Any, **named: Any) -> None:  # noqa: ANN401  # as they come
        super().__init__(*given, **named)
        self.set_progress_handler(self._count, 10)

    def _count(self) -> bool:
        _CountedConnection.steps += 1
        return False


def item(number: int, created: int = MAY, **facts: object) -> Item:
    return Item(forms=forms(number), created=created, **facts)  # type: ignore[arg-type]


def applied(catalogue: Catalogue, *changes: ItemChange) -> None:
    label = changes[0].item.forms.label.canonical
    id_ = f"{label} {changes[0].version} {changes[0].item.state} {len(changes[0].files)}"
    change = Change(id=id_, at=7, who="me", act="deposit", label=label, items=changes)
    catalogue.items.apply(change, lambda _: None)


def new(number: int, created: int, *files: File, kind: str = "data") -> ItemChange:
    return ItemChange(item=item(number, created, kind=kind), files=files, adopted="deposit")


def expected(catalogue: Catalogue) -> list[MonthCounts]:
    """Return the same by a look at everything."""
    months: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0, 0, 0])
    for each in catalogue.statistics.holdings():
        if each.kind == "data" and each.state != "Deleted":
            counts = months[day_of(each.day).isoformat()[:7]]
            for place, number in enumerate((each.items, each.files, each.size)):
                counts[place] += number
    for day in catalogue.statistics.accesses("", "9"):
        months[day.day[:7]][3] += day.count
    for use in catalogue.statistics.usage("", "9"):
        months[use.day[:7]][4] += use.views
        months[use.day[:7]][5] += use.downloads
    return [MonthCounts(month, *counts) for month, counts in sorted(months.items())]


def counted(catalogue: Catalogue) -> list[MonthCounts]:
    """Return the months that have anything."""
    months = catalogue.statistics.months()
    return [each for each in months if any((each.items, each.accesses, each.views, each.downloads))]


def filled(catalogue: Catalogue) -> None:
    for _ in range(100):
        if not catalogue.statistics.fill():
            break
    assert catalogue.statistics.is_whole()


def test_deposits_changes_and_deletions_are_counted_at_once(catalogue: Catalogue) -> None:
    filled(catalogue)
    applied(catalogue, new(1, MAY, file("a", b"12345"), file("b", b"1")))
    applied(catalogue, new(2, JUNE, file("c", b"123")), new(3, JUNE, kind="metadata"))
    assert counted(catalogue) == [
        MonthCounts("2026-05", 1, 2, 6, 0),
        MonthCounts("2026-06", 1, 1, 3, 0),
    ]
    revised = (file("a", b"12"), file("d", b"1234567"))
    applied(
        catalogue,
        ItemChange(item=item(1), files=revised, version=1, put=("a", "d"), removed=("b",)),
    )
    assert counted(catalogue)[0] == MonthCounts("2026-05", 1, 2, 9, 0)
    gone = item(2, JUNE, state=State.DELETED)
    applied(catalogue, ItemChange(item=gone, version=1, cleared=True))
    assert counted(catalogue) == [MonthCounts("2026-05", 1, 2, 9, 0)] == expected(catalogue)


def test_accesses_are_counted_and_leave_with_a_dropped_item(catalogue: Catalogue) -> None:
    filled(catalogue)
    applied(catalogue, new(1, MAY), new(2, MAY))
    numbers = [each.id for each in catalogue.items.page(0, 9)]
    accesses = [
        Access(numbers[0], "2026-07-01", 1, 1, 9, count=5),
        Access(numbers[1], "2026-07-31", 1, 2, 9, count=2),
        Access(numbers[1], "2026-07-31", 1, 2, 9, count=2),
    ]
    catalogue.statistics.count_accesses(accesses)
    assert counted(catalogue)[-1] == MonthCounts("2026-07", 0, 0, 0, 7)
    applied(catalogue, ItemChange(item=item(1), version=1, dropped=True))
    assert counted(catalogue) == expected(catalogue)
    assert counted(catalogue)[-1] == MonthCounts("2026-07", 0, 0, 0, 2)


def test_views_and_downloads_are_counted_and_leave_with_a_dropped_item(
    catalogue: Catalogue,
) -> None:
    filled(catalogue)
    applied(catalogue, new(1, MAY), new(2, MAY))
    numbers = [each.id for each in catalogue.items.page(0, 9)]
    unknown = max(numbers) + 100
    catalogue.statistics.count_usage(
        {
            (numbers[0], "2026-07-01"): (5, 1),
            (numbers[1], "2026-07-31"): (2, 3),
            (unknown, "2026-07-31"): (7, 7),
        }
    )
    catalogue.statistics.count_usage({(numbers[1], "2026-07-31"): (1, 0)})
    assert counted(catalogue)[-1] == MonthCounts("2026-07", 0, 0, 0, 0, 8, 4)
    applied(catalogue, ItemChange(item=item(1), version=1, dropped=True))
    assert counted(catalogue)[-1] == MonthCounts("2026-07", 0, 0, 0, 0, 3, 3)
    assert counted(catalogue) == expected(catalogue)


def test_a_restored_item_is_counted_once(catalogue: Catalogue) -> None:
    filled(catalogue)
    applied(catalogue, new(1, MAY, file("a", b"12345")))
    for files in ((file("a", b"1"),), (file("a", b"1"), file("b", b"23"))):
        stored = StoredChange("change", 7, "me", "deposit", forms(1).label.canonical, "", "", ())
        catalogue.items.restore(stored, [ManifestItem(item(1, JUNE), files, 1, 1)])
        assert counted(catalogue) == expected(catalogue)
    catalogue.items.restore(replace(stored, id="other"), [], [forms(1).label.canonical])
    assert counted(catalogue) == []


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 4))]
)
def test_items_are_counted_once_while_older_ones_are_still_added(
    place: CatalogueDatabase, seed: int
) -> None:
    """Changes, reads and steps of the fill in any order give the same counts in the end."""
    catalogue = place()
    drawn = random.Random(seed)  # noqa: S311  # the same every time
    filled(catalogue)
    rebuild = catalogue.rebuild()  # empties the counts: all that follows is filled again
    rebuild.finish()
    assert not catalogue.statistics.is_whole()
    versions: dict[int, int] = {}
    nonce = 0
    for number in range(1, _PART + 40):
        files = tuple(file(f"f{each}", b"x" * each) for each in range(drawn.randrange(3)))
        applied(catalogue, new(number, drawn.choice((MAY, JUNE)), *files))
        versions[number] = 1
    for _ in range(120):
        number = drawn.choice([*versions])
        match drawn.randrange(8):
            case 0:
                catalogue.statistics.fill()
            case 1:
                last = max(versions, default=0) + 1 + _PART
                applied(catalogue, new(last, JUNE, file("a", b"12")))
                versions[last] = 1
            case 2:
                gone = item(number, MAY, state=State.DELETED)
                change = ItemChange(item=gone, version=versions.pop(number), cleared=True)
                applied(catalogue, change)
            case 3:
                applied(
                    catalogue,
                    ItemChange(item=item(number), version=versions.pop(number), dropped=True),
                )
            case 4 | 5:
                name = f"n{drawn.randrange(10**6)}"
                change = ItemChange(
                    item=item(number, drawn.choice((MAY, JUNE))),
                    files=(file(name, b"123"),),
                    version=versions[number],
                    put=(name,),
                )
                applied(catalogue, change)
                versions[number] += 1
            case 6:
                held = catalogue.items.find(forms(number).label.canonical)
                assert held is not None
                day = drawn.choice(("2026-05-02", "2026-07-01"))
                catalogue.statistics.count_usage({(held.id, day): (2, 1)})
            case _:
                nonce += 1
                held = catalogue.items.find(forms(number).label.canonical)
                assert held is not None
                used = Access(held.id, drawn.choice(("2026-05-02", "2026-07-01")), 1, nonce, 9)
                assert catalogue.statistics.count_accesses([used]) == [True]
    filled(catalogue)
    assert counted(catalogue) == expected(catalogue)


def test_a_new_process_goes_on_where_another_stopped(place: CatalogueDatabase) -> None:
    catalogue = place()
    for number in range(1, 2 * _PART):
        applied(catalogue, new(number, MAY))
    assert catalogue.statistics.months() == []
    assert catalogue.statistics.fill()
    assert [each.items for each in place().statistics.months()] == [_PART]
    filled(place())
    assert [each.items for each in catalogue.statistics.months()] == [2 * _PART - 1]


def test_a_change_reads_its_own_items_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the number of items, SQLite takes as many steps for a change."""
    path = tmp_path / "catalogue.sqlite"
    upgrade(str(path), ARCHIVE_MIGRATIONS, postgresql=False)
    monkeypatch.setattr(apsw, "Connection", _CountedConnection)
    catalogue = sql_catalogue(Sqlite(path), quick=True)
    filled(catalogue)
    steps = []
    for number in range(1, 400):
        before = _CountedConnection.steps
        applied(catalogue, new(number, MAY, file("a", b"1")), new(1000 + number, MAY))
        steps.append(_CountedConnection.steps - before)
    # The index of the search is merged now and then: the median has none of that.
    assert median(steps[-50:]) < 1.5 * median(steps[:50])
