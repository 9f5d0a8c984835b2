"""004, chapters 4 and 7, on an archive that runs: asked over HTTP, and read by real Tcl.

Addresses, the label of the service, times and keys are those of the running archive; all else is
compared with the print. Names of files are in UTF-8, and metadata are at `metadata`
(`metadata.cgi` leads there too).
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

import pytest

from tests.conformance.report_archives import CLIENT, message, url_request
from tests.conformance.standard import covers
from tests.conformance.test_archive_answer import EXAMPLE_7_2, INCLUSION, FormsGrammar, printed
from tests.conformance.test_protocol import accepts as accepted_by
from tests.support.servers.archive import ArchiveServer
from tests.support.tools.tcl import Tcl

REPORT: Final = "8JMKD3MGP7W/3EPGUE5"
REPORT_NAME: Final = "sid.inpe.br/mtc-m19/2013/09.04.12.27.57"
BANON: Final = "LK47B6W/362SFKH"
CCSDS_643: Final = "8JMKD3MGP8W/35MME4E"
OF_THE_ARCHIVE: Final = {"ibi.archiveservice", "ibi.platformsoftware"}
TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
KEY: Final = re.compile(r"\d{10,}-\d{10,}")


def said(
    archive: ArchiveServer, tcl: Tcl, label: str, verbs: str = "", path: str = ""
) -> dict[str, str]:
    """Return the pairs of an answer as Tcl reads them."""
    return read(tcl, url_request(archive, label, verbs, path).body)


def read(tcl: Tcl, body: bytes) -> dict[str, str]:
    words = tcl.read(body.decode("ascii"))
    return dict(zip(words[::2], words[1::2], strict=True))


@covers("004", "Table 4.2")
@covers("004", "Example 4.1")
@covers("004", "Example 4.2")
@covers("004", "Example 7.4")
def test_example_4_2(archive: ArchiveServer, tcl: Tcl) -> None:
    pairs = said(archive, tcl, REPORT)
    assert TIME.fullmatch(pairs.pop("timestamp"))
    assert KEY.fullmatch(pairs.pop("urlkey"))
    assert pairs.pop("ibi.archiveservice").startswith(f"rep {archive.service}")
    assert pairs == {
        "archiveaddress": urlsplit(archive.address).netloc,
        "contenttype": "Data",
        "ibi": f"rep {REPORT_NAME} ibip {REPORT}",
        "ibi.platformsoftware": "",
        "state": "Original",
        "url": f"{archive.address}/col/{REPORT_NAME}/doc/Relat%C3%B3rio%20Final.pdf",
    }


@covers("004", "Example 7.7")
@covers("004", "Table 4.2")
def test_example_7_7_pairs_are_joined_by_line_ends_in_the_order_of_their_names(
    archive: ArchiveServer,
) -> None:
    lines = url_request(archive, REPORT).body.decode("ascii").split("\r\n")
    names = [line.partition(" ")[0] for line in lines]
    assert names == sorted(names)
    assert f"archiveaddress {urlsplit(archive.address).netloc}" in lines
    assert "state Original" in lines


@covers("004", "Table 4.1")
def test_table_4_1_special_characters_are_percent_encoded(archive: ArchiveServer, tcl: Tcl) -> None:
    """All but ? in the name of a file, asked for and answered; ? in a URL that is thanked for."""
    name = "a %&+=.txt"
    item = archive.deposit({name: b"special", "b": b"b"}, target="b")
    url = said(archive, tcl, item["rep"], path=f"/{name}")["url"]
    assert url.startswith(f"{archive.address}/col/{item['rep']}/doc/a%20%25")
    assert archive.get(url.removeprefix(archive.address)).body == b"special"
    assert counted_after(archive, said(archive, tcl, item["rep"], OAI_DC), OAI_DC_RELATION) == 1


OAI_DC: Final = "GetMetadata(oai_dc)"
OAI_DC_RELATION: Final = ".metadata(oai_dc)"


def counted_after(archive: ArchiveServer, pairs: dict[str, str], relation: str = "") -> int:
    """Thank for a URL as Example 6.9 does; return how often its item was read."""
    thanks = message(
        archive,
        servicesubject="acknowledgment",
        contenttype=pairs[f"contenttype{relation}"],
        ibi=pairs[f"ibi{relation}"],
        url=pairs[f"url{relation}"],
        urlkey=pairs["urlkey"],
        **{
            "clientinformation.ipaddress": CLIENT,
            "url.persistent": "http://mtc-m16d.sid.inpe.br:80/8JMKD3MGP7W/3EPGUE5",
        },
    )
    assert thanks.body == b"notice {acknowledgment received}"
    counts = archive.api("GET", "statistics/items").json()["items"]
    name = pairs[f"ibi{relation}"].split()[1]
    return int({each["rep"]: each["count"] for each in counts}[name])


@covers("004", "Example 7.2")
@covers("004", "Table 7.2")
def test_example_7_2_every_relation_is_answered(mtc_m16c: ArchiveServer, tcl: Tcl) -> None:
    """MontarListaDeUrl, asked for relation by relation, as the filter lets them through.

    `.metadata.translation` has a language here, as that of the item has in the print.
    """
    found: dict[str, str] = {}
    for verbs in (
        "",
        "GetLastEdition",
        "GetLastEdition GetMetadata",
        "GetLastEdition GetMetadata(oai_dc)",
        "GetMetadata",
        "GetMetadata(oai_dc)",
        "GetTranslation",
    ):
        found |= said(mtc_m16c, tcl, CCSDS_643, verbs)
    expected = dict(line.split(" ", 1) for line in printed(EXAMPLE_7_2))
    compared = {
        name: value.replace("http://mtc-m16c.sid.inpe.br", mtc_m16c.address).replace(
            "/metadata.cgi", "/metadata"
        )
        for name, value in expected.items()
        if name.partition(".")[0] in {"contenttype", "state", "url"}
        and not name.endswith(".metadata.translation")
    }
    assert len(compared) == 24
    assert {name: found.get(name) for name in compared} == compared
    for name, value in expected.items():
        if name.startswith("ibi.") and name in found and name not in OF_THE_ARCHIVE:
            assert found[name].startswith(value.strip("{}")), name
    assert {name for name in expected if name.startswith("timestamp")} - {
        "timestamp.metadata.translation"
    } <= found.keys()


@covers("004", "Example 7.3")
@covers("004", "Table 7.1")
def test_example_7_3_only_what_was_asked_for_is_answered(mtc_m16c: ArchiveServer, tcl: Tcl) -> None:
    pairs = said(mtc_m16c, tcl, CCSDS_643, "GetTranslation")
    folder = f"{mtc_m16c.address}/col/sid.inpe.br/mtc-m18@80/2009"
    assert pairs["url.translation(en)"] == f"{folder}/07.21.13.23/doc/CCSDS%20643.0-B-1.pdf"
    assert pairs["url.translation(pt)"] == f"{folder}/08.25.19.43/doc/RTC-07.pdf"
    related = ("contenttype", "ibi", "state", "timestamp", "url")
    assert pairs.keys() == {
        *("archiveaddress", "ibi", "ibi.archiveservice", "ibi.platformsoftware", "urlkey"),
        *(f"{name}.translation({language})" for name in related for language in ("en", "pt")),
    }


@covers("004", "Example 7.6")
def test_example_7_6(archive: ArchiveServer, tcl: Tcl) -> None:
    pairs = said(archive, tcl, REPORT, "GetLastEdition")
    assert pairs["ibi.lastedition"] == f"rep {REPORT_NAME} ibip {REPORT}"


@covers("004", "Example 7.8")
@covers("004", "Example 7.10")
def test_examples_7_8_and_7_10(archive: ArchiveServer, tcl: Tcl) -> None:
    pairs = said(archive, tcl, REPORT, "GetMetadata")
    metadata = "sid.inpe.br/mtc-m19/2013/09.04.12.27.58"
    assert pairs["ibi.metadata"] == f"rep {metadata}"
    assert pairs["url.metadata"] == f"{archive.address}/col/{metadata}/doc/metadata"


@covers("004", "Example 7.9")
@covers("004", "Example 7.11")
@covers("004", "Example 7.12")
@pytest.mark.parametrize(
    ("verbs", "path", "there"),
    [
        ("", "", "/col/iconet.com.br/banon/2009/09.09.22.01/doc/@relatorio.pdf"),
        ("", "/reference.bib", "/col/iconet.com.br/banon/2009/09.09.22.01/doc/reference.bib"),
        ("GetFileList", "", "/displaydoccontent.cgi/LK47B6W/362SFKH?displaytype=FileList"),
        (
            "GetFileList",
            "/reference.bib",
            "/displaydoccontent.cgi/LK47B6W/362SFKH?displaytype=FileList",
        ),
    ],
)
def test_examples_7_9_7_11_and_7_12(
    archive: ArchiveServer, tcl: Tcl, verbs: str, path: str, there: str
) -> None:
    assert said(archive, tcl, BANON, verbs, path)["url"] == archive.address + there
    assert archive.get(there, Accept="text/html,*/*").status == 200


@covers("004", "Table 7.3")
@covers("004", "Table 7.4")
@covers("004", "Table 7.5")
@covers("004", "Example 7.5")
@pytest.mark.parametrize(
    ("verbs", "relation"),
    [
        ("", ""),
        ("GetLastEdition", ".lastedition"),
        ("GetTranslation(pt)", ".translation(pt)"),
        ("GetMetadata", ".metadata"),
        ("GetMetadata(oai_dc)", ".metadata(oai_dc)"),
        ("GetLastEdition GetTranslation(pt)", ".lastedition.translation(pt)"),
        ("GetLastEdition GetMetadata", ".lastedition.metadata"),
        ("GetTranslation(pt) GetLastEdition", ".translation(pt).lastedition"),
        ("GetTranslation(pt) GetMetadata", ".translation(pt).metadata"),
    ],
)
def test_table_7_3_each_value_of_a_relation_is_of_its_domain(
    mtc_m16c: ArchiveServer, tcl: Tcl, verbs: str, relation: str
) -> None:
    pairs = said(mtc_m16c, tcl, CCSDS_643, verbs)
    assert pairs[f"contenttype{relation}"] == ("Metadata" if "meta" in relation else "Data")
    assert pairs[f"state{relation}"] == "Original"
    assert TIME.fullmatch(pairs[f"timestamp{relation}"])
    assert KEY.fullmatch(pairs["urlkey"])
    for name in ("ibi", "ibi.archiveservice", f"ibi{relation}"):
        assert accepted_by(FormsGrammar, "formas-de-ibi", pairs[name])
    location = pairs[f"url{relation}"]
    assert mtc_m16c.get(location.removeprefix(mtc_m16c.address), Accept="*/*").status == 200


@covers("004", "Algorithm 1")
@covers("004", "Example 7.1")
@covers("004", "Example 5.4")
def test_algorithm_1_by_the_subject_of_the_message(archive: ArchiveServer, tcl: Tcl) -> None:
    confirmed = message(archive, servicesubject="inclusionConfirmationRequest")
    assert confirmed.body == b"confirmation yes"
    # DecodQS finds a pair wherever it is.
    pairs = {
        "parsedibiurl.ibi": REPORT,
        "clientinformation.ipaddress": CLIENT,
        "servicesubject": "urlRequest",
    }
    assert read(tcl, message(archive, **pairs).body)["state"] == "Original"
    refused = archive.get(f"/{archive.service}?{INCLUSION}")
    assert refused.status == 400
    assert read(tcl, refused.body)["status.error"] == "unknown-subject"


@covers("004", "Algorithm 1")
@covers("004", "Example 6.9")
@covers("004", "Table 6.11")
def test_example_6_9_is_received_and_counted(archive: ArchiveServer, tcl: Tcl) -> None:
    """Without `state`, as the example has it."""
    label = archive.deposit({"a.txt": b"a"})["rep"]
    assert counted_after(archive, said(archive, tcl, label)) == 1


@covers("004", "Algorithm 2")
def test_algorithm_2_unknown_deleted_and_elsewhere(
    archive: ArchiveServer, mtc_m16c: ArchiveServer, tcl: Tcl
) -> None:
    assert url_request(archive, CCSDS_643).body == b""  # it is in the other archive
    item = archive.deposit({"a.txt": b"a"})
    assert archive.ibi("delete", item["rep"], "--reason", "Twice", "--yes").returncode == 0
    for verbs in ("", "GetLastEdition", "GetMetadata(oai_dc)"):
        gone = said(archive, tcl, item["ibip"], verbs)
        assert gone["state"] == "Deleted"
        assert gone.keys() == {
            *("archiveaddress", "ibi", "ibi.archiveservice", "ibi.platformsoftware"),
            *("state", "timestamp"),
        }
    elsewhere = said(mtc_m16c, tcl, "8JMKD3MGP8W/35MMLL8", "GetLastEdition GetMetadata(oai_dc)")
    assert elsewhere["ibi.nextedition"].startswith("rep sid.inpe.br/mtc-m18/2012/07.12.18.08")
    assert not [name for name in elsewhere if name.startswith("url")]
