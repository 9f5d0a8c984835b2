"""The statistics of an archive as a page."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ibi.archive.ports.statistics import MonthCounts
from ibi.archive.rules.calendar import monthly, yearly
from ibi.archive.web.statistics_view import statistics_view
from tests.support.servers.archive import ArchiveServer
from tests.support.waiting import wait_until

HTML = "text/html"
COUNTS = [MonthCounts("2024-11", 2, 4, 100, 3, 9, 8), MonthCounts("2025-02", 1, 1, 50, 0, 7, 0)]


def test_months_without_anything_are_there_and_totals_run() -> None:
    months = monthly(COUNTS, "2025-03-31")
    assert [each.period for each in months] == [
        *("2024-11", "2024-12", "2025-01", "2025-02", "2025-03")
    ]
    assert [each.items for each in months] == [2, 0, 0, 1, 0]
    assert [each.all_size for each in months] == [100, 100, 100, 150, 150]
    assert [
        (each.period, each.items, each.accesses, each.all_files) for each in yearly(months)
    ] == [
        ("2024", 2, 3, 4),
        ("2025", 1, 0, 5),
    ]
    assert [(each.views, each.downloads) for each in yearly(months)] == [(9, 8), (7, 0)]


def test_a_new_archive_and_a_clock_that_is_behind_have_one_month() -> None:
    assert [each.period for each in monthly([], "2026-11-18")] == ["2026-11"]
    assert [each.period for each in monthly(COUNTS, "2024-11-01")][-1] == "2025-02"


def test_a_view_has_the_last_months_or_those_of_a_year() -> None:
    months = monthly(COUNTS, "2026-03-31")
    view = statistics_view(months, "")
    assert [each.period for each in view.months] == [each.period for each in months[-12:]]
    assert (view.total.items, view.total.files, view.total.size, view.total.accesses) == (
        3,
        5,
        150,
        3,
    )
    assert (view.total.views, view.total.downloads) == (16, 8)
    assert [each.period for each in view.years] == ["2025", "2024"]
    assert [each.period for each in statistics_view(months, "2024").months] == [
        "2024-11",
        "2024-12",
    ]
    assert statistics_view(months, "1999").months == ()
    year = statistics_view(months, "2024").total
    assert (year.items, year.files, year.size, year.accesses) == (2, 4, 100, 3)
    assert (year.views, year.downloads) == (9, 8)
    assert view.storage.ticks[0] >= 150


@pytest.fixture(scope="module", params=[1, 2], ids=["alone", "workers"])
def archive(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ArchiveServer]:
    server = ArchiveServer(tmp_path_factory.mktemp("archive"))
    server.set(workers=request.param)
    with server:
        yield server


@pytest.fixture
def page(archive: ArchiveServer) -> Callable[..., str]:
    def get(query: str = "", language: str = "en") -> str:
        answer = archive.get(f"/statistics{query}", Accept=HTML, **{"Accept-Language": language})
        assert answer.status == 200
        return answer.body.decode()

    return get


def figures(text: str) -> list[str]:
    return re.findall(r"<dd>([^<]+)</dd>", text.partition("</dl>")[0])


def test_the_page_shows_what_is_kept(archive: ArchiveServer, page: Callable[..., str]) -> None:
    def deposit(**files: bytes) -> dict[str, Any]:
        named = {f"{name}.txt": content for name, content in files.items()}
        return archive.deposit(named, target=next(iter(named)))

    wait_until(lambda: "The archive is counting" not in page())
    before = figures(page())
    item = deposit(a=b"1" * 3000, b=b"2" * 1500)
    deposit(c=b"3")
    after = figures(page())
    assert int(after[0]) - int(before[0]) == 2
    assert int(after[1]) - int(before[1]) == 3
    deleted = archive.api("POST", f"items/{item['rep']}/deletion", {"reason": "wrong"})
    assert deleted.status in {200, 204}, deleted.body
    assert int(figures(page())[0]) - int(before[0]) == 1


def test_the_page_has_plots_without_text_and_tables_of_the_same_numbers(
    page: Callable[..., str],
) -> None:
    text = page()
    drawings = [each.partition("</svg>")[0] for each in text.split("<svg viewBox")[1:]]
    assert len(drawings) == 4
    for each in drawings:
        assert "<text" not in each
        assert 'role="img" aria-label="' in each
    month = datetime.now(UTC).strftime("%B %Y")
    assert f'<th scope="row">{month}</th>' in text
    assert 'href="#months">As a table' in text
    assert 'id="months"' in text
    assert len(text.encode()) < 100_000


def test_the_page_speaks_portuguese_and_is_in_the_navigation(page: Callable[..., str]) -> None:
    text = page("?lang=pt")
    assert "<h1>Estatísticas</h1>" in text
    assert 'href="/statistics?lang=pt" aria-current="page">Estatísticas<' in text
    assert "Os últimos doze meses" in text


def test_a_year_has_its_own_page(archive: ArchiveServer, page: Callable[..., str]) -> None:
    year = datetime.now(UTC).year
    text = page(f"?year={year}")
    assert f"<h1>Statistics of {year}</h1>" in text
    assert f'href="/statistics?year={year}"' in text
    for unknown in ("1999", "x", "20266", "%00", str(year + 1)):
        assert archive.get(f"/statistics?year={unknown}", Accept=HTML).status == 404


def test_an_archive_counts_anew_after_a_rebuild(tmp_path: Path) -> None:
    server = ArchiveServer(tmp_path)
    with server:
        for content in (b"1", b"22"):
            server.deposit({"a.txt": content})
    assert server.ibi("rebuild").returncode == 0
    with server:

        def shown() -> str:
            return server.get("/statistics", Accept=HTML).body.decode()

        wait_until(lambda: "The archive is counting" not in shown())
        assert figures(shown())[:3] == ["2", "2", "3 bytes"]
