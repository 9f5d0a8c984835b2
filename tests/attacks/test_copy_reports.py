"""Threats, rows 9 and 24: a stranger reports copies, to get a link or requests from an archive.

A report is no more than a reason to look. The archive asks only archives that resolvers include,
and shows only those whose manifest has the same files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Final

from tests.support.doubles.faulty_servers import CannedServer
from tests.support.servers.archive import ArchiveServer, neighbour
from tests.support.servers.attacked import switched_off
from tests.support.servers.federation import link
from tests.support.servers.resolver import ResolverServer
from tests.support.waiting import wait_for

NUMBERS: Final = count()
WITHOUT_DIRECTORY: Final = """
from ibi.archive.peers.included_archives import IncludedArchives

IncludedArchives.includes = lambda self, place: True
"""
WITHOUT_COMPARISON: Final = """
from ibi.archive.copies import holder_reports

holder_reports.is_like = lambda theirs, ours: True
"""


@dataclass
class Scene:
    """An archive whose resolver includes another one, which is honest."""

    victim: ArchiveServer
    honest: ArchiveServer

    def report(self, item: dict[str, Any], address: str) -> int:
        """Report a Copy, as any program may."""
        body = {"item": item["rep"], "address": address}
        return self.victim.api("POST", "copies/reports", body, token="").status

    def holders(self, item: dict[str, Any]) -> list[str]:
        """Return the addresses that the page of an item shows as holders."""
        path = f"/col/{item['metadata']['rep']}/doc/metadata?round={next(NUMBERS)}"
        page = self.victim.get(path).body.decode()
        kept = page.partition('id="copies"')[2].partition("</section>")[0]
        return re.findall(r'href="(http://[^/"]+)', kept)

    def settle(self) -> None:
        """Wait until all reports so far were verified, in their order."""
        item = self.victim.deposit({"a.txt": b"honest"})
        copied = self.honest.ibi("copy", item["rep"], "--from", self.victim.address)
        assert copied.returncode == 0, copied.stderr
        wait_for(lambda: self.holders(item), lambda found: found == [self.honest.address])


@contextmanager
def scene(folder: Path, without: str = "") -> Iterator[Scene]:
    with ExitStack() as stack:
        resolver = stack.enter_context(ResolverServer(folder))
        victim, honest = neighbour(folder, 1), neighbour(folder, 2)
        with switched_off(folder, without):
            stack.enter_context(victim)
        stack.enter_context(honest)
        for archive in (victim, honest):
            link(resolver, archive)
        yield Scene(victim, honest)


def as_copy(archive: ArchiveServer, item: dict[str, Any]) -> bytes:
    """Return the manifest that an archive with a Copy of an item has."""
    found = archive.get(f"/col/{item['rep']}/ibi.json").body
    return found.replace(b'"state": "Original"', b'"state": "Copy"', 1)


def test_a_stranger_gets_neither_a_link_nor_a_request(tmp_path: Path) -> None:
    with scene(tmp_path) as all_of_it:
        victim, honest = all_of_it.victim, all_of_it.honest
        item = victim.deposit({"a.txt": b"the file"})
        forged = as_copy(victim, item)
        with CannedServer("200 OK", "Content-Type: application/json", body=forged) as stranger:
            for address in (
                stranger.address,
                honest.address,  # which has no Copy
                f"{honest.address}/../x",
                victim.address,
            ):
                assert all_of_it.report(item, address) == 202
            for address in (
                "javascript:alert(1)",
                f"http://user@{honest.place}",
                "http://" + "a" * 400,
                "",
            ):
                assert all_of_it.report(item, address) == 400
            all_of_it.settle()
            assert all_of_it.holders(item) == []
            assert stranger.heard == []


def test_the_directory_bites(tmp_path: Path) -> None:
    """The twin: an archive that asks every address shows the stranger."""
    with scene(tmp_path, WITHOUT_DIRECTORY) as all_of_it:
        item = all_of_it.victim.deposit({"a.txt": b"the file"})
        forged = as_copy(all_of_it.victim, item)
        with CannedServer("200 OK", "Content-Type: application/json", body=forged) as stranger:
            assert all_of_it.report(item, stranger.address) == 202
            wait_for(lambda: all_of_it.holders(item), lambda found: found == [stranger.address])


def _with_other_files(all_of_it: Scene) -> dict[str, Any]:
    """Let an archive that is included have an old Copy, and a stranger report it as good."""
    victim, honest = all_of_it.victim, all_of_it.honest
    item = victim.deposit({"a.txt": b"old"}, readers=["127.0.0.0/8"])
    assert honest.ibi("copy", item["rep"], "--from", victim.address).returncode == 0
    id_ = victim.open_deposit(item=item["rep"], metadata={})
    victim.send(id_, "a.txt", b"new")
    victim.complete(id_)
    victim.api("PATCH", f"items/{item['rep']}", {"readers": []})
    assert all_of_it.report(item, honest.address) == 202
    return item


def test_an_old_copy_is_not_seen_well(tmp_path: Path) -> None:
    with scene(tmp_path) as all_of_it:
        item = _with_other_files(all_of_it)
        all_of_it.settle()
        assert all_of_it.holders(item) == []


def test_the_comparison_bites(tmp_path: Path) -> None:
    """The twin: an archive that does not compare the files shows an old Copy as good."""
    with scene(tmp_path, WITHOUT_COMPARISON) as all_of_it:
        item = _with_other_files(all_of_it)
        wait_for(lambda: all_of_it.holders(item), lambda found: found == [all_of_it.honest.address])
