"""The protocol of 004 over real sockets: what any resolver of the standard asks of an archive."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import asyncpg
import pytest

from ibi.archive.settings import read_archive
from ibi.wire import access_counts, pairlist
from ibi.wire.access_counts import Others
from tests.support.scenes.link_secret import KEY, SECRET, linked, states
from tests.support.servers.archive import HOST, ArchiveServer, plain, raw_get
from tests.support.servers.postgres import DATABASES, database_options
from tests.support.waiting import wait_until

CLIENT = "203.0.113.77"
"""A reader's address, which must be found nowhere afterwards."""
PROXY = "198.51.100.23"


@pytest.fixture(scope="module", params=DATABASES)
def archive(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ArchiveServer]:
    options = database_options(request, "--catalogue", "--ledger")
    with ArchiveServer(tmp_path_factory.mktemp(request.param), *options) as started:
        yield started


@pytest.fixture(scope="module")
def item(archive: ArchiveServer) -> dict[str, Any]:
    return archive.deposit({"Relatório Final.txt": b"ol\xc3\xa1"}, target="Relatório Final.txt")


def asked(archive: ArchiveServer, query: str, service: str = "") -> tuple[int, dict[str, str]]:
    """Send a request to the archive service; check the form of the answer, and return its pairs."""
    status, headers, body = plain(archive.address, f"/{service or archive.service}?{query}")
    types = [value for name, value in headers if name.lower() == "content-type"]
    assert types == ["text/plain"]
    assert body.isascii()
    assert dict(headers)["content-length"] == str(len(body))
    return status, dict(pairlist.decode(body))


def url_request(archive: ArchiveServer, label: str, **more: str) -> dict[str, str]:
    pairs = {
        "servicesubject": "urlRequest",
        "clientinformation.ipaddress": CLIENT,
        "parsedibiurl.ibi": label,
        **{f"parsedibiurl.{name}": value for name, value in more.items()},
    }
    status, answer = asked(archive, written(pairs))
    assert status == 200
    return answer


def written(pairs: dict[str, str]) -> str:
    return "&".join(f"{name}={quote(value, safe='')}" for name, value in pairs.items())


def acknowledgment(answer: dict[str, str], persistent: str, **changes: str | None) -> str:
    """Return what a resolver sends after it sent a reader to a URL of an answer."""
    pairs: dict[str, str | None] = {
        "servicesubject": "acknowledgment",
        "clientinformation.ipaddress": CLIENT,
        "contenttype": answer["contenttype"],
        "ibi": answer["ibi"],
        "state": answer["state"],
        "url": answer["url"],
        "url.persistent": persistent,
        "urlkey": answer["urlkey"],
        **changes,
    }
    return written({name: value for name, value in pairs.items() if value is not None})


def count(archive: ArchiveServer, item: dict[str, Any]) -> int:
    total: int = archive.api("GET", f"statistics?item={item['rep']}").json()["total"]
    return total


def told(archive: ArchiveServer) -> float:
    """Return how many accesses its metrics tell of."""
    return archive.metric("ibi_archive_accesses_counted")


RECEIVED = (200, {"notice": "acknowledgment received"})


def test_the_archive_confirms_that_it_is_there(archive: ArchiveServer) -> None:
    query = "servicesubject=inclusionConfirmationRequest"
    status, headers, body = plain(archive.address, f"/{archive.service}?{query}")
    assert (status, body) == (200, b"confirmation yes")
    assert ("content-type", "text/plain") in headers


def test_the_service_answers_under_each_of_its_labels(archive: ArchiveServer) -> None:
    [service] = archive.api("GET", "items?kind=service").json()["items"]
    for label in (service["rep"], service["ibip"]):
        found = asked(archive, "servicesubject=inclusionConfirmationRequest", label)
        assert found == (200, {"confirmation": "yes"})
    assert not service["transferable"]


def test_a_url_request_is_answered_with_a_list_of_urls(
    archive: ArchiveServer, item: dict[str, Any]
) -> None:
    for label in (item["rep"], item["ibip"]):
        answer = url_request(archive, label)
        key = answer.pop("urlkey")
        assert key.replace("-", "").isdigit()
        service = answer.pop("ibi.archiveservice")
        assert archive.service in service
        assert answer == {
            "archiveaddress": urlsplit(archive.address).netloc,
            "contenttype": "Data",
            "ibi": f"rep {item['rep']} ibip {item['ibip']}",
            "ibi.platformsoftware": "",
            "state": "Original",
            "timestamp": item["updated"],
            "url": f"{archive.address}/col/{item['rep']}/doc/Relat%C3%B3rio%20Final.txt",
        }


