"""`ibi archive`, run as its users run it: in processes of their own."""

from __future__ import annotations

import hashlib
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import pytest

from ibi.client import archive as remote_archive
from tests.support.doubles.resolver import ResolverDouble
from tests.support.processes.environment import own_environment
from tests.support.processes.fork_server import run
from tests.support.processes.shell import Done, Shell, refusal, said
from tests.support.processes.terminal import at_a_terminal
from tests.support.servers.archive import HOST, IP, ArchiveServer, files_in
from tests.support.values.citable import OPTIONS, RECORD, citable
from tests.support.waiting import PATIENCE, wait_until

UNKNOWN = "LK47B6W/362SFKH"


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ArchiveServer]:
    with ArchiveServer(tmp_path_factory.mktemp("archive")) as started:
        yield started


def ibi(folder: Path, *arguments: str, **more: str) -> Done:
    """Run `ibi archive` in a process of its own."""
    return run(["archive", *citable(arguments)], own_environment(folder, **more))


def call(folder: Path, *arguments: str, **more: str) -> Done:
    """Run it in this process, by its entry point: the same, many times quicker."""
    return Shell(folder).call("archive", *citable(arguments), **more)


def on(archive: ArchiveServer, command: str, *arguments: str) -> Done:
    """Run a command on an archive, in this process."""
    return call(archive.folder, command, *arguments, "--data", str(archive.data))


def as_json(done: Done) -> Any:  # noqa: ANN401  # JSON
    return json.loads(said(done))


def file(folder: Path, name: str, content: bytes = b"x") -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return str(path)


# init


def test_init_makes_an_archive_and_shows_a_token_once(tmp_path: Path) -> None:
    place = tmp_path / "a" / "b"
    done = ibi(tmp_path, "init", "--data", str(place), "--address", "http://archive.example.org")
    assert done.returncode == 0
    facts = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    assert facts.keys() == {"archive", "service", "token", "administrator"}
    assert facts["archive"] == str(place)
    assert facts["service"].startswith("example.org/archive/")
    assert "only now" in done.stderr
    assert facts["token"].encode() not in b"".join(files_in(place).values())
    before = files_in(place)
    assert "already" in refusal(ibi(tmp_path, "init", "--data", str(place)))
    assert files_in(place) == before


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("http://127.0.0.1:8801", "localhost/archive.8801/"),
        ("http://localhost:8801", "localhost/archive.8801/"),
        ("http://[::1]:8801", "localhost/archive.8801/"),
        ("https://archive.example.org", "example.org/archive.443/"),
        ("HTTP://Archive.Example.ORG:8080/", "example.org/archive.8080/"),
    ],
)
def test_init_copes_with_addresses_that_are_no_domain_names(
    tmp_path: Path, address: str, host: str
) -> None:
    done = call(tmp_path, "init", "--data", str(tmp_path / "a"), "--address", address)
    assert done.returncode == 0, done.stderr
    assert f"service {host}" in done.stdout
    assert ("good for a try" in done.stderr) == ("localhost" in host)


def test_init_mints_under_the_host_it_is_told(tmp_path: Path) -> None:
    options = ("--address", "http://127.0.0.1:8801", "--host", HOST, "--ip", IP)
    done = ibi(tmp_path, "init", "--data", str(tmp_path / "a"), *options)
    assert "service example.org/archive.8801/" in done.stdout
    assert "good for a try" not in done.stderr


@pytest.mark.parametrize(
    "options",
    [
        ("--address", "archive.example.org"),
        ("--address", "ftp://archive.example.org"),
        ("--address", "http://"),
        ("--address", "http://u:p@archive.example.org"),
        ("--address", "http://archive.example.org/path"),
        ("--address", "http://archive.example.org?x"),
        ("--address", "http://archive.example.org#x"),
        ("--address", "http://archive.example.org:99999"),
        ("--address", "http://archive.example.org:x"),
        ("--address", "http://a b.example.org"),
        ("--host", "one-word"),
        ("--host", "127.0.0.1"),
        ("--ip", "300.1.1.1"),
        ("--ip", "x"),
        ("--ip", "10.0.0.1"),
        ("--ip", IP, "--ip-port", "70000"),
        ("--ip-port", "x"),
        ("--name", ""),
        ("--name", "a\nb"),
        ("--administrator", "nobody at all"),
        ("--listen", "nowhere"),
        ("--nonsense",),
    ],
)
def test_what_init_refuses_leaves_nothing_behind(tmp_path: Path, options: tuple[str, ...]) -> None:
    place = tmp_path / "place"
    refusal(call(tmp_path, "init", "--data", str(place), *options))
    assert not place.exists()


