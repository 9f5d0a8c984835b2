"""004, section 3.2, 003, chapter 6, and 001 on archives that run: Originals and Copies."""

from __future__ import annotations

from functools import partial
from pathlib import PurePosixPath
from typing import Final
from urllib.parse import urljoin

from tests.conformance.report_archives import ReportFederation
from tests.conformance.standard import covers
from tests.support.servers.archive import ArchiveServer
from tests.support.waiting import wait_until

ORIGINAL: Final = "?ibiurl.requireditemstatus=Original"


def done(archive: ArchiveServer, *words: str) -> str:
    """Run a command of an archive, which must succeed."""
    ended = archive.ibi(*words)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def transfer(source: ArchiveServer, to: ArchiveServer, label: str) -> None:
    """Transfer an item by the command."""
    token = to.add_token(label.replace("/", "-"), "receive")
    done(source, "transfer", label, "--to", to.address, "--to-token", token, "--yes")


@covers("004", "Definition 3.1")
@covers("004", "Proposition 3.1")
@covers("004", "Proposition 3.2")
@covers("004", "Section 3.2, one label")
@covers("004", "Section 3.2, transfer")
def test_an_item_has_one_original_before_and_after_copies_and_a_transfer(
    federation: ReportFederation,
) -> None:
    one, two, three = (archive.address for archive in federation.archives)
    item = federation.m16c.deposit({"a.txt": b"an item"})
    forms = (item["rep"], item["ibip"])
    for label in forms:
        assert federation.states(label) == {one: "Original"}
    done(federation.m16d, "copy", item["ibip"])
    for label in forms:  # the Copy has both labels of its Original
        assert federation.states(label) == {one: "Original", two: "Copy"}
        assert federation.location(label + ORIGINAL).startswith(f"{one}/")
    assert federation.fetched(f"{two}/col/{item['rep']}/doc/a.txt") == b"an item"

    transfer(federation.m16c, federation.m21, item["rep"])
    for label in forms:
        assert federation.states(label) == {one: "Copy", two: "Copy", three: "Original"}
        # The resolver may remember for seconds where it was.
        asked = label + ORIGINAL
        there = f"{three}/col/{item['rep']}/doc/a.txt"
        wait_until(partial(is_sent, federation, asked, there))
        assert federation.fetched(there) == b"an item"


def is_sent(federation: ReportFederation, asked: str, there: str) -> bool:
    return federation.location(asked) == there


@covers("004", "Section 3.2, one state")
def test_an_archive_has_a_label_as_original_or_as_copy(federation: ReportFederation) -> None:
    item = federation.m16c.deposit({"a.txt": b"a"})
    refused = federation.m16c.ibi("copy", item["rep"], "--from", federation.m16d.address)
    assert refused.returncode == 1
    assert "Original in this archive" in refused.stderr
    done(federation.m16d, "copy", item["rep"])
    again = federation.m16d.ibi(
        *("deposit", "--title", "A", "--label", item["rep"], "--offline"),
        str(federation.m16d.data / "archive.toml"),
    )
    assert again.returncode == 1
    transfer(federation.m16c, federation.m16d, item["rep"])
    assert federation.states(item["rep"]) == {
        federation.m16c.address: "Copy",
        federation.m16d.address: "Original",
    }
    assert federation.brought(item["rep"] + ORIGINAL) == b"a"


@covers("004", "Section 3.2, transfer")
def test_the_service_of_an_archive_is_not_transferable(federation: ReportFederation) -> None:
    archive, other = federation.m16c, federation.m21
    token = other.add_token("for-a-service", "receive")
    refused = archive.ibi(
        "transfer", archive.service, "--to", other.address, "--to-token", token, "--yes"
    )
    assert refused.returncode == 1
    assert "service's own item is never transferred" in refused.stderr
    assert federation.states(archive.service) == {archive.address: "Original"}


@covers("003", "Chapter 6, four directories")
def test_the_four_parts_of_a_label_are_directories_also_of_a_copy(
    federation: ReportFederation,
) -> None:
    label = federation.m16c.deposit({"a.txt": b"in four directories"})["rep"]
    assert len(PurePosixPath(label).parts) == 4
    done(federation.m16d, "copy", label)
    for archive in (federation.m16c, federation.m16d):
        file = archive.data / "col" / label / "doc" / "a.txt"
        assert file.read_bytes() == b"in four directories"
    assert federation.location(label).endswith(f"/col/{label}/doc/a.txt")
    assert federation.brought(label) == b"in four directories"


@covers("001", "Section 5, relative links")
def test_a_relative_link_leads_to_the_copy_of_an_item_of_another_archive(
    federation: ReportFederation,
) -> None:
    """The case of 001. The print has `../..../`: one step up for each directory is meant."""
    imported, linking = "dpi.inpe.br/banon/1998/08.02.08.56", "iconet.com.br/banon/2003/11.21.21.08"
    here = federation.m16d
    federation.adopt(federation.m21, [imported], {"utilities1.tcl": b"proc x {} {}"})
    federation.wait_for_adopted()
    done(here, "copy", imported)
    link = f"{'../' * 6}{imported}/doc/utilities1.tcl"
    federation.adopt(here, [linking], {"cgi/oai.tcl": f"source {link}".encode()})
    federation.wait_for_adopted()
    location = federation.location(f"{linking}/cgi/oai.tcl")
    _, _, written = federation.fetched(location).decode().partition(" ")
    target = urljoin(location, written)
    assert target == f"{here.address}/col/{imported}/doc/utilities1.tcl"
    assert federation.fetched(target) == b"proc x {} {}"