def test_an_answer_is_one_pair_a_line_in_order(
    archive: ArchiveServer, item: dict[str, Any]
) -> None:
    query = f"servicesubject=urlRequest&clientinformation.ipaddress={CLIENT}&parsedibiurl.ibi="
    _, _, body = plain(archive.address, f"/{archive.service}?{query}{item['ibip']}")
    names = [line.split(b" ", 1)[0] for line in body.splitlines()]
    assert names == sorted(names)
    assert b"ibi.platformsoftware {}" in body.splitlines()


SOFTWARE = "dpi.inpe.br/banon/1998/08.02.08.56"


def test_the_software_of_an_item_is_named_in_answers(archive: ArchiveServer) -> None:
    program = archive.deposit({"tclsh": b"#!"})
    forms = f"rep {program['rep']} ibip {program['ibip']}"
    # A program that this archive holds is named by both of its labels, any other by the one given.
    item = archive.deposit({"a.tcl": b"a"}, platform_software=program["ibip"])
    assert url_request(archive, item["ibip"])["ibi.platformsoftware"] == forms
    changed = archive.api("PATCH", f"items/{item['rep']}", {"platform_software": SOFTWARE})
    assert changed.json()["platform_software"] == {"rep": SOFTWARE}
    for more in ({}, {"verblist": "GetMetadata"}, {"filepath": "/a.tcl"}):
        answer = url_request(archive, item["ibip"], **more)
        assert answer["ibi.platformsoftware"] == f"rep {SOFTWARE}"
    page = archive.get(f"/col/{item['metadata']['rep']}/doc/metadata").body.decode()
    assert "Software that runs it" in page
    assert SOFTWARE in page
    described = archive.api(
        "PATCH", f"items/{item['metadata']['rep']}", {"platform_software": SOFTWARE}
    )
    assert (described.status, "a setting of it" in described.json()["detail"]) == (409, True)
    assert archive.api("PATCH", f"items/{item['rep']}", {"platform_software": "x"}).status == 400
    archive.api("POST", f"items/{item['rep']}/deletion", {"reason": "Twice"})
    assert url_request(archive, item["ibip"])["ibi.platformsoftware"] == f"rep {SOFTWARE}"
    other = archive.deposit({"a.tcl": b"a"}, platform_software=SOFTWARE)
    archive.api("PATCH", f"items/{other['rep']}", {"platform_software": None})
    assert url_request(archive, other["ibip"])["ibi.platformsoftware"] == ""


def test_the_software_of_the_archive_is_a_setting(tmp_path: Path) -> None:
    with ArchiveServer(tmp_path, "--platform-software", SOFTWARE) as archive:
        own, other = "LK47B6W/362SFKH", archive.deposit({"a.txt": b"a"})
        item = archive.deposit({"a.txt": b"a"}, platform_software=own)
        found = {
            label: url_request(archive, label)["ibi.platformsoftware"]
            for label in (archive.service, other["ibip"], item["ibip"], item["metadata"]["ibip"])
        }
    assert list(found.values()) == [*[f"rep {SOFTWARE}"] * 2, f"ibip {own}", f"rep {SOFTWARE}"]
    assert read_archive(archive.data).platform_software == SOFTWARE


def test_an_unknown_item_gets_an_empty_answer(archive: ArchiveServer) -> None:
    for unknown in ("LK47B6W/362SFKH", "example.org/nobody/2020/01.01.01.01"):
        query = f"servicesubject=urlRequest&clientinformation.ipaddress={CLIENT}&parsedibiurl.ibi="
        status, headers, body = plain(archive.address, f"/{archive.service}?{query}{unknown}")
        assert (status, body) == (200, b"")
        assert ("content-type", "text/plain") in headers


def test_the_pairs_come_in_any_order_and_more_than_those_known(
    archive: ArchiveServer, item: dict[str, Any]
) -> None:
    query = (
        f"unknown=%FF%00&parsedibiurl.verblist=&parsedibiurl.ibi={item['ibip']}&unknown=2&"
        f"clientinformation.ipaddress={CLIENT}+{PROXY}&servicesubject=URLREQUEST"
    )
    status, answer = asked(archive, query)
    assert (status, answer["state"]) == (200, "Original")