def test_init_takes_no_catalogue_from_another_archive(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    assert call(tmp_path, "init", "--data", str(first)).returncode == 0
    before = files_in(first)
    options = ("--data", str(second), "--catalogue", str(first / "catalogue.sqlite"))
    assert "in use" in refusal(call(tmp_path, "init", *options))
    assert files_in(first) == before
    assert not second.exists()


def test_init_names_the_folder_as_it_was_given_and_answers_programs(tmp_path: Path) -> None:
    given = ["archive", "init", "--data", "demo", "--json"]
    done = run(given, own_environment(tmp_path), tmp_path)
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts.keys() == {"archive", "service", "token", "administrator"}
    assert facts["archive"] == "demo"


def test_init_says_where_it_cannot_write(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    assert "file" in refusal(ibi(tmp_path, "init", "--data", str(tmp_path / "file")))
    line = refusal(ibi(tmp_path, "init", "--data", str(tmp_path / "file" / "a")))
    assert "ot a directory" in line
    line = refusal(ibi(tmp_path, "init", "--data", "/proc/1/nothing"))
    assert "/proc/1/nothing" in line
    nowhere = "postgresql://nobody:secret@127.0.0.1:1/x"
    line = refusal(ibi(tmp_path, "init", "--data", str(tmp_path / "p"), "--catalogue", nowhere))
    assert "cannot be used" in line
    assert "secret" not in line


# serve


def test_serve_says_when_it_is_ready_and_ends_in_order(tmp_path: Path) -> None:
    archive = ArchiveServer(tmp_path)
    for number in (signal.SIGTERM, signal.SIGINT):
        archive.start()
        assert archive.said().splitlines()[-1] == f"ready archive={archive.address}"
        assert archive.get("/healthz").status == 200
        assert archive.stop(number) == 0
        assert not (archive.data / "serving").exists()
    assert "Traceback" not in archive.log()


def test_one_folder_is_served_once(tmp_path: Path) -> None:
    with ArchiveServer(tmp_path) as archive:
        line = refusal(archive.ibi("serve", "--listen", "127.0.0.1:0"))
        assert f"served already at {archive.address}" in line
        assert "served already" in refusal(archive.ibi("rebuild"))
        assert archive.get("/healthz").status == 200
        archive.kill()
        archive.start()
        assert archive.get("/healthz").status == 200


def test_serve_listens_where_it_is_told(tmp_path: Path) -> None:
    archive = ArchiveServer(tmp_path)
    archive.start("--listen", "127.0.0.1:0")
    told = archive.said().split("=")[-1].strip()
    assert told != archive.address
    assert said(archive.ibi("list")) == ""
    assert archive.stop() == 0
    with socket.create_server(("127.0.0.1", 0)) as taken:
        line = refusal(archive.ibi("serve", "--listen", f"127.0.0.1:{taken.getsockname()[1]}"))
        assert "Cannot listen" in line


def test_serve_wants_an_archive(tmp_path: Path) -> None:
    assert "ibi archive init" in refusal(ibi(tmp_path, "serve", "--data", str(tmp_path / "none")))
    archive = ArchiveServer(tmp_path)
    (archive.data / "archive.toml").write_text("name = \n")
    assert "archive.toml cannot be read" in refusal(archive.ibi("serve"))
    (archive.data / "archive.toml").write_text('name = "x"\nport = "x"\n')
    assert "archive.toml cannot be read" in refusal(archive.ibi("serve"))


def test_serve_checks_the_settings_as_init_does(tmp_path: Path) -> None:
    archive = ArchiveServer(tmp_path)
    archive.set(largest_file=0)
    line = refusal(archive.ibi("serve"))
    assert f"{archive.data}/archive.toml: largest_file = 0" in line


def test_commands_say_that_no_archive_runs(tmp_path: Path) -> None:
    archive = ArchiveServer(tmp_path)
    assert "ibi archive serve" in refusal(archive.ibi("list"))
    assert "No archive is running" in refusal(ibi(tmp_path, "list"))
    # One that was killed said where it answers, and does not.
    archive.start()
    archive.kill()
    assert "does not answer" in refusal(archive.ibi("list"))


# deposit


def test_deposit_prints_the_new_label(archive: ArchiveServer, tmp_path: Path) -> None:
    given = file(tmp_path, "report.pdf", b"%PDF")
    out = said(archive.ibi("deposit", given, "--title", "A report"))
    rep, ibip = out.rstrip("\n").split("\t")
    assert archive.item(rep)["ibip"] == ibip
    assert archive.get(f"/col/{rep}/doc/report.pdf").body == b"%PDF"


def test_deposit_answers_programs_in_json(archive: ArchiveServer, tmp_path: Path) -> None:
    files = [file(tmp_path, "Relatório Final.txt"), file(tmp_path, "x.html")]
    options = ("--title", "Um relatório", "--creator", "Banon, Gerald", "--creator", "INPE")
    more = ("--language", "pt-BR", "--date", "2026-11", "--type", "Text", "--json")
    facts = as_json(archive.ibi("deposit", *files, *options, *more))
    assert facts.keys() == {"rep", "ibip", "persistent_url", "metadata", "files"}
    assert facts["persistent_url"] == f"{archive.address}/{facts['ibip']}"
    assert facts["metadata"].keys() == {"rep", "ibip"}
    assert facts["files"] == ["Relatório Final.txt", "x.html"]
    item = archive.item(facts["rep"])
    assert item["target"] == "Relatório Final.txt"
    assert item["record"] == {
        "titles": [{"value": "Um relatório"}],
        "creators": [{"family": "Banon", "given": "Gerald"}, {"name": "INPE"}],
        "dates": ["2026-11"],
        "types": ["Text"],
        "languages": ["pt-BR"],
    }


def test_a_licence_is_listed_by_spdx_or_an_address(archive: ArchiveServer, tmp_path: Path) -> None:
    given = file(tmp_path, "a.txt")
    command = ("deposit", given, "--title", "A", "--licence")
    for licence, found in {
        "CC-BY-4.0": "CC-BY-4.0",
        "cc0-1.0": "CC0-1.0",
        "https://example.org/terms": "https://example.org/terms",
    }.items():
        label = said(on(archive, *command, licence)).split("\t")[0]
        assert archive.item(label)["record"]["licence"] == found
    before = archive.snapshot()
    for licence in ("whatever", "CC-BY", "MIT License", "ftp://example.org"):
        assert "is not a licence" in refusal(on(archive, *command, licence))
    assert "Did you mean CC-BY-" in refusal(on(archive, *command, "CC-BY-4"))
    record = tmp_path / "record.json"
    record.write_text('{"title": "B", "licence": "whatever"}')
    refusal(on(archive, "describe", label, "--metadata", str(record)))
    assert archive.snapshot() == before


def test_a_name_that_is_no_utf_8_is_called_that(archive: ArchiveServer, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    path = os.fsencode(folder) + b"/relat\xf3rio.pdf"  # as Latin-1 has it
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT)
    os.close(descriptor)
    for given in (str(folder), os.fsdecode(path)):
        line = refusal(on(archive, "deposit", given, "--title", "A"))
        assert "is not valid UTF-8" in line
        assert "control character" not in line


def test_deposit_lists_all_files_however_many(archive: ArchiveServer, tmp_path: Path) -> None:
    for number in range(120):
        file(tmp_path / "many", f"{number:03}.txt")
    done = on(
        archive,
        "deposit",
        str(tmp_path / "many"),
        "--title",
        "Many",
        "--target",
        "000.txt",
        "--json",
    )
    assert len(as_json(done)["files"]) == 120


def test_a_folder_keeps_its_folders(archive: ArchiveServer, tmp_path: Path) -> None:
    for name in ("site/index.html", "site/img/a.png", "site/img/b/c.png"):
        file(tmp_path, name)
    alone = as_json(on(archive, "deposit", str(tmp_path / "site"), "--title", "S", "--json"))
    assert alone["files"] == ["img/a.png", "img/b/c.png", "index.html"]
    assert archive.item(alone["rep"])["target"] == "index.html"
    among = as_json(
        on(
            archive,
            "deposit",
            file(tmp_path, "read.me"),
            str(tmp_path / "site"),
            "--title",
            "S",
            "--json",
        )
    )
    assert among["files"] == ["read.me", "site/img/a.png", "site/img/b/c.png", "site/index.html"]
    assert archive.item(among["rep"])["target"] == "read.me"
    given = ["archive", "deposit", ".", "--title", "S", "--json", "--data", str(archive.data)]
    given += OPTIONS
    here = run(given, own_environment(archive.folder), tmp_path / "site")
    assert as_json(here)["files"] == alone["files"]


def test_what_is_not_digital_has_no_files(archive: ArchiveServer) -> None:
    facts = as_json(on(archive, "deposit", "--title", "Amostra de rocha", "--json"))
    assert facts["files"] == []
    assert archive.get(f"/{facts['ibip']}").status == 302


def test_a_web_service_is_deposited(archive: ArchiveServer) -> None:
    address = "https://service.example/maps"
    facts = as_json(on(archive, "deposit", "--title", "Maps", "--service", address, "--json"))
    assert archive.item(facts["rep"])["service"] == address


def test_packed_files_are_unpacked_on_request(archive: ArchiveServer, tmp_path: Path) -> None:
    inner = file(tmp_path, "index.html", b"i")
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as packed:
        packed.write(inner, "z/index.html")
    with tarfile.open(tmp_path / "b.tar.gz", "w:gz") as tarred:
        tarred.add(inner, "t/index.html")
    both = (str(tmp_path / "a.zip"), str(tmp_path / "b.tar.gz"))
    unpacked = as_json(
        on(
            archive,
            "deposit",
            *both,
            "--unpack",
            "--title",
            "P",
            "--target",
            "z/index.html",
            "--json",
        )
    )
    assert unpacked["files"] == ["t/index.html", "z/index.html"]
    kept = as_json(on(archive, "deposit", *both, "--title", "P", "--json"))
    assert kept["files"] == ["a.zip", "b.tar.gz"]


def test_editions_and_translations_are_tied(archive: ArchiveServer, tmp_path: Path) -> None:
    given = file(tmp_path, "a.txt")
    first = as_json(on(archive, "deposit", given, "--title", "A", "--language", "en", "--json"))
    options = (given, "--title", "B", "--json")
    second = as_json(on(archive, "deposit", *options, "--edition-of", first["ibip"]))
    third = as_json(
        on(archive, "deposit", *options, "--language", "pt", "--translation-of", first["rep"])
    )
    item = archive.item(first["rep"])
    assert item["next_edition"]["rep"] == second["rep"]
    assert item["translations"]["pt"]["rep"] == third["rep"]
    assert archive.item(second["rep"])["previous_edition"]["rep"] == first["rep"]
    assert archive.item(third["rep"])["translations"]["en"]["rep"] == first["rep"]


def test_a_record_may_come_from_a_file(archive: ArchiveServer, tmp_path: Path) -> None:
    record = file(tmp_path, "r.json", b'{"titles": ["From a file"], "subjects": ["x"]}')
    options = ("--metadata", record, "--licence", "CC-BY-4.0", "--description", "D", "--json")
    facts = as_json(on(archive, "deposit", file(tmp_path, "a.txt"), *options))
    found = archive.item(facts["rep"])["record"]
    assert found["titles"] == [{"value": "From a file"}]
    assert found["licence"] == "CC-BY-4.0"
    assert found["descriptions"] == [{"value": "D"}]


def test_a_record_may_be_in_xml_and_one_that_is_not_there_is_told_of(
    archive: ArchiveServer, tmp_path: Path
) -> None:
    xml = (
        b'<dc xmlns="http://www.openarchives.org/OAI/2.0/oai_dc/" '
        b'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>By XML</dc:title></dc>'
    )
    given = (file(tmp_path, "a.txt"), "--metadata", file(tmp_path, "r.xml", xml), "--json")
    found = archive.item(as_json(on(archive, "deposit", *given))["rep"])["record"]
    assert found == {"titles": [{"value": "By XML"}], **RECORD}
    item = archive.deposit({"a.txt": b"a"})
    for command in (("deposit",), ("describe", item["rep"])):
        line = refusal(on(archive, *command, "--metadata", str(tmp_path / "none.json")))
        assert "' cannot be read: no such file or directory." in line
        line = refusal(on(archive, *command, "--metadata", file(tmp_path, "b.xml", b"<x/>")))
        assert "' cannot be read: The document begins with 'x'" in line


def refused_deposits(folder: Path) -> list[tuple[str, ...]]:
    good = file(folder, "good.txt")
    (folder / "empty").mkdir()
    (folder / "links").mkdir()
    (folder / "links" / "link").symlink_to("/etc/passwd")
    (folder / "fifo").mkdir()
    os.mkfifo(folder / "fifo" / "pipe")
    file(folder, "other/good.txt")
    bad_record = file(folder, "bad.json", b"{")
    return [
        (good,),
        (str(folder / "nothing.txt"), "--title", "x"),
        (str(folder / "empty"), "--title", "x"),
        (str(folder / "links"), "--title", "x"),
        (str(folder / "fifo"), "--title", "x"),
        (good, good, "--title", "x"),
        (good, str(folder / "other" / "good.txt"), "--title", "x"),
        (file(folder, "nul.txt"), "--title", "x"),
        (good, "--title", " "),
        (good, "--title", "a\nb"),
        (good, "--title", "x", "--language", "xx"),
        (good, "--title", "x", "--language", "portuguese"),
        (good, "--title", "x", "--date", "yesterday"),
        (good, "--title", "x", "--target", "other.txt"),
        (good, "--title", "x", "--service", "https://service.example/"),
        (good, "--title", "x", "--service", "mailto:x"),
        (good, "--title", "x", "--label", UNKNOWN),
        (good, "--title", "x", "--label", "no label"),
        (good, "--title", "x", "--translation-of", UNKNOWN, "--language", "pt"),
        (good, "--title", "x", "--translation-of", UNKNOWN),
        (good, "--title", "x", "--edition-of", "nonsense"),
        (good, "--metadata", bad_record),
        (good, "--metadata", str(folder / "no.json")),
        (good, "--unpack", "--title", "x", "--target", "x", file(folder, "no.zip")),
        (good, "--nonsense"),
    ]


def test_what_deposit_refuses_changes_nothing(archive: ArchiveServer, tmp_path: Path) -> None:
    for arguments in refused_deposits(tmp_path):
        before = archive.snapshot()
        refusal(on(archive, "deposit", *arguments))
        assert archive.snapshot() == before, arguments
    incoming = archive.data / "incoming"
    assert [path for path in incoming.rglob("*") if path.is_file()] == []


def test_revise_replaces_adds_and_removes(archive: ArchiveServer, tmp_path: Path) -> None:
    item = archive.deposit({"a.txt": b"old", "b.txt": b"b"}, target="a.txt")
    new = (file(tmp_path, "a.txt", b"new"), file(tmp_path, "c.txt"))
    out = said(on(archive, "revise", item["ibip"], *new, "--remove", "b.txt"))
    assert out == f"{item['rep']}\t{item['ibip']}\n"
    listed = [
        json.loads(line) for line in said(on(archive, "files", item["rep"], "--json")).splitlines()
    ]
    assert [each["path"] for each in listed] == ["a.txt", "c.txt"]
    assert archive.get(f"/col/{item['rep']}/doc/a.txt").body == b"new"
    on(archive, "revise", item["rep"], *new, "--target", new[1])
    assert archive.item(item["rep"])["target"] == "c.txt"
    for arguments in (
        (item["rep"],),
        (item["rep"], "--remove", "none.txt"),
        (UNKNOWN, *new),
        (archive.service, *new),
        ("nonsense", *new),
    ):
        before = archive.snapshot()
        refusal(on(archive, "revise", *arguments))
        assert archive.snapshot() == before


# items


def test_items_are_listed_shown_and_described(archive: ArchiveServer, tmp_path: Path) -> None:
    item = archive.deposit({"a.txt": b"a", "b.txt": b"b"}, target="a.txt")
    label = item["rep"]
    assert f"{label}\t{item['ibip']}\tOriginal\t" in said(on(archive, "list"))
    services = said(on(archive, "list", "--kind", "service")).splitlines()
    assert [line.split("\t")[0] for line in services] == [archive.service]
    assert as_json(on(archive, "show", item["ibip"], "--json"))["rep"] == label
    assert "state             Original" in said(on(archive, "show", label))
    sums = {name: hashlib.sha256(name[:1].encode()).hexdigest() for name in ("a.txt", "b.txt")}
    lines = [f"{sums[name]}  {name}" for name in sums]
    assert said(on(archive, "files", label)).splitlines() == lines
    options = ("--title", "Better", "--language", "en", "--target", "b.txt", "--private-list")
    changed = as_json(on(archive, "describe", label, *options, "--json"))
    assert changed["record"]["titles"] == [{"value": "Better"}]
    assert (changed["language"], changed["target"]) == ("en", "b.txt")
    assert changed["list_public"] is False
    xml = (
        b'<dc xmlns="http://www.openarchives.org/OAI/2.0/oai_dc/" '
        b'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>By XML</dc:title></dc>'
    )
    done = on(archive, "describe", label, "--metadata", file(tmp_path, "r.xml", xml), "--json")
    assert as_json(done)["record"]["titles"] == [{"value": "By XML"}]
    given = ("--contributor", "Editor", "Vilela, Renata", "--related", "Cites", "10.1234/abc")
    for further in (given, ("--funding", "CNPq", "4012")):
        done = on(archive, "describe", label, *further, "--json")
    record = as_json(done)["record"]
    assert record["titles"] == [{"value": "By XML"}]
    [editor], [related], [funding] = (
        record[each] for each in ("contributors", "related", "funding")
    )
    assert (editor["family"], editor["role"]) == ("Vilela", "Editor")
    assert (related["relation"], related["scheme"]) == ("Cites", "DOI")
    assert (funding["funder"], funding["award"]) == ("CNPq", "4012")
    named = on(archive, "describe", label, "--name", "dpi.inpe.br/x/1999/01.01.01.01", "--json")
    assert as_json(named)["further_names"] == ["dpi.inpe.br/x/1999/01.01.01.01"]
    xml_file = str(tmp_path / "r.xml")
    for arguments in (
        ("describe", label, "--metadata", xml_file, "--title", "Both"),
        ("describe", label),
        ("describe", label, "--target", "none.txt"),
        ("describe", label, "--language", "xx"),
        ("describe", label, "--metadata", str(tmp_path / "none.json")),
        ("describe", label, "--metadata", file(tmp_path, "bad.xml", b"<!DOCTYPE x><x/>")),
        ("describe", UNKNOWN, "--title", "x"),
        ("show", UNKNOWN),
        ("show", "no label at all?x=1#y"),
        ("show", "../tokens"),
        ("show", "é"),
        ("files", UNKNOWN),
        ("list", "--kind", "tea"),
    ):
        before = archive.snapshot()
        refusal(on(archive, *arguments))
        assert archive.snapshot() == before, arguments


def test_an_item_is_shown_in_lines_for_people(archive: ArchiveServer) -> None:
    record = {
        "titles": [{"value": "Um título", "language": "pt"}],
        "creators": ["Banon, Gerald", "INPE"],
        "descriptions": ["One line\nand another"],
    }
    item = archive.deposit({"a.txt": b"a"}, metadata=record, language="pt", list_public=False)
    on(archive, "translation", item["rep"], "en", UNKNOWN, "--unchecked")
    lines = said(on(archive, "show", item["rep"])).splitlines()
    for line in (
        "title             Um título (pt)",
        "creator           Banon, Gerald",
        "creator           INPE",
        "description       One line",
        "                  and another",
        "list_public       no",
        f"metadata          {item['metadata']['rep']}  {item['metadata']['ibip']}",
        f"translation en    {UNKNOWN}",
    ):
        assert line in lines
    said(on(archive, "delete", item["rep"], "--reason", "Deposited twice", "--yes"))
    shown = said(on(archive, "show", item["rep"]))
    assert "reason            Deposited twice" in shown
    assert "{" not in shown
    assert "reason: Deposited twice" in said(on(archive, "history", "--item", item["rep"]))


def test_an_original_is_marked_as_not_transferable(archive: ArchiveServer, tmp_path: Path) -> None:
    report = file(tmp_path, "report.txt")
    done = on(archive, "deposit", report, "--title", "A report", "--not-transferable", "--json")
    label = as_json(done)["rep"]
    assert "transferable      no" in said(on(archive, "show", label)).splitlines()
    lifted = as_json(on(archive, "describe", label, "--transferable", "--json"))
    assert "transferable" not in lifted
    assert "transferable" not in said(on(archive, "show", label))
    marked = as_json(on(archive, "describe", label, "--not-transferable", "--json"))
    assert marked["transferable"] is False
    for other, sentence in (
        (archive.service, "is the service of this archive, which is never transferred"),
        (marked["metadata"]["rep"], "stay, or go, with the item they describe"),
    ):
        for mark in ("--transferable", "--not-transferable"):
            before = archive.snapshot()
            assert sentence in refusal(on(archive, "describe", other, mark))
            assert archive.snapshot() == before


def test_the_software_of_an_item_is_named(archive: ArchiveServer, tmp_path: Path) -> None:
    script = file(tmp_path, "run.tcl")
    options = ("--title", "A program", "--platform-software", "LK47B6W/362SFKH", "--json")
    label = as_json(on(archive, "deposit", script, *options))["rep"]
    assert "platform_software LK47B6W/362SFKH" in said(on(archive, "show", label)).splitlines()
    other = "dpi.inpe.br/banon/1998/08.02.08.56"
    changed = on(archive, "describe", label, "--platform-software", other, "--json")
    assert as_json(changed)["platform_software"] == {"rep": other}
    before = archive.snapshot()
    assert "is not an IBI" in refusal(on(archive, "describe", label, "--platform-software", "x"))
    assert "is not an IBI" in refusal(
        on(archive, "deposit", script, "--title", "A", "--platform-software", "x")
    )
    assert archive.snapshot() == before
    assert "platform_software" not in said(
        on(archive, "describe", label, "--platform-software", "")
    )


def tagged(record: dict[str, Any], name: str) -> list[tuple[str, str]]:
    return [(each["value"], each.get("language", "")) for each in record[name]]


def test_metadata_are_deposited_in_several_languages(
    archive: ArchiveServer, tmp_path: Path
) -> None:
    options = ("--title", "A report", "--language", "en", "--keyword", "soil", "--keyword", "rain")
    further = (
        *("--title-in", "pt", "Um relatório", "--description-in", "pt", "Sobre o solo"),
        *("--keyword-in", "pt", "solo", "--keyword-in", "pt", "chuva"),
        *("--title-in", "FR", "Un rapport"),
    )
    given = file(tmp_path, "a.txt")
    facts = as_json(on(archive, "deposit", given, *options, *further, "--json"))
    record = archive.item(facts["rep"])["record"]
    assert tagged(record, "titles") == [
        ("A report", ""), ("Um relatório", "pt"), ("Un rapport", "fr"),
    ]  # fmt: skip
    assert tagged(record, "descriptions") == [("Sobre o solo", "pt")]
    assert tagged(record, "subjects") == [
        ("soil", ""), ("rain", ""), ("solo", "pt"), ("chuva", "pt"),
    ]  # fmt: skip
    xml = b'{"title": "A report", "subjects": "soil"}'
    written = ("--metadata", file(tmp_path, "r.json", xml), "--language", "en")
    facts = as_json(on(archive, "deposit", given, *written, *further, "--json"))
    assert archive.item(facts["rep"])["record"]["titles"] == record["titles"]
    refusal(on(archive, "deposit", given, "--title", "T", "--title-in", "xx", "T"))


def test_metadata_are_described_in_further_languages(archive: ArchiveServer) -> None:
    item = archive.deposit(
        {"a.txt": b"a"}, language="en", metadata={"titles": ["A report"], "subjects": ["soil"]}
    )
    label = item["rep"]
    further = ("--title-in", "pt", "Um relatório", "--keyword-in", "pt", "solo")
    on(archive, "describe", label, *further)
    done = as_json(on(archive, "describe", label, "--description-in", "pt", "Sobre", "--json"))
    assert tagged(done["record"], "titles") == [("A report", ""), ("Um relatório", "pt")]
    done = as_json(on(archive, "describe", label, "--title", "Better", "--keyword", "x", "--json"))
    assert tagged(done["record"], "titles") == [("Better", ""), ("Um relatório", "pt")]
    assert tagged(done["record"], "subjects") == [("x", ""), ("solo", "pt")]
    asked = f"items/{label}/metadata?language="
    portuguese = archive.api("GET", f"{asked}pt-BR").json()
    assert tagged(portuguese, "titles") == [("Um relatório", "pt")]
    assert tagged(portuguese, "descriptions") == [("Sobre", "pt")]
    assert tagged(archive.api("GET", f"{asked}en").json(), "titles") == [("Better", "")]
    assert archive.api("GET", f"{asked}fr").status == 404
    assert archive.api("GET", f"{asked}xx").status == 400
    assert "Um relat" in archive.api("GET", f"{asked}pt&format=oai_dc").body.decode()
    on(archive, "describe", label, "--not-in", "pt")
    assert tagged(archive.item(label)["record"], "titles") == [("Better", "")]
    assert archive.api("GET", f"{asked}pt").status == 404
    for wrong in (("--not-in", "en"), ("--title-in", "xx", "x")):
        refusal(on(archive, "describe", label, *wrong))
    both = archive.ibi("describe", label, "--title-in", "pt", "a", "--not-in", "pt")
    assert both.returncode == 2
    changes = said(on(archive, "history", "--item", label))
    assert "texts" in changes


def test_a_relation_of_a_metadata_label_belongs_to_the_metadata(archive: ArchiveServer) -> None:
    english = archive.deposit({"a.txt": b"a"}, language="en")
    portuguese = archive.deposit({"a.txt": b"p"}, language="pt", translation_of=english["rep"])
    metadata = english["metadata"]["rep"]
    done = as_json(on(archive, "translation", metadata, "fr", UNKNOWN, "--unchecked", "--json"))
    assert (done["rep"], done["kind"]) == (metadata, "metadata")
    assert done["translations"] == {"fr": {"ibip": UNKNOWN}}
    assert done["describes"]["rep"] == english["rep"]
    assert archive.item(metadata) == done
    assert archive.item(english["rep"])["translations"].keys() == {"pt"}
    refusal(on(archive, "translation", metadata, "pt", portuguese["rep"]))
    theirs = portuguese["metadata"]["rep"]
    on(archive, "translation", metadata, "pt", theirs)
    assert archive.item(theirs)["translations"].keys() == {"en", "fr"}
    page = archive.get(f"/col/{metadata}/doc/metadata").body.decode()
    assert "Metadata in other languages" in page
    assert theirs in page
    location = archive.get(f"/{english['rep']}:+(pt)").headers["location"]
    assert f"/col/{theirs}/doc/" in location


def test_editions_and_translations_held_elsewhere_are_told_of(archive: ArchiveServer) -> None:
    item = archive.deposit({"a.txt": b"a"})
    edition = as_json(on(archive, "edition", item["rep"], UNKNOWN, "--unchecked", "--json"))
    assert edition["next_edition"] == {"ibip": UNKNOWN}
    translation = as_json(
        on(archive, "translation", item["rep"], "pt-BR", UNKNOWN, "--unchecked", "--json")
    )
    assert translation["translations"] == {"pt-BR": {"ibip": UNKNOWN}}
    assert "leads back" in refusal(on(archive, "edition", item["rep"], item["ibip"]))
    refusal(on(archive, "translation", item["rep"], "xx", UNKNOWN))
    refusal(on(archive, "edition", item["rep"], "nonsense"))


def test_delete_leaves_a_tombstone(archive: ArchiveServer) -> None:
    item, other = (archive.deposit({"a.txt": b"a"}) for _ in range(2))
    refusal(archive.ibi("delete", item["rep"]))
    refusal(on(archive, "delete", UNKNOWN, "--reason", "x", "--yes"))
    refusal(on(archive, "delete", archive.service, "--reason", "x", "--yes"))
    assert archive.item(item["rep"])["state"] == "Original"
    options = ("--reason", "Twice", "--replaced-by", other["ibip"], "--yes")
    done = on(archive, "delete", item["rep"], *options)
    assert said(done) == f"deleted {item['rep']}\n"
    assert "was deleted" in refusal(on(archive, "delete", item["rep"], *options))
    assert archive.get(f"/{item['ibip']}").status == 410


def test_a_bar_shows_how_far_a_deposit_is(archive: ArchiveServer, tmp_path: Path) -> None:
    given = file(tmp_path, "big.bin", b"x" * 5_000_000)
    code, shown = at_a_terminal(
        archive.folder,
        *("archive", "deposit", given, "--title", "Big", "--data", str(archive.data), *OPTIONS),
    )
    assert code == 0
    assert "Sending" in shown
    assert "100 %  5.0 MB of 5.0 MB" in shown
    done = on(archive, "deposit", given, "--title", "Big")
    assert done.stderr == ""


# reservations, links, statistics, history, tokens


def test_labels_are_reserved_and_taken(archive: ArchiveServer, tmp_path: Path) -> None:
    lines = said(on(archive, "reserve", "-n", "2", "--note", "Anais")).splitlines()
    assert len(lines) == 2
    rep, ibip = lines[0].split("\t")
    waiting = said(on(archive, "reserved")).splitlines()
    assert any(line.startswith(f"{rep}\t{ibip}\t") and line.endswith("\tAnais") for line in waiting)
    given = file(tmp_path, "a.txt")
    facts = as_json(on(archive, "deposit", given, "--title", "x", "--label", ibip, "--json"))
    assert facts["rep"] == rep
    waiting = said(on(archive, "reserved")).splitlines()
    assert not any(line.startswith(f"{rep}\t") for line in waiting)
    refusal(on(archive, "deposit", given, "--title", "x", "--label", ibip))
    refusal(on(archive, "reserve", "-n", "0"))
    refusal(on(archive, "reserve", "-n", "1001"))


def test_an_archive_is_linked_and_unlinked(archive: ArchiveServer) -> None:
    with ResolverDouble() as resolver:
        out = said(on(archive, "link", resolver.address))
        facts = dict(line.split(" = ") for line in out.splitlines() if " = " in line)
        assert facts["archiveserviceibi"] == archive.service
        resolver.registrations[archive.service] = facts["registrationkey"]
        again = as_json(on(archive, "link", resolver.address, "--json"))
        assert again["registration_key"] == facts["registrationkey"]
        wait_until(lambda: archive.service in resolver.included)
        wait_until(lambda: "\tincluded\t" in said(on(archive, "links")))
        assert facts["registrationkey"] not in said(on(archive, "links", "--json"))
        assert said(on(archive, "unlink", resolver.address)) == f"leaving {resolver.address}\n"
        wait_until(lambda: said(on(archive, "links")) == "")
        assert resolver.included == {}
        refusal(on(archive, "unlink", resolver.address))
    for arguments in (("ftp://x",), ("x",), ("http://x", "--key", "1"), ("http://x/y",)):
        refusal(on(archive, "link", *arguments))


def test_a_clean_stop_excludes_the_archive(tmp_path: Path) -> None:
    with ResolverDouble() as resolver, ArchiveServer(tmp_path) as archive:
        key = as_json(on(archive, "link", resolver.address, "--key", "0123456789", "--json"))
        assert key["registration_key"] == "0123456789"
        resolver.registrations[archive.service] = "0123456789"
        archive.restart()
        wait_until(lambda: resolver.included == {archive.service: urlsplit(archive.address).netloc})
        assert archive.stop() == 0
        assert resolver.included == {}
        assert "0123456789" not in archive.log()


def test_an_archive_that_lacks_what_resolvers_must_know_is_not_linked(tmp_path: Path) -> None:
    with ResolverDouble() as resolver, ArchiveServer(tmp_path, ip="") as archive:
        line = refusal(on(archive, "link", resolver.address))
        assert "set `ip` in archive.toml" in line
        assert said(on(archive, "links")) == ""
        assert archive.stop() == 0


def test_a_token_may_expire(archive: ArchiveServer) -> None:
    here = ("--data", str(archive.data))
    assert said(call(archive.folder, "token", "add", "guest", "--days", "30", *here))
    lines = said(call(archive.folder, "token", "list", *here)).splitlines()
    [line] = [line for line in lines if line.startswith("guest\t")]
    assert re.fullmatch(r"guest\tdeposit\t20[-0-9:TZ]+\texpires 20[-0-9:TZ]+", line)
    assert all("expires" not in each for each in lines if each != line)
    assert "--days" in refusal(call(archive.folder, "token", "add", "x", "--days", "0", *here))
    assert said(call(archive.folder, "token", "remove", "guest", *here)) == "removed guest\n"


def test_tokens_are_added_listed_and_removed(archive: ArchiveServer) -> None:
    here = ("--data", str(archive.data))
    secret = said(call(archive.folder, "token", "add", "library", *here)).strip()
    where = ("--archive", archive.address, "--token", secret)
    assert said(call(archive.folder, "list", *where))
    assert "administer" in refusal(call(archive.folder, "token", "list", *where))
    listed = said(call(archive.folder, "token", "list", *here))
    assert "library\tdeposit\t" in listed
    assert secret not in listed
    refusal(call(archive.folder, "token", "add", "library", *here))
    refusal(call(archive.folder, "token", "add", "x", "--scope", "all", *here))
    made = as_json(call(archive.folder, "token", "add", "other", "--json", *here))
    assert (made["name"], made["scope"]) == ("other", "deposit")
    assert made["secret"].startswith("ibi_")
    removed = call(archive.folder, "token", "remove", "library", *here)
    assert said(removed) == "removed library\n"
    refusal(call(archive.folder, "token", "remove", "library", *here))
    assert "does not know this token" in refusal(call(archive.folder, "list", *where))


def test_an_archive_elsewhere_is_named_by_options_or_variables(
    archive: ArchiveServer, tmp_path: Path
) -> None:
    expected = said(on(archive, "list"))
    where = ("--archive", archive.address, "--token", archive.token)
    assert said(ibi(tmp_path, "list", *where)) == expected
    variables = {"IBI_ARCHIVE": archive.address, "IBI_TOKEN": archive.token}
    assert said(ibi(tmp_path, "list", **variables)) == expected
    assert said(ibi(tmp_path, "list", IBI_DATA=str(archive.data))) == expected
    line = refusal(call(tmp_path, "history", "--archive", archive.address))
    assert "needs a token" in line
    assert "--token" in line
    assert "IBI_TOKEN" in line
    wrong = refusal(call(tmp_path, "list", "--archive", archive.address, "--token", "ibi_secret"))
    assert "ibi_secret" not in wrong
    for address in ("http://127.0.0.1:1", "nonsense", "http://", "http://a b/", "ftp://x"):
        line = refusal(call(tmp_path, "list", "--archive", address, "--token", "x"))
        assert "Error" not in line
    # Elsewhere and here: what is said on the command line wins over a variable.
    both = ibi(tmp_path, "list", "--data", str(archive.data), IBI_ARCHIVE="http://127.0.0.1:1")
    assert said(both) == expected
    other = ibi(tmp_path, "list", *where, IBI_DATA=str(tmp_path / "none"))
    assert said(other) == expected
    elsewhere = {"IBI_TOKEN": "ibi_of_another"}
    mixed = ibi(tmp_path, "list", "--data", str(archive.data), **elsewhere)
    assert said(mixed) == expected
    assert "not by both" in refusal(call(tmp_path, "list", "--data", str(archive.data), *where))


class CuttingProxy:
    """Passes bytes on to an archive, and cuts each of the first connections after a while."""

    def __init__(self, address: str, cuts: list[int], lost: int = 0) -> None:
        """Cut the connections after so many bytes of what the client sends, one after another.

        The first answers to a completion are `lost`: the archive gives them, and nobody gets them.
        """
        self._target = (urlsplit(address).hostname or "", urlsplit(address).port or 0)
        self._cuts = cuts
        self.lost = lost
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.done = 0
        Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            Thread(target=self._pass, args=(client,), daemon=True).start()

    def _pass(self, client: socket.socket) -> None:
        with client, socket.create_connection(self._target) as server:
            passed = 0
            completing = False
            while ready := select.select([client, server], [], [], PATIENCE)[0]:
                for source in ready:
                    data = source.recv(65_536)
                    if not data:
                        return
                    if source is client:
                        completing = b"/completion " in data
                    elif completing and self.lost:
                        self.lost -= 1
                        return
                    (server if source is client else client).sendall(data)
                    passed += len(data) if source is client else 0
                if self._cuts and passed > self._cuts[0]:
                    self._cuts.pop(0)
                    self.done += 1
                    return

    def close(self) -> None:
        """Take no more."""
        self._listener.close()


def test_a_deposit_goes_on_where_its_connection_broke(
    archive: ArchiveServer, tmp_path: Path
) -> None:
    content = os.urandom(8_000_000)
    given = file(tmp_path, "big.bin", content)
    proxy = CuttingProxy(archive.address, [2_000_000, 3_000_000])
    try:
        where = ("--archive", proxy.address, "--token", archive.token, "--json")
        facts = as_json(ibi(tmp_path, "deposit", given, "--title", "Big", *where))
    finally:
        proxy.close()
    assert proxy.done == 2
    assert archive.get(f"/col/{facts['rep']}/doc/big.bin").body == content
    assert "PATCH" in archive.log()


@pytest.mark.parametrize(("attempts", "lost"), [(6, 1), (6, 2), (1, 1)])
def test_a_lost_answer_to_a_completion_is_asked_for_again(
    archive: ArchiveServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    attempts: int,
    lost: int,
) -> None:
    monkeypatch.setattr(remote_archive, "ATTEMPTS", attempts)
    title = f"Lost {attempts} {lost}"
    proxy = CuttingProxy(archive.address, [], lost)
    try:
        where = ("--archive", proxy.address, "--token", archive.token)
        out = said(call(tmp_path, "deposit", file(tmp_path, "a.txt"), "--title", title, *where))
    finally:
        proxy.close()
    assert proxy.lost == 0
    assert archive.item(out.split("\t")[0])["record"]["titles"] == [{"value": title}]


def test_a_deposit_that_never_hears_of_its_completion_says_so(
    archive: ArchiveServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_archive, "ATTEMPTS", 1)
    proxy = CuttingProxy(archive.address, [], 9)
    try:
        where = ("--archive", proxy.address, "--token", archive.token)
        given = ("deposit", file(tmp_path, "a.txt"), "--title", "x")
        line = refusal(call(tmp_path, *given, *where))
    finally:
        proxy.close()
    assert "does not answer: the connection broke" in line


def test_a_deposit_of_many_files_waits_its_turn(tmp_path: Path) -> None:
    for number in range(30):
        file(tmp_path / "many", f"{number:02}.txt")
    with ArchiveServer(tmp_path, rate=4) as archive:
        given = (str(tmp_path / "many"), "--title", "Many", "--target", "00.txt", "--json")
        assert len(as_json(on(archive, "deposit", *given))["files"]) == 30


def test_rebuild_restores_the_catalogue(tmp_path: Path) -> None:
    with ArchiveServer(tmp_path) as archive:
        item = archive.deposit({"a.txt": b"a"}, further_names=["dpi.inpe.br/x/1999/01.01.01.01"])
        gone = archive.deposit({"a.txt": b"a"})
        archive.api("POST", f"items/{gone['rep']}/deletion", {"reason": "x"})
        before = archive.api("GET", "items").json()["items"]
        assert archive.stop() == 0
        assert said(archive.ibi("rebuild")) == "rebuilt 6 items\n"
        for path in archive.data.glob("catalogue.sqlite*"):
            path.unlink()
        lost = archive.ibi("rebuild")
        assert lost.returncode == 0, lost.stderr
        assert "rebuilt 6 items" in lost.stdout
        archive.start()
        archive.token = archive.local_token
        after = archive.api("GET", "items").json()["items"]
        by_label = {each["rep"]: each for each in before}
        assert {each["rep"]: each for each in after} == by_label
        assert archive.item("dpi.inpe.br/x/1999/01.01.01.01")["rep"] == item["rep"]


# help


COMMANDS = [
    *("init", "serve", "rebuild", "concede", "register", "domain-record"),
    *("deposit", "adopt", "revise", "list", "show", "files", "describe"),
    *("edition", "translation", "delete", "link", "unlink", "links", "reserve", "reserved"),
    *("move-store", "tasks", "audit", "copy", "copies", "drop", "transfer", "transfers"),
    *("export", "key", "import", "cite", "collection"),
    *("stats", "history", "token", "token add", "token list", "token remove", "readers"),
    *("account", "account invite", "account list", "account role", "account remove"),
    "account reset",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_helps_with_an_example(tmp_path: Path, command: str) -> None:
    out = said(call(tmp_path, *command.split(), "--help"))
    assert f"ibi archive {command.split(maxsplit=1)[0]}" in out
    assert "Example" in out


def test_all_commands_are_known(tmp_path: Path) -> None:
    out = said(ibi(tmp_path, "--help"))
    listed = out.partition("Commands:\n")[2].partition("\n\n")[0].split("\n")
    names = {line.split()[0] for line in listed if line.startswith("  ") and line[2] != " "}
    assert names == {command.split()[0] for command in COMMANDS}


def test_the_module_runs_too(archive: ArchiveServer) -> None:
    item = archive.deposit({"a.txt": b"a"})
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "ibi", "archive", "list", "--data", str(archive.data)],
        capture_output=True,
        text=True,
        check=True,
        env=own_environment(archive.folder),
    )
    assert item["ibip"] in done.stdout
