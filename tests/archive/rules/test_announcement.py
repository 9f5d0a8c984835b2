"""What an archive says to its resolvers when, and what a link becomes of it (004, section 5)."""

from __future__ import annotations

import json
import random
import secrets
from dataclasses import replace
from itertools import pairwise

import pytest

from ibi.archive.rules.announcement import (
    AGAIN,
    FIRST_RETRY,
    FIRST_RETRY_REFUSED,
    LONGEST_RETRY,
    LONGEST_RETRY_REFUSED,
    Excluded,
    Included,
    Link,
    LinkState,
    Outcome,
    Refused,
    Unreachable,
    after,
    document,
    due,
    leaving,
    new_registration_key,
    read_document,
    resolver_address,
)
from ibi.errors import ArchiveRequestError, StorageError
from ibi.identifier.ibip import Ibip
from ibi.identifier.repository_name import RepositoryName
from ibi.model.archive_record import ArchiveRecord, RegistrationKey
from ibi.model.clock import SECOND
from ibi.wire.requests import DEFAULT_SERVICE, ExclusionRequest, InclusionRequest

NOW = 1_700_000_000 * SECOND
KEY = RegistrationKey("1234567890")
LINK = Link("http://urlib.net", KEY)
RECORD = ArchiveRecord(
    address="mtc-m21.sid.inpe.br",
    service=RepositoryName.parse("sid.inpe.br/mtc-m21/2012/06.05.15.34.39"),
    ip="150.163.34.239",
    platform_version="2014:11.09.02.16.15",
    administrator="banon@dpi.inpe.br",
)
INCLUSION = InclusionRequest(RECORD, KEY)
EXCLUSION = ExclusionRequest(RECORD, KEY)


def settled(state: LinkState) -> Link:
    return replace(LINK, state=state, since=NOW, next_try=NOW + AGAIN)


@pytest.mark.parametrize(
    "state", ["pending", "included", "unconfirmed", "refused", "excluded", "unreachable"]
)
def test_an_archive_that_is_switched_on_says_so_at_once(state: LinkState) -> None:
    assert due(settled(state), NOW, on=True, record=RECORD, said=None) == INCLUSION


def test_what_was_said_is_said_again_when_its_time_comes() -> None:
    link = settled("included")
    assert due(link, NOW, on=True, record=RECORD, said=INCLUSION) is None
    assert due(link, NOW + AGAIN - 1, on=True, record=RECORD, said=INCLUSION) is None
    assert due(link, NOW + AGAIN, on=True, record=RECORD, said=INCLUSION) == INCLUSION


def test_a_clock_that_was_set_back_keeps_nobody_waiting() -> None:
    link = settled("included")
    assert due(link, NOW - AGAIN, on=True, record=RECORD, said=INCLUSION) == INCLUSION


@pytest.mark.parametrize(
    "record",
    [
        replace(RECORD, address="archive.example.org:8801"),
        replace(RECORD, ip="2001:db8::1"),
        replace(RECORD, platform_version="2"),
        replace(RECORD, administrator="somebody@example.org"),
    ],
)
def test_whatever_changes_is_said_at_once(record: ArchiveRecord) -> None:
    request = due(settled("included"), NOW, on=True, record=record, said=INCLUSION)
    assert request == InclusionRequest(record, KEY)


def test_a_new_key_is_tried_at_once() -> None:
    link = replace(settled("refused"), key=RegistrationKey("9876543210"))
    assert due(link, NOW, on=True, record=RECORD, said=INCLUSION) == InclusionRequest(
        RECORD, link.key
    )


@pytest.mark.parametrize("state", ["pending", "included", "unconfirmed", "unreachable", "leaving"])
def test_an_archive_that_is_switched_off_says_so_once(state: LinkState) -> None:
    link = settled(state)
    assert due(link, NOW, on=False, record=RECORD, said=INCLUSION) == EXCLUSION
    assert due(link, NOW + 2 * AGAIN, on=False, record=RECORD, said=EXCLUSION) is None


@pytest.mark.parametrize("state", ["refused", "excluded"])
def test_where_it_is_not_included_there_is_nothing_to_take_back(state: LinkState) -> None:
    for said in (None, INCLUSION):
        assert due(settled(state), NOW, on=False, record=RECORD, said=said) is None


def test_a_resolver_is_left_at_once_and_tried_until_it_knows() -> None:
    link = leaving(replace(settled("included"), failures=3, reason="x"), NOW + 5)
    assert link == replace(LINK, state="leaving", since=NOW + 5, next_try=NOW + 5)
    assert due(link, NOW + 5, on=True, record=RECORD, said=INCLUSION) == EXCLUSION
    later = after(link, Unreachable("it is away"), NOW + 5, 0.0)
    assert later is not None
    assert (later.state, later.since, later.failures) == ("leaving", NOW + 5, 1)
    assert due(later, NOW + 5, on=True, record=RECORD, said=EXCLUSION) is None
    assert due(later, later.next_try, on=True, record=RECORD, said=EXCLUSION) == EXCLUSION


@pytest.mark.parametrize("outcome", [Excluded(), Refused("unknown-key", "who?")])
def test_a_link_that_is_left_is_forgotten(outcome: Outcome) -> None:
    assert after(leaving(LINK, NOW), outcome, NOW, 0.0) is None
    assert after(LINK, outcome, NOW, 0.0) is not None


