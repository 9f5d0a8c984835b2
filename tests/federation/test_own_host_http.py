"""Persistent URLs at the archive itself that lead to items of other archives."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.servers.archive import ArchiveServer
from tests.support.servers.federation import linked_archives

_ELSEWHERE: Final = "sid.inpe.br/mtc-m19/2013/09.04.12.27.57"


def _relate(archive: ArchiveServer, command: str, *related: dict[str, Any] | str) -> None:
    names = [each if isinstance(each, str) else each["rep"] for each in related]
    done = archive.ibi(command, *names)
    assert done.returncode == 0, done.stderr


def test_a_reader_is_sent_to_the_resolver_for_what_is_elsewhere(tmp_path: Path) -> None:
    with linked_archives(tmp_path, 2) as (resolver, (here, there)):
        item = here.deposit({"a.txt": b"first"}, language="en")
        edition = there.deposit({"b.txt": b"second"})
        translation = there.deposit({"c.txt": b"terceiro"}, language="pt")
        _relate(here, "edition", item, edition)
        _relate(here, "translation", item, "pt", translation)
        for modifiers, found in (("!", edition), ("+(pt)", translation)):
            asked = f"/{item['ibip']}{modifiers}"
            sent = here.get(f"{asked}?x=1")
            assert sent.status == 302
            assert sent.headers["location"] == f"{resolver.address}{asked}?x=1"
            led = resolver.get(asked)
            assert (led.status, led.headers["location"]) == (302, found["url"])
        assert here.get(f"/{item['ibip']}").headers["location"] == item["url"]
        assert here.get(f"/{item['ibip']}+(fr)").status == 404


def test_the_preferred_language_of_a_reader_may_be_elsewhere(tmp_path: Path) -> None:
    with linked_archives(tmp_path, 2) as (resolver, (here, there)):
        item = here.deposit({"a.txt": b"first"}, language="en")
        translation = there.deposit({"b.txt": b"primeiro"}, language="pt")
        _relate(here, "translation", item, "pt", translation)
        for modifiers in ("+", "+:"):
            asked = f"/{item['ibip']}{modifiers}"
            sent = here.get(asked, **{"Accept-Language": "pt-BR"})
            assert (sent.status, sent.headers["location"]) == (302, f"{resolver.address}{asked}")
            assert sent.headers["vary"] == "Accept, Accept-Language"
        english = here.get(f"/{item['ibip']}+", **{"Accept-Language": "en"})
        assert english.headers["location"] == item["url"]


def test_a_chain_of_relations_may_lead_elsewhere_after_some_steps(tmp_path: Path) -> None:
    with linked_archives(tmp_path, 2) as (resolver, (here, there)):
        item = here.deposit({"a.txt": b"first"}, language="en")
        second = here.deposit({"b.txt": b"second"}, language="en", edition_of=item["rep"])
        translation = here.deposit({"c.txt": b"pt"}, language="pt", translation_of=item["rep"])
        third = there.deposit({"d.txt": b"third"}, language="en")
        revised = there.deposit({"e.txt": b"pt 2"}, language="pt")
        _relate(here, "edition", second, third)
        _relate(here, "edition", translation, revised)
        for modifiers, found in (("!", third), ("+(pt)!", revised), ("+!", revised)):
            asked = f"/{item['ibip']}{modifiers}"
            sent = here.get(asked, **{"Accept-Language": "pt"})
            assert (sent.status, sent.headers["location"]) == (302, f"{resolver.address}{asked}")
            led = resolver.get(asked, **{"Accept-Language": "pt"})
            assert (led.status, led.headers["location"]) == (302, found["url"])


def test_without_a_resolver_a_reader_gets_the_best_language_that_is_here(tmp_path: Path) -> None:
    with ArchiveServer(tmp_path) as archive:
        item = archive.deposit({"a.txt": b"first"}, language="en")
        done = archive.ibi("translation", item["rep"], "pt", _ELSEWHERE, "--unchecked")
        assert done.returncode == 0, done.stderr
        answer = archive.get(f"/{item['rep']}+", **{"Accept-Language": "pt"})
        assert (answer.status, answer.headers["location"]) == (302, item["url"])


@pytest.mark.parametrize("modifiers", ["!", "+(pt)"])
def test_without_a_resolver_the_archive_names_what_is_elsewhere(
    tmp_path: Path, modifiers: str
) -> None:
    with ArchiveServer(tmp_path) as archive:
        item = archive.deposit({"a.txt": b"first"}, language="en")
        for command in (
            ("edition", item["rep"], _ELSEWHERE),
            ("translation", item["rep"], "pt", _ELSEWHERE),
        ):
            done = archive.ibi(*command, "--unchecked")
            assert done.returncode == 0, done.stderr
        answer = archive.get(f"/{item['rep']}{modifiers}", Accept="application/json")
        assert answer.status == 404
        assert _ELSEWHERE in answer.json()["detail"]
