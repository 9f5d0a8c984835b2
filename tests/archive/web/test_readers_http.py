"""Items whose files are read from some networks only: delivery, pages, protocol, resolver."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlsplit

import pytest

from ibi.wire import pairlist
from tests.support.clients.http import Answer
from tests.support.clients.local_address import HTML, read_from
from tests.support.processes.shell import Done, Shell
from tests.support.servers.archive import ArchiveServer, plain
from tests.support.servers.attacked_resolver import metric
from tests.support.servers.federation import link
from tests.support.servers.resolver import ResolverServer
from tests.support.values.citable import citable
from tests.support.waiting import wait_until

INSIDER, STRANGER, PROXY = "127.0.0.2", "127.0.0.1", "127.0.0.3"
READERS: Final = [f"{INSIDER}/32", "150.163.0.0/16", "2001:db8:1::/48"]
INSIDE, OUTSIDE = "150.163.2.175", "8.8.8.8"
SECRET: Final = b"what only some may read"
ETAG: Final = f'"{hashlib.sha256(SECRET).hexdigest()}"'
ONLY: Final = "can be read from the networks of its readers only"
LIMITED: Final = b"Only readers in certain networks can open the files."


@dataclass(frozen=True)
class Holding:
    """An archive behind a proxy, and an item of it whose readers are limited."""

    archive: ArchiveServer
    item: dict[str, Any]

    def get(self, source: str, target: str = "", method: str = "GET", **headers: str) -> Answer:
        """Read from an address of this machine; the target file, if nothing else is named."""
        wanted = target or self.item["url"]
        return read_from(source, self.archive.address, wanted, method, **headers)

    @property
    def metadata(self) -> str:
        """Where the metadata are."""
        return f"{self.archive.address}/col/{self.item['metadata']['rep']}/doc/metadata"


@pytest.fixture(scope="module")
def holding(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Holding]:
    archive = ArchiveServer(tmp_path_factory.mktemp("archive"))
    archive.set(trusted_proxies=[f"{PROXY}/32"])
    with archive:
        files = {"a.txt": SECRET, "b/c.txt": b"more of it"}
        item = archive.deposit(
            files, target="a.txt", readers=READERS, metadata={"titles": ["Um livro"]}
        )
        yield Holding(archive, item)


# Files.


def test_whoever_is_in_a_network_reads_the_files(holding: Holding) -> None:
    answer = holding.get(INSIDER)
    assert (answer.status, answer.body) == (200, SECRET)
    assert answer.headers["etag"] == ETAG
    assert "private" in answer.headers["cache-control"]
    assert "public" not in answer.headers["cache-control"]
    assert holding.get(INSIDER, method="HEAD").status == 200
    assert holding.get(INSIDER, Range="bytes=5-8").body == SECRET[5:9]
    assert holding.get(INSIDER, If_None_Match=ETAG).status == 304


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Range": "bytes=0-3"},
        {"Range": "bytes=900-"},
        {"If_None_Match": ETAG},
        {"If_Match": '"other"'},
        {"If_Modified_Since": "Fri, 01 Jan 2038 00:00:00 GMT"},
        {"X_Forwarded_For": INSIDER},
        {"Authorization": "Bearer ibi_wrong"},
        {"Authorization": "Basic aWJpOmliaQ=="},
    ],
)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_others_get_no_byte_and_no_sign_of_it(
    holding: Holding, method: str, headers: dict[str, str]
) -> None:
    for path in (holding.item["url"], f"{holding.item['url']}?choice=oai_dc"):
        answer = holding.get(STRANGER, path, method, **headers)
        assert answer.status == 403
        assert answer.headers["cache-control"] == "no-store"
        assert "Authorization" in answer.headers["vary"]
        told = {"etag", "last-modified", "content-range", "repr-digest", "content-disposition"}
        assert not told & answer.headers.keys()
        assert SECRET[:4] not in answer.body


def test_others_are_told_why_as_a_problem_and_as_a_page(holding: Holding) -> None:
    problem = holding.get(STRANGER).json()
    assert problem["type"] == "urn:ibi:problem:limited-readers"
    assert ONLY in problem["title"]
    assert f"{holding.archive.address}/{holding.item['metadata']['ibip']}" in problem["detail"]
    for language, words in (
        ("en", "can be read from the networks of its readers only"),
        ("pt-BR", "só podem ser lidos a partir das redes dos seus leitores"),
    ):
        page = holding.get(STRANGER, Accept=HTML, Accept_Language=language)
        assert (page.status, page.headers["cache-control"]) == (403, "no-store")
        text = page.body.decode()
        assert words in text
        assert "Um livro" in text
        assert f"/{holding.item['metadata']['ibip']}" in text
    assert ONLY.encode() in holding.get(STRANGER, Accept="text/plain").body


def test_nobody_learns_which_files_there_are_by_asking(holding: Holding) -> None:
    there = holding.get(STRANGER, holding.item["url"].replace("a.txt", "b/c.txt"))
    absent = holding.get(STRANGER, holding.item["url"].replace("a.txt", "d.txt"))
    assert (there.status, there.json()) == (absent.status, absent.json())
    assert holding.get(INSIDER, holding.item["url"].replace("a.txt", "d.txt")).status == 404


@pytest.mark.parametrize(
    ("forwarded", "status"),
    [
        (INSIDER, 200),
        (INSIDE, 200),
        ("2001:db8:1:2::3", 200),
        (f"::ffff:{INSIDE}", 200),
        (f"{OUTSIDE}, {INSIDE}", 200),
        (f"{INSIDE}, {OUTSIDE}", 403),
        (OUTSIDE, 403),
        (f"{INSIDE}, unknown", 403),
        (f"{INSIDE}:5678", 403),
        ("", 403),
    ],
)
def test_behind_a_proxy_that_is_believed(holding: Holding, forwarded: str, status: int) -> None:
    assert holding.get(PROXY, X_Forwarded_For=forwarded).status == status
    for forwarding in ("Forwarded", "X_Real_IP", "Client_IP"):
        assert holding.get(PROXY, **{forwarding: INSIDE}).status == 403


@pytest.mark.parametrize("scope", ["read", "deposit", "administer"])
def test_a_token_reads_the_files_from_wherever_it_comes(holding: Holding, scope: str) -> None:
    secret = holding.archive.add_token(f"reader-{scope}", scope)
    bearer = f"Bearer {secret}"
    assert holding.get(STRANGER, Authorization=bearer).body == SECRET
    answer = holding.get(STRANGER, f"/{holding.item['ibip']}", Authorization=bearer)
    assert answer.headers["location"] == holding.item["url"]


# Pages, and persistent URLs on the archive's own host.


def test_a_persistent_url_leads_each_reader_where_he_may_read(holding: Holding) -> None:
    for path in (f"/{holding.item['ibip']}", f"/{holding.item['rep']}/b/c.txt"):
        for _ in range(2):
            inside, outside = holding.get(INSIDER, path), holding.get(STRANGER, path)
            assert inside.headers["location"].startswith(holding.item["url"].removesuffix("a.txt"))
            assert outside.headers["location"] == holding.metadata
            for answer in (inside, outside):
                assert answer.headers["cache-control"] == "private, no-store"
    folder = f"/col/{holding.item['rep']}/doc/"
    assert holding.get(INSIDER, folder).headers["location"] == holding.item["url"]
    assert holding.get(STRANGER, folder).headers["location"] == holding.metadata
    behind = holding.get(PROXY, f"/{holding.item['ibip']}", X_Forwarded_For=INSIDE)
    assert behind.headers["location"] == holding.item["url"]


def test_what_describes_an_item_is_for_everybody(holding: Holding) -> None:
    for path in (
        holding.metadata,
        f"/displaydoccontent.cgi/{holding.item['ibip']}?displaytype=FileList",
    ):
        page = holding.get(STRANGER, path, Accept=HTML, Accept_Language="en")
        assert page.status == 200
        assert b"a.txt" in page.body
        assert LIMITED in page.body
        assert "public" in page.headers["cache-control"]
    assert holding.get(STRANGER, f"{holding.metadata}?choice=oai_dc").status == 200
    answer = holding.get(STRANGER, f"/{holding.item['ibip']}:")
    assert answer.headers["location"] == holding.metadata
    assert "public" in answer.headers["cache-control"]


def test_items_for_everybody_do_not_say_that_they_are_limited(holding: Holding) -> None:
    item = holding.archive.deposit({"a.txt": b"free"})
    assert holding.get(STRANGER, item["url"]).body == b"free"
    assert "public" in holding.get(STRANGER, item["url"]).headers["cache-control"]
    page = holding.get(STRANGER, f"/col/{item['metadata']['rep']}/doc/metadata", Accept=HTML)
    assert LIMITED not in page.body
    assert "readers" not in item
    # Whoever brings a token that is no longer good reads what everybody reads.
    assert holding.get(STRANGER, item["url"], Authorization="Bearer ibi_gone").status == 200


# The protocol.


def asked(archive: ArchiveServer, pairs: dict[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    query = "&".join(f"{name}={quote(value, safe='')}" for name, value in pairs.items())
    status, headers, body = plain(archive.address, f"/{archive.service}?{query}")
    assert status == 200
    return dict(pairlist.decode(body)), dict(headers)


def url_request(holding: Holding, clients: str, **more: str) -> dict[str, str]:
    pairs = {
        "servicesubject": "urlRequest",
        "clientinformation.ipaddress": clients,
        "parsedibiurl.ibi": holding.item["ibip"],
    }
    answer, headers = asked(holding.archive, {**pairs, **more})
    assert headers["cache-control"] == "private, no-store"
    return answer


def test_the_address_that_a_resolver_tells_chooses_between_item_and_metadata(
    holding: Holding,
) -> None:
    for clients in (INSIDE, f"172.16.44.200 {INSIDE}", "2001:db8:1::7"):
        answer = url_request(holding, clients)
        assert (answer["url"], answer["contenttype"]) == (holding.item["url"], "Data")
    for clients in (OUTSIDE, f"{OUTSIDE} {INSIDE}", "0.0.0.0", "2001:db8:2::7"):
        answer = url_request(holding, clients)
        assert (answer["url"], answer["contenttype"]) == (holding.metadata, "Metadata")
        assert answer["ibi"] == f"rep {holding.item['rep']} ibip {holding.item['ibip']}"
    # Whatever it chooses, the files are delivered by the address of the connection.
    assert holding.get(STRANGER, url_request(holding, INSIDE)["url"]).status == 403


def test_an_answer_that_is_the_same_for_all_is_not_marked(holding: Holding) -> None:
    pairs = {"servicesubject": "urlRequest", "clientinformation.ipaddress": OUTSIDE}
    for more in (
        {"parsedibiurl.ibi": holding.item["ibip"], "parsedibiurl.verblist": "GetMetadata"},
        {"parsedibiurl.ibi": holding.item["metadata"]["ibip"]},
        {"parsedibiurl.ibi": "LK47B6W/362SFKH"},
    ):
        _, headers = asked(holding.archive, {**pairs, **more})
        assert headers["cache-control"] == "no-store"


def counted(archive: ArchiveServer) -> float:
    return archive.metric("ibi_archive_accesses_counted")


@pytest.mark.parametrize("with_labels", [True, False])
@pytest.mark.parametrize("clients", [INSIDE, OUTSIDE])
def test_accesses_are_counted_whatever_was_chosen(
    holding: Holding,
    clients: str,
    with_labels: bool,  # noqa: FBT001
) -> None:
    before = counted(holding.archive)
    answer = url_request(holding, clients)
    acknowledged = {
        "servicesubject": "acknowledgment",
        "clientinformation.ipaddress": clients,
        "contenttype": answer["contenttype"],
        **({"ibi": answer["ibi"]} if with_labels else {}),
        "state": answer["state"],
        "url": answer["url"],
        "url.persistent": "http://resolver.example/x",
        "urlkey": answer["urlkey"],
    }
    for _ in range(2):
        asked(holding.archive, acknowledged)
    assert counted(holding.archive) == before + 1


# The API and the command.


def test_the_api_sets_and_takes_away_readers(holding: Holding) -> None:
    archive = holding.archive
    label = archive.deposit({"a.txt": b"a"})["rep"]
    answer = archive.api(
        "PATCH", f"items/{label}", {"readers": ["::ffff:10.0.0.0/104", "10.0.0.0/8"]}
    )
    assert answer.json()["readers"] == ["10.0.0.0/8"]
    url = answer.json()["url"]
    assert url.endswith("/doc/a.txt")  # where it lies, whoever may read it
    assert holding.get(STRANGER, url).status == 403
    everybody: list[str] | None
    for everybody in ([], None):
        limited = {"readers": [f"{STRANGER}/32"]}
        assert archive.api("PATCH", f"items/{label}", limited).status == 200
        assert holding.get(STRANGER, url).status == 200
        assert holding.get(INSIDER, url).status == 403
        assert archive.api("PATCH", f"items/{label}", {"readers": everybody}).status == 200
        assert holding.get(INSIDER, url).status == 200


@pytest.mark.parametrize(
    "readers", [["campus"], ["10.1.2.3/8"], ["10.0.0.0/8", ""], ["10.0.0.0/8"] * 1001]
)
def test_what_is_no_network_is_refused_and_changes_nothing(
    holding: Holding, readers: list[str]
) -> None:
    archive, label = holding.archive, holding.item["rep"]
    assert archive.api("PATCH", f"items/{label}", {"readers": readers}).status == 400
    assert archive.item(label)["readers"] == READERS
    wanted = {"metadata": {"titles": ["x"]}, "readers": readers}
    assert archive.api("POST", "deposits", wanted).status == 400


def test_what_has_no_files_here_has_no_readers(holding: Holding) -> None:
    archive = holding.archive
    service = archive.deposit(service="http://elsewhere.example/run")
    changed = archive.api("PATCH", f"items/{service['rep']}", {"readers": READERS})
    assert changed.status == 409
    wanted = {
        "metadata": {"titles": ["x"]},
        "service": "http://elsewhere.example/run",
        "readers": READERS,
    }
    assert archive.api("POST", "deposits", wanted).status == 400


def on(archive: ArchiveServer, command: str, *arguments: str) -> Done:
    given = citable([command, *arguments])
    return Shell(archive.folder).call("archive", *given, "--data", str(archive.data))


def test_the_command_sets_and_takes_away_readers(holding: Holding, tmp_path: Path) -> None:
    archive = holding.archive
    (tmp_path / "a.txt").write_bytes(b"a")
    deposited = on(
        archive, "deposit", str(tmp_path / "a.txt"), "--title", "x", "--network", "10.0.0.0/8"
    )
    one = deposited.stdout.split("\t")[0]
    assert archive.item(one)["readers"] == ["10.0.0.0/8"]
    two = archive.deposit({"a.txt": b"a"})["rep"]
    done = on(archive, "readers", one, two, "--network", INSIDER, "--network", "2001:db8::/32")
    assert done.stdout.splitlines() == [
        f"{label}\t{INSIDER}/32 2001:db8::/32" for label in (one, two)
    ]
    assert INSIDER in on(archive, "show", one).stdout
    done = on(archive, "readers", one, "--everybody")
    assert done.stdout == f"{one}\teverybody\n"
    assert "readers" not in archive.item(one)
    shown = on(archive, "readers", two, "--network", "10.0.0.0/8", "--json")
    assert json.loads(shown.stdout)["readers"] == ["10.0.0.0/8"]
    history = archive.api("GET", f"history?item={two}").json()["history"]
    assert history[-1]["detail"] == {"readers": ["10.0.0.0/8"]}


@pytest.mark.parametrize(
    "options", [(), ("--everybody", "--network", "10.0.0.0/8"), ("--network", "campus")]
)
def test_the_command_wants_to_know_who(holding: Holding, options: tuple[str, ...]) -> None:
    done = on(holding.archive, "readers", holding.item["rep"], *options)
    assert done.returncode != 0
    assert done.stderr
    assert holding.archive.item(holding.item["rep"])["readers"] == READERS


# By way of a resolver.


@pytest.fixture(scope="module")
def resolvers(
    holding: Holding, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, ResolverServer]]:
    with ExitStack() as stack:
        found = {}
        for reveal in ("network", "none"):
            folder = tmp_path_factory.mktemp(reveal)
            resolver = ResolverServer(folder)
            resolver.set(trusted_proxies=["127.0.0.0/8"], client_address=reveal, hot_seconds=60)
            found[reveal] = stack.enter_context(resolver)
            link(resolver, holding.archive)
        yield found


def test_no_reader_gets_what_a_resolver_remembers_for_another(
    holding: Holding, resolvers: dict[str, ResolverServer]
) -> None:
    path = f"/{holding.item['ibip']}"
    readers = [OUTSIDE, INSIDE, "9.9.9.9", "150.163.200.1", OUTSIDE, INSIDE]
    for _ in range(3):
        for reader in readers:
            answer = resolvers["network"].get(path, X_Forwarded_For=reader)
            inside = reader.startswith("150.163.")
            assert answer.headers["location"] == (
                holding.item["url"] if inside else holding.metadata
            )
            assert answer.headers["cache-control"] == "private, no-store"


def test_a_resolver_that_tells_nothing_leads_to_metadata(
    holding: Holding, resolvers: dict[str, ResolverServer]
) -> None:
    for reader in (INSIDE, OUTSIDE):
        answer = resolvers["none"].get(f"/{holding.item['ibip']}", X_Forwarded_For=reader)
        assert answer.headers["location"] == holding.metadata


def test_what_is_for_some_readers_is_searched_for_once_for_each_reader(
    holding: Holding, resolvers: dict[str, ResolverServer]
) -> None:
    resolver = resolvers["network"]
    label = holding.item["rep"]

    before = metric(resolver, "searches")
    for number in (1, 2, 1, 2):
        for network in ("150.163.7", "9.9.7"):
            resolver.get(f"/{label}", X_Forwarded_For=f"{network}.{number}")
    assert metric(resolver, "searches") == before + 4


def test_the_archive_counts_both_kinds_of_access_by_a_resolver(
    holding: Holding, resolvers: dict[str, ResolverServer]
) -> None:
    before = counted(holding.archive)
    for reader in ("150.163.77.1", "9.9.77.1"):
        assert (
            resolvers["network"]
            .get(f"/{holding.item['ibip']}/b/c.txt", X_Forwarded_For=reader)
            .headers["location"]
            .startswith(urlsplit(holding.item["url"]).scheme)
        )
    wait_until(lambda: counted(holding.archive) >= before + 2)
