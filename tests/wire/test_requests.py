"""Requests: what both sides make of them beyond the examples of the standard."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import quote

import pytest

from ibi import parse
from ibi.errors import MessageError
from ibi.model.archive_record import UrlKey
from ibi.model.item import ContentType
from ibi.wire import requests
from ibi.wire.access_counts import is_proved, proof
from ibi.wire.query import MAX_QUERY
from ibi.wire.requests import Acknowledgment, UrlRequest

LABEL = parse("LK47B6W/362SFKH")
QUERY = (
    "servicesubject=urlRequest&clientinformation.ipaddress=10.0.0.1"
    "&parsedibiurl.ibi=LK47B6W/362SFKH"
)


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("", "missing-pair"),
        ("servicesubject", "unknown-subject"),
        ("servicesubject=", "unknown-subject"),
        ("servicesubject=metadataRequest", "unknown-subject"),
        ("servicesubject=%00", "bad-value"),
        ("servicesubject=urlRequest", "missing-pair"),
        (f"{QUERY}&servicesubject=urlRequest", "repeated-pair"),
        (f"{QUERY}&parsedibiurl.ibi=LK47B6W/362SFKH", "repeated-pair"),
        (f"{QUERY}&parsedibiurl%2Eibi=x", "repeated-pair"),
        (f"{QUERY}&a={'b' * MAX_QUERY}", "too-long"),
    ],
)
def test_a_bad_request_is_refused_with_a_stable_code(query: str, code: str) -> None:
    with pytest.raises(MessageError) as refused:
        requests.decode(query)
    assert refused.value.code == code
    assert str(refused.value).endswith(".")


def test_pairs_that_nobody_knows_are_ignored_however_often_they_come() -> None:
    expected = UrlRequest(("10.0.0.1",), LABEL)
    assert requests.decode(f"x=1&{QUERY}&x=2&&=&y") == expected
    assert requests.decode(f"{QUERY}&clientinformation.languagepreference=pt") == expected


def test_a_value_is_decoded_once_and_a_plus_is_a_blank() -> None:
    assert _file("a%2520b") == "a%20b"
    assert _file("a+b%2Bc") == "a b+c"


def test_what_is_not_utf_8_is_iso_8859_1() -> None:
    assert _file("Relat%f3rio%20Final.pdf") == "Relatório Final.pdf"
    assert _file("Relat%C3%B3rio") == "Relatório"


def _file(encoded: str) -> str:
    request = requests.decode(f"{QUERY}&parsedibiurl.filepath={encoded}")
    assert isinstance(request, UrlRequest)
    return request.file


def test_a_path_has_its_slash_or_not() -> None:
    with_slash = UrlRequest(("10.0.0.1",), LABEL, path="/reference.bib")
    assert UrlRequest(("10.0.0.1",), LABEL, path="reference.bib") == with_slash
    assert (with_slash.path, with_slash.file) == ("/reference.bib", "reference.bib")
    assert UrlRequest(("10.0.0.1",), LABEL, path="/").file == ""


def test_the_list_of_files_is_a_verb_without_a_place() -> None:
    for verbs in ("GetFileList GetLastEdition", "GetLastEdition  GetFileList "):
        request = requests.decode(f"{QUERY}&parsedibiurl.verblist={verbs}")
        assert requests.encode(request).endswith("=GetLastEdition%20GetFileList")


def test_addresses_are_read_in_their_one_spelling() -> None:
    query = QUERY.replace("10.0.0.1", "2001:DB8:0::1+::ffff:192.0.2.1")
    request = requests.decode(query)
    assert isinstance(request, UrlRequest)
    assert request.clients == ("2001:db8::1", "::ffff:c000:201")


def test_a_url_keeps_its_escapes_and_is_sent_without_its_own_marks() -> None:
    url = "http://a.br/col/x/doc/50%25%20off?choice=oai_dc&b=1+1#c"
    sent = Acknowledgment(("::1",), ContentType.DATA, url, "http://a.br/x", UrlKey("1234567890"))
    query = requests.encode(sent)
    assert "&url=http://a.br/col/x/doc/50%25%20off%3Fchoice%3Doai_dc%26b%3D1%2B1%23c&" in query
    assert requests.decode(query) == sent


SENT = Acknowledgment(
    ("::1",), ContentType.DATA, "http://a.br/x", "http://b.br/x", UrlKey("1234567890")
)


def test_one_access_is_what_the_table_tells_of() -> None:
    query = requests.encode(SENT)
    assert query.endswith("&urlkey=1234567890")
    assert requests.decode(f"{query}&accesses=1") == requests.decode(query) == SENT


@pytest.mark.parametrize("accesses", [2, 10, 999, 1000])
def test_more_accesses_are_told_by_a_pair_of_our_own(accesses: int) -> None:
    sent = replace(SENT, accesses=accesses)
    query = requests.encode(sent)
    assert query == f"{requests.encode(SENT)}&accesses={accesses}"
    assert requests.decode(query) == sent


@pytest.mark.parametrize(
    "text", ["0", "-1", "1001", "01", "1.0", "1e3", "%2B5", "١", "9" * 5000, "1,5", "5%20", "x"]
)
def test_what_is_no_number_of_accesses_is_refused(text: str) -> None:
    with pytest.raises(MessageError) as refused:
        requests.decode(f"{requests.encode(SENT)}&accesses={text}")
    assert refused.value.code == "bad-value"


def test_accesses_of_other_items_are_told_with_their_labels() -> None:
    others = (("8JMKD3MGP7W/3EPGUE5", 3), ("sid.inpe.br/mtc-m19/2013/09.04.12.27.57", 1))
    sent = replace(SENT, accesses=2, others=others)
    query = requests.encode(sent)
    assert requests.decode(query) == sent
    assert requests.decode(query.replace("&accesses=2", "")) == replace(sent, accesses=1)


def test_the_proof_of_a_link_binds_key_and_counts() -> None:
    others = (("8JMKD3MGP7W/3EPGUE5", 3),)
    given = proof("5e" * 32, "1234567890", 2, others)
    sent = replace(SENT, accesses=2, others=others, proof=given)
    assert requests.decode(requests.encode(sent)) == sent
    assert is_proved(["00" * 32, "5e" * 32], "1234567890", (2, others), given)
    assert not is_proved(["00" * 32], "1234567890", (2, others), given)
    assert not is_proved([], "1234567890", (2, others), given)
    assert not is_proved(["5e" * 32], "1234567891", (2, others), given)
    assert not is_proved(["5e" * 32], "1234567890", (3, others), given)
    assert not is_proved(["5e" * 32], "1234567890", (2, ()), given)
    assert not is_proved(["5e" * 32], "1234567890", (2, others), "")


@pytest.mark.parametrize("text", ["0", "x" * 64, "A" * 64, "0" * 65])
def test_what_is_no_proof_is_refused(text: str) -> None:
    with pytest.raises(MessageError) as refused:
        requests.decode(f"{requests.encode(SENT)}&accesses.proof={text}")
    assert refused.value.code == "bad-value"


@pytest.mark.parametrize(
    "text",
    [
        "8JMKD3MGP7W/3EPGUE5",
        "8JMKD3MGP7W/3EPGUE5:0",
        "8JMKD3MGP7W/3EPGUE5:1:3,",
        "8JMKD3MGP7W/3EPGUE5:-1",
        "8JMKD3MGP7W/3EPGUE5 3",
        "3:8JMKD3MGP7W/3EPGUE5",
        "8JMKD3MGP7W/3EPGUE5:1000",  # with the access itself these are 1001
        ",".join(["8JMKD3MGP7W/3EPGUE5:1"] * 1000),
        ",".join(["8JMKD3MGP7W/3EPGUE5:1"] * 1001),
    ],
)
def test_other_accesses_that_cannot_be_are_refused(text: str) -> None:
    with pytest.raises(MessageError) as refused:
        requests.decode(f"{requests.encode(SENT)}&accesses.others={quote(text)}")
    assert refused.value.code == "bad-value"


def test_a_percent_sign_that_escapes_nothing_is_one() -> None:
    sent = Acknowledgment(
        ("::1",), ContentType.DATA, "http://a/50%", "http://a/%zz", UrlKey("1234567890")
    )
    assert "&url=http://a/50%25&url.persistent=http://a/%25zz&" in requests.encode(sent)


def test_a_url_never_has_a_control_character() -> None:
    query = requests.encode(
        Acknowledgment(
            ("::1",), ContentType.DATA, "http://a/\r\nb", "http://a/\x7f", UrlKey("1234567890")
        )
    )
    read = requests.decode(query)
    assert isinstance(read, Acknowledgment)
    assert (read.url, read.persistent_url) == ("http://a/%0D%0Ab", "http://a/%7F")


def test_keys_stay_out_of_messages() -> None:
    with pytest.raises(MessageError) as refused:
        requests.decode(
            "servicesubject=acknowledgment&clientinformation.ipaddress=::1&contenttype=Data"
            "&url=http://a/b&url.persistent=http://a/b&urlkey=987654321"
        )
    assert refused.value.code == "bad-value"
    assert "987654321" not in str(refused.value)
