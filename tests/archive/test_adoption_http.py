"""Items that come in under the labels that they had before: by commands, on real archives."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from tests.support.servers.archive import ArchiveServer
from tests.support.servers.federation import linked_archives
from tests.support.servers.program import refused
from tests.support.waiting import wait_until

REP = "sid.inpe.br/MTC-m19@80/2013/09.04.12.27.57"
IBIP = "8JMKD3MGP7W/3EPGUE5"
META = ("sid.inpe.br/mtc-m19/2013/09.04.12.28.01", "8JMKD3MGP7W/3EPGUE9")
ADOPTS = ["sid.inpe.br/mtc-m19", "8JMKD3MGP7W"]


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ArchiveServer]:
    server = ArchiveServer(tmp_path_factory.mktemp("adopting"))
    server.set(adopts=ADOPTS)
    with server:
        yield server


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "report.pdf"
    path.write_bytes(b"%PDF")
    return str(path)


def said(done: CompletedProcess[str]) -> str:
    assert done.returncode == 0, done.stderr
    return done.stdout


def refusal(done: CompletedProcess[str]) -> str:
    assert (done.returncode, done.stdout) == (1, ""), done
    return done.stderr


def with_labels(*labels: str, metadata: tuple[str, ...] = ()) -> list[str]:
    options = [option for label in labels for option in ("--label", label)]
    return [*options, *(option for label in metadata for option in ("--metadata-label", label))]


def prefix_of(archive: ArchiveServer) -> str:
    return archive.service.rsplit("/", 2)[0]


def test_an_item_keeps_its_labels_in_answers_folders_and_pages(
    archive: ArchiveServer, file: str
) -> None:
    options = ("--title", "A report", *with_labels(REP, IBIP, metadata=META), "--json")
    facts = json.loads(said(archive.ibi("deposit", file, *options)))
    assert (facts["rep"], facts["ibip"]) == (REP, IBIP)
    assert facts["metadata"] == {"rep": META[0], "ibip": META[1]}
    assert (archive.data / "col" / REP / "doc" / "report.pdf").read_bytes() == b"%PDF"
    for label in (REP, IBIP, REP.lower(), META[0], META[1]):
        assert archive.item(label)["rep"] == (META[0] if label in META else REP), label
    answer = archive.get(
        f"/{archive.service}?servicesubject=urlRequest&parsedibiurl.ibi={IBIP}"
        "&clientinformation.ipaddress=10.0.0.1"
    )
    assert f"rep {REP} ibip {IBIP}".encode() in answer.body, answer.body
    found = archive.get(f"/{IBIP}")
    assert found.status == 302
    assert found.headers["location"].endswith(f"/col/{REP}/doc/report.pdf")
    acts = archive.api("GET", "history?act=adopt").json()["history"]
    assert [(each["label"], each["detail"]) for each in acts] == [
        ("sid.inpe.br/mtc-m19/2013/09.04.12.27.57", {"resolvers": []})
    ]
    again = refusal(archive.ibi("deposit", file, "--title", "B", *with_labels(REP, IBIP)))
    assert "no label is given twice" in again


def test_an_adopted_item_survives_the_loss_of_the_catalogue(tmp_path: Path, file: str) -> None:
    server = ArchiveServer(tmp_path)
    server.set(adopts=ADOPTS)
    with server:
        said(server.ibi("deposit", file, "--title", "A", *with_labels(REP, IBIP)))
        assert server.stop() == 0
        (server.data / "catalogue.sqlite").unlink()
        said(server.ibi("rebuild"))
        server.start()
        assert REP in said(server.ibi("show", IBIP))


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (("sid.inpe.br/mtc-m18/2013/09.04.12.27",), "add 'sid.inpe.br/mtc-m18' there"),
        (("sid.inpe.br/mtc-m19.8080/2013/09.04.12.27",), "add 'sid.inpe.br/mtc-m19.8080' there"),
        (("sid.inpe.br/mtc-m19/2013/09.04.12.29", "J8LNKB5R7W/3FUQHC5"), "add 'J8LNKB5R7W'"),
        (("sid.inpe.br/mtc-m19/2999/09.04.12.27", IBIP), "its instant is not past"),
        (("sid.inpe.br/mtc-m19/2013/09.04.12.30", "no label"), "'no label' is not an IBI"),
        (("sid.inpe.br/mtc-m19/2013/09.04.12.31",) * 2, "one of each form"),
        ((REP, IBIP, IBIP), "one of each form"),
    ],
)
def test_what_may_not_be_adopted_is_refused_before_files_are_sent(
    archive: ArchiveServer, file: str, labels: tuple[str, ...], words: str
) -> None:
    before = archive.snapshot()
    line = refusal(archive.ibi("deposit", file, "--title", "A", *with_labels(*labels)))
    assert words in line
    assert archive.snapshot() == before


def test_labels_of_the_archives_own_prefix_are_adopted_but_for_the_time_of_its_ledger(
    archive: ArchiveServer, file: str
) -> None:
    old = f"{prefix_of(archive)}/1999/12.31.23.59"
    assert said(archive.ibi("deposit", file, "--title", "A", "--label", old)) == f"{old}\t\n"
    minted = archive.deposit({"a": b"a"})["rep"]
    own = f"{minted[: len(prefix_of(archive)) + len('/2026/11.18.01.12')]}.00.000000001"
    line = refusal(archive.ibi("deposit", file, "--title", "B", "--label", own))
    assert "in which this ledger issues labels itself" in line


def test_a_reserved_label_stays_one_and_a_depositor_adopts_nothing(
    archive: ArchiveServer, file: str
) -> None:
    [reserved] = archive.api("POST", "reservations", {}).json()["labels"]
    line = refusal(
        archive.ibi("deposit", file, "--title", "A", *with_labels(reserved["rep"]), "--offline")
    )
    assert "is reserved in this archive" in line
    out = said(archive.ibi("deposit", file, "--title", "A", "--label", reserved["ibip"]))
    assert out == f"{reserved['rep']}\t{reserved['ibip']}\n"
    token = archive.add_token("depositor", "deposit")
    body: dict[str, Any] = {"metadata": {"titles": ["A"]}, "adoption": {"labels": [META[0]]}}
    refused(archive.api("POST", "deposits", body, token=token), 403)
    body = {"metadata": {"titles": ["A"]}, "adoption": {"labels": [REP]}, "label": REP}
    refused(archive.api("POST", "deposits", body), 400)
    body = {
        "metadata": {"titles": ["A"]},
        "adoption": {"labels": [META[0]], "metadata_labels": [META[0]]},
    }
    refused(archive.api("POST", "deposits", body), 400)


def test_what_another_archive_has_is_refused_with_its_name(tmp_path: Path, file: str) -> None:
    with linked_archives(tmp_path, 2) as (resolver, archives):
        there, here = archives
        here.stop()
        here.set(adopts=[prefix_of(there), "dpi.inpe.br/x"])
        here.start()
        item = there.deposit({"a": b"a"}, further_names=["dpi.inpe.br/x/1999/01.01.01.01"])
        # The name is old, so the resolver does not look for it before the digest lists it.
        wait_until(lambda: resolver.get("/dpi.inpe.br/x/1999/01.01.01.01").status == 302)
        free = "dpi.inpe.br/x/1999/01.01.01.02"
        for labels, metadata in (
            ((item["rep"],), ()),
            (("dpi.inpe.br/x/1999/01.01.01.01",), ()),
            ((free,), (item["metadata"]["rep"],)),
        ):
            options = with_labels(*labels, metadata=metadata)
            line = refusal(here.ibi("deposit", file, "--title", "A", *options))
            assert f"Original at {there.address} (archive {there.service})" in line
        said(here.ibi("deposit", file, "--title", "A", "--label", free))
        entry = here.api("GET", "history?act=adopt").json()["history"][-1]
        assert entry["detail"] == {"resolvers": [resolver.address]}
        wait_until(lambda: resolver.get(f"/{free}").status == 302)
        assert resolver.get(f"/{free}").headers["location"].startswith(here.address)
        resolver.stop()
        other = "dpi.inpe.br/x/1999/01.01.01.03"
        line = refusal(here.ibi("deposit", file, "--title", "A", "--label", other))
        assert "It is not certain" in line
        assert "--offline" in line
        said(here.ibi("deposit", file, "--title", "A", "--label", other, "--offline"))
        entry = here.api("GET", "history?act=adopt").json()["history"][-1]
        assert entry["detail"] == {"offline": True}


TABLE = [
    "rep,ibip,metadata_rep,files,title,creators,language,edition_of",
    '{second},,,b.txt,"Second, edition",,en,{first}',
    '{first},8JMKD3MGP7W/3B5687S,{first}.10,a.txt;docs,First,"Banon, Gerald; Ribeiro, M.",en,',
]


def lines_of(done: CompletedProcess[str]) -> list[list[str]]:
    return [line.split("\t") for line in done.stdout.splitlines()]


def test_a_table_is_adopted_in_an_order_that_works_and_can_be_repeated(
    archive: ArchiveServer, tmp_path: Path
) -> None:
    for path in ("a.txt", "b.txt", "docs/c.txt"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(path)
    table = tmp_path / "items.csv"
    first, second = (f"sid.inpe.br/mtc-m19/2012/01.02.03.0{minute}" for minute in (4, 5))
    table.write_text("\n".join(TABLE).format(first=first, second=second))
    before = archive.snapshot()
    tried = archive.ibi("adopt", str(table), "--dry-run")
    assert lines_of(tried) == [["possible", first], ["possible", second]], tried.stderr
    assert tried.returncode == 0
    assert archive.snapshot() == before
    done = archive.ibi("adopt", str(table))
    assert lines_of(done) == [["adopted", first], ["adopted", second]], done.stderr
    assert done.stderr == "adopted 2\n"
    item = archive.item(first)
    assert item["next_edition"]["rep"] == second
    assert item["metadata"]["rep"] == f"{first}.10"
    assert [
        each["value"] if "value" in each else each["family"] for each in item["record"]["creators"]
    ]
    assert {
        each["path"] for each in archive.api("GET", f"items/{first}/files").json()["files"]
    } == {
        "a.txt",
        "docs/c.txt",
    }
    again = archive.ibi("adopt", str(table), "--json")
    assert [json.loads(line)["outcome"] for line in again.stdout.splitlines()] == ["here", "here"]
    assert again.returncode == 0


def test_json_lines_carry_whole_records_and_refusals_are_told_one_by_one(
    archive: ArchiveServer, tmp_path: Path
) -> None:
    table = tmp_path / "items.jsonl"
    record = {"titles": [{"value": "Um", "language": "pt"}], "subjects": ["x"]}
    rows: list[dict[str, Any]] = [
        {"rep": "sid.inpe.br/mtc-m19/2011/01.01.01.01", "metadata": record},
        {"rep": "sid.inpe.br/mtc-m18/2011/01.01.01.02", "title": "Not ours"},
    ]
    table.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    done = archive.ibi("adopt", str(table))
    assert done.returncode == 1
    (one, _), (two, label, why) = lines_of(done)
    assert (one, two, label) == ("adopted", "refused", rows[1]["rep"])
    assert "may not be adopted" in why
    assert archive.item(rows[0]["rep"])["record"]["subjects"] == [{"value": "x"}]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.csv", "rep,title\n,T\n", "Line 2 of the table: an item that is adopted has a label"),
        ("a.csv", f"rep,title\n{META[0]},\n", "Line 2 of the table: the item has no title"),
        ("a.csv", "rep,title\nnothing,T\n", "Line 2 of the table: 'nothing' is not"),
        ("a.csv", f"rep,colour\n{REP},red\n", "unknown field `colour`"),
        ("a.csv", f"rep,title\n{REP}\n", "more or fewer cells"),
        ("a.csv", f"rep,title,files\n{REP},T,none.txt\n", "There is no file"),
        ("a.tsv", f"rep\ttitle\n{REP}\tT\n{REP.lower()}\tT\n", "stands in line 2 already"),
        ("a.jsonl", "{\n", "Line 1 of the table"),
        ("a.jsonl", "[]\n", "Line 1 of the table"),
        ("a.csv", b"rep,title\n\xff,T\n", "is not a text in UTF-8"),
    ],
)
def test_a_table_that_is_not_valid_changes_nothing(
    archive: ArchiveServer, tmp_path: Path, name: str, text: str | bytes, words: str
) -> None:
    table = tmp_path / name
    table.write_bytes(text if isinstance(text, bytes) else text.encode())
    before = archive.snapshot()
    assert words in refusal(archive.ibi("adopt", str(table)))
    assert words in refusal(archive.ibi("adopt", str(table), "--dry-run"))
    assert archive.snapshot() == before
    assert "no such file" in refusal(archive.ibi("adopt", str(tmp_path / "none.csv")))


def test_all_wrong_lines_of_a_table_are_named_at_once(
    archive: ArchiveServer, tmp_path: Path
) -> None:
    table = tmp_path / "items.csv"
    wrong = ["nothing,T,", f"{REP},,", f"{REP},T,none.txt", f"{REP},T", ",T,"]
    table.write_text("\n".join(["rep,title,files", f"{META[0]},T,", *wrong]))
    before = archive.snapshot()
    done = archive.ibi("adopt", str(table))
    assert done.returncode == 1
    assert done.stdout == ""
    *named, last = done.stderr.splitlines()
    assert [line.partition(" of the table: ")[0] for line in named] == [
        f"Line {number}" for number in range(3, 8)
    ]
    assert last == "ibi: The table has 5 faults. Nothing was adopted."
    assert archive.snapshot() == before


def test_labels_of_one_item_that_were_not_made_at_one_instant_cause_a_warning(
    archive: ArchiveServer, tmp_path: Path
) -> None:
    rep, ibip = "sid.inpe.br/mtc-m19/2009/02.16.17.46", "8JMKD3MGP7W/34PGRBS"
    earlier = "sid.inpe.br/mtc-m19/2009/02.16.16.46"
    table = tmp_path / "items.csv"
    for name, warnings in ((rep, 0), (earlier, 1)):
        table.write_text(f"rep,ibip,title\n{name},{ibip},T\n")
        tried = archive.ibi("adopt", str(table), "--dry-run")
        assert lines_of(tried) == [["possible", name]], tried.stderr
        assert tried.stderr.count("were not made at one instant") == warnings
    done = archive.ibi("deposit", "--title", "T", "--label", earlier, "--label", ibip)
    assert done.returncode == 0, done.stderr
    assert f"Warning: {earlier} and {ibip} for one item" in done.stderr


def test_relations_to_items_that_are_not_known_need_an_option(
    archive: ArchiveServer, tmp_path: Path
) -> None:
    table = tmp_path / "items.csv"
    label, unknown = (f"sid.inpe.br/mtc-m19/2010/05.06.07.0{minute}" for minute in (8, 9))
    table.write_text(f"rep,title,edition_of\n{label},T,{unknown}\n")
    [[outcome, _, why]] = lines_of(archive.ibi("adopt", str(table)))
    assert outcome == "refused"
    assert "--unchecked" in why
    done = archive.ibi("adopt", str(table), "--unchecked")
    assert lines_of(done) == [["adopted", label]], done.stderr
    assert archive.item(label)["previous_edition"]["rep"] == unknown


def test_a_prefix_in_the_settings_that_is_none_is_named(tmp_path: Path) -> None:
    server = ArchiveServer(tmp_path)
    server.set(adopts=["sid.inpe.br"])
    line = refusal(server.ibi("serve"))
    assert "adopts: 'sid.inpe.br' is not the prefix of a label" in line