@pytest.mark.parametrize("path", ["/Relat%C3%B3rio%20Final.txt", "Relat%f3rio+Final.txt"])
def test_a_file_may_be_asked_for(archive: ArchiveServer, item: dict[str, Any], path: str) -> None:
    query = (
        f"servicesubject=urlRequest&clientinformation.ipaddress={CLIENT}&"
        f"parsedibiurl.ibi={item['ibip']}&parsedibiurl.filepath={path}"
    )
    _, answer = asked(archive, query)
    assert answer["url"] == item["url"]
    assert archive.get(urlsplit(answer["url"]).path).body == b"ol\xc3\xa1"


def test_a_file_that_is_not_there_has_no_url(archive: ArchiveServer, item: dict[str, Any]) -> None:
    for path in ("/other.txt", "/../archive.toml", "/doc/../../x", "//", "/a\\b"):
        answer = url_request(archive, item["ibip"], filepath=path)
        assert "url" not in answer
        assert "urlkey" not in answer


def test_the_list_of_files_wins_over_a_file(archive: ArchiveServer, item: dict[str, Any]) -> None:
    answer = url_request(archive, item["ibip"], filepath="/x", verblist="GetFileList")
    assert answer["url"] == (
        f"{archive.address}/displaydoccontent.cgi/{item['ibip']}?displaytype=FileList"
    )
    assert archive.get(answer["url"].removeprefix(archive.address)).status == 200


def test_a_deleted_item_says_so_and_offers_nothing(archive: ArchiveServer) -> None:
    gone = archive.deposit({"a.txt": b"a"})
    buried = archive.api("POST", f"items/{gone['rep']}/deletion", {"reason": "Twice"}).json()
    answer = url_request(archive, gone["ibip"])
    assert answer.keys() == {
        "archiveaddress",
        "ibi",
        "ibi.archiveservice",
        "ibi.platformsoftware",
        "state",
        "timestamp",
    }
    assert answer["state"] == "Deleted"
    assert answer["timestamp"] == buried["tombstone"]["deleted"]


GOOD = f"servicesubject=urlRequest&clientinformation.ipaddress={CLIENT}&parsedibiurl.ibi="
BAD = {
    "servicesubject=": "unknown-subject",
    "servicesubject=foo": "unknown-subject",
    "servicesubject=%00": "bad-value",
    "servicesubject=inclusionRequest": "missing-pair",
    "servicesubject=urlRequest": "missing-pair",
    "servicesubject=urlRequest&servicesubject=urlRequest": "repeated-pair",
    f"servicesubject=urlRequest&clientinformation.ipaddress={CLIENT}": "missing-pair",
    "servicesubject=urlRequest&parsedibiurl.ibi=LK47B6W/362SFKH": "missing-pair",
    f"{GOOD}LK47B6W/362SFKH&parsedibiurl.ibi=LK47B6W/362SFKH": "repeated-pair",
    f"{GOOD}LK47B6W/362SFKH&parsedibiurl.filepath=a&parsedibiurl.filepath=b": "repeated-pair",
    f"{GOOD}": "bad-value",
    f"{GOOD}not-a-label": "bad-value",
    f"{GOOD}%FF%FE/%00": "bad-value",
    f"{GOOD}{'x' * 300}/1": "bad-value",
    f"{GOOD}{'A' * 60_000}": "bad-value",
    f"{GOOD}LK47B6W/362SFKH&parsedibiurl.verblist=GetNothing": "bad-value",
    f"{GOOD}LK47B6W/362SFKH&parsedibiurl.verblist=GetMetadata+GetLastEdition": "bad-value",
    f"{GOOD}LK47B6W/362SFKH&parsedibiurl.filepath=%0d%0aX:y": "bad-value",
    "servicesubject=urlRequest&clientinformation.ipaddress=me&parsedibiurl.ibi=a/b": "bad-value",
    "servicesubject=acknowledgment": "missing-pair",
    "servicesubject=acknowledgment&clientinformation.ipaddress=1.2.3.4&contenttype=Tea&"
    "url=http://x/&url.persistent=http://x/&urlkey=0123456789": "bad-value",
    "servicesubject=acknowledgment&clientinformation.ipaddress=1.2.3.4&contenttype=Data&"
    "url=javascript:x&url.persistent=http://x/&urlkey=0123456789": "bad-value",
    "servicesubject=acknowledgment&clientinformation.ipaddress=1.2.3.4&contenttype=Data&"
    "url=http://x/&url.persistent=http://x/&urlkey=12": "bad-value",
    "servicesubject=acknowledgment&clientinformation.ipaddress=1.2.3.4&contenttype=Data&state="
    "Deleted&url=http://x/&url.persistent=http://x/&urlkey=0123456789": "bad-value",
}


