"""Who may read the files of an item, by the network that they read from."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_address, ip_network

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ibi.archive.rules.access import (
    MOST_NETWORKS,
    anyone,
    depends_on_reader,
    may_read,
    networks,
    reads_from,
)
from ibi.archive.rules.answer import Identity, answer, url_list
from ibi.errors import ArchiveRequestError
from ibi.identifier.verbs import read_modifiers
from ibi.model.item import ContentType, Item, State
from ibi.model.label_pair import Forms
from ibi.model.relation import Relation
from ibi.wire.requests import UrlRequest
from ibi.wire.url_list import Related, UrlList
from tests.support.doubles.answer_source import KEY, MemoryAnswerSource, issue_key

FORMS = Forms.of("arq.br/item/2020/01.01.00.00")
PAGE = Forms.of("arq.br/item/2020/01.01.00.01")
LIMITED = Item(
    forms=FORMS,
    target="a.pdf",
    metadata=PAGE,
    readers=("10.0.0.0/8", "150.163.0.0/16", "2001:db8:1::/48"),
)
DESCRIBING = Item(forms=PAGE, kind="metadata", target="metadata", describes=FORMS)
INSIDE, OUTSIDE = "150.163.2.175", "8.8.8.8"


# Networks.


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("10.0.0.0/8", "10.0.0.0/8"),
        ("10.0.0.0/255.0.0.0", "10.0.0.0/8"),
        ("150.163.2.175", "150.163.2.175/32"),
        ("2001:DB8:0:0::/32", "2001:db8::/32"),
        ("2001:db8::1", "2001:db8::1/128"),
        ("::ffff:10.0.0.0/104", "10.0.0.0/8"),
        ("::ffff:a00:1", "10.0.0.1/32"),
        ("0.0.0.0/0", "0.0.0.0/0"),
        ("::/0", "::/0"),
    ],
)
def test_a_network_has_one_spelling(given: str, kept: str) -> None:
    assert networks([given]) == (kept,)
    assert networks([kept]) == (kept,)
    assert networks([given, kept, "192.0.2.0/24"]) == (kept, "192.0.2.0/24")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "campus",
        "10.0.0.0/33",
        "10.0.0.0/",
        "10/8",
        "010.0.0.0/8",
        "10.0.0.0/+8",
        " 10.0.0.0/8",
        "10.0.0.0/8\n",
        "fe80::%eth0/64",
        "2001:db8::/129",
        "1" * 100_000,
        "١٠.0.0.0/8",
        "0x0a000000",
    ],
)
def test_what_is_no_network_is_refused(text: str) -> None:
    with pytest.raises(ArchiveRequestError, match="is not a network"):
        networks(["192.0.2.0/24", text])


def test_nobody_is_let_in_by_a_network_that_may_not_be_meant() -> None:
    with pytest.raises(ArchiveRequestError, match=r"does it mean 10\.0\.0\.0/8, or a part"):
        networks(["10.1.2.3/8"])


def test_there_is_a_bound_on_networks() -> None:
    many = [f"10.0.{number // 256}.{number % 256}" for number in range(MOST_NETWORKS + 1)]
    assert len(networks(many[:-1])) == MOST_NETWORKS
    with pytest.raises(ArchiveRequestError, match="too many"):
        networks(many)


# Readers.


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("10.0.0.0", True),
        ("10.255.255.255", True),
        ("9.255.255.255", False),
        ("11.0.0.0", False),
        (INSIDE, True),
        (OUTSIDE, False),
        ("::ffff:10.1.2.3", True),
        ("::ffff:a01:203", True),
        ("::ffff:8.8.8.8", False),
        ("::10.1.2.3", False),  # RFC 4291, 2.5.5.1: deprecated, and not the same host
        ("64:ff9b::10.1.2.3", False),
        ("2002:a01:203::", False),
        ("2001:db8:1:2::3", True),
        ("2001:db8:2::3", False),
        ("2001:DB8:1::3", True),
        ("fe80::1%eth0", False),
        ("2001:db8:1::3%eth0", False),
        ("0.0.0.0", False),
        ("::", False),
        ("", False),
        ("unknown", False),
        ("010.1.2.3", False),
        ("10.1.2.3:80", False),
        ("167837955", False),
    ],
)
def test_who_may_read(address: str, expected: bool) -> None:  # noqa: FBT001
    assert may_read(LIMITED, (address,)) == expected
    assert reads_from(address)(LIMITED) == expected
    everybodys = replace(LIMITED, readers=())
    assert may_read(everybodys, (address,))
    assert may_read(everybodys, ())


def test_who_is_not_told_of_is_nobody_even_where_all_may_read() -> None:
    every = replace(LIMITED, readers=("0.0.0.0/0", "::/0"))
    assert may_read(every, (OUTSIDE,))
    assert may_read(every, ("2001:db8::1",))
    assert not may_read(every, ("0.0.0.0",))
    assert not may_read(every, ("::",))
    assert not may_read(every, ())


@pytest.mark.parametrize(
    ("addresses", "expected"),
    [
        ((INSIDE, OUTSIDE), True),
        # The client and its proxy, as section 8.1 prints them.
        (("172.16.44.200", "150.163.68.1"), True),
        (("172.16.44.200", OUTSIDE), False),
        # The proxy of a resolver that is in a network of readers is not the reader.
        ((OUTSIDE, "150.163.68.1"), False),
        (("172.16.44.200", OUTSIDE, "150.163.68.1"), False),
        (("0.0.0.0", INSIDE), False),
    ],
)
def test_proxies_count_only_where_the_reader_cannot_be_told_apart(
    addresses: tuple[str, ...],
    expected: bool,  # noqa: FBT001
) -> None:
    assert may_read(LIMITED, addresses) == expected


def test_a_network_that_cannot_be_read_lets_nobody_in() -> None:
    damaged = replace(LIMITED, readers=("10.0.0.0/8x", "everybody", "192.0.2.0/24"))
    assert not may_read(damaged, ("10.0.0.1",))
    assert may_read(damaged, ("192.0.2.1",))
    assert not may_read(replace(LIMITED, readers=("",)), (INSIDE,))


@given(st.ip_addresses(), st.lists(st.tuples(st.ip_addresses(), st.integers(0, 32)), max_size=5))
def test_the_rule_is_that_of_networks(address: object, drawn: list[tuple[object, int]]) -> None:
    given = [ip_network(f"{each}/{bits}", strict=False) for each, bits in drawn]
    item = replace(LIMITED, readers=networks([str(each) for each in given]))
    reader = ip_address(str(address))
    inside = any(reader in each for each in given if each.version == reader.version)
    assume(not (getattr(reader, "ipv4_mapped", None) or reader.is_unspecified))
    assert may_read(item, (str(reader),)) == (inside or not given)


# Answers.

IDENTITY = Identity("http://archive.example", Forms.of("arq.br/service/2020/01.01.00.00"))
SHELF = MemoryAnswerSource(LIMITED, DESCRIBING, files={LIMITED: ["b.csv"]})
FOLDER = f"http://archive.example/col/{FORMS.label}/doc/"
METADATA = f"http://archive.example/col/{PAGE.label}/doc/metadata"


def asked(client: str, modifiers: str = "", path: str = "", *, file_list: bool = False) -> UrlList:
    verbs = read_modifiers(modifiers)[0]
    request = UrlRequest((client,), FORMS.label, verbs, file_list, path)
    listed = answer(SHELF, IDENTITY, request, issue_key)
    assert listed is not None
    return listed


def test_some_clients_get_the_item_and_others_its_metadata() -> None:
    data, metadata = asked(INSIDE), asked(OUTSIDE)
    assert data.related[Relation()].url == f"{FOLDER}a.pdf"
    assert data.related[Relation()].content is ContentType.DATA
    assert metadata.related[Relation()] == Related(
        FORMS, METADATA, ContentType.METADATA, State.ORIGINAL, "1970-01-01T00:00:00Z"
    )
    assert metadata.key == KEY
    assert asked("0.0.0.0").related == metadata.related


def test_a_file_is_offered_as_the_item_is_and_none_that_is_not_there() -> None:
    assert asked(INSIDE, path="b.csv").related[Relation()].url == f"{FOLDER}b.csv"
    assert asked(OUTSIDE, path="b.csv").related[Relation()].url == METADATA
    assert asked(INSIDE, path="c.csv").related == asked(OUTSIDE, path="c.csv").related == {}


@pytest.mark.parametrize("modifiers", [":", ":(oai_dc)"])
def test_metadata_and_the_list_of_files_are_for_everybody(modifiers: str) -> None:
    assert asked(INSIDE, modifiers) == asked(OUTSIDE, modifiers)
    assert asked(INSIDE, file_list=True) == asked(OUTSIDE, file_list=True)
    assert not depends_on_reader(asked(INSIDE, modifiers), SHELF.find)


def test_each_related_item_has_its_own_readers() -> None:
    free = replace(LIMITED, forms=Forms.of("arq.br/item/2021/01.01.00.00"), readers=())
    shelf = MemoryAnswerSource(replace(LIMITED, next_edition=free.forms), free, DESCRIBING)
    request = UrlRequest((OUTSIDE,), FORMS.label, read_modifiers("!")[0])
    listed = answer(shelf, IDENTITY, request, issue_key)
    assert listed is not None
    assert listed.related[Relation.parse(".lastedition")].content is ContentType.DATA
    assert not depends_on_reader(listed, shelf.find)
    whole = url_list(shelf, IDENTITY, UrlRequest((OUTSIDE,), FORMS.label), issue_key)
    assert whole is not None
    assert whole.related[Relation()].content is ContentType.METADATA
    assert depends_on_reader(whole, shelf.find)


def test_whoever_knows_the_reader_better_decides() -> None:
    request = UrlRequest((), FORMS.label)
    for rule, url in (
        (anyone, f"{FOLDER}a.pdf"),
        (reads_from(INSIDE), f"{FOLDER}a.pdf"),
        (reads_from(OUTSIDE), METADATA),
    ):
        listed = answer(SHELF, IDENTITY, request, issue_key, rule)
        assert listed is not None
        assert listed.related[Relation()].url == url


def test_an_item_of_which_nothing_is_said_is_offered_to_nobody_else() -> None:
    request = UrlRequest((OUTSIDE,), FORMS.label)
    listed = answer(
        MemoryAnswerSource(replace(LIMITED, metadata=None)), IDENTITY, request, issue_key
    )
    assert listed is not None
    assert listed.related == {}
    assert listed.key is None
