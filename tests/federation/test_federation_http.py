"""A federation over real sockets: a resolver and archives in processes of their own.

Everything goes through the doors that people and programs have: commands, the API, persistent
URLs. Where an archive has to be worse than ours can be, a double of the standard's stands in.
"""

from __future__ import annotations

import itertools
import json
import re
import signal
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import pytest

from ibi.identifier.label import parse
from ibi.resolver.settings import read_resolver
from ibi.resolver.wiring.app import open_resolver_store
from tests.support.clients.http import Answer
from tests.support.doubles.archive import ArchiveDouble
from tests.support.servers.archive import ArchiveServer
from tests.support.servers.attacked_resolver import (
    conflicts,
    label,
    metric,
    service_of,
)
from tests.support.servers.port_reservation import reserved_port
from tests.support.servers.postgres import DATABASES, PostgresServer, database_options
from tests.support.servers.resolver import ResolverServer
from tests.support.waiting import wait_for, wait_until

ORIGINAL: Final = "?ibiurl.requireditemstatus=Original"

NUMBERS: Final = itertools.count(1000)
"""Of labels that no test asks for twice."""


@dataclass(frozen=True)
class Federation:
    """A resolver with three archives; an item with an edition and translations in the others."""

    resolver: ResolverServer
    archives: tuple[ArchiveServer, ...]
    items: dict[str, dict[str, Any]]
    """`e1` has its next edition `e2` and its translation `t1` elsewhere; that of `t1` is `t2`."""

    def get(self, path: str, **headers: str) -> Answer:
        """Ask the resolver."""
        return self.resolver.get(f"/{path}", **headers)

    def brought(self, path: str, **headers: str) -> bytes:
        """Follow the redirection as a browser does, and return what is there."""
        answer = self.get(path, **headers)
        assert answer.status == 302, answer.body
        location = answer.headers["location"]
        [archive] = [each for each in self.archives if location.startswith(f"{each.address}/")]
        found = archive.get(location.removeprefix(archive.address), Accept="text/html")
        assert found.status == 200
        return found.body

    def hops(self, path: str) -> list[tuple[str, list[str]]]:
        """Return the labels that were asked for on the way, and by which verbs."""
        explained = self.get(f"api/v1/explain?url={quote(path, safe='')}").json()
        return [(step["label"], step["verbs"]) for step in explained["steps"]]


def linked(resolver: ResolverServer, archive: ArchiveServer) -> ArchiveServer:
    """Register an archive and link it, by the commands that their operators use."""
    registered = resolver.ibi("register", archive.service, "--administrator", "a@example.org")
    assert registered.returncode == 0, registered.stderr
    told = archive.ibi("link", resolver.address, "--key", registered.stdout.strip())
    assert told.returncode == 0, told.stderr
    wait_until(lambda: state_of(resolver, archive) == "included")
    return archive


def state_of(resolver: ResolverServer, archive: ArchiveServer | ArchiveDouble) -> str:
    return str(resolver.archives().get(archive.service, {}).get("state", ""))


def archive_in(folder: Path, number: int) -> ArchiveServer:
    """Make an archive with a host and an address of its own."""
    home = folder / f"archive-{number}"
    home.mkdir()
    return ArchiveServer(home, host=f"a{number}.example.org", ip=f"150.163.34.{number}")


def related(archive: ArchiveServer, *words: str) -> None:
    """Say that items belong together."""
    done = archive.ibi(*words)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def federation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Federation]:
    folder = tmp_path_factory.mktemp("federation")
    with ExitStack() as stack:
        resolver = stack.enter_context(ResolverServer(folder))
        archives = tuple(
            linked(resolver, stack.enter_context(archive_in(folder, number)))
            for number in (1, 2, 3)
        )
        yield Federation(resolver, archives, family(*archives))


