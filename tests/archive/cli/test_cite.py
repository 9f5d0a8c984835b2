"""`ibi archive cite`, by its entry point."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import rispy
from pybtex.database import parse_string

from tests.support.processes.shell import Done, Shell, refusal, said
from tests.support.servers.archive import ArchiveServer

METADATA = {
    "titles": [{"value": "Água e sal\u202e: um estudo", "language": "pt"}],
    "creators": ["Alencar, Marina Tavares de"],
    "dates": ["2013"],
    "types": ["Dataset"],
}


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ArchiveServer]:
    with ArchiveServer(tmp_path_factory.mktemp("archive")) as started:
        yield started


@pytest.fixture(scope="module")
def item(archive: ArchiveServer) -> dict[str, Any]:
    return archive.item(archive.deposit({"a.txt": b"a"}, metadata=METADATA)["rep"])


def cite(archive: ArchiveServer, *arguments: str) -> Done:
    return Shell(archive.folder).call("archive", "cite", *arguments, "--data", str(archive.data))


def test_all_styles_are_shown_under_their_names(
    archive: ArchiveServer, item: dict[str, Any]
) -> None:
    lines = said(cite(archive, item["ibip"])).splitlines()
    assert lines[::3] == ["ABNT", "APA", "Chicago", "IEEE", "Vancouver"]
    assert lines[1].startswith("  ALENCAR, M. T. de. ")
    assert "\u202e" not in "".join(lines)  # which would turn the text of a terminal around


def test_one_style_is_one_line_to_paste(archive: ArchiveServer, item: dict[str, Any]) -> None:
    (line,) = said(cite(archive, item["rep"], "--style", "apa", "--locale", "pt-BR")).splitlines()
    assert line.startswith("Alencar, M. T. de. (2013). Água e sal")
    assert "[Conjunto de dados]" in line
    assert line.endswith(f"{archive.address}/{item['ibip']}")


def test_json_has_the_citation_as_html_too(archive: ArchiveServer, item: dict[str, Any]) -> None:
    answer = json.loads(said(cite(archive, item["ibip"], "--style", "apa", "--json")))
    assert "<i>" in answer["citations"][0]["html"]


def test_formats_are_written_as_they_are(archive: ArchiveServer, item: dict[str, Any]) -> None:
    bibtex = parse_string(said(cite(archive, item["ibip"], "--format", "bibtex")), "bibtex")
    assert [entry.fields["eprint"] for entry in bibtex.entries.values()] == [item["ibip"]]
    (ris,) = rispy.loads(said(cite(archive, item["ibip"], "--format", "ris")))
    assert ris["urls"] == [f"{archive.address}/{item['ibip']}"]
    csl = json.loads(said(cite(archive, item["ibip"], "--format", "csl")))
    assert csl["type"] == "dataset"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--format", "bibtex", "--style", "apa"), "--format takes no --style"),
        (("--locale", "xx"), "expected one of en-US, pt-BR"),
        (("--style", "mla"), "is not one of"),
    ],
)
def test_what_cannot_be_is_refused(
    archive: ArchiveServer, item: dict[str, Any], arguments: tuple[str, ...], words: str
) -> None:
    assert words in refusal(cite(archive, item["ibip"], *arguments))


def test_an_unknown_item_is_refused(archive: ArchiveServer) -> None:
    assert "LK47B6W/362SFKH" in refusal(cite(archive, "LK47B6W/362SFKH"))