@pytest.mark.parametrize("query", BAD)
def test_what_cannot_be_served_is_refused_by_a_pair_list(
    archive: ArchiveServer, query: str
) -> None:
    before = archive.snapshot()
    status, answer = asked(archive, query)
    assert status == 400
    assert answer.keys() == {"status.error", "status.reason"}
    assert answer["status.error"] == BAD[query]
    assert len(answer["status.reason"]) < 1000
    assert archive.snapshot() == before


def test_what_archives_send_to_resolvers_is_not_for_an_archive(archive: ArchiveServer) -> None:
    pairs = {
        "archiveaddress": "a.example.org",
        "archiveserviceibi": "LK47B6W/362SFKH",
        "archiveip": "192.0.2.1",
        "archiveprotocol": "HTTP",
        "archiveplatformversion": "1",
        "archiveadmemailaddress": "a@example.org",
        "registrationkey": "0123456789",
    }
    for subject in ("inclusionRequest", "exclusionRequest"):
        status, answer = asked(archive, f"servicesubject={subject}&{written(pairs)}")
        assert (status, answer["status.error"]) == (400, "unknown-subject")
        assert "0123456789" not in str(answer)


def test_a_request_that_is_too_long_is_refused(archive: ArchiveServer) -> None:
    target = f"/{archive.service}?servicesubject={'x' * 70_000}".encode()
    first = raw_get(archive.address, target).partition(b"\r\n")[0]
    # By the server or by the service, as it happens to arrive.
    assert first.split()[1] in {b"431", b"400"}
    assert archive.get("/healthz").status == 200


def test_bytes_that_no_url_has_are_refused(archive: ArchiveServer) -> None:
    target = f"/{archive.service}?servicesubject=".encode() + b"\xff\xfe"
    assert b" 400 " in raw_get(archive.address, target).partition(b"\r\n")[0]


def test_a_subject_elsewhere_is_no_request(archive: ArchiveServer, item: dict[str, Any]) -> None:
    answer = archive.get(f"/{item['ibip']}?servicesubject=urlRequest")
    assert answer.status == 302
    assert answer.headers["location"] == f"{item['url']}?servicesubject=urlRequest"


def test_an_access_is_counted_once(archive: ArchiveServer) -> None:
    item = archive.deposit({"a.txt": b"a"})
    persistent = f"http://urlib.net/{item['ibip']}"
    for counted, changes in enumerate([{}, {"state": None}, {"ibi": None}], 1):
        sent = acknowledgment(url_request(archive, item["ibip"]), persistent, **changes)
        for _ in range(3):
            assert asked(archive, sent) == RECEIVED
        assert count(archive, item) == counted


@pytest.mark.parametrize("form", ["rep", "ibip"])
def test_an_acknowledgment_that_names_one_form_is_counted(
    archive: ArchiveServer, form: str
) -> None:
    item, other = archive.deposit({"a.txt": b"a"}), archive.deposit({"b.txt": b"b"})
    persistent = f"http://urlib.net/{item[form]}"
    answer = url_request(archive, item["ibip"])
    assert answer["ibi"] == f"rep {item['rep']} ibip {item['ibip']}"
    for ibi in (
        f"{form} {other[form]}",
        f"rep {item['rep']} ibip {other['ibip']}",
        f"rep {other['rep']} ibip {item['ibip']}",
    ):
        assert asked(archive, acknowledgment(answer, persistent, ibi=ibi)) == RECEIVED
        assert (count(archive, item), count(archive, other)) == (0, 0)
    sent = acknowledgment(answer, persistent, ibi=f"{form} {item[form]}")
    for _ in range(3):
        assert asked(archive, sent) == RECEIVED
        assert (count(archive, item), count(archive, other)) == (1, 0)


def test_metadata_named_by_one_form_are_counted(archive: ArchiveServer) -> None:
    item = archive.deposit({"a.txt": b"a"})
    answer = url_request(archive, item["rep"], verblist="GetMetadata")
    named = {name: answer[f"{name}.metadata"] for name in ("contenttype", "state", "url")}
    named |= {"ibi": f"rep {item['metadata']['rep']}", "urlkey": answer["urlkey"]}
    assert asked(archive, acknowledgment(named, "http://urlib.net/x:")) == RECEIVED
    assert count(archive, item["metadata"]) == 1