def family(one: ArchiveServer, two: ArchiveServer, three: ArchiveServer) -> dict[str, Any]:
    """Deposit an item, its edition and their translations, and say how they are related."""

    def item(archive: ArchiveServer, name: str, language: str) -> dict[str, Any]:
        files = {"a.txt": name.encode(), "b/Relatório.txt": f"{name} more".encode()}
        metadata = {"titles": [f"Title of {name}"], "languages": [language]}
        return archive.deposit(files, metadata=metadata, target="a.txt")

    e1, t1 = item(one, "e1", "en"), item(three, "t1", "pt")
    e2, t2 = item(two, "e2", "en"), item(two, "t2", "pt")
    related(one, "edition", e1["ibip"], e2["rep"])
    related(one, "translation", e1["rep"], "pt", t1["ibip"])
    related(three, "edition", t1["rep"], t2["rep"])
    related(two, "translation", e2["rep"], "pt", t2["ibip"])
    return {"e1": e1, "e2": e2, "t1": t1, "t2": t2}


@contextmanager
def guest(resolver: ResolverServer, number: int) -> Iterator[ArchiveDouble]:
    """Include a double for a while."""
    with ArchiveDouble(service_of(number)) as double:
        resolver.include(double)
        yield double
        gone = resolver.ibi("remove", double.service, "--yes")
        assert gone.returncode == 0, gone.stderr


# Section 8.2


@pytest.mark.parametrize(
    ("modifiers", "content", "chain"),
    [
        ("", b"e1", ["e1"]),
        ("!", b"e2", ["e1", "e2"]),
        ("+(pt)", b"t1", ["e1", "t1"]),
        ("+(pt-BR)", b"t1", ["e1", "t1"]),
        ("+(pt)!", b"t2", ["e1", "t1", "t2"]),
        ("!+(pt)", b"t2", ["e1", "e2"]),
        (":", b"Title of e1", ["e1"]),
        ("!:", b"Title of e2", ["e1", "e2"]),
        ("!:(oai_dc)", b"<dc:title>Title of e2</dc:title>", ["e1", "e2"]),
        ("+(pt):(oai_dc)", b"<dc:title>Title of t1</dc:title>", ["e1", "t1"]),
        ("+(pt)!:", b"Title of t2", ["e1", "t1", "t2"]),
        ("!+(pt):(oai_dc)", b"<dc:title>Title of t2</dc:title>", ["e1", "e2"]),
        ("!:(bibtex)", b"title = {Title of e2}", ["e1", "e2"]),
        (":(ris)", b"TI  - Title of e1", ["e1"]),
        ("?ibiurl.verblist=GetLastEdition+GetMetadata(oai_dc)", b"Title of e2", ["e1", "e2"]),
        ("!/b/Relat%C3%B3rio.txt", b"e2 more", ["e1", "e2"]),
        ("+(pt)!/b/Relat%f3rio.txt", b"t2 more", ["e1", "t1", "t2"]),
        ("!?ibiurl.verblist=GetFileList", b"Files of Title of e2", ["e1", "e2"]),
    ],
)
@pytest.mark.parametrize("form", ["ibip", "rep"])
def test_section_8_2_over_three_archives(
    federation: Federation, form: str, modifiers: str, content: bytes, chain: list[str]
) -> None:
    asked = federation.items["e1"][form] + modifiers
    assert content in federation.brought(asked)
    gone_through = [found for found, _ in federation.hops(asked)]
    names = [
        name
        for found in gone_through
        for name, item in federation.items.items()
        if found in {item["rep"], item["ibip"]}
    ]
    assert names == chain


def test_each_hop_asks_by_the_verbs_that_remain(federation: Federation) -> None:
    items = federation.items
    assert federation.hops(f"{items['e1']['ibip']}+(pt)!:(oai_dc)") == [
        (items["e1"]["ibip"], ["GetTranslation(pt)", "GetLastEdition", "GetMetadata(oai_dc)"]),
        (items["t1"]["ibip"], ["GetLastEdition", "GetMetadata(oai_dc)"]),
        # Of a last edition nobody knows that it is the last before it was asked (8.2).
        (items["t2"]["rep"], ["GetLastEdition", "GetMetadata(oai_dc)"]),
    ]


