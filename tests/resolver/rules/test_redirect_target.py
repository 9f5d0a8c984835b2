"""Where a reader may be sent: to the archive that answered, or a host that it may use."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ibi.identifier.label import parse
from ibi.model.item import State
from ibi.model.registration import Inclusion, RegisteredArchive
from ibi.model.relation import Relation
from ibi.resolver.ports.outbound import ArchiveReply, NoReply
from ibi.resolver.rules.redirect_target import OFF_HOST, is_permitted, vetted, with_pairs
from tests.support.values.archive_answers import ITEM, listing, related, url_of

GOOD = RegisteredArchive(
    service=parse("LK47B6W/362SFKH"),
    key="",
    confirmed=1,
    hosts=("files.example", "cdn.example:8080", "[2001:db8::1]"),
    inclusion=Inclusion(
        address="good.example", ip="", platform_version="", administrator="", since=1, seen=1
    ),
)


@pytest.mark.parametrize(
    "url",
    [
        "http://good.example/a",
        "http://good.example",
        "HTTP://GOOD.example/a".replace("HTTP", "http"),
        "http://good.example:80/a?b#c",
        "https://good.example/a",
        "https://good.example:443/a",
        "http://files.example/a",
        "http://cdn.example:8080/a",
        "http://[2001:DB8::1]/a",
        "http://good.example?choice=oai_dc",
        "http://good.example/Relat%f3rio%20Final.pdf",
    ],
)
def test_own_host(url: str) -> None:
    assert is_permitted(url, GOOD)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "/a",
        "//good.example/a",
        "javascript:alert(1)",
        "JAVASCRIPT:alert(1)",
        "data:text/html,a",
        "ftp://good.example/",
        "//evil.example/",
        "http://evil.example/",
        "http://good.example@evil.example/",
        "http://good.example:80@evil.example/",
        "http://good.example\\@evil.example/",
        "http://good.example\\.evil.example/",
        "http://good.example.evil.example/",
        "http://good.example:81/",
        "http://good.example:8080/",
        "https://good.example:80/",
        "http://cdn.example/",
        "http://good.example%2eevil/",
        "http:///good.example/",
        "http:good.example/",
        "http:\\\\good.example/",
        " http://good.example/",
        "http://good.example/ a",
        "http://good.example/\r\nSet-Cookie: a=b",
        "http://good.example/\\evil.example",
        "http://good.example/\u00e9",
        "http://g\u043eod.example/",
        "http://good.example./",
        "http://sub.good.example/",
        "http://[::1]/",
    ],
)
def test_elsewhere(url: str) -> None:
    assert not is_permitted(url, GOOD)


def test_an_answer_keeps_what_is_its_own() -> None:
    answer = listing("good", {"": related("good", State.ORIGINAL)})
    assert vetted(answer, GOOD) is answer
    evil = replace(related("good", State.ORIGINAL), url="http://evil.example/")
    mixed = listing("good", {"": related("good", State.ORIGINAL), ".metadata": evil})
    found = vetted(mixed, GOOD)
    assert isinstance(found, ArchiveReply)
    assert found.fault == OFF_HOST
    assert found.listed is not None
    assert found.listed.related[Relation()].url == url_of("good")
    assert found.listed.related[Relation.parse(".metadata")].url == ""
    assert found.listed.related[Relation.parse(".metadata")].forms == ITEM


def test_an_answer_without_a_url_of_its_own_is_none() -> None:
    evil = replace(related("good", State.ORIGINAL), url="http://evil.example/")
    found = vetted(listing("good", {"": evil}), GOOD)
    assert isinstance(found, NoReply)
    assert found.reason == OFF_HOST
    assert found.alive
    barren = listing("good")
    assert vetted(barren, GOOD) is barren


def test_an_archive_that_is_switched_off_has_no_host() -> None:
    assert not is_permitted("http://good.example/", replace(GOOD, inclusion=None))
    assert is_permitted("http://files.example/", replace(GOOD, inclusion=None))


@pytest.mark.parametrize(
    ("url", "pairs", "expected"),
    [
        ("http://a/b", (), "http://a/b"),
        ("http://a/b", ("c=d",), "http://a/b?c=d"),
        ("http://a/b?x=y", ("c=d", "e=f"), "http://a/b?x=y&c=d&e=f"),
        ("http://a/b#z", ("c=d",), "http://a/b?c=d#z"),
    ],
)
def test_pairs_of_the_item(url: str, pairs: tuple[str, ...], expected: str) -> None:
    assert with_pairs(url, pairs) == expected
