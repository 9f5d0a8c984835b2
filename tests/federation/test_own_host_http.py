"""Persistent URLs at the archive itself that lead to items of other archives."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.servers.archive import ArchiveServer
from tests.support.servers.federation import linked_archives


def test_a_reader_is_sent_to_the_resolver_for_what_is_elsewhere(tmp_path: Path) -> None:
    with linked_archives(tmp_path, 2) as (resolver, (here, there)):
        item = here.deposit({"a.txt": b"first"}, language="en")
        edition = there.deposit({"b.txt": b"second"})
        translation = there.deposit({"c.txt": b"terceiro"}, language="pt")
        for command in (
            ("edition", item["rep"], edition["rep"]),
            ("translation", item["rep"], "pt", translation["rep"]),
        ):
            done = here.ibi(*command)
            assert done.returncode == 0, done.stderr
        for modifiers, found in (("!", edition), ("+(pt)", translation)):
            asked = f"/{item['ibip']}{modifiers}"
            sent = here.get(f"{asked}?x=1")
            assert sent.status == 302
            assert sent.headers["location"] == f"{resolver.address}{asked}?x=1"
            led = resolver.get(asked)
            assert (led.status, led.headers["location"]) == (302, found["url"])
        assert here.get(f"/{item['ibip']}").headers["location"] == item["url"]
        assert here.get(f"/{item['ibip']}+(fr)").status == 404


@pytest.mark.parametrize("modifiers", ["!", "+(pt)"])
def test_without_a_resolver_the_archive_names_what_is_elsewhere(
    tmp_path: Path, modifiers: str
) -> None:
    with ArchiveServer(tmp_path) as archive:
        item = archive.deposit({"a.txt": b"first"}, language="en")
        elsewhere = "sid.inpe.br/mtc-m19/2013/09.04.12.27.57"
        for command in (
            ("edition", item["rep"], elsewhere),
            ("translation", item["rep"], "pt", elsewhere),
        ):
            done = archive.ibi(*command)
            assert done.returncode == 0, done.stderr
        answer = archive.get(f"/{item['rep']}{modifiers}", Accept="application/json")
        assert answer.status == 404
        assert elsewhere in answer.json()["detail"]
