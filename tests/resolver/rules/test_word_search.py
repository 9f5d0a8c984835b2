"""Which archives a search by words asks, and what is remembered of them."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from ibi.identifier.label import parse
from ibi.model.registration import RegisteredArchive
from ibi.resolver.rules import word_search
from ibi.resolver.rules.archive_documents import (
    FoundItems,
    Tombstone,
    read_found_items,
    read_name,
    read_tombstone,
)
from ibi.resolver.rules.archive_site import search_page_of, site_of
from ibi.resolver.rules.word_search import (
    ANSWER_SECONDS,
    MAX_ANSWERS,
    MAX_ARCHIVES,
    NO_SEARCH_SECONDS,
    SearchMemory,
    chosen,
    normalized,
)
from tests.support.servers.attacked_resolver import label, service_of
from tests.support.values.resolutions import archive

ARCHIVE = archive(service_of(1), "a.example")
FOUND = FoundItems(7)


def archives(count: int) -> list[RegisteredArchive]:
    return [archive(service_of(number), "a.example") for number in range(count)]


def test_archives_with_the_most_labels_are_asked_and_of_several_the_senior() -> None:
    known = archives(3 * MAX_ARCHIVES)
    ranks = {each.id: rank for rank, each in enumerate(reversed(known))}
    labels = {known[5].id: 10, known[7].id: 20}
    first = chosen(known, lambda name: labels.get(name, 0), ranks)
    assert len(first) == MAX_ARCHIVES
    assert first[:4] == [known[7], known[5], known[-1], known[-2]]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ""),
        (" \t\n", ""),
        ("  fire \n counts ", "fire counts"),
        ("a" * 1000, "a" * 400),
        (" " * 5000 + "late", ""),
    ],
)
def test_words_have_single_blanks_and_a_length(text: str, words: str) -> None:
    assert normalized(text) == words


def test_an_answer_is_remembered_for_a_while_at_its_address() -> None:
    memory = SearchMemory()
    memory.keep("fire", ARCHIVE, FOUND, 100.0)
    assert memory.recall("fire", ARCHIVE, 100.0 + ANSWER_SECONDS - 0.1) == FOUND
    assert memory.recall("fire", ARCHIVE, 100.0 + ANSWER_SECONDS) is None
    assert memory.recall("water", ARCHIVE, 100.0) is None
    inclusion = ARCHIVE.inclusion
    assert inclusion is not None
    moved = replace(ARCHIVE, inclusion=replace(inclusion, address="b.example"))
    assert memory.recall("fire", moved, 100.0) is None


def test_the_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_search, "MAX_WITHOUT_SEARCH", 2)
    memory = SearchMemory()
    for number in range(MAX_ANSWERS + 1):
        memory.keep(str(number), ARCHIVE, FOUND, 0.0)
    assert memory.recall("0", ARCHIVE, 1.0) is None
    assert memory.recall("1", ARCHIVE, 1.0) == FOUND
    three = archives(3)
    for each in three:
        memory.note_without_search(each, 0.0)
    assert [memory.has_search(each, 1.0) for each in three] == [True, False, False]
    assert memory.has_search(three[2], NO_SEARCH_SECONDS)


@pytest.mark.parametrize(
    ("address", "site"),
    [
        ("a.example", "http://a.example"),
        ("a.example:8801", "http://a.example:8801"),
        ("a.example:443", "https://a.example:443"),
        ("[2001:db8::1]:81", "http://[2001:db8::1]:81"),
        ("a.example:0", ""),
        ("a.example:65536", ""),
        ("user@a.example", ""),
        ("a.example/x", ""),
        ('"><b>', ""),
        ("", ""),
    ],
)
def test_the_site_of_an_archive_is_its_host_and_port_alone(address: str, site: str) -> None:
    assert site_of(address) == site
    expected = f"{site}/search?q=%22a%22%26b%3Cc" if site else ""
    assert search_page_of(address, '"a"&b<c') == expected


@pytest.mark.parametrize(
    "octets", [b"", b"null", b"[]", b"{}", b'{"items": 1}', b'{"items": [1]}', b"\xff", b"[" * 9999]
)
def test_another_document_is_no_answer(octets: bytes) -> None:
    assert read_found_items(octets) is None
    assert read_tombstone(octets) is None
    assert read_name(octets) == ""


def test_a_name_is_one_short_line() -> None:
    assert read_name(json.dumps({"name": " A\n\x00\u202eB "}).encode()) == "A B"
    assert read_name(b'{"name": ["x"]}') == ""
    assert len(read_name(json.dumps({"name": "n" * 10_000}).encode())) == 120


def test_a_tombstone_is_read_leniently() -> None:
    document = {
        "type": "urn:ibi:problem:deleted",
        "item_title": "Water",
        "deleted": "2022-08-17T10:00:00Z",
        "who": "curator",
        "reason": "names of\nresidents",
        "replaced_by": {"rep": "", "ibip": label(3)},
        "metadata": {"ibip": "x y"},
    }
    assert read_tombstone(json.dumps(document).encode()) == Tombstone(
        "Water", "2022-08-17T10:00:00Z", "curator", "names of residents", parse(label(3))
    )
    other = {"type": "urn:ibi:problem:deleted", "deleted": "<b>", "who": 7, "replaced_by": None}
    assert read_tombstone(json.dumps(other).encode()) == Tombstone()
    assert read_tombstone(b'{"type": "about:blank"}') is None