def test_a_translation_goes_by_the_language_of_the_reader(federation: Federation) -> None:
    asked = f"{federation.items['e1']['rep']}+"
    assert federation.brought(asked, Accept_Language="pt-BR,en;q=0.5") == b"t1"
    assert federation.brought(asked, Accept_Language="de") == b"e1"
    assert federation.brought(f"{asked}?ibiurl.language=pt", Accept_Language="de") == b"t1"
    assert federation.get(f"{federation.items['e1']['rep']}+(de)").status == 404


def test_pairs_go_on_through_hops(federation: Federation) -> None:
    theirs = "ibiurl.requiredsite=x.example&page=7&q=%C3%A9"
    asked = f"{federation.items['e1']['ibip']}!?ibiurl.language=pt&{theirs}"
    location = federation.get(asked).headers["location"]
    assert location == f"{federation.items['e2']['url']}?{theirs}"


# Accesses


def counts(archive: ArchiveServer) -> dict[str, int]:
    """Return how often each item was read, as the operator of an archive sees it."""
    done = archive.ibi("stats", "items", "--limit", "1000", "--json")
    assert done.returncode == 0, done.stderr
    return {each["rep"]: each["count"] for each in json.loads(done.stdout)}


def test_an_access_is_counted_at_the_archive_that_won_and_only_there(
    federation: Federation,
) -> None:
    one, two, three = federation.archives
    first, last = one.deposit({"a.txt": b"1"}), two.deposit({"a.txt": b"2"})
    related(one, "edition", first["rep"], last["rep"])
    for _ in range(3):
        assert federation.get(f"{first['ibip']}!").status == 302
    assert federation.resolver.ask("HEAD", f"/{first['ibip']}!", token="").status == 302
    assert federation.get(f"api/v1/resolve?url={first['ibip']}!").status == 200
    assert federation.get(f"{first['ibip']}!:").status == 302
    assert federation.get(f"{first['ibip']}/no-such-file").status == 404
    wait_until(lambda: metric(federation.resolver, "accesses_waiting") == 0)
    wait_until(lambda: counts(two).get(last["rep"]) == 3)
    metadata = last["metadata"]["rep"]
    wait_until(lambda: counts(two).get(metadata) == 1)
    ours = {first["rep"], last["rep"], metadata}
    assert not ours & (counts(one).keys() | counts(three).keys())
    assert counts(two)[last["rep"]] == 3


# What is not there


def test_what_no_archive_has_is_not_found(federation: Federation) -> None:
    answer = federation.get(label(999))
    assert (answer.status, answer.json()["type"]) == (404, "urn:ibi:problem:not-found")
    # Nor what has a label already, and comes later.
    rep, ibip = federation.archives[0].ibi("reserve").stdout.split()
    assert federation.get(rep).status == federation.get(ibip).status == 404


def test_what_was_deleted_is_gone_unless_somebody_has_a_copy(federation: Federation) -> None:
    item = federation.archives[0].deposit({"a.txt": b"a"})
    related(federation.archives[0], "delete", item["ibip"], "--reason", "Twice", "--yes")
    for asked in (item["rep"], f"{item['ibip']}:", f"{item['ibip']}!", item["rep"] + ORIGINAL):
        answer = federation.get(asked)
        assert answer.status == 410
        assert answer.json()["archives"] == [federation.archives[0].service]
    with guest(federation.resolver, 1) as double:
        for form in ("rep", "ibip"):
            double.hold(item[form], state="Copy", ibi=f"rep {item['rep']} ibip {item['ibip']}")
        answer = federation.get(item["rep"])
        assert answer.headers["location"] == double.items[item["rep"]]["url"]
        required = federation.get(item["rep"] + ORIGINAL)
        assert required.status == 410
        assert "An archive has a copy" in required.json()["detail"]
        assert "no archive has it" not in required.json()["detail"]
        double.asked(lambda: bool(double.acknowledged))
        assert double.acknowledged[0]["state"] == "Copy"


