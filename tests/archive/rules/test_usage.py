"""Views and downloads: what counts, and double clicks."""

from __future__ import annotations

import pytest

from ibi.archive.rules.statistics import usage
from ibi.archive.rules.statistics.usage import UsageTally, Visit, is_counted

MIDNIGHT = 20_000 * 86_400
"""2024-10-04, 00:00 UTC."""


def view(item: int, key: int, second: int) -> Visit:
    return Visit(item, is_download=False, key=key, second=second)


def download(item: int, key: int, second: int) -> Visit:
    return Visit(item, is_download=True, key=key, second=second)


@pytest.mark.parametrize(
    ("method", "status", "content_range", "counts"),
    [
        ("GET", 200, "", True),
        ("GET", 304, "", True),
        ("GET", 302, "", True),
        ("GET", 206, "bytes 0-9/100", True),
        ("GET", 206, "bytes 10-19/100", False),
        ("GET", 206, "", False),
        ("HEAD", 200, "", False),
        ("GET", 404, "", False),
        ("GET", 416, "", False),
    ],
)
def test_only_successful_answers_count(
    method: str, status: int, content_range: str, *, counts: bool
) -> None:
    assert is_counted(method, status, content_range) is counts


def test_visits_are_added_up_by_item_kind_and_day() -> None:
    visits = [
        view(1, 10, MIDNIGHT - 1),
        view(1, 11, MIDNIGHT),
        download(1, 12, MIDNIGHT),
        download(2, 13, MIDNIGHT),
    ]
    assert UsageTally().add(visits) == {
        (1, "2024-10-03"): (1, 0),
        (1, "2024-10-04"): (1, 1),
        (2, "2024-10-04"): (0, 1),
    }


def test_double_clicks_count_once_also_across_batches() -> None:
    tally = UsageTally()
    assert tally.add([view(1, 7, MIDNIGHT), view(1, 7, MIDNIGHT + 29)]) == {
        (1, "2024-10-04"): (1, 0)
    }
    assert tally.add([view(1, 7, MIDNIGHT + 58)]) == {}
    assert tally.add([view(1, 7, MIDNIGHT + 88)]) == {(1, "2024-10-04"): (1, 0)}


def test_memory_of_double_clicks_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usage, "MAX_REMEMBERED", 2)
    tally = UsageTally()
    visits = [view(1, key, MIDNIGHT) for key in (1, 2, 3, 3, 1)]
    assert tally.add(visits) == {(1, "2024-10-04"): (4, 0)}
    assert tally.add([view(1, 3, MIDNIGHT + 60)]) == {(1, "2024-10-04"): (1, 0)}
    assert tally.add([view(1, 3, MIDNIGHT + 61)]) == {}