@pytest.mark.parametrize(
    ("outcome", "state", "wait", "reason"),
    [
        (Included(confirmed=True), "included", AGAIN, ""),
        (Excluded(), "excluded", AGAIN, ""),
        (
            Included(confirmed=False),
            "unconfirmed",
            FIRST_RETRY,
            "it could not reach this archive at its address",
        ),
        (Refused("unknown-key", "who?"), "refused", FIRST_RETRY_REFUSED, "who?"),
        (Unreachable("it is away"), "unreachable", FIRST_RETRY, "it is away"),
    ],
)
def test_what_a_link_becomes(outcome: Outcome, state: LinkState, wait: int, reason: str) -> None:
    found = after(LINK, outcome, NOW, 1.0)
    failures = int(bool(reason))
    assert found == Link(
        LINK.resolver, KEY, DEFAULT_SERVICE, state, NOW, failures, NOW + wait, reason
    )


@pytest.mark.parametrize(
    ("outcome", "longest"),
    [
        (Unreachable(""), LONGEST_RETRY),
        (Included(confirmed=False), LONGEST_RETRY),
        (Refused("", ""), LONGEST_RETRY_REFUSED),
    ],
)
def test_each_failure_doubles_the_wait_up_to_a_limit(outcome: Outcome, longest: int) -> None:
    link, waits = LINK, []
    for _ in range(2000):
        following = after(link, outcome, NOW, 1.0)
        assert following is not None
        link = following
        waits.append(link.next_try - NOW)
    doubled = [wait for wait in waits if wait < longest]
    assert all(b == 2 * a for a, b in pairwise(doubled))
    assert set(waits[len(doubled) :]) == {longest}
    assert link.failures == 2000
    settled_again = after(link, Included(confirmed=True), NOW, 1.0)
    assert settled_again is not None
    assert (settled_again.failures, settled_again.reason) == (0, "")


def test_a_link_knows_since_when_it_is_what_it_is() -> None:
    link = after(LINK, Unreachable("a"), NOW, 0.0)
    assert link is not None
    link = after(link, Unreachable("b"), NOW + 10, 0.0)
    assert link is not None
    assert (link.since, link.reason) == (NOW, "b")


def test_a_new_key_has_39_digits_whatever_chance_says() -> None:
    assert len(new_registration_key(secrets.randbelow).text) == 39
    assert new_registration_key(lambda _: 0).text == "0" * 39
    assert new_registration_key(lambda below: below - 1).text == "9" * 39
    chance = random.Random(3)  # noqa: S311  # the keys of a test
    assert len({new_registration_key(chance.randrange) for _ in range(1000)}) == 1000


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("http://urlib.net", "http://urlib.net"),
        ("HTTP://URLib.net:80/", "http://urlib.net"),
        ("https://urlib.net:443", "https://urlib.net"),
        ("https://urlib.net:80", "https://urlib.net:80"),
        ("http://localhost:8800", "http://localhost:8800"),
        ("http://resolver_1:08800/", "http://resolver_1:8800"),
        ("http://127.0.0.1:8800", "http://127.0.0.1:8800"),
        ("http://[2001:DB8:0::1]:8800", "http://[2001:db8::1]:8800"),
    ],
)
def test_a_resolver_has_one_address(text: str, address: str) -> None:
    assert resolver_address(text) == address
    assert resolver_address(address) == address


@pytest.mark.parametrize(
    "text",
    [
        "",
        "urlib.net",
        "ftp://urlib.net",
        "file:///etc/passwd",
        "http://",
        "http:///x",
        "http://:80",
        "http://urlib.net/J8LNKB5R7W/3FUQHC5",
        "http://urlib.net?",
        "http://urlib.net/?x=y",
        "http://urlib.net#x",
        "http://user@urlib.net",
        "http://user:secret@urlib.net",
        "http://good\\@evil",
        "http://urlib.net:0",
        "http://urlib.net:65536",
        "http://urlib.net:x",
        "http://urlib.net:",
        "http://a..b",
        "http://a b",
        "http://a\n",
        "http://a\r\nX: y",
        "http://\u212a.org",
        "http://é.org",
        "http://[::1",
        "http://[1.2.3.4]",
        "http://[::1%25eth0]",
        "http://" + "a" * 300,
    ],
)
def test_what_is_no_address_of_a_resolver_is_refused(text: str) -> None:
    with pytest.raises(ArchiveRequestError, match="is not the address of a resolver") as refused:
        resolver_address(text)
    assert str(refused.value).isprintable()


def test_a_link_is_kept_and_read_again() -> None:
    link = Link("http://urlib.net", KEY, Ibip.parse("8JMKD3MGP7W/3EPGUE5"), "leaving", 1, 2, 3, "x")
    assert read_document("http://urlib.net", document(link)) == link


@pytest.mark.parametrize("change", [{"key": "12"}, {"service": "x"}, {"state": "x"}, {"since": ""}])
def test_a_damaged_link_is_told_without_its_key(change: dict[str, str]) -> None:
    damaged = json.loads(document(LINK)) | change
    for text in (json.dumps(damaged), "", "null", "1234567890"):
        with pytest.raises(StorageError, match=r"link to http://urlib\.net") as raised:
            read_document("http://urlib.net", text)
        assert KEY.text not in str(raised.value)


def test_the_key_is_not_shown() -> None:
    assert KEY.text not in f"{LINK!r} {INCLUSION!r} {EXCLUSION!r}"
