"""OAI-PMH and the feed of changes, read by clients that others wrote and judged by the schema."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from lxml import etree
from oaipmh_scythe import HTTPConfig, Scythe
from oaipmh_scythe.exceptions import BadArgument, NoRecordsMatch

from ibi.archive.rules.harvest.publication import value_of
from tests.support.clients.http import Answer
from tests.support.servers.archive import HOST, ArchiveServer

with warnings.catch_warnings():  # its regular expressions are older than Python 3.6
    warnings.simplefilter("ignore")
    from sickle import Sickle
    from sickle.oaiexceptions import CannotDisseminateFormat, IdDoesNotExist

NAMES = {"oai": "http://www.openarchives.org/OAI/2.0/"}
TYPES = {5: "Thesis", 6: "Doctoral thesis"}
SCHEMA = etree.XMLSchema(etree.parse(Path("tests/support/schemas/OAI-PMH.xsd")))


@dataclass(frozen=True)
class Repository:
    """An archive with seven items, the second of which was deleted, and a collection of two."""

    archive: ArchiveServer
    items: list[dict[str, Any]]
    collection: dict[str, Any]
    draft: str
    reserved: str

    @property
    def address(self) -> str:
        """Where harvesters ask."""
        return f"{self.archive.address}/oai"

    def asked(self, answer: Answer) -> etree._Element:
        """Return a valid answer."""
        assert answer.status == 200
        assert answer.headers["content-type"] == "text/xml; charset=utf-8"
        root = etree.fromstring(answer.body)
        SCHEMA.assertValid(root)
        return root

    def get(self, query: str) -> etree._Element:
        """Ask by GET."""
        return self.asked(self.archive.get(f"/oai?{query}"))

    def post(self, body: str, query: str = "") -> etree._Element:
        """Ask by POST."""
        form = "application/x-www-form-urlencoded"
        path = f"/oai{query}"
        headers = {"Content-Type": form}
        answer = self.archive.ask("POST", path, body.encode(), token="", headers=headers)
        return self.asked(answer)

    def fault(self, query: str) -> str:
        """Return the code of the error that answers a request."""
        root = self.get(query)
        [error] = root.findall("oai:error", NAMES)
        assert error.text
        [request] = root.findall("oai:request", NAMES)
        code = error.get("code", "")
        # The arguments of a request that was not understood are not repeated.
        assert bool(request.attrib) == (code not in {"badVerb", "badArgument"})
        return code

    def identifier(self, number: int) -> str:
        """Return the OAI identifier of an item."""
        return f"oai:{HOST}:{self.items[number]['ibip']}"


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Repository]:
    server = ArchiveServer(tmp_path_factory.mktemp("oai"))
    server.set(oai_page=3)
    with server as archive:
        items = [
            archive.deposit(
                {"a.txt": b"a"},
                metadata={
                    "titles": [{"value": f"Title {number} <&> ção", "language": "pt"}],
                    "creators": [{"family": "Silva", "given": "Ana"}],
                    "types": [TYPES.get(number, "Journal article")],
                    "dates": ["2026"],
                },
                **({"readers": ["10.1.2.0/24"]} if number == 4 else {}),
            )
            for number in range(7)
        ]
        types: dict[str, Any] = {"titles": ["Field notes"], "types": ["Collection"]}
        collection = archive.deposit(metadata=types)
        archive.api(
            "PATCH",
            f"collections/{collection['ibip']}",
            {"add": [items[0]["ibip"], items[1]["ibip"]]},
        )
        gone = archive.api("POST", f"items/{items[1]['ibip']}/deletion", {"reason": "Wrong"})
        assert gone.status == 200, gone.body
        draft = archive.api("POST", "drafts", {"fields": {}})
        reserved = archive.api("POST", "reservations", {"count": 1}).json()["labels"][0]
        open_ = archive.open_deposit(metadata={"titles": ["Unfinished"]})
        archive.send(open_, "b.txt", b"b")
        found = Repository(archive, items, collection, draft.body.decode(), reserved["ibip"])
        yield found


def test_sickle_and_scythe_harvest_all_that_is_public(repository: Repository) -> None:
    sickle = Sickle(repository.address)
    about = sickle.Identify()
    assert about.repositoryName == "Arquivo de prova"
    assert about.deletedRecord == "persistent"
    records = list(sickle.ListRecords(metadataPrefix="oai_dc"))
    expected = {repository.identifier(number) for number in range(7)}
    expected.add(f"oai:{HOST}:{repository.collection['ibip']}")
    assert sorted(record.header.identifier for record in records) == sorted(expected)
    deleted = [record.header.identifier for record in records if record.header.deleted]
    assert deleted == [repository.identifier(1)]
    first = next(r for r in records if r.header.identifier == repository.identifier(0))
    assert first.metadata["title"] == ["Title 0 <&> ção"]
    assert first.metadata["creator"] == ["Silva, Ana"]
    assert any(repository.items[0]["ibip"] in each for each in first.metadata["identifier"])
    # A limited item has public metadata; the networks of its readers are no part of them.
    for secret in ("10.1.2.0", "Unfinished", repository.reserved):
        assert not any(secret in record.raw for record in records)
    again = sickle.GetRecord(identifier=repository.identifier(2), metadataPrefix="oai_dc")
    assert again.header.identifier == repository.identifier(2)

    with Scythe(repository.address, http_config=HTTPConfig(http_method="POST")) as scythe:
        headers: list[Any] = list(scythe.list_identifiers(metadata_prefix="oai_dc"))
        assert {each.identifier for each in headers} == expected
        listed: list[Any] = list(scythe.list_sets())
        sets = {each.setName: each.setSpec for each in listed}
        assert sets.keys() == {
            *("Collection", "Field notes", "Journal article", "Thesis", "Doctoral thesis"),
            "mtd-br",
        }
        assert value_of(sets["Field notes"]) == repository.collection["ibip"]
        members: list[Any] = list(
            scythe.list_records(metadata_prefix="oai_dc", set_=sets["Field notes"])
        )
        assert {each.header.identifier for each in members} == {
            repository.identifier(number) for number in (0, 1)
        }
        theses: list[Any] = list(scythe.list_records(metadata_prefix="oai_dc", set_=sets["Thesis"]))
        [thesis] = theses
        assert thesis.header.identifier == repository.identifier(5)
        stamps = sorted(each.datestamp for each in headers)
        since: list[Any] = list(scythe.list_identifiers(metadata_prefix="oai_dc", from_=stamps[-1]))
        assert {each.identifier for each in since} == {
            each.identifier for each in headers if each.datestamp == stamps[-1]
        }
        with pytest.raises(NoRecordsMatch):
            list(scythe.list_records(metadata_prefix="oai_dc", until="1999-12-31"))
        with pytest.raises(BadArgument):
            list(scythe.list_records(metadata_prefix="oai_dc", from_="2026-13-01"))
    with pytest.raises(CannotDisseminateFormat):
        sickle.ListRecords(metadataPrefix="marcxml")
    with pytest.raises(IdDoesNotExist):
        sickle.GetRecord(identifier=f"oai:{HOST}:8JMKD3MGP7W/3EPGUE5", metadataPrefix="oai_dc")


def test_items_are_harvested_in_each_format_that_is_for_them(repository: Repository) -> None:
    sickle = Sickle(repository.address)
    prefixes = [each.metadataPrefix for each in sickle.ListMetadataFormats()]
    assert prefixes == ["oai_dc", "oai_datacite", "oai_openaire", "mtd-br"]
    every = [each.header.identifier for each in sickle.ListRecords(metadataPrefix="oai_dc")]
    for prefix in prefixes[1:3]:
        records = list(sickle.ListRecords(metadataPrefix=prefix))
        assert [record.header.identifier for record in records] == every
        assert sum("Title 2 &lt;&amp;&gt;" in record.raw for record in records) == 1
    thesis = repository.identifier(6)
    for asked in ({}, {"set": f"type:{quote('Doctoral thesis')}".replace("%", "~")}):
        [record] = sickle.ListRecords(metadataPrefix="mtd-br", **asked)
        assert record.header.identifier == thesis
        [header] = sickle.ListIdentifiers(metadataPrefix="mtd-br", **asked)
        assert header.identifier == thesis
    known = {
        number: [
            each.metadataPrefix
            for each in sickle.ListMetadataFormats(identifier=repository.identifier(number))
        ]
        for number in (5, 6)
    }
    assert known == {5: prefixes[:3], 6: prefixes}
    with pytest.raises(CannotDisseminateFormat):
        sickle.GetRecord(identifier=repository.identifier(5), metadataPrefix="mtd-br")


def test_every_answer_is_valid_and_errors_are_those_of_the_protocol(
    repository: Repository,
) -> None:
    about = repository.get("verb=Identify")
    [base] = about.findall("oai:Identify/oai:baseURL", NAMES)
    assert base.text == repository.address
    deleted = urlencode({"identifier": repository.identifier(1)})
    dc = "metadataPrefix=oai_dc"
    repository.get(f"verb=GetRecord&{dc}&{deleted}")
    repository.get("verb=ListMetadataFormats")
    part = repository.post("verb=ListRecords", f"?{dc}")
    [token] = part.findall("oai:ListRecords/oai:resumptionToken", NAMES)
    assert token.get("cursor") == "0"
    repository.get(f"verb=ListRecords&resumptionToken={token.text}")
    for query, code in (
        ("", "badVerb"),
        ("verb=", "badVerb"),
        ("verb=identify", "badVerb"),
        ("verb=Identify&verb=Identify", "badVerb"),
        ("verb=Identify&x=%00%ff", "badArgument"),
        (f"verb=ListRecords&{dc}&{dc}", "badArgument"),
        ("verb=ListRecords", "badArgument"),
        (f"verb=GetRecord&{dc}", "badArgument"),
        (f"verb=ListRecords&{dc}&resumptionToken=x", "badArgument"),
        (f"verb=ListRecords&{dc}&from=2026-01-01&until=2026-01-01T00:00:00Z", "badArgument"),
        (f"verb=ListRecords&{dc}&from=2026-02-01&until=2026-01-01", "badArgument"),
        (f"verb=ListRecords&{dc}&from=2026-01-01T24:00:00Z", "badArgument"),
        (f"verb=ListRecords&{dc}&until=2026", "badArgument"),
        (f"verb=ListRecords&{dc}&set=a%20b", "badArgument"),
        ("verb=ListRecords&metadataPrefix=%3Cx%3E", "badArgument"),
        ("verb=ListRecords&metadataPrefix=x", "cannotDisseminateFormat"),
        (f"verb=ListRecords&{dc}&set=none", "noRecordsMatch"),
        (f"verb=ListRecords&{dc}&from=3000-01-01", "noRecordsMatch"),
        (f"verb=GetRecord&{dc}&identifier=x", "idDoesNotExist"),
        (f"verb=GetRecord&{dc}&identifier=oai:{HOST}:{repository.reserved}", "idDoesNotExist"),
        (f"verb=ListMetadataFormats&{deleted}", "noMetadataFormats"),
        ("verb=ListMetadataFormats&identifier=%E2%98%83", "idDoesNotExist"),
        ("verb=ListRecords&resumptionToken=x", "badResumptionToken"),
        (f"verb=ListIdentifiers&resumptionToken={token.text}", "badResumptionToken"),
        (f"verb=ListRecords&resumptionToken={token.text}A", "badResumptionToken"),
        ("verb=ListSets&resumptionToken=%F0%9F%98%80", "badResumptionToken"),
    ):
        assert repository.fault(query) == code, query


def test_the_feed_of_changes_is_followed_by_its_cursor(repository: Repository) -> None:
    first = repository.archive.get("/api/v1/changes?limit=5")
    assert first.headers["content-type"].startswith("application/jsonl")
    *lines, end = map(json.loads, first.body.splitlines())
    assert (len(lines), end["more"]) == (5, True)
    rest = repository.archive.get(f"/api/v1/changes?since={end['next']}")
    *more, last = map(json.loads, rest.body.splitlines())
    assert not last["more"]
    changes = {line["ibi"]: line for line in (*lines, *more)}
    assert len(changes) == len(lines) + len(more) == 8
    assert changes[repository.items[1]["ibip"]]["state"] == "Deleted"
    assert "record" not in changes[repository.items[1]["ibip"]]
    assert changes[repository.items[5]["ibip"]]["record"]["types"] == ["Thesis"]
    assert b"10.1.2.0" not in first.body + rest.body

    tail = f"/api/v1/changes?since={last['next']}"
    nothing = repository.archive.get(tail)
    assert [json.loads(line) for line in nothing.body.splitlines()] == [last]
    assert repository.archive.get(tail, If_None_Match=nothing.headers["etag"]).status == 304
    for wrong in ("since=x", "since=0123456789abcdef-1", "limit=0", "limit=x"):
        assert repository.archive.get(f"/api/v1/changes?{wrong}").status == 400
