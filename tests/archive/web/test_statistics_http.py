"""Statistics and history, as an administrator reads them: over HTTP and from the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from ibi.archive.ports.maintenance import CopyRecord, Damage, TransferRecord
from ibi.model.change import ItemChange
from tests.support.clients.http import PROBLEM
from tests.support.processes.shell import refusal
from tests.support.servers.archive_api import SmallService, small_service

DAYS = {"2024-12-30": 4, "2025-01-01": 1, "2026-11-02": 20, "2026-11-08": 3, "2026-11-09": 7}
UNKNOWN = "LK47B6W/362SFKH"


@dataclass
class Filled:
    """An archive of which something was read."""

    service: SmallService
    labels: list[str]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filled]:
    with small_service(tmp_path_factory.mktemp("statistics")) as service:
        small = service.small
        labels = [
            small.label({"a.txt": b"1" * size}, metadata={"title": title})
            for size, title in ((1000, "Ação \u202e"), (500, "Second"), (1, "Third"))
        ]
        small.archive.delete(labels[2], "me", "wrong")
        for day, count in DAYS.items():
            service.read(labels[0], day, count)
        service.read(labels[1], "2026-11-09", 12)
        catalogue = small.catalogue
        catalogue.copies.keep(CopyRecord(label="a", checked=1, missing=2))
        catalogue.damages.keep(Damage(label="a", path="p", found=1, what="x"))
        catalogue.transfers.keep(
            TransferRecord(id="x", label="a", role="giving", peer="p", secret="", since=1)
        )
        yield Filled(service, labels)


@pytest.fixture
def service(filled: Filled) -> SmallService:
    return filled.service


def counts(answer: dict[str, Any]) -> dict[str, int]:
    return {each["period"]: each["count"] for each in answer["accesses"]}


# --- accesses over time ---------------------------------------------------------------------------


def test_accesses_are_told_by_day_week_and_month(service: SmallService) -> None:
    by_day = service.told("statistics")
    assert (by_day["total"], by_day["by"], by_day["after"]) == (47, "day", "")
    assert counts(by_day) == {**DAYS, "2026-11-09": 19}
    by_week = service.told("statistics?by=week")
    assert counts(by_week) == {"2025-W01": 5, "2026-W45": 23, "2026-W46": 19}
    by_month = service.told("statistics?by=month")
    assert counts(by_month) == {"2024-12": 4, "2025-01": 1, "2026-11": 42}
    assert by_day["total"] == by_week["total"] == by_month["total"]


def test_accesses_are_told_of_some_days_and_of_one_item(filled: Filled) -> None:
    service = filled.service
    within = service.told("statistics?from=2025-01-01&to=2026-11-08")
    assert counts(within) == {"2025-01-01": 1, "2026-11-02": 20, "2026-11-08": 3}
    assert within["total"] == 24
    of_one = service.told(f"statistics?item={filled.labels[1]}&by=month")
    assert (of_one["total"], counts(of_one)) == (12, {"2026-11": 12})
    assert service.told("statistics?from=2026-01-01&to=2025-01-01")["total"] == 0


@pytest.mark.parametrize("by", ["day", "week", "month"])
def test_accesses_come_page_by_page(service: SmallService, by: str) -> None:
    whole = service.told(f"statistics?by={by}")
    pages, after = [], ""
    while True:
        page = service.told(f"statistics?by={by}&limit=2&after={after}")
        assert page["total"] == whole["total"]
        assert 1 <= len(page["accesses"]) <= 2
        pages += page["accesses"]
        after = page["after"]
        if not after:
            break
    assert pages == whole["accesses"]


@pytest.mark.parametrize(
    "query",
    [
        "from=yesterday",
        "to=2026-02-30",
        "from=2026-1-1",
        "from=%D9%A2026-01-01",
        "from=",
        "by=year",
        "by=",
        "limit=0",
        "limit=1001",
        "item=nonsense",
    ],
)
def test_what_makes_no_sense_is_refused(service: SmallService, query: str) -> None:
    answer = service.api(f"statistics?{query}")
    assert (answer.status, answer.headers["content-type"]) == (400, PROBLEM)


def test_an_unknown_item_is_told(service: SmallService) -> None:
    assert service.api(f"statistics?item={UNKNOWN}").status == 404
    assert service.api(f"history?item={UNKNOWN}").status == 404
    assert service.api(f"history/acts?item={UNKNOWN}").status == 404


# --- the most read --------------------------------------------------------------------------------


def test_the_most_read_items_are_told_with_their_titles(filled: Filled) -> None:
    service = filled.service
    whole = service.told("statistics/items")
    assert whole["after"] == ""
    assert [(each["rep"], each["title"], each["count"]) for each in whole["items"]] == [
        (filled.labels[0], "Ação \u202e", 35),
        (filled.labels[1], "Second", 12),
    ]
    assert whole["items"][0]["ibip"].startswith("8JMKD3MGP")
    [recent] = service.told("statistics/items?from=2026-11-09&limit=1")["items"]
    assert (recent["title"], recent["count"]) == ("Second", 12)
    first = service.told("statistics/items?limit=1")
    rest = service.told(f"statistics/items?limit=1&after={first['after']}")
    assert first["items"] + rest["items"] == whole["items"]
    last = service.told(f"statistics/items?after={rest['after']}")
    assert last == {"items": [], "after": ""}
    for wrong in ("after=x", "after=1", "after=-1-1", "after=1-1%00", "limit=0", "to=x"):
        assert service.api(f"statistics/items?{wrong}").status == 400


def test_metadata_are_read_under_their_own_label(tmp_path: Path) -> None:
    with small_service(tmp_path) as service:
        look = service.small.deposit({"a": b"1"})
        assert look.metadata is not None
        labels = [held.item.forms.label.spelling for held in (look.held, look.metadata)]
        for label, count in zip(labels, (2, 1), strict=True):
            service.read(label, "2026-11-15", count)
        told = service.told("statistics/items")["items"]
        assert [(each["rep"], each["title"], each["count"]) for each in told] == [
            (labels[0], "A title", 2),
            (labels[1], "A title", 1),
        ]


# --- what is held ---------------------------------------------------------------------------------


def test_holdings_are_told_in_numbers(service: SmallService) -> None:
    held = service.told("statistics/holdings")
    assert held["held"] == [
        {"kind": "data", "state": "Deleted", "items": 1, "files": 0, "bytes": 0},
        {"kind": "data", "state": "Original", "items": 2, "files": 2, "bytes": 1500},
        {"kind": "metadata", "state": "Original", "items": 3, "files": 0, "bytes": 0},
    ]
    assert held["growth"] == [{"month": "2023-11", "items": 2, "files": 2, "bytes": 1500}]
    assert held["copies"] == {"known": 1, "missing": 1, "faulty": 0}
    assert held["transfers"] == [{"role": "giving", "state": "open", "count": 1}]
    assert held["tasks"] == []
    assert held["damaged"] == 1


def test_numbers_are_for_who_may_read(service: SmallService) -> None:
    paths = ("statistics", "statistics/items", "statistics/holdings", "history", "history/acts")
    token = service.tokens.add("reader", "read")
    for path in paths:
        assert service.api(path, token="").status == 401
        assert service.api(path, token=token).status == 200
        for method in ("POST", "PUT", "PATCH", "DELETE"):
            assert service.api(path, method).status == 405


# --- history --------------------------------------------------------------------------------------


def lines(service: SmallService, query: str) -> list[tuple[str, str, str]]:
    told = service.told(f"history?{query}")["history"]
    return [(each["act"], each["who"], each["label"]) for each in told]


def test_history_is_chosen_and_ordered(filled: Filled) -> None:
    service, labels = filled.service, filled.labels
    deposits = [("deposit", "me", label) for label in labels]
    deletion = ("delete", "me", labels[2])
    assert lines(service, "") == [*deposits, deletion]
    assert lines(service, "order=newest") == [deletion, *deposits[::-1]]
    assert lines(service, "order=newest&limit=2") == [deletion, deposits[2]]
    assert lines(service, "act=delete") == [deletion]
    assert lines(service, f"item={labels[2]}&order=newest") == [deletion, deposits[2]]
    assert lines(service, "who=nobody") == []
    assert lines(service, "act=%00") == []
    assert lines(service, "from=2023-11-26&to=2023-11-26") == [*deposits, deletion]
    for empty in ("to=2023-11-25", "from=2023-11-27", "from=9999-12-31", "to=0001-01-01"):
        assert lines(service, empty) == []
    assert lines(service, "from=0001-01-01&to=9999-12-31") == [*deposits, deletion]
    assert service.told("history/acts")["acts"] == {"delete": 1, "deposit": 3}
    assert service.told("history/acts?act=delete")["acts"] == {"delete": 1}
    for wrong in ("order=x", "order=", "from=x", "limit=0", "after=-1", "item=nonsense"):
        assert service.api(f"history?{wrong}").status == 400


def test_history_goes_on_from_page_to_page_in_both_orders(service: SmallService) -> None:
    for order in ("oldest", "newest"):
        whole = service.told(f"history?order={order}")["history"]
        pages, after = [], "0"
        while after:
            page = service.told(f"history?order={order}&limit=3&after={after}")
            pages += page["history"]
            after = page["after"]
        assert pages == whole


def test_a_dropped_copy_is_found_in_the_history_and_nowhere_else(tmp_path: Path) -> None:
    with small_service(tmp_path) as service:
        archive = service.small.archive
        look = service.small.deposit({"a": b"1"})
        gone = [
            ItemChange(item=held.item, version=held.version, dropped=True)
            for held in (look.held, look.metadata)
            if held is not None
        ]
        label = look.item.forms.label
        archive.make(archive.change("drop", "me", label, gone, archive.clock.wall()))
        assert [act for act, _, _ in lines(service, f"item={label}")] == ["deposit", "drop"]
        assert service.api(f"statistics?item={label}").status == 404


# --- from the command line ------------------------------------------------------------------------


def test_statistics_are_plotted_as_wide_as_the_terminal(service: SmallService) -> None:
    shown = service.said("stats", "accesses", "--from", "2026-11-01", COLUMNS="60")
    assert shown.splitlines() == [
        "Accesses by day",
        "20 ┤█████                                     ▅▅▅▅▅",
        "   │█████                                     █████",
        "   │█████                                     █████",
        "   │█████                                     █████",
        "10 ┤█████                                     █████",
        "   │█████                                     █████",
        "   │█████                               ▂▂▂▂▂ █████",
        "   │█████                               █████ █████",
        " 0 ┼────────────────────────────────────────────────",
        "    2026-11-02                            2026-11-09",
        "42 in all",
    ]


def test_what_is_counted_by_fits_or_is_told(service: SmallService) -> None:
    assert service.said("stats", "accesses").startswith("Accesses by month\n")
    assert service.said("stats", "accesses", "--by", "week").startswith(
        "Accesses by week, 2 to a column\n"
    )
    narrow = service.said("stats", "accesses", "--by", "day", COLUMNS="40")
    assert "to a column" in narrow
    assert max(map(len, narrow.splitlines())) <= 40
    nothing = service.said("stats", "accesses", "--to", "2000-01-01")
    assert nothing == "0 in all\n"


def test_all_numbers_are_shown_together_or_one_part(filled: Filled) -> None:
    service = filled.service
    whole = service.said("stats")
    parts = [service.said("stats", part) for part in ("accesses", "items", "holdings")]
    assert whole == "\n".join(parts)
    accesses, items, holdings = parts
    assert accesses.endswith("\n47 in all\n")
    first, second = (service.small.archive.get(label).item.forms for label in filled.labels[:2])
    assert items.splitlines() == [
        "Most read",
        f"       35  {first.ibip}  Ação \\u202e",
        f"       12  {second.ibip}  Second",
    ]
    assert service.said("stats", "items", "--to", "2000-01-01") == "Most read\n     none\n"
    told = holdings.splitlines()
    assert told[:4] == [
        "Holdings",
        "  data      Deleted           1 item          0 files  0 bytes",
        "  data      Original          2 items         2 files  1.5 kB",
        "  metadata  Original          3 items         0 files  0 bytes",
    ]
    assert told[4] == "Items of data, by the month in which they were made"
    assert told[-4:] == [
        "copies     1 followed, 1 without their Original, 0 not brought up to date",
        "transfers  1 giving open",
        "tasks      none",
        "damaged    1 file",
    ]


def test_programs_get_what_the_api_says(filled: Filled) -> None:
    service = filled.service
    whole = service.as_json("stats")
    assert whole == {
        "accesses": service.told("statistics"),
        "items": service.told("statistics/items")["items"],
        "holdings": service.told("statistics/holdings"),
    }
    for part, told in whole.items():
        assert service.as_json("stats", part) == told
    of_one = service.as_json("stats", "--item", filled.labels[1], "--by", "month")
    assert of_one == service.told(f"statistics?by=month&item={filled.labels[1]}")
    assert len(service.as_json("stats", "items", "--limit", "1")) == 1


def test_a_plot_is_written_as_a_picture(service: SmallService, tmp_path: Path) -> None:
    for part in ("accesses", "holdings"):
        path = tmp_path / f"{part}.svg"
        assert service.said("stats", part, "--svg", str(path)) == ""
        root = ET.fromstring(path.read_text("utf-8"))  # noqa: S314  # our own
        title, description = (root[place].text or "" for place in (0, 1))
        assert title.startswith({"accesses": "Accesses by month", "holdings": "Items"}[part])
        assert description.endswith(".")
    assert service.said("stats", "--svg", "-").startswith("<svg ")
    assert "47 in all, from 2024-12 to 2026-11; the most, 42, in 2026-11." in service.said(
        "stats", "--svg", "-"
    )
    refusal(service.call("stats", "--svg", str(tmp_path / "none" / "x.svg")))


@pytest.mark.parametrize(
    "arguments",
    [
        ("--from", "yesterday"),
        ("--item", UNKNOWN),
        ("--item", "nonsense"),
        ("--by", "year"),
        ("nonsense",),
        ("items", "--svg", "x.svg"),
        ("items", "--by", "day"),
        ("items", "--item", "x"),
        ("items", "--limit", "0"),
        ("holdings", "--by", "day"),
        ("holdings", "--from", "2026-01-01"),
        ("holdings", "--item", "x"),
    ],
)
def test_what_cannot_be_counted_is_refused_in_a_line(
    service: SmallService, arguments: tuple[str, ...]
) -> None:
    refusal(service.call("stats", *arguments))


def test_history_is_shown_as_it_is_wanted(filled: Filled) -> None:
    service, labels = filled.service, filled.labels

    def shown(*options: str) -> list[list[str]]:
        found = service.said("history", *options).splitlines()
        return [line.split()[1:] for line in found]

    deposits = [["deposit", "me", label] for label in labels]
    deletion = ["delete", "me", labels[2], "reason:", "wrong"]
    assert shown() == [*deposits, deletion]
    assert shown("--reverse") == [deletion, *deposits[::-1]]
    assert shown("--last", "2") == [deposits[2], deletion]
    assert shown("--last", "2", "--reverse") == [deletion, deposits[2]]
    assert shown("--last", "99") == [*deposits, deletion]
    assert shown("--act", "deposit", "--last", "1") == [deposits[2]]
    assert shown("--item", labels[0]) == deposits[:1]
    assert shown("--who", "nobody") == []
    assert shown("--to", "2023-11-25") == []
    assert shown("--from", "2023-11-26", "--to", "2023-11-26") == [*deposits, deletion]
    assert service.said("history", "--by", "act").splitlines() == [
        "        1  delete",
        "        3  deposit",
    ]
    assert service.said("history", "--by", "act", "--who", "nobody") == "nothing\n"
    assert service.as_json("history", "--by", "act") == {"acts": {"delete": 1, "deposit": 3}}
    last = json.loads(service.said("history", "--last", "1", "--json"))
    assert (last["act"], last["at"], last["detail"]["reason"]) == (
        "delete",
        service.told("history?order=newest&limit=1")["history"][0]["at"],
        "wrong",
    )
    for wrong in (("--last", "0"), ("--by", "who"), ("--from", "x"), ("--item", UNKNOWN)):
        refusal(service.call("history", *wrong))


def test_a_long_history_comes_page_by_page(tmp_path: Path) -> None:
    with small_service(tmp_path) as service:
        for number in range(1, 2102):
            service.small.archive.note("link", "me", {"number": number})
        whole = service.said("history").splitlines()
        assert [int(line.split()[-1]) for line in whole] == list(range(1, 2102))
        newest = service.said("history", "--last", "1500", "--reverse").splitlines()
        assert [int(line.split()[-1]) for line in newest] == list(range(2101, 601, -1))