def test_a_next_edition_that_is_nowhere_is_named(federation: Federation) -> None:
    archive, nowhere = federation.archives[0], "nowhere.example.org/a/2001/02.03.04.05"
    item = archive.deposit({"a.txt": b"a"})
    told = archive.api(
        "PATCH", f"items/{item['rep']}", {"next_edition": nowhere, "unchecked": True}
    )
    assert told.status == 200, told.body
    answer = federation.get(f"{item['ibip']}!")
    assert answer.status == 404
    assert f"In no archive: {nowhere}." in answer.json()["detail"]


def test_nobody_can_make_an_archive_seem_down(federation: Federation) -> None:
    """An archive refuses a request with control characters: a reader must not send it any."""
    for number in range(5):
        for path in (f"%00{number}", f"{number}%1b", f"%7F{number}", f"%0d{number}"):
            answer = federation.get(f"{federation.items['e1']['ibip']}/{path}")
            assert answer.status == 400
    assert {state_of(federation.resolver, each) for each in federation.archives} == {"included"}


# Archives that come and go


def row_of(resolver: ResolverServer, archive: ArchiveServer) -> list[str]:
    """Return what `ibi resolver archives` says of an archive: state, since when, address, more."""
    listed = resolver.ibi("archives").stdout.splitlines()
    [row] = [line for line in listed if line.startswith(f"{archive.service} ")]
    return re.split(r"  +", row)[1:]


def is_named(answer: Answer, archive: ArchiveServer) -> bool:
    """Tell whether an answer says that it is unsure because of an archive."""
    return (
        answer.status == 503
        and answer.json()["archives"] == [archive.service]
        and answer.headers["retry-after"] == "5"
    )


def is_down(resolver: ResolverServer, archive: ArchiveServer) -> bool:
    """Ask for something, as readers do all the time, and tell whether an outage was noticed."""
    resolver.get(f"/{label(next(NUMBERS))}")
    return state_of(resolver, archive) == "down"


def test_archives_come_go_move_and_crash(tmp_path: Path) -> None:
    with (
        ResolverServer(tmp_path) as resolver,
        archive_in(tmp_path, 1) as here,
        archive_in(tmp_path, 2) as moving,
    ):
        linked(resolver, here)
        linked(resolver, moving)
        stays, moves = here.deposit({"a.txt": b"1"}), moving.deposit({"a.txt": b"2"})
        assert resolver.get(f"/{moves['ibip']}").headers["location"] == moves["url"]
        assert resolver.get(f"/{stays['ibip']}").headers["location"] == stays["url"]

        # Switched off: it said so, and nobody is sent there; nor is anybody told that it is gone.
        assert moving.stop() == 0
        wait_until(lambda: row_of(resolver, moving)[0] == "excluded")
        wait_until(lambda: is_named(resolver.get(f"/{moves['ibip']}"), moving))  # by every worker
        assert resolver.get(f"/{stays['ibip']}").status == 302
        moving.start()
        wait_until(lambda: state_of(resolver, moving) == "included")
        assert redirected(resolver, moves).headers["location"] == moves["url"]

        # Killed: it said nothing, and is noticed.
        moving.kill()
        wait_until(lambda: is_named(resolver.get(f"/{moves['ibip']}"), moving))
        wait_until(lambda: is_down(resolver, moving))
        _, since, address, *_, reason = wait_for(  # between: its digest
            lambda: row_of(resolver, moving), lambda row: row[0] == "down"
        )
        assert re.fullmatch(r"2[0-9-]{9}T[0-9:]{8}Z", since)
        assert address == moving.address.removeprefix("http://")
        assert reason == "there is no connection to it"
        unknown = f"{str(moves['rep']).rsplit('/', 2)[0]}/2001/02.03.04.05"
        assert is_named(resolver.get(f"/{unknown}"), moving)
        page = resolver.get(f"/{moves['ibip']}", Accept="text/html")
        shown = page.body.decode().replace("<wbr>", "")
        assert (page.status, moving.service in shown) == (503, True)
        wait_until(lambda: "Does not answer" in resolver.get("/archives").body.decode())
        assert resolver.get(f"/{stays['ibip']}").headers["location"] == stays["url"]

        # It is started again, and nobody has to do anything else.
        moving.start()
        wait_until(lambda: state_of(resolver, moving) == "included")
        assert redirected(resolver, moves).headers["location"] == moves["url"]
        assert resolver.get(f"/{label(3)}").status == 404

        # At another port.
        assert moving.stop() == 0
        moved_to(moving, reserved_port())
        moving.start()
        row = wait_for(lambda: row_of(resolver, moving), lambda row: row[0] == "included")
        assert row[2] == moving.address.removeprefix("http://")
        location = redirected(resolver, moves).headers["location"]
        assert location.startswith(f"{moving.address}/")
        assert moving.get(location.removeprefix(moving.address)).body == b"2"
        assert resolver.stop() == 0