def counts(
    answer: dict[str, str], accesses: int, others: Others = (), secret: str = SECRET
) -> dict[str, str | None]:
    """Return the pairs by which a linked resolver proves that many readers came."""
    return {
        "accesses": str(accesses) if accesses > 1 else None,
        "accesses.others": access_counts.written(others) or None,
        "accesses.proof": access_counts.proof(secret, answer["urlkey"], accesses, others),
    }


@pytest.fixture(scope="module")
def linked_archive(archive: ArchiveServer) -> Iterator[ArchiveServer]:
    with linked(archive):
        yield archive


UNPROVED = (403, "unproved")


def refusal(archive: ArchiveServer, query: str) -> tuple[int, str]:
    status, said = asked(archive, query)
    return status, said["status.error"]


def test_more_than_one_access_need_the_proof_of_a_link(linked_archive: ArchiveServer) -> None:
    archive = linked_archive
    item, other = archive.deposit({"a.txt": b"a"}), archive.deposit({"b.txt": b"b"})
    persistent = f"http://urlib.net/{item['ibip']}"
    answer, later = (url_request(archive, item["ibip"]) for _ in range(2))
    others = ((other["ibip"], 3),)
    good = counts(answer, 2, others)
    forged: list[dict[str, str | None]] = [
        {"accesses": "2"},
        {"accesses.others": f"{other['ibip']}:1"},
        {**good, "accesses.proof": None},
        {**good, "accesses.proof": "0" * 64},
        {**good, "accesses": "3"},
        {**good, "accesses": None},
        {**good, "accesses.others": f"{other['ibip']}:4"},
        {**good, "accesses.others": f"{item['ibip']}:3"},
        counts(later, 2, others),
        counts(answer, 2, others, secret="00" * 32),
    ]
    for changes in forged:
        assert refusal(archive, acknowledgment(answer, persistent, **changes)) == UNPROVED
        assert (count(archive, item), count(archive, other)) == (0, 0)
    assert asked(archive, acknowledgment(answer, persistent, **good)) == RECEIVED
    assert (count(archive, item), count(archive, other)) == (2, 3)


def test_a_link_that_is_renewed_keeps_its_secret(linked_archive: ArchiveServer) -> None:
    archive = linked_archive
    item = archive.deposit({"a.txt": b"a"})
    [resolver] = states(archive)
    assert archive.api("POST", "resolvers", {"resolver": resolver, "key": KEY}).status == 201
    answer = url_request(archive, item["ibip"])
    sent = acknowledgment(answer, "http://urlib.net/x", **counts(answer, 5))
    assert asked(archive, sent) == RECEIVED
    assert count(archive, item) == 5
    assert SECRET not in str(archive.api("GET", "resolvers").json())


def test_many_accesses_are_counted_by_one_key_once(linked_archive: ArchiveServer) -> None:
    archive = linked_archive
    item = archive.deposit({"a.txt": b"a"})
    persistent = f"http://urlib.net/{item['ibip']}"
    answer = url_request(archive, item["ibip"])
    before = told(archive)
    for refused in ("0", "1001", "x"):
        status, said = asked(archive, acknowledgment(answer, persistent, accesses=refused))
        assert (status, said["status.error"]) == (400, "bad-value")
    for accesses in (1000, 1000, 7, 1):
        sent = acknowledgment(answer, persistent, **counts(answer, accesses))
        assert asked(archive, sent) == RECEIVED
        assert count(archive, item) == 1000
    assert told(archive) == before + 1000
    fresh = url_request(archive, item["ibip"])
    again = acknowledgment(fresh, persistent, **counts(fresh, 2))
    assert asked(archive, again) == RECEIVED
    assert count(archive, item) == 1002


def test_the_url_of_an_acknowledgment_may_come_decoded(archive: ArchiveServer) -> None:
    item = archive.deposit({"Relatório Final.txt": b"a"})
    answer = url_request(archive, item["rep"])
    # As Example 6.9 prints it: the URL's own escapes are not escaped once more.
    sent = acknowledgment(answer, "http://urlib.net/x", url=None) + f"&url={answer['url']}"
    assert "%C3%B3" in sent
    assert asked(archive, sent) == RECEIVED
    assert count(archive, item) == 1
    again = url_request(archive, item["rep"])
    sent = acknowledgment(again, "http://urlib.net/x", url=unquote(again["url"]))
    assert asked(archive, sent) == RECEIVED
    assert count(archive, item) == 2


