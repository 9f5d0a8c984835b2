"""What counts as damage, and how fast to look: pure rules."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibi.archive.ports.catalogue import StoredItem
from ibi.archive.rules.fixity import (
    MISSING,
    Found,
    file_fault,
    is_ahead,
    is_known,
    manifest_fault,
    owners,
    read_pace,
)
from ibi.archive.rules.manifest import manifest
from ibi.identifier.language import Language
from ibi.model.item import Item, State
from ibi.model.metadata_record import MetadataRecord
from tests.support.scenes.small_archive import SECOND, file, forms

FILE = file("a/b.txt", b"bytes")
FILES = (file("a/b.txt", b"bytes"), file("c.txt", b"more", 7))
HELD = StoredItem(
    3,
    2,
    Item(
        forms=forms(1),
        language=Language.parse("pt"),
        target="c.txt",
        created=10,
        updated=20,
        metadata=forms(2),
        transferable=False,
        readers=("10.0.0.0/8",),
    ),
)
TEXT = manifest(HELD.item, FILES, HELD.id, HELD.version)


def test_a_file_is_whole_by_size_and_both_checksums() -> None:
    found = Found(FILE.size, FILE.sha256, FILE.sha512)
    assert not file_fault(FILE, found)
    assert not file_fault(replace(FILE, modified=1), found)
    assert file_fault(FILE, None) == MISSING
    assert file_fault(FILE, replace(found, size=6)) == "it has 6 bytes instead of 5"
    changed = "its bytes have changed:"
    what = file_fault(FILE, replace(found, sha256="0" * 64))
    assert what.startswith(f"{changed} sha256 was {FILE.sha256[:16]}… and is 0000000000000000…")
    assert file_fault(FILE, replace(found, sha512="0" * 128)).startswith(f"{changed} sha512 was ")


def test_a_manifest_is_whole_that_says_what_the_catalogue_does() -> None:
    assert not manifest_fault(TEXT, HELD, FILES)
    # Whoever wrote it may have had the files in another order, or no number to tell.
    assert not manifest_fault(manifest(HELD.item, FILES[::-1], 3, 2), HELD, FILES)
    assert not manifest_fault(manifest(HELD.item, FILES), HELD, FILES)
    assert manifest_fault(None, HELD, FILES) == MISSING
    assert manifest_fault(b"", HELD, FILES)
    assert manifest_fault(TEXT + b"\n", HELD, FILES) == "it is not as it was written"
    assert manifest_fault(TEXT, HELD, FILES[:1]) == "it says other things than the catalogue"
    assert manifest_fault(TEXT, replace(HELD, version=3), FILES)
    assert manifest_fault(TEXT, replace(HELD, id=4), FILES)


def test_no_bit_of_a_manifest_flips_unseen() -> None:
    described = replace(HELD, item=replace(HELD.item, record=MetadataRecord(titles=())))
    for held, files in ((HELD, FILES), (described, FILES)):
        text = manifest(held.item, files, held.id, held.version)
        for at in range(len(text)):
            for bit in range(8):
                flipped = bytearray(text)
                flipped[at] ^= 1 << bit
                assert manifest_fault(bytes(flipped), held, files), (at, bit)
                # Nor is a flipped bit taken for news that the catalogue has not heard.
                assert not is_ahead(bytes(flipped), held, files), (at, bit)


def test_what_the_catalogue_has_forgotten_is_not_damage_to_be_written_over() -> None:
    item = HELD.item
    later = replace(item, updated=30, target="a/b.txt")
    assert is_ahead(manifest(later, FILES, 3, 2), HELD, FILES)
    assert is_ahead(manifest(replace(item, updated=30), FILES[:1], 3, 2), HELD, FILES)
    assert is_ahead(manifest(replace(item, target="a/b.txt"), FILES, 3, 3), HELD, FILES)
    assert is_ahead(manifest(replace(item, state=State.COPY), FILES, 3, 2), HELD, FILES)
    earlier = replace(item, updated=15, target="a/b.txt")
    assert not is_ahead(manifest(earlier, FILES, 3, 1), HELD, FILES)
    assert not is_ahead(b"{}", HELD, FILES)
    newer = TEXT.replace(b'"version": 1', b'"version": 9')
    assert not is_ahead(newer, HELD, FILES)
    assert "newer than this" in manifest_fault(newer, HELD, FILES)


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("a.br/b/2013/09.04/doc/x.txt", [("a.br/b/2013/09.04", "doc/x.txt")]),
        ("a.br/b/2013/09.04/ibi.json", [("a.br/b/2013/09.04", "ibi.json")]),
        ("P/S/old/1/x", [("P/S", "old/1/x")]),
        ("P/S/doc/ibi.json", [("P/S", "doc/ibi.json"), ("P/S/doc", "ibi.json")]),
        ("P/doc/2013/old/x", [("P", "doc/2013/old/x"), ("P/doc/2013", "old/x")]),
        ("doc/x", []),
        ("ibi.json", []),
        ("P/S/ibi.json/x", []),
        ("P/S/x", []),
        ("", []),
    ],
)
def test_a_key_belongs_to_the_places_above_it(key: str, expected: list[tuple[str, str]]) -> None:
    assert list(owners(key)) == expected


def test_what_belongs_to_an_item() -> None:
    paths = frozenset({"a/b.txt"})
    assert is_known("ibi.json", paths)
    assert is_known("doc/a/b.txt", paths)
    assert is_known("old/change/a/b.txt", paths)
    assert not is_known("doc/a/c.txt", paths)
    assert not is_known("doc/a", paths)
    assert not is_known("doc", paths)
    assert not is_known("other/a/b.txt", paths)


@given(st.floats(0.01, 1000), st.lists(st.tuples(st.integers(1, 1 << 20), st.integers(0, SECOND))))
def test_nobody_reads_faster_than_the_pace(rate: float, steps: list[tuple[int, int]]) -> None:
    pace = read_pace(rate)
    begun = now = 5 * SECOND
    read = 0
    for count, busy in steps:
        now += busy
        now += pace.after(now, count)
        read += count
        # A tenth of a second's worth may be read at once, after a rest.
        assert read <= rate * 1_000_000 * ((now - begun) / SECOND + 0.1) + 1 + read * 1e-6


def test_whoever_was_slow_does_not_hurry_afterwards() -> None:
    pace = read_pace(1)
    assert pace.after(10 * SECOND, 1_000_000) == 9 * SECOND // 10
    assert pace.after(100 * SECOND, 1_000_000) == 9 * SECOND // 10
    assert pace.after(100 * SECOND, 1_000_000) == 19 * SECOND // 10


def test_without_a_pace_nobody_waits() -> None:
    pace = read_pace(0)
    assert [pace.after(now, 1 << 40) for now in (0, 1, SECOND)] == [0, 0, 0]
