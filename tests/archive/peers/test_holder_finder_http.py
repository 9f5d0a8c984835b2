"""Labels of other archives: two archives and a resolver, each in a process of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

import pytest

from tests.support.servers.archive import ArchiveServer
from tests.support.servers.federation import linked_archives
from tests.support.servers.resolver import ResolverServer
from tests.support.waiting import wait_until

NOWHERE = "a2.example.org/x/2001/01.01.01.01"


@dataclass
class Neighbours:
    """Two archives that are linked to a resolver, and a file to deposit."""

    resolver: ResolverServer
    there: ArchiveServer
    here: ArchiveServer
    file: str

    def refused(self, *arguments: str) -> str:
        """Run a command that is refused; return its line."""
        before = self.here.snapshot()
        done = self.here.ibi(*arguments)
        assert (done.returncode, done.stdout) == (1, ""), done
        assert self.here.snapshot() == before
        return done.stderr

    def deposited(self, *options: str) -> str:
        """Deposit the file; return its repository name."""
        done = self.here.ibi("deposit", self.file, "--title", "T", *options)
        assert done.returncode == 0, done.stderr
        return done.stdout.partition("\t")[0]


@pytest.fixture(scope="module")
def neighbours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Neighbours]:
    folder = tmp_path_factory.mktemp("neighbours")
    (folder / "a.txt").write_bytes(b"a")
    with linked_archives(folder, 2) as (resolver, archives):
        there, here = archives
        yield Neighbours(resolver, there, here, str(folder / "a.txt"))


def deposit(neighbours: Neighbours, *options: str) -> tuple[str, ...]:
    return ("deposit", neighbours.file, "--title", "T", *options)


def test_an_edition_of_an_item_of_another_archive_is_accepted(neighbours: Neighbours) -> None:
    item = neighbours.there.deposit({"a": b"a"})
    label = neighbours.deposited("--edition-of", item["ibip"])
    assert neighbours.here.item(label)["previous_edition"] == {"ibip": item["ibip"]}


def test_a_translation_of_an_item_of_another_archive_knows_its_language(
    neighbours: Neighbours,
) -> None:
    item = neighbours.there.deposit({"a": b"a"}, language="pt-BR")
    options = ("--language", "en", "--translation-of", item["rep"])
    label = neighbours.deposited(*options)
    assert neighbours.here.item(label)["translations"] == {"pt-BR": {"rep": item["rep"]}}
    line = neighbours.refused(*deposit(neighbours, *options[2:], "--language", "pt-BR"))
    assert f"{item['rep']} is in pt-BR itself" in line

    silent = neighbours.there.deposit({"a": b"a"})
    options = ("--language", "en", "--translation-of", silent["rep"])
    assert "--translated-from" in neighbours.refused(*deposit(neighbours, *options))
    label = neighbours.deposited(*options, "--translated-from", "fr")
    assert neighbours.here.item(label)["translations"] == {"fr": {"rep": silent["rep"]}}


def test_a_draft_is_filled_in_from_an_item_of_another_archive(neighbours: Neighbours) -> None:
    record = {"titles": ["From elsewhere"], "creators": ["INPE"]}
    item = neighbours.there.deposit({"a": b"a"}, metadata=record)
    ana = neighbours.here.signed_in("depositor", "ana")
    place = ana.submit(ana.get("/deposit"), "/deposit", {}).headers["location"]
    form = ana.get(f"{place}/import")
    filled = ana.submit(form, f"{place}/import", {"text": "", "label": item["ibip"]})
    assert filled.status == HTTPStatus.OK, filled.body
    assert 'value="From elsewhere"' in filled.body.decode()
    unknown = ana.submit(form, f"{place}/import", {"text": "", "label": NOWHERE})
    assert unknown.status == HTTPStatus.BAD_REQUEST
    assert NOWHERE in unknown.body.decode()


@pytest.mark.parametrize("option", ["--edition-of", "--translation-of"])
def test_a_label_that_no_archive_has_is_refused_and_can_be_insisted_on(
    neighbours: Neighbours, option: str
) -> None:
    language = ("--language", "en") if option == "--translation-of" else ()
    line = neighbours.refused(*deposit(neighbours, option, NOWHERE, *language))
    assert "neither here nor in any archive that the linked resolvers know" in line
    assert "--unchecked" in line
    from_ = ("--translated-from", "pt") if language else ()
    label = neighbours.deposited(option, NOWHERE, *language, *from_, "--unchecked")
    assert NOWHERE in str(neighbours.here.item(label))


@pytest.mark.parametrize("command", [("edition",), ("translation", "en")])
def test_a_relation_to_a_label_that_no_archive_has_is_refused_alike(
    neighbours: Neighbours, command: tuple[str, ...]
) -> None:
    own, (name, *language) = neighbours.deposited(), command
    line = neighbours.refused(name, own, *language, NOWHERE)
    assert "neither here nor in any archive that the linked resolvers know" in line
    assert "--unchecked" in line
    assert NOWHERE not in str(neighbours.here.item(own))
    item = neighbours.there.deposit({"a": b"a"})
    for other, option in ((NOWHERE, ["--unchecked"]), (NOWHERE, []), (item["ibip"], [])):
        related = neighbours.here.ibi(name, own, *language, other, *option)
        assert related.returncode == 0, related.stderr
        assert other in str(neighbours.here.item(own))


def test_a_look_alike_of_a_label_of_another_archive_is_suggested(neighbours: Neighbours) -> None:
    ibip = "8JMKD3MGP7W/3EPGUE5"
    neighbours.there.deposit({"a": b"a"}, further_names=[ibip])
    # The name is old, so the resolver does not look for it before the digest lists it.
    wait_until(lambda: neighbours.resolver.get(f"/{ibip}").status == HTTPStatus.FOUND)
    slip = ibip[:-1] + "S"
    line = neighbours.refused(*deposit(neighbours, "--edition-of", slip))
    assert f"Did you mean {ibip}?" in line


def test_a_name_of_another_archives_item_is_refused_with_the_holder(
    neighbours: Neighbours,
) -> None:
    item, there = neighbours.there.deposit({"a": b"a"}), neighbours.there
    own = neighbours.deposited()
    for command in (
        deposit(neighbours, "--name", item["rep"]),
        ("describe", own, "--name", item["metadata"]["ibip"]),
    ):
        line = neighbours.refused(*command)
        assert f"Original at {there.address} (archive {there.service})" in line
    there.api("POST", f"items/{item['rep']}/deletion", {"reason": "wrong"})
    line = neighbours.refused("describe", own, "--name", item["ibip"])
    assert f"deleted at {there.address}" in line
    free = "dpi.inpe.br/x/1999/01.01.01.01"
    named = neighbours.here.ibi("describe", own, "--name", free)
    assert named.returncode == 0, named.stderr
    again = neighbours.here.ibi("describe", own, "--name", free)  # it is its own name now
    assert again.returncode == 0, again.stderr


def test_where_a_label_is_remains_unknown_while_an_archive_or_the_resolver_is_silent(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.txt").write_bytes(b"a")
    with linked_archives(tmp_path, 2) as (resolver, archives):
        there, here = archives
        neighbours = Neighbours(resolver, there, here, str(tmp_path / "a.txt"))
        item = neighbours.there.deposit({"a": b"a"})
        neighbours.there.kill()
        line = neighbours.refused(*deposit(neighbours, "--edition-of", item["rep"]))
        assert f"{neighbours.there.place} did not answer" in line
        resolver.stop()
        line = neighbours.refused(*deposit(neighbours, "--edition-of", item["rep"]))
        assert f"{resolver.address}: connection refused" in line
