"""Records from plain values: what is taken, what is refused, and in which words."""

from __future__ import annotations

import pytest

from ibi.errors import MetadataError
from ibi.metadata.dates import read_date
from ibi.metadata.json_record import (
    LARGEST_RECORD,
    LONGEST_TEXT,
    MOST_VALUES,
    check_language_tag,
    new_record_from,
    record_as_dict,
    record_from,
)
from ibi.metadata.licence import address_of, check_licence, licence_at
from ibi.metadata.orcid import read_orcid
from ibi.model.metadata_record import Agent, MetadataRecord, Text
from ibi.wire.addresses import is_web_address

ORCID = "0000-0002-1825-0097"


def record(**elements: object) -> MetadataRecord:
    return record_from({"title": "A title", **elements})


def test_the_options_of_a_command_line_and_the_json_of_the_api_make_one_record() -> None:
    by_options = {
        "title": "T",
        "creator": ["Banon, Gerald J. F."],
        "language": "pt",
        "date": "2009",
    }
    by_json = {
        "titles": [{"value": "T"}],
        "creators": [{"family": "Banon", "given": "Gerald J. F."}],
        "languages": ["pt"],
        "dates": ["2009"],
    }
    assert record_from(by_options) == record_from(by_json)


@pytest.mark.parametrize(
    ("given", "agent"),
    [
        ("Banon, Gerald J. F.", Agent(family="Banon", given="Gerald J. F.")),
        ("INPE", Agent("INPE")),
        ("  INPE, ", Agent("INPE")),
        (f"Banon, Gerald ({ORCID})", Agent(family="Banon", given="Gerald", orcid=ORCID)),
        (f"Banon (https://orcid.org/{ORCID})", Agent("Banon", orcid=ORCID)),
        ("University (Brazil)", Agent("University (Brazil)")),
        ({"name": "INPE"}, Agent("INPE")),
        ({"family": "Banon", "orcid": f"https://orcid.org/{ORCID}"}, Agent("", "Banon", "", ORCID)),
    ],
)
def test_creators(given: object, agent: Agent) -> None:
    assert record(creators=[given]).creators == (agent,)


def test_a_publisher_is_a_body_whose_name_may_have_a_comma() -> None:
    assert record(publisher="Springer, Inc.").publishers == (Agent("Springer, Inc."),)


def test_blank_values_say_nothing() -> None:
    blank = record(creators=["", " ", ","], subjects=[{"value": " "}], licence="", dates=None)
    assert record_as_dict(blank) == {"titles": [{"value": "A title"}]}


def test_descriptions_have_lines_and_other_texts_have_one() -> None:
    assert record(description="one\r\n\ttwo").descriptions == (Text("one\n\ttwo"),)
    with pytest.raises(MetadataError, match="subjects has a control character"):
        record(subject="one\ntwo")


