"""Pages of digests: one spelling for each, nothing else is read, and they are as short as said."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ibi.errors import MessageError
from ibi.wire.digest import (
    FINGERPRINT_END,
    MAX_CURSOR,
    MAX_FINGERPRINTS,
    MAX_PAGE,
    DigestPage,
    decode,
    encode,
    fingerprint,
)

DOCUMENTATION = Path(__file__).parents[2] / "docs/reference/digest.md"
EPOCH = "00112233445566778899aabbccddeeff"
FINGERPRINTS = (
    st.integers(0, FINGERPRINT_END - 1)
    | st.integers(0, 300)
    | st.integers(FINGERPRINT_END - 300, FINGERPRINT_END - 1)
)


@st.composite
def pages(draw: st.DrawFn) -> DigestPage:
    said = draw(st.dictionaries(FINGERPRINTS, st.booleans(), max_size=60))
    after = draw(st.integers(0, MAX_CURSOR - 1))
    more = draw(st.booleans())
    last = draw(st.integers(after + 1, MAX_CURSOR)) if said or more else after
    return DigestPage(
        draw(st.binary(min_size=16, max_size=16)).hex(),
        after,
        last,
        more,
        tuple(sorted(name for name, held in said.items() if held)),
        tuple(sorted(name for name, held in said.items() if not held)),
    )


def page(*held: int, dropped: tuple[int, ...] = ()) -> DigestPage:
    return DigestPage(EPOCH, 0, 1, more=False, held=held, dropped=dropped)


@given(pages())
@example(DigestPage(EPOCH, 0, 0, more=False))
@example(page(0))
@example(page(FINGERPRINT_END - 1))
@example(page(0, FINGERPRINT_END - 1, dropped=(1, FINGERPRINT_END - 2)))
def test_what_is_written_is_read(written: DigestPage) -> None:
    assert decode(encode(written)) == written


@given(pages(), st.data())
def test_nothing_else_reads_the_same(written: DigestPage, data: st.DataObject) -> None:
    octets = bytearray(encode(written))
    place = data.draw(st.integers(0, len(octets) - 1))
    octets[place] ^= data.draw(st.integers(1, 255))
    try:
        other = decode(bytes(octets))
    except MessageError:
        return
    assert other != written
    assert encode(other) == octets


@given(st.binary(max_size=200), st.booleans())
def test_garbage_is_refused_and_never_raises_anything_else(octets: bytes, begins: bool) -> None:  # noqa: FBT001  # drawn
    garbage = encode(page())[: 38 if begins else 0] + octets
    try:
        found = decode(garbage)
    except MessageError:
        return
    assert encode(found) == garbage


@pytest.mark.parametrize("cut", [0, 4, 5, 6, 22, 38, 41, 42, 47, 48, 50, -1])
def test_what_is_cut_or_has_more_behind_it_is_refused(cut: int) -> None:
    octets = encode(page(1, 2, 3, dropped=(4, 5)))
    with pytest.raises(MessageError):
        decode(octets[:cut])
    with pytest.raises(MessageError):
        decode(octets + b"\0")


@pytest.mark.parametrize(
    "wrong",
    [
        replace(page(1), epoch="ff"),
        replace(page(1), epoch=EPOCH.upper()),
        replace(page(1), after=2),
        replace(page(1), last=MAX_CURSOR + 1),
        replace(page(1), after=-1),
        replace(page(1), after=1),
        replace(page(), after=1, more=True),
        page(2, 1),
        page(1, 1),
        page(-1),
        page(FINGERPRINT_END),
        page(1, dropped=(1,)),
        page(*range(MAX_FINGERPRINTS + 1)),
        page(*range(MAX_FINGERPRINTS), dropped=(MAX_FINGERPRINTS,)),
    ],
)
def test_what_is_no_page_is_not_written(wrong: DigestPage) -> None:
    with pytest.raises(ValueError, match=r"."):
        encode(wrong)


def test_a_page_that_stays_where_it_is_and_promises_more_is_refused() -> None:
    octets = bytearray(encode(DigestPage(EPOCH, 7, 7, more=False)))
    octets[5] = 1
    with pytest.raises(MessageError, match="does not advance"):
        decode(bytes(octets))
    octets[5] = 4
    with pytest.raises(MessageError, match="a flag that is not defined"):
        decode(bytes(octets))


def test_counts_that_cannot_be_are_refused_before_anything_is_made_of_them() -> None:
    head = encode(page())[:38]
    for count in (MAX_FINGERPRINTS + 1, 2**32 - 1):
        with pytest.raises(MessageError, match="too many fingerprints"):
            decode(head + count.to_bytes(4) + bytes(1000))
    with pytest.raises(MessageError, match="longer"):
        decode(head + bytes(MAX_PAGE))


def test_numbers_beyond_the_greatest_are_refused() -> None:
    octets = bytearray(encode(page(FINGERPRINT_END - 1)))
    # Its one quotient is in the last octet before the empty set: a 1 after more zeros.
    quotient = len(octets) - 5
    assert octets[quotient] == 0b01000000
    octets[quotient] = 0b00100000
    with pytest.raises(MessageError, match="too many bits"):
        decode(bytes(octets))


@pytest.mark.parametrize(
    "names",
    [
        range(MAX_FINGERPRINTS),
        range(FINGERPRINT_END - MAX_FINGERPRINTS, FINGERPRINT_END),
        range(0, FINGERPRINT_END, FINGERPRINT_END // MAX_FINGERPRINTS),
        (
            *range(MAX_FINGERPRINTS // 2),
            *range(FINGERPRINT_END - MAX_FINGERPRINTS // 2, FINGERPRINT_END),
        ),
    ],
)
def test_the_largest_page_is_within_its_limit_whatever_stands_in_it(names: range) -> None:
    for held, dropped in ((names, ()), (names[::2], names[1::2])):
        octets = encode(page(*held, dropped=tuple(dropped)))
        assert len(octets) <= MAX_PAGE
        assert decode(octets).held == tuple(held)


@pytest.mark.parametrize(("count", "most"), [(100, 47.0), (10_000, 36.3), (MAX_FINGERPRINTS, 33.6)])
def test_a_fingerprint_takes_as_few_bits_as_the_documentation_says(count: int, most: float) -> None:
    names = sorted(random.Random(count).sample(range(FINGERPRINT_END), count))  # noqa: S311  # the same each time
    bits = 8 * len(encode(page(*names))) / count
    print(f"{count} fingerprints: {bits:.2f} bits each")  # noqa: T201  # for the report
    assert bits < most


def test_the_documentation_shows_the_page_that_it_describes() -> None:
    text = DOCUMENTATION.read_text("utf-8")
    labels = dict(re.findall(r"\| `([^`]+)` \| `([0-9a-f]{12})` \|", text))
    assert {label: f"{fingerprint(label):012x}" for label in labels} == labels
    first, second, third = map(fingerprint, labels)
    shown = re.search(r"```text\n([0-9a-f\n]+)```", text)
    assert shown is not None
    held = tuple(sorted((first, second)))
    described = DigestPage(EPOCH, 7, 4711, more=False, held=held, dropped=(third,))
    assert encode(described).hex() == shown[1].replace("\n", "")


def test_the_fingerprint_of_a_label_is_the_beginning_of_its_blake2b() -> None:
    assert fingerprint("LK47B6W/362SFKH") == int(
        blake2b(b"LK47B6W/362SFKH", digest_size=64).hexdigest()[:12], 16
    )
