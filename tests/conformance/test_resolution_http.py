"""004, chapters 6 and 8, on a resolver and archives that run: URLs, followed to bytes."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final
from urllib.parse import quote

import pytest

from tests.conformance import report_archives as held
from tests.conformance.report_archives import ReportFederation
from tests.conformance.standard import covers
from tests.conformance.test_resolution import TABLE_6_9, TABLE_6_11
from tests.support.servers.archive import ArchiveServer
from tests.support.servers.attacked_resolver import label, metric
from tests.support.waiting import wait_until

CCSDS_643: Final = "8JMKD3MGP8W/35MME4E"
CCSDS_650: Final = "8JMKD3MGP8W/35MMLL8"
BANON: Final = "LK47B6W/362SFKH"
ORIGINAL: Final = "?ibiurl.requireditemstatus=Original"
HTML: Final = "text/html"


@covers("004", "Example 6.1")
@pytest.mark.parametrize(
    ("path", "content"),
    [
        (CCSDS_643, held.CCSDS_643),
        (CCSDS_650, held.CCSDS_650),
        (BANON, held.BANON),
        ("iconet.com.br/banon/2009/09.09.22.01", held.BANON),
    ],
)
def test_example_6_1(federation: ReportFederation, path: str, content: bytes) -> None:
    assert federation.brought(path) == content


@covers("003", "Example 1")
@covers("003", "Example 2")
@pytest.mark.parametrize("path", ["sid.inpe.br/mtc-m18@80/2009/02.16.17.46", "8JMKD3MGP8W/34PGRBS"])
def test_examples_1_and_2_of_003_are_labels_of_one_item(
    federation: ReportFederation, path: str
) -> None:
    assert federation.brought(path) == held.EXAMPLE_1


@covers("000", "Examples 1 and 2, `??`")
@pytest.mark.parametrize("path", ["sid.inpe.br/mtc-m18@80/2009/02.16.17.46", "8JMKD3MGP8W/34PGRBS"])
def test_two_question_marks_lead_to_the_metadata(federation: ReportFederation, path: str) -> None:
    assert federation.followed(f"{path}??", "en") == "An item"
    assert federation.location(f"{path}??") == federation.location(f"{path}:")


@covers("004", "Example 6.2")
def test_example_6_2(federation: ReportFederation) -> None:
    page = "/col/sid.inpe.br/mtc-m18@80/2009/07.21.13.23.47/doc/metadata"
    assert federation.location(f"{CCSDS_643}:") == federation.m16c.address + page
    assert federation.followed(f"{CCSDS_643}:", "en") == "ASCII Encoded English"
    location = federation.location(f"{CCSDS_643}:(oai_dc)")
    assert location == f"{federation.m16c.address}{page}?choice=oai_dc"
    assert b"<dc:title>ASCII Encoded English</dc:title>" in federation.fetched(location)
    # The address that the report prints leads to the same.
    printed = location.replace("/metadata?", "/metadata.cgi?")
    assert federation.fetched(printed) == federation.fetched(location)


@covers("004", "Example 6.3")
@pytest.mark.parametrize(
    ("path", "languages", "content"),
    [
        (f"{CCSDS_643}+", "pt-BR,fr;q=0.8,en;q=0.5", held.RTC_07),
        (f"{CCSDS_643}+", "en", held.CCSDS_643),
        (f"{CCSDS_643}+", "fr", held.CCSDS_643),
        (f"{CCSDS_643}+(pt)", "en", held.RTC_07),
        (f"{CCSDS_643}+(en)", "pt", held.CCSDS_643),
    ],
)
def test_example_6_3(
    federation: ReportFederation, path: str, languages: str, content: bytes
) -> None:
    assert federation.brought(path, Accept_Language=languages) == content


@covers("004", "Example 6.4")
@covers("004", "Example 6.5")
@covers("004", "Section 8.2")
@covers("004", "Section 6.2, new request")
def test_section_8_2_leads_to_the_last_edition_in_another_archive(
    federation: ReportFederation,
) -> None:
    assert federation.brought(f"{CCSDS_650}!") == held.CCSDS_650_2
    metadata = federation.location(f"{CCSDS_650}!:(oai_dc)")
    assert metadata == (
        f"{federation.m21.address}/col/sid.inpe.br/mtc-m18/2012/07.12.18.08.49/doc/metadata"
        "?choice=oai_dc"
    )
    assert b"<dc:title>OAIS, second edition</dc:title>" in federation.fetched(metadata)
    verbs = "?ibiurl.verblist=GetLastEdition+GetMetadata(oai_dc)"
    assert federation.location(f"{CCSDS_650}{verbs}") == metadata
    asked = quote(f"{CCSDS_650}!:(oai_dc)", safe="")
    steps = federation.get(f"api/v1/explain?url={asked}").json()["steps"]
    assert [(step["label"], step["verbs"]) for step in steps] == [
        (CCSDS_650, ["GetLastEdition", "GetMetadata(oai_dc)"]),
        ("sid.inpe.br/mtc-m18/2012/07.12.18.08", ["GetLastEdition", "GetMetadata(oai_dc)"]),
    ]


@covers("004", "Section 8.1")
@covers("004", "Section 6.2, acknowledgment")
def test_section_8_1_leads_to_the_item_and_thanks_its_archive(
    federation: ReportFederation,
) -> None:
    wait_until(lambda: metric(federation.resolver, "accesses_waiting") == 0)
    before = accesses(federation.m16c)
    location = federation.location(CCSDS_650)
    folder = "/col/sid.inpe.br/mtc-m18@80/2009/07.21.14.43/doc"
    assert location == f"{federation.m16c.address}{folder}/CCSDS%20650.0-B-1.pdf"
    assert federation.fetched(location) == held.CCSDS_650
    wait_until(lambda: accesses(federation.m16c) > before)


def accesses(archive: ArchiveServer) -> int:
    """Return how often the item of section 8.1 was read."""
    found = archive.api("GET", "statistics/items").json()["items"]
    counts = {each["rep"]: each["count"] for each in found}
    return int(counts.get("sid.inpe.br/mtc-m18@80/2009/07.21.14.43", 0))


@covers("004", "Example 6.6")
def test_example_6_6(federation: ReportFederation) -> None:
    page = federation.brought(f"{BANON}?ibiurl.verblist=GetFileList").decode()
    assert "@relatorio.pdf" in page
    assert "reference.bib" in page


@covers("004", "Example 6.7")
@covers("004", "Table 6.1")
def test_example_6_7(federation: ReportFederation) -> None:
    assert federation.brought(f"{BANON}/reference.bib") == held.REFERENCE
    location = federation.location(f"{BANON}/reference.bib?year=2009")
    assert location.endswith("/09.09.22.01/doc/reference.bib?year=2009")
    assert federation.get(f"{BANON}/reference.bib.none").status == HTTPStatus.NOT_FOUND


@covers("004", "Table 6.3")
def test_table_6_3(federation: ReportFederation) -> None:
    """The two pairs of the system are kept; all others reach the archive."""
    query = f"{ORIGINAL}&ibiurl.verblist=GetLastEdition&year=2009"
    location = federation.location(f"{CCSDS_650}{query}")
    assert location.endswith("/07.12.18.08/doc/CCSDS%20650.0-M-2.pdf?year=2009")
    assert federation.fetched(location) == held.CCSDS_650_2


@covers("004", "Table 6.4")
@covers("004", "Table 6.5")
@pytest.mark.parametrize(
    ("verbs", "synonym"),
    [
        ("GetMetadata", ":"),
        ("GetMetadata(oai_dc)", ":(oai_dc)"),
        ("GetTranslation", "+"),
        ("GetTranslation(pt)", "+(pt)"),
        ("GetTranslation(pt-BR)", "+(pt-BR)"),
        ("GetLastEdition", "!"),
        ("GetTranslation(pt)+GetMetadata", "+(pt):"),
        ("GetLastEdition+GetTranslation+GetMetadata(oai_dc)", "!+:(oai_dc)"),
    ],
)
def test_table_6_5_a_verb_and_its_synonym_lead_to_one_place(
    federation: ReportFederation, verbs: str, synonym: str
) -> None:
    path = f"{CCSDS_643}?ibiurl.verblist={verbs}"
    there = federation.location(path, Accept_Language="pt")
    assert there == federation.location(f"{CCSDS_643}{synonym}", Accept_Language="pt")
    assert federation.fetched(there)


# The rules of section 6.2. An archive that records what it is told stands beside the real ones.

READER: Final = {"Accept_Language": "pt-br,fr;q=0.8,en;q=0.5,pt;q=0.3"}


@covers("004", "Section 6.2, privacy")
@covers("004", "Figure 6.1")
@covers("004", "Example 6.8")
@covers("004", "Table 6.6")
@covers("004", "Table 6.7")
@covers("004", "Table 6.8")
@covers("004", "Table 6.9")
@covers("004", "Table 6.10")
@covers("004", "Table 6.11")
def test_an_archive_learns_what_tables_6_9_and_6_11_name_and_nothing_else(
    federation: ReportFederation,
) -> None:
    asked = label(601)
    relation = ".translation(pt).metadata"
    related = {"url": "http://{0}/pt", "contenttype": "Metadata", "state": "Original"}
    with federation.guest(601) as guest:
        pairs = {name + relation: value.format(guest.address) for name, value in related.items()}
        guest.items[asked] = {
            "ibi": f"ibip {asked}",
            f"ibi{relation}": f"ibip {label(602)}",
            f"timestamp{relation}": "2014-04-04T17:36:01Z",
            **pairs,
        }
        path = f"{asked}+{ORIGINAL}&ibiurl.verblist=GetMetadata"
        assert federation.location(path, **READER) == f"http://{guest.address}/pt"
        guest.asked(lambda: bool(guest.acknowledged))
        requests = [each for each in guest.queries if each["servicesubject"] == "urlRequest"]
        assert requests == [
            {
                "servicesubject": "urlRequest",
                "clientinformation.ipaddress": "127.0.0.0",
                "parsedibiurl.ibi": asked,
                "parsedibiurl.verblist": "GetTranslation GetMetadata",
            }
        ]
        assert requests[0].keys() <= TABLE_6_9.keys()
        [thanks] = guest.acknowledged
        assert thanks.keys() == TABLE_6_11.keys()
        received = f"{federation.resolver.address}/{asked}+?ibiurl.verblist=GetMetadata"
        assert thanks["url.persistent"] == received
        assert thanks["url"] == f"http://{guest.address}/pt"
        assert guest.subjects[-2:] == ["urlRequest", "acknowledgment"]
        assert set(guest.subjects[:-2]) == {"inclusionConfirmationRequest"}
        told = repr(guest.queries) + repr(guest.headers)
        for kept in ("requireditemstatus", "languagepreference", "pt-br", "fr;q", "q=0.8"):
            assert kept not in told.lower()


@covers("004", "Section 6.2, all archives")
@covers("004", "Section 6.2, not found")
def test_what_no_included_archive_has_is_not_found(federation: ReportFederation) -> None:
    """Every archive that publishes no digest is asked; digests answer for the others."""
    asked = label(603)
    with federation.guest(603) as one, federation.guest(604) as other:
        page = federation.get(asked, Accept=HTML, Accept_Language="en")
        assert page.status == HTTPStatus.NOT_FOUND
        assert asked in page.body.decode()
        for guest in (one, other):
            labels = [each.get("parsedibiurl.ibi") for each in guest.queries]
            assert [each for each in labels if each] == [asked]
            assert guest.acknowledged == []


@covers("004", "Section 6.2, one Original")
@covers("004", "Section 6.2, two Originals")
def test_one_original_is_taken_and_two_are_an_alert(federation: ReportFederation) -> None:
    minute = "sid.inpe.br/mtc-m18/2010/01.01.01.01"
    archive = federation.m16c
    federation.adopt(archive, [minute], {"a.txt": b"the Original"})
    federation.wait_for_adopted()
    with federation.guest(605) as guest:
        guest.hold(minute, state="Copy", ibi=f"rep {minute}")
        assert federation.brought(f"{minute}{ORIGINAL}") == b"the Original"
        guest.hold(minute, ibi=f"rep {minute}")
        wait_until(lambda: federation.get(f"{minute}{ORIGINAL}").status == HTTPStatus.CONFLICT)
        alert = federation.get(f"{minute}{ORIGINAL}")
        assert set(alert.json()["archives"]) == {archive.service, guest.service}
        page = federation.get(f"{minute}{ORIGINAL}", Accept=HTML, Accept_Language="en").body
        assert b"An investigation is needed" in page
        assert guest.acknowledged == []


@covers("004", "Section 6.2, first answer")
def test_otherwise_an_answer_that_serves_the_request_is_taken(
    federation: ReportFederation,
) -> None:
    """A Copy will do where no Original is required, and does not where one is."""
    asked = label(606)
    with federation.guest(606), federation.guest(607) as holder:
        holder.hold(asked, state="Copy")
        assert federation.location(asked) == holder.items[asked]["url"]
        holder.asked(lambda: bool(holder.acknowledged))
        assert holder.acknowledged[0]["state"] == "Copy"
        assert federation.get(asked + ORIGINAL).status == HTTPStatus.NOT_FOUND