REFUSED: list[tuple[dict[str, object], str]] = [
    ({}, "needs a title"),
    ({"title": " \u00a0"}, "needs a title"),
    ({"titles": []}, "needs a title"),
    ({"title": "a", "titles": "b"}, "titles is given twice"),
    ({"title": "a", "author": "b"}, "no element 'author'"),
    ({"title": 1}, "titles has a value that is not a text"),
    ({"title": {"value": "a", "lang": "pt"}}, "titles has no part 'lang'"),
    ({"title": {"value": "a", "language": "portugues do Brasil"}}, "is not a language tag"),
    ({"title": "a", "language": "português"}, "is not a language tag"),
    ({"title": "a\x1b[2J"}, "control character"),
    ({"title": "a\ud800"}, "control character"),
    ({"title": "a\x85"}, "control character"),
    ({"title": "a", "description": "\x00"}, "control character"),
    ({"title": "é" * (LONGEST_TEXT // 2 + 1)}, "more than 65536 bytes"),
    ({"title": "a", "subject": ["x"] * (MOST_VALUES + 1)}, "more than 1000 values"),
    ({"title": "a", "subject": ["x" * LONGEST_TEXT] * 9}, f"{LARGEST_RECORD} are allowed"),
    ({"title": "a", "date": "16/02/2009"}, "is not a date"),
    ({"title": "a", "creator": {"name": "a", "family": "b"}}, "neither or both"),
    ({"title": "a", "creator": {"given": "b"}}, "neither or both"),
    ({"title": "a", "creator": {"name": "a", "given": "b"}}, "neither or both"),
    ({"title": "a", "creator": {"name": "a", "orcid": "0000-0002-1825-0098"}}, "check digit"),
    ({"title": "a", "creator": "A, B (0000-0002-1825-0098)"}, "check digit"),
    ({"title": "a", "licence": "javascript:alert(1)"}, "is not a licence"),
    ({"title": "a", "licence": "see the file"}, "is not a licence"),
    ({"title": "a", "licence": ["MIT"]}, "licence has a value that is not a text"),
]


@pytest.mark.parametrize(("plain", "sentence"), REFUSED)
def test_what_is_wrong_is_refused_in_one_sentence(plain: dict[str, object], sentence: str) -> None:
    with pytest.raises(MetadataError, match=sentence) as refused:
        record_from(plain)
    assert str(refused.value).endswith(".")
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) < 400


def test_the_bounds_themselves_are_allowed() -> None:
    full = record(subjects=["x"] * MOST_VALUES, description="é" * (LONGEST_TEXT // 2))
    assert len(full.subjects) == MOST_VALUES


def test_no_object_at_all() -> None:
    with pytest.raises(MetadataError, match="A record is an object"):
        record_from(["titles"])  # type: ignore[arg-type]  # what JSON may bring


@pytest.mark.parametrize(
    "text",
    [
        *("2009", "0000", "2009-02", "2009-02-16", "2008-02-29", "2000-02-29"),
        *("2009-02-16T17:46Z", "2009-02-16T17:46:00Z", "2009-02-16T17:46:00.125-03:00"),
        *("2009/2010", "2009-02/2009", "2009/2009-02", "2009-02-16/2009-02-16"),
        *("2009-01-01T23:00-05:00/2009-01-02T04:00+00:00", "2009-12-31T23:59+00:00/2010"),
        "2009-01-02T00:30+14:00/2009-01-01T20:00-10:00",
    ],
)
def test_dates(text: str) -> None:
    assert record(date=text).dates == (text,)


@pytest.mark.parametrize(
    "text",
    [
        *("09", "20090", "2009-2", "2009-13", "2009-00", "2009-02-30", "2009-02-00", "2009-04-31"),
        *("1900-02-29", "2009-02-16T17:46", "2009-02-16T24:00Z", "2009-02-16T17:60Z", "-2009"),
        *("2009-02-16T17:46:60Z", "2009-02-16T17:46+24:00", "2009-02-16 17:46Z", "20090216"),
        *(
            "2010/2009",
            "2009/",
            "/2009",
            "2009/2010/2011",
            "2009-03/2009-02-28",
            "２００９",
            "2009\n",
        ),
        *("2009-02-16T17:46Z/2009-02-16T17:45Z", "2009-02-16T17:46Z/2009-02-15"),
        "2009-02-16T00:30+00:00/2009-02-16T00:30+01:00",
    ],
)
def test_impossible_dates(text: str) -> None:
    with pytest.raises(MetadataError, match="is not a date"):
        read_date(text)


@pytest.mark.parametrize(
    "text",
    [
        ORCID,
        ORCID.replace("-", ""),
        f"https://orcid.org/{ORCID}",
        f"http://www.orcid.org/{ORCID}/",
        f"orcid.org/{ORCID}",
    ],
)
def test_orcid_ids(text: str) -> None:
    assert read_orcid(text) == ORCID


def test_the_check_digit_of_an_orcid_id_may_be_ten() -> None:
    assert read_orcid("0000-0002-1694-233x") == "0000-0002-1694-233X"


def test_every_single_mistyped_digit_of_an_orcid_id_is_found() -> None:
    for place, digit in enumerate(ORCID):
        for other in set("0123456789") - {digit}:
            if digit != "-":
                with pytest.raises(MetadataError, match="check digit"):
                    read_orcid(ORCID[:place] + other + ORCID[place + 1 :])


@pytest.mark.parametrize(
    "text", ["", "0000-0002-1825", f"https://orcid.example/{ORCID}", f"{ORCID}7", "X" * 16]
)
def test_what_is_no_orcid_id(text: str) -> None:
    with pytest.raises(MetadataError, match="is not an ORCID iD"):
        read_orcid(text)


@pytest.mark.parametrize(
    "tag",
    [
        *("pt", "pt-BR", "PT-br", "eng", "zh-Hant-TW", "zh-cmn-Hans-CN", "sl-rozaj-biske-1994"),
        *("de-CH-1901", "es-419", "en-a-myext-b-another", "x-whatever", "az-Arab-x-AZE-derbend"),
    ],
)
def test_language_tags(tag: str) -> None:
    assert check_language_tag(tag) == tag


@pytest.mark.parametrize(
    "tag", ["", "p", "pt_BR", "pt-", "-pt", "de-419-DE", "a-DE", "portuguese", "pt\n", "en-" * 50]
)
def test_what_is_no_language_tag(tag: str) -> None:
    with pytest.raises(MetadataError, match="is not a language tag"):
        check_language_tag(tag)


@pytest.mark.parametrize(
    ("licence", "address"),
    [
        ("CC-BY-4.0", "https://creativecommons.org/licenses/by/4.0/"),
        ("CC-BY-NC-SA-2.5", "https://creativecommons.org/licenses/by-nc-sa/2.5/"),
        ("CC0-1.0", "https://creativecommons.org/publicdomain/zero/1.0/"),
        ("MIT", "https://spdx.org/licenses/MIT.html"),
        ("GPL-3.0+", "https://spdx.org/licenses/GPL-3.0+.html"),
        ("https://example.org/licence", "https://example.org/licence"),
    ],
)
def test_licences_and_where_they_stand(licence: str, address: str) -> None:
    assert check_licence(licence) == licence
    assert address_of(licence) == address
    assert licence_at(address) == licence


def test_a_licence_that_is_stored_or_comes_from_elsewhere_need_not_be_listed() -> None:
    """Another archive may know a later list, and its item must stay what it is."""
    plain = {"title": "a", "licence": "Later-1.0"}
    assert record_from(plain).licence == "Later-1.0"
    assert new_record_from(plain, earlier=record_from(plain)).licence == "Later-1.0"
    with pytest.raises(MetadataError, match="is not a licence"):
        new_record_from(plain)


@pytest.mark.parametrize(
    "address",
    [
        *("http://a.example", "HTTPS://a.example:8443/x?y#z", "http://[2001:db8::1]/a"),
        *("https://exemplo.com.br/relatório (final).pdf", "http://müller.example/"),
    ],
)
def test_web_addresses(address: str) -> None:
    assert is_web_address(address.replace(" ", "%20"))


@pytest.mark.parametrize(
    "text",
    [
        *("javascript:alert(1)", "data:text/html,x", "//evil.example", "ftp://a.example/", "http:"),
        *("http://", "http:///x", "http://good@evil.example/", "http://good\\@evil.example"),
        *(
            'http://a.example/"onclick="x',
            "http://a.example/a b",
            "http://a.example/\x00",
            " http://a",
        ),
        *(
            "http://a.example:port/",
            "http://a.example/" + "a" * 2048,
            "JaVaScRiPt:http://a.example",
        ),
    ],
)
def test_what_no_link_is_made_of(text: str) -> None:
    assert not is_web_address(text)
