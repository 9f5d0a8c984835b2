"""Records read from files and from other items, over HTTP and by the command line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.processes.shell import Shell, refusal, said
from tests.support.processes.terminal import at_a_terminal
from tests.support.servers.archive import ArchiveServer
from tests.support.values.citable import OPTIONS

BIBTEX = b"@book{x, author={Vilela, Renata and others}, title={Soil}, year={2024}}"


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ArchiveServer]:
    with ArchiveServer(tmp_path_factory.mktemp("archive")) as started:
        yield started


def test_a_file_is_read_and_nothing_is_changed(archive: ArchiveServer) -> None:
    before = archive.snapshot()
    for language, doubt in (
        ("en", "'author' has others, who are not named."),
        ("pt", "'author' tem outras pessoas, que não são nomeadas."),
    ):
        answer = archive.api("POST", "metadata-readings", BIBTEX, accept_language=language)
        assert answer.status == 200
        assert answer.headers["content-language"] == language
        assert answer.json() == {
            "record": {
                "titles": [{"value": "Soil"}],
                "creators": [{"family": "Vilela", "given": "Renata"}],
                "dates": ["2024"],
                "types": ["Book"],
            },
            "doubts": [doubt],
        }
    assert archive.snapshot() == before


def test_the_record_of_an_item_is_read(archive: ArchiveServer) -> None:
    record = {"titles": ["T"], "creators": ["INPE"], "identifiers": ["ISBN 1"]}
    made = archive.deposit({"a.txt": b"a"}, metadata=record)
    answer = archive.api("POST", f"metadata-readings?label={made['ibip']}")
    assert answer.json() == {
        "record": {"titles": [{"value": "T"}], "creators": [{"name": "INPE"}]},
        "doubts": [],
    }


@pytest.mark.parametrize(
    ("query", "body", "status", "said_"),
    [
        ("", b"", 400, "one of the two"),
        ("?label=LK47B6W/362SFKH", BIBTEX, 400, "one of the two"),
        ("?label=LK47B6W/362SFKH", b"", 404, "LK47B6W/362SFKH"),
        ("?label=none", b"", 400, "none"),
        ("?format=ris", BIBTEX, 400, "no reference of RIS"),
        ("?format=marc", BIBTEX, 400, "is not a format that is read"),
        ("", b"x" * (2 << 20), 413, ""),
        ("", b"cff-version: 1.2.0\n" + b"#" * 70_000, 400, "larger than 65536 bytes"),
    ],
)
def test_what_cannot_be_read_is_refused(
    archive: ArchiveServer, query: str, body: bytes, status: int, said_: str
) -> None:
    answer = archive.api("POST", f"metadata-readings{query}", body)
    assert answer.status == status, answer.body
    assert said_ in answer.json()["detail"]


def command(archive: ArchiveServer, *arguments: str, stdin: str = "") -> str:
    """Deposit as a person does, without the help of other tests."""
    done = Shell(archive.folder).call(
        *("archive", "deposit", *arguments, "--data", str(archive.data)), stdin=stdin
    )
    assert done.returncode == 0, done.stderr
    return said(done) if not done.stderr else done.stdout


def test_a_deposit_is_filled_in_from_a_file_and_options_replace_it(
    archive: ArchiveServer, tmp_path: Path
) -> None:
    (tmp_path / "r.bib").write_bytes(BIBTEX)
    source = ("--from", str(tmp_path / "r.bib"))
    out = command(archive, *source, "--title", "Other", "--publisher", "Editora")
    made = archive.item(out.split("\t")[0])["record"]
    assert made == {
        "titles": [{"value": "Other"}],
        "creators": [{"family": "Vilela", "given": "Renata"}],
        "publishers": [{"name": "Editora"}],
        "dates": ["2024"],
        "types": ["Book"],
    }
    again = command(
        archive, "--from-item", out.split("\t")[0], "--creator", "INPE", "--type", "Map"
    )
    assert archive.item(again.split("\t")[0])["record"]["creators"] == [{"name": "INPE"}]


def test_options_say_contributors_related_items_and_funding(archive: ArchiveServer) -> None:
    out = command(
        archive,
        *("--title", "T", *OPTIONS, "--contributor", "editor", "Silva, Ana"),
        *("--related", "IsSupplementTo", "https://doi.org/10.1234/x", "--funding", "CNPq", "1/2"),
    )
    made = archive.item(out.split("\t")[0])["record"]
    assert made["contributors"] == [{"family": "Silva", "given": "Ana", "role": "Editor"}]
    assert made["related"] == [
        {"relation": "IsSupplementTo", "scheme": "DOI", "identifier": "10.1234/x"}
    ]
    assert made["funding"] == [{"funder": "CNPq", "award": "1/2"}]


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        (("--title", "T", "--creator", "A", "--date", "2026"), "--type"),
        (("--title", "T", "--type", "A", "--date", "2026"), "--creator NAME"),
        (("--title", "T", "--type", "A", "--creator-unknown"), "--date"),
    ],
)
def test_a_script_is_warned_of_each_missing_option(
    archive: ArchiveServer, given: tuple[str, ...], missing: str
) -> None:
    done = Shell(archive.folder).call("archive", "deposit", *given, "--data", str(archive.data))
    assert done.returncode == 0
    assert f"Without {missing}" in done.stderr
    assert archive.item(done.stdout.split()[0])["record"]["titles"] == [{"value": "T"}]


def test_without_a_title_a_script_deposits_nothing(archive: ArchiveServer) -> None:
    before = archive.snapshot()
    done = Shell(archive.folder).call("archive", "deposit", "--data", str(archive.data))
    assert "--title, --creator NAME (or --creator-unknown), --date, --type" in refusal(done)
    assert archive.snapshot() == before


def test_a_person_at_a_terminal_is_asked_for_what_is_missing(archive: ArchiveServer) -> None:
    code, shown = at_a_terminal(
        archive.folder,
        *("archive", "deposit", "--type", "Map", "--data", str(archive.data)),
        typed=b"Soil\n\n2024\n",
    )
    assert code == 0, shown
    assert 'Creator, as "Family, Given"; empty if unknown' in shown
    assert "Type, as" not in shown
    label = shown.splitlines()[-1].split()[0]
    assert archive.item(label)["record"] == {
        "titles": [{"value": "Soil"}],
        "creators": [{"name": ":unkn"}],
        "dates": ["2024"],
        "types": ["Map"],
    }


def test_the_api_refuses_what_cannot_be_cited_if_it_is_asked_to(archive: ArchiveServer) -> None:
    record = {"titles": ["T"], "types": ["Text"]}
    assert archive.api("POST", "deposits", {"metadata": record}).status == 201
    refused = archive.api("POST", "deposits", {"metadata": record, "citable": True})
    assert refused.status == 400
    assert refused.json()["detail"] == (
        "The item could not be cited. The creator is missing: name one, or say that it is "
        "unknown. The year of publication is missing."
    )
    whole = record | {"creators": [":unkn"], "dates": ["2026"]}
    assert archive.deposit({}, metadata=whole, citable=True)["rep"]
