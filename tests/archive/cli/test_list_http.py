"""`ibi archive list` and its API: titles and dates, words, states, days and pages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import pytest

from tests.support.processes.shell import Done, Shell, refusal, said
from tests.support.servers.archive import ArchiveServer

TITLES = ("Rain in 2019", "Relatório da chuva", "Snow and ice", "Rain in 2020")


@dataclass(frozen=True)
class Holding:
    """An archive, and its items in the order in which they came."""

    archive: ArchiveServer
    items: list[dict[str, Any]]

    def run(self, *arguments: str) -> Done:
        """Run the command."""
        given = ("archive", "list", *arguments, "--data", str(self.archive.data))
        return Shell(self.archive.folder).call(*given)

    def numbers(self, *arguments: str) -> list[int]:
        """Return which items are listed, by their places in `items`."""
        labels = [item["rep"] for item in self.items]
        return [
            labels.index(line.split("\t")[0]) for line in said(self.run(*arguments)).splitlines()
        ]


@pytest.fixture(scope="module")
def holding(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Holding]:
    with ArchiveServer(tmp_path_factory.mktemp("archive")) as archive:
        items = [
            archive.deposit({"a.txt": b"a"}, metadata={"titles": [title], "creators": ["Banon"]})
            for title in TITLES
        ]
        body = {"reason": "Twice"}
        assert archive.api("POST", f"items/{items[3]['rep']}/deletion", body).status == 200
        yield Holding(archive, items)


def test_labels_state_day_and_title_stand_in_columns(holding: Holding) -> None:
    lines = said(holding.run()).splitlines()
    states = ["Original", "Original", "Original", "Deleted"]
    assert lines == [
        "\t".join((item["rep"], item["ibip"], state, item["created"][:10], title))
        for item, state, title in zip(holding.items, states, TITLES, strict=True)
    ]
    told = [json.loads(line) for line in said(holding.run("--json")).splitlines()]
    assert [each["title"] for each in told] == list(TITLES)
    assert all("record" not in each for each in told)


@pytest.mark.parametrize(
    ("arguments", "numbers"),
    [
        (("rain",), [0, 3]),
        (("RELATORIO", "Chuva"), [1]),
        (("banon", "snow"), [2]),
        (("hail",), []),
        (("--state", "Deleted"), [3]),
        (("--state", "original"), [0, 1, 2]),
        (("--state", "Copy"), []),
        (("rain", "--state", "Original"), [0]),
        (("--reverse",), [3, 2, 1, 0]),
        (("rain", "--reverse"), [3, 0]),
        (("--from", "2026-01-01"), [0, 1, 2, 3]),
        (("--to", "2026-01-01"), []),
    ],
)
def test_a_choice_is_listed(
    holding: Holding, arguments: tuple[str, ...], numbers: list[int]
) -> None:
    assert holding.numbers(*arguments) == numbers


def test_days_are_included(holding: Holding) -> None:
    first, last = holding.items[0]["created"][:10], holding.items[-1]["created"][:10]
    assert holding.numbers("--from", first, "--to", last) == [0, 1, 2, 3]


def test_an_item_is_found_by_its_label(holding: Holding) -> None:
    assert holding.numbers(holding.items[2]["ibip"].lower()) == [2]


@pytest.mark.parametrize("reverse", [(), ("--reverse",)])
@pytest.mark.parametrize("words", [(), ("rain",)])
def test_pages_follow_each_other(
    holding: Holding, words: tuple[str, ...], reverse: tuple[str, ...]
) -> None:
    expected = said(holding.run(*words, *reverse)).splitlines()
    found, after = [], "0"
    while after:
        done = holding.run(*words, *reverse, "--limit", "1", "--after", after)
        assert done.returncode == 0
        lines = done.stdout.splitlines()
        assert len(lines) <= 1
        found += lines
        after = done.stderr.partition("--after ")[2].rstrip(".\n")
    assert found == expected


@pytest.mark.parametrize(
    "arguments",
    [
        *(("--kind", "tea"), ("--state", "Lost"), ("--from", "yesterday"), ("--to", "2026-02-30")),
        *(("--limit", "0"), ("--after", "x")),
    ],
)
def test_what_makes_no_sense_is_refused(holding: Holding, arguments: tuple[str, ...]) -> None:
    refusal(holding.run(*arguments))


def test_the_api_lists_alike(holding: Holding) -> None:
    def titles(query: str) -> list[str]:
        answer = holding.archive.api("GET", f"items?kind=data&{query}")
        assert answer.status == 200, answer.body
        return [each.get("title", "") for each in answer.json()["items"]]

    assert titles(f"words={quote('relatorio chuva')}") == [TITLES[1]]
    assert titles("state=Deleted&order=newest") == [TITLES[3]]
    assert titles("order=newest&limit=1") == [TITLES[3]]
    assert titles("to=2026-01-01") == []
    for query in ("state=deleted", "order=up", "from=1", "kind=tea"):
        assert holding.archive.api("GET", f"items?{query}").status == 400