def test_metadata_and_lists_are_counted_for_what_they_are_of(archive: ArchiveServer) -> None:
    item = archive.deposit({"a.txt": b"a"})
    answer = url_request(archive, item["rep"], verblist="GetMetadata")
    named = {
        name: answer[f"{name}.metadata"] for name in ("contenttype", "ibi", "state", "url")
    } | {"urlkey": answer["urlkey"]}
    assert asked(archive, acknowledgment(named, "http://urlib.net/x:")) == RECEIVED
    assert count(archive, item) == 0
    assert count(archive, item["metadata"]) == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"urlkey": "0123456789"},
        {"urlkey": "0123456789-0123456789"},
        {"urlkey": f"1000000000-{'1' * 52}"},
        {"clientinformation.ipaddress": "203.0.113.78"},
        {"clientinformation.ipaddress": f"{CLIENT} {PROXY}"},
        {"contenttype": "Metadata"},
        {"ibi": "ibip LK47B6W/362SFKH"},
        {"state": "Copy"},
        {"url": f"http://{HOST}/"},
    ],
)
def test_what_no_key_proves_is_received_and_not_counted(
    archive: ArchiveServer, changes: dict[str, str]
) -> None:
    before = archive.api("GET", "statistics").json()
    item = archive.deposit({"a.txt": b"a"})
    answer = url_request(archive, item["ibip"])
    assert asked(archive, acknowledgment(answer, "http://x/y", **changes)) == RECEIVED
    assert archive.api("GET", "statistics").json() == before
    # The key is as good as before: nobody else can use it up.
    assert asked(archive, acknowledgment(answer, "http://x/y")) == RECEIVED
    assert count(archive, item) == 1


def test_keys_of_one_archive_are_none_of_another(
    archive: ArchiveServer, item: dict[str, Any], tmp_path: Path
) -> None:
    with ArchiveServer(tmp_path) as other:
        theirs = other.deposit({"Relatório Final.txt": b"x"})
        foreign = url_request(other, theirs["ibip"])["urlkey"]
    before = count(archive, item)
    answer = url_request(archive, item["ibip"]) | {"urlkey": foreign}
    assert asked(archive, acknowledgment(answer, "http://x/y")) == RECEIVED
    assert count(archive, item) == before


def test_a_restart_loses_no_key_and_no_count(archive: ArchiveServer) -> None:
    item = archive.deposit({"a.txt": b"a"})
    first, second = (url_request(archive, item["ibip"]) for _ in range(2))
    assert asked(archive, acknowledgment(first, "http://x/y")) == RECEIVED
    archive.restart()
    for answer in (first, second, second):
        assert asked(archive, acknowledgment(answer, "http://x/y")) == RECEIVED
    assert count(archive, item) == 2
    archive.kill()
    archive.start()
    for answer in (first, second):
        assert asked(archive, acknowledgment(answer, "http://x/y")) == RECEIVED
    assert count(archive, item) == 2


def test_no_address_of_a_reader_is_kept(archive: ArchiveServer) -> None:
    item = archive.deposit({"a.txt": b"a"})
    answer = url_request(archive, item["rep"])
    assert asked(archive, acknowledgment(answer, "http://x/y")) == RECEIVED
    asked(archive, f"servicesubject={CLIENT}")
    archive.get(f"/{item['ibip']}")
    wait_until(lambda: item["ibip"] in archive.log())
    assert archive.stop() == 0
    for path in archive.folder.rglob("*"):
        if path.is_file():
            assert CLIENT.encode() not in path.read_bytes(), path
    assert "127.0.0.1" not in archive.log().replace(archive.address, "")
    assert answer["urlkey"] not in archive.log()
    for row in asyncio.run(rows(read_archive(archive.data).catalogue)):
        assert CLIENT not in row
    archive.start()


async def rows(catalogue: str) -> list[str]:
    """Return all rows of a catalogue in PostgreSQL; one in a file was looked at as a file."""
    if not catalogue.startswith("postgresql"):
        return []
    connection = await asyncpg.connect(catalogue)
    try:
        tables = await connection.fetch(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"
        )
        found = [
            row[0]
            for [table] in tables
            for row in await connection.fetch(f'SELECT t::text FROM "{table}" t')  # noqa: S608
        ]
    finally:
        await connection.close()
    assert any("deposit" in row for row in found)
    return found
