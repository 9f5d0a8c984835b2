"""Responses: what a resolver makes of what foreign archives send."""

from __future__ import annotations

import pytest

from ibi import Language
from ibi.errors import MessageError
from ibi.identifier.verbs import GetTranslation
from ibi.model.item import ContentType, State
from ibi.model.label_pair import Forms
from ibi.model.relation import Relation
from ibi.wire import responses
from ibi.wire.responses import ErrorAnswer, Related, UrlList

HEAD = "archiveaddress a.br ibi.archiveservice {rep a.br/b/2020/01.01.00.00} "
FORMS = Forms.of("LK47B6W/362SFKH")
PORTUGUESE = Relation((GetTranslation(Language("pt")),))


def decoded(text: str) -> UrlList:
    listed = responses.decode(HEAD + text)
    assert isinstance(listed, UrlList)
    return listed


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("archiveaddress a.br", "missing-pair"),
        ("archiveaddress {a b} ibi.archiveservice {ibip LK47B6W/362SFKH}", "bad-value"),
        (f"{HEAD} ibi {{rep LK47B6W/362SFKH}}", "bad-value"),
        (f"{HEAD} urlkey 1", "bad-value"),
        (f"{HEAD} state Lost", "bad-value"),
        (f"{HEAD} contenttype.metadata Page", "bad-value"),
        (f"{HEAD} timestamp yesterday", "bad-value"),
        (f"{HEAD} state Deleted", "missing-pair"),
        (f"{HEAD} url.translation(pt) http://a/ url.translation(PT) http://b/", "repeated-pair"),
        (f"{HEAD} url http://a/\\x0d\\x0aSet-Cookie:x", "bad-value"),
        (f"{HEAD} url http://a/\\u0085", "bad-value"),
        (f"{HEAD} url http://a/{'a' * 9000}", "bad-value"),
        ("confirmation no", "bad-value"),
        ("notice {something else}", "bad-value"),
        ("status.archive included", "missing-pair"),
        ("status.archive included status.confirmation perhaps", "bad-value"),
        ("status.archive forgotten", "bad-value"),
        ("hello world", "unknown-answer"),
    ],
)
def test_what_is_malformed_is_refused(text: str, code: str) -> None:
    with pytest.raises(MessageError) as refused:
        responses.decode(text)
    assert refused.value.code == code


def test_names_that_are_not_known_are_ignored() -> None:
    listed = decoded(
        "x {y z} ibi.previousedition q url.metadados http://a/ url.metadata.lastedition b "
        "url.translation(xx) c notice d url http://a/b"
    )
    assert dict(listed.related) == {Relation(): Related(url="http://a/b")}


def test_what_no_url_can_have_is_encoded() -> None:
    listed = decoded("url {http://a/b c\\d.pdf}")
    assert listed.related[Relation()].url == "http://a/b%20c%5Cd.pdf"
    listed = decoded("url.translation(pt) http://a/Relat%f3rio%20\\u00f3?a=b&c#d")
    assert listed.related[PORTUGUESE].url == "http://a/Relat%f3rio%20%C3%B3?a=b&c#d"


def test_a_related_item_elsewhere_has_labels_and_no_more() -> None:
    listed = decoded("ibi.translation(pt) {ibip LK47B6W/362SFKH} ibi.platformsoftware {}")
    assert dict(listed.related) == {PORTUGUESE: Related(FORMS)}
    assert listed.platform_software is None


def test_the_item_itself_is_among_the_related_if_it_has_a_url() -> None:
    listed = decoded("ibi {ibip LK47B6W/362SFKH} state Original")
    assert (listed.forms, dict(listed.related)) == (FORMS, {})
    listed = decoded(
        "ibi {ibip LK47B6W/362SFKH} url http://a/ state copy contenttype data timestamp 2020-01-01"
    )
    assert listed.related[Relation()] == Related(
        FORMS, "http://a/", ContentType.DATA, State.COPY, "2020-01-01"
    )


def test_a_deleted_item_says_when() -> None:
    listed = decoded("ibi {ibip LK47B6W/362SFKH} state Deleted timestamp 2020-01-01T00:00:00Z")
    assert (listed.deleted, dict(listed.related)) == ("2020-01-01T00:00:00Z", {})


def test_an_error_is_a_pair_list_too() -> None:
    error = ErrorAnswer("bad-value", "The value {x} cannot be read.")
    text = responses.encode(error)
    assert text == "status.error bad-value\r\nstatus.reason {The value %7Bx%7D cannot be read.}"
    read = ErrorAnswer("bad-value", "The value %7Bx%7D cannot be read.")
    assert responses.decode(text) == read
    assert responses.encode(read) == text
    assert responses.decode("status.error x") == ErrorAnswer("x", "")
