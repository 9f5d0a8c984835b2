"""Ranges and conditions, by the words of RFC 9110."""

from __future__ import annotations

from http import HTTPStatus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibi.foundation.web.byte_ranges import MAX_RANGES, ByteRange, read_ranges
from ibi.foundation.web.conditional_requests import Validators


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        # The examples of 14.1.2, of a file of 10,000 bytes.
        ("bytes=0-499", [(0, 500)]),
        ("bytes=500-999", [(500, 1000)]),
        ("bytes=-500", [(9500, 10000)]),
        ("bytes=9500-", [(9500, 10000)]),
        ("bytes=0-0,-1", [(0, 1), (9999, 10000)]),
        ("bytes= 0-999, 4500-5499, -1000", [(0, 1000), (4500, 5500), (9000, 10000)]),
        ("bytes=500-600,601-999", [(500, 601), (601, 1000)]),
        ("bytes=500-700,601-999", [(500, 701), (601, 1000)]),
        ("BYTES=0-1", [(0, 2)]),
        ("bytes=,,0-1,", [(0, 2)]),
        ("bytes=0-99999", [(0, 10000)]),
        ("bytes=-99999", [(0, 10000)]),
        ("bytes=99999-,5-6", [(5, 7)]),
        # Good, and nothing of it is there.
        ("bytes=10000-", []),
        ("bytes=99999-100000", []),
        ("bytes=-0", []),
        # Ignored.
        ("", None),
        ("bytes", None),
        ("bytes=", None),
        ("bytes=,", None),
        ("bytes=-", None),
        ("bytes=5-4", None),
        ("bytes=a-b", None),
        ("bytes=1-2-3", None),
        ("bytes=0x1-2", None),
        ("bytes=+1-2", None),
        ("bytes=١-٢", None),
        ("lines=1-2", None),
        ("bytes=" + "9" * 20 + "-", None),
        ("bytes=0-,0-", None),
        ("bytes=" + ",".join(["0-1"] * (MAX_RANGES + 1)), None),
        ("bytes=" + "0-1," * 10_000, None),
    ],
)
def test_ranges(header: str, expected: list[tuple[int, int]] | None) -> None:
    found = read_ranges(header, 10_000)
    assert (None if found is None else [(each.start, each.stop) for each in found]) == expected


def test_an_empty_file_has_no_range() -> None:
    assert read_ranges("bytes=0-", 0) == ()
    assert read_ranges("bytes=-5", 0) == ()


@given(
    st.text("bytes=0123456789-, ", max_size=40).map(lambda text: f"bytes={text}"),
    st.integers(0, 99),
)
def test_whatever_is_read_lies_in_the_file(header: str, size: int) -> None:
    for each in read_ranges(header, size) or ():
        assert 0 <= each.start < each.stop <= size


def test_a_range_says_what_it_is() -> None:
    assert ByteRange(500, 1000).content_range(1234) == "bytes 500-999/1234"


DAY = "Sun, 06 Nov 1994 08:49:37 GMT"
BEFORE = "Sun, 06 Nov 1994 08:49:36 GMT"
AFTER = "Sun, 06 Nov 1994 08:49:38 GMT"
FILE = Validators('"abc"', 784111777_500_000_000)


def test_the_date_is_written_as_http_does() -> None:
    assert FILE.last_modified == DAY


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, None),
        ({"if-none-match": '"abc"'}, 304),
        ({"if-none-match": 'W/"abc"'}, 304),
        ({"if-none-match": '"a,b", "abc"'}, 304),
        ({"if-none-match": "*"}, 304),
        ({"if-none-match": '"xyz"'}, None),
        ({"if-none-match": "abc"}, None),
        ({"if-modified-since": DAY}, 304),
        ({"if-modified-since": AFTER}, 304),
        ({"if-modified-since": BEFORE}, None),
        ({"if-modified-since": "Sunday, 06-Nov-94 08:49:37 GMT"}, 304),
        ({"if-modified-since": "soon"}, None),
        ({"if-modified-since": "Sun, 06 Nov 99999999999 08:49:37 GMT"}, None),
        # A tag that is given decides alone.
        ({"if-none-match": '"xyz"', "if-modified-since": DAY}, None),
        ({"if-none-match": '"abc"', "if-modified-since": BEFORE}, 304),
        ({"if-match": '"abc"'}, None),
        ({"if-match": "*"}, None),
        ({"if-match": '"xyz", "abc"'}, None),
        ({"if-match": 'W/"abc"'}, 412),
        ({"if-match": '"xyz"'}, 412),
        ({"if-match": '"abc"', "if-none-match": '"abc"'}, 304),
        ({"if-match": '"xyz"', "if-none-match": '"abc"'}, 412),
        ({"if-unmodified-since": DAY}, None),
        ({"if-unmodified-since": BEFORE}, 412),
        ({"if-unmodified-since": "soon"}, None),
        ({"if-match": '"abc"', "if-unmodified-since": BEFORE}, None),
    ],
)
def test_conditions_in_their_order(headers: dict[str, str], status: int | None) -> None:
    assert FILE.judge(headers) == (None if status is None else HTTPStatus(status))


@pytest.mark.parametrize(
    ("if_range", "age", "allowed"),
    [
        ('"abc"', 0, True),
        ('W/"abc"', 0, False),
        ('"xyz"', 0, False),
        (DAY, 2, True),
        (DAY, 0, False),
        (BEFORE, 2, False),
        (AFTER, 2, False),
        ("soon", 2, False),
    ],
)
def test_parts_only_of_the_same_file(if_range: str, age: int, *, allowed: bool) -> None:
    assert FILE.allow_ranges(if_range, FILE.modified + age * 10**9) is allowed