def redirected(resolver: ResolverServer, item: dict[str, Any]) -> Answer:
    """Return the redirection to an item of an archive that a worker has just included."""
    return wait_for(lambda: resolver.get(f"/{item['ibip']}"), lambda reply: reply.status == 302)


def moved_to(archive: ArchiveServer, port: int) -> None:
    """Change where an archive is, as its operator does."""
    settings = archive.data / "archive.toml"
    place, new = archive.address.removeprefix("http://"), f"127.0.0.1:{port}"
    text = settings.read_text("utf-8")
    assert text.count(place) == 2
    settings.write_text(text.replace(place, new), "utf-8")
    archive.address = f"http://{new}"


# A resolver that goes and comes


class DeafDouble(ArchiveDouble):
    """An archive that takes no notice of acknowledgments until it listens."""

    is_deaf = True

    def said(self, query: dict[str, str]) -> str:
        """Answer, but for acknowledgments."""
        if self.is_deaf and query.get("servicesubject") == "acknowledgment":
            return "status.error busy status.reason {Come again later.}"
        return super().said(query)


@pytest.fixture(params=DATABASES)
def resolver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ResolverServer]:
    with ResolverServer(tmp_path, *database_options(request, "--database")) as started:
        yield started


def owner_of(resolver: ResolverServer, item: str) -> list[str]:
    """Return who is on record as the owner of an item."""
    [step] = resolver.get(f"/api/v1/explain?url={item}").json()["steps"]
    return [each["archive"] for each in step["asked"] if each["is_owner"]]


def kept_owner(resolver: ResolverServer, item: str) -> str:
    """Return who is its owner in the database, where it is written a moment later."""
    with closing(open_resolver_store(read_resolver(resolver.data))) as store:
        owner = store.owners.owner(parse(item).canonical)
    return owner.archive if owner else ""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_all_that_a_resolver_knows_survives_it(resolver: ResolverServer, number: int) -> None:
    contested, read, owned = label(1), label(2), label(3)
    with DeafDouble(service_of(0)) as first, ArchiveDouble(service_of(1)) as second:
        for archive in (first, second):
            resolver.include(archive)
            archive.hold(contested)
        first.hold(read)
        second.hold(owned)
        assert resolver.get(f"/{contested}{ORIGINAL}").status == 409
        assert resolver.get(f"/{read}").status == 302
        assert resolver.get(f"/{owned}").status == 302
        wait_until(lambda: len(conflicts(resolver)) == 1)
        wait_until(lambda: owner_of(resolver, owned) == [second.service])
        wait_until(lambda: kept_owner(resolver, owned) == parse(second.service).canonical)
        first.asked(lambda: "acknowledgment" in first.subjects)
        before = resolver.archives(), conflicts(resolver)

        if number == signal.SIGTERM:
            assert resolver.stop() == 0
        else:
            resolver.kill()
        first.is_deaf = False
        confirmed = second.subjects.count("inclusionConfirmationRequest")
        resolver.start()

        assert (without_seen(resolver.archives()), conflicts(resolver)) == (
            without_seen(before[0]),
            before[1],
        )
        first.asked(lambda: len(first.acknowledged) == 1)
        assert first.acknowledged[0]["url.persistent"] == f"{resolver.address}/{read}"
        wait_until(lambda: metric(resolver, "accesses_waiting") == 0)
        assert len(first.acknowledged) == 1
        # Nobody has to announce himself again, and who was the owner is.
        assert second.subjects.count("inclusionConfirmationRequest") == confirmed
        assert owner_of(resolver, owned) == [second.service]
        first.hold(owned)
        assert resolver.get(f"/{owned}").headers["location"] == second.items[owned]["url"]
        assert resolver.get(f"/{contested}{ORIGINAL}").status == 409


def without_seen(archives: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {name: value for name, value in each.items() if name not in {"seen", "response_seconds"}}
        for each in archives.values()
    ]


def test_a_rival_is_recorded_shown_and_settled(resolver: ResolverServer) -> None:
    item = label(1)
    with ArchiveDouble(service_of(0)) as rightful, ArchiveDouble(service_of(1)) as rival:
        for archive in (rightful, rival):
            resolver.include(archive)
        rightful.hold(item)
        assert resolver.get(f"/{item}").status == 302
        wait_until(lambda: owner_of(resolver, item) == [rightful.service])
        assert metric(resolver, "conflicts_open") == 0
        rival.hold(item)
        # Who asks for no Original is sent to the owner as before, and the claim is seen.
        wait_until(
            lambda: (
                bool(resolver.get(f"/{item}/{next(NUMBERS)}"))
                and metric(resolver, "conflicts_open") == 1
            )
        )
        assert resolver.get(f"/{item}").headers["location"] == rightful.items[item]["url"]
        answer = resolver.get(f"/{item}{ORIGINAL}")
        assert answer.status == 409
        assert set(answer.json()["archives"]) == {rightful.service, rival.service}

        [listed] = json.loads(resolver.ibi("conflicts", "--json").stdout)
        assert [listed] == conflicts(resolver)
        assert listed["label"] == item
        assert rival.service in json.dumps(listed)
        assert "1 conflict" in resolver.get("/archives", Accept_Language="en").body.decode()

        done = resolver.ibi(
            "settle", item, "--owner", rival.service, "--note", "Telephone", "--yes"
        )
        assert done.returncode == 0, done.stderr
        assert json.loads(resolver.ibi("conflicts", "--json").stdout) == []
        [settled] = json.loads(resolver.ibi("conflicts", "--all", "--json").stdout)
        assert "Telephone" in json.dumps(settled)
        assert metric(resolver, "conflicts_open") == 0
        theirs = rival.items[item]["url"]
        for asked in (f"/{item}{ORIGINAL}", f"/{item}"):
            wait_until(partial(is_sent, resolver, asked, theirs))


def is_sent(resolver: ResolverServer, asked: str, location: str) -> bool:
    return resolver.get(asked).headers.get("location") == location


@pytest.mark.long
def test_a_federation_whose_registry_is_in_postgresql(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    with (
        ResolverServer(tmp_path, "--database", postgres.database()) as resolver,
        archive_in(tmp_path, 1) as one,
        archive_in(tmp_path, 2) as two,
    ):
        linked(resolver, one)
        linked(resolver, two)
        first, last = one.deposit({"a.txt": b"1"}), two.deposit({"a.txt": b"2"})
        related(one, "edition", first["rep"], last["rep"])
        assert resolver.get(f"/{first['ibip']}!").headers["location"] == last["url"]
        wait_until(lambda: counts(two) == {last["rep"]: 1})
        assert counts(one) == {}
        resolver.kill()
        resolver.start()
        assert resolver.get(f"/{first['rep']}!:").status == 302
        assert resolver.get(f"/{first['rep']}").headers["location"] == first["url"]
        wait_until(lambda: owner_of(resolver, first["rep"]) == [one.service])
        assert one.stop() == 0
        assert row_of(resolver, one)[0] == "excluded"
        assert is_named(resolver.get(f"/{first['rep']}"), one)
