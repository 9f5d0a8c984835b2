"""Pair lists: what is written and read, and where a fault is."""

from __future__ import annotations

import pickle

import pytest

from ibi.errors import PairListError
from ibi.wire import pairlist


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("", "{}"),
        ("word", "word"),
        ("two words", "{two words}"),
        (" around ", "%20around%20"),
        ("a  b", "{a %20b}"),
        ("   ", "%20%20%20"),
        ("{a}", "%7Ba%7D"),
        ("a\\b", "a%5Cb"),
        ('"a', "%22a"),
        ('a "b" c"', '{a %22b" c"}'),
        ("a\nb\r\0", "a%0Ab%0D%00"),
        ("é€", "%C3%A9%E2%82%AC"),
        ("\udc80", "%ED%B2%80"),
        ("100% %41", "{100% %41}"),
        ("$a [b];#", "{$a [b];#}"),
    ],
)
def test_a_value_is_written_so_that_it_is_one(value: str, written: str) -> None:
    text = pairlist.encode({"name": value})
    assert text == f"name {written}"
    assert pairlist.decode(text) == {"name": pairlist.escaped(value)}


def test_pairs_are_sorted_and_each_has_a_line() -> None:
    pairs = {"url": "u", "ibi.b": "x y", "ibi": "z", "url(": ""}
    assert pairlist.encode(pairs) == "ibi z\r\nibi.b {x y}\r\nurl u\r\nurl( {}"
    assert pairlist.encode({}) == ""


def test_a_name_is_one_word() -> None:
    assert pairlist.encode({"a b": "c"}) == "a%20b c"
    with pytest.raises(PairListError, match="expected a name"):
        pairlist.encode({"": "c"})
    with pytest.raises(PairListError, match="every name once"):
        pairlist.encode({"é": "1", "%C3%A9": "2"})


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("", {}),
        (" \t\r\n\v\f", {}),
        ("a b", {"a": "b"}),
        ("\ta\n b\r\n", {"a": "b"}),
        ("a {}", {"a": ""}),
        ('a ""', {"a": ""}),
        ("{} b", {"": "b"}),
        ("a {b {c d} e}", {"a": "b {c d} e"}),
        ("a {\\{}", {"a": "\\{"}),
        ('a "b {c"', {"a": "b {c"}),
        ('a b"c', {"a": 'b"c'}),
        ("a b{c", {"a": "b{c"}),
        ("a b}", {"a": "b}"}),
        (r"a\ b \x41\u0042\103\n", {"a b": "ABC\n"}),
        ("a b\\\n \tc", {"a": "b c"}),
        ("a {b\\\n c}", {"a": "b\\\n c"}),
        (r"a \U0001F600x", {"a": "\ufffdx"}),
        (r"a \ud83d", {"a": "\ufffd"}),
        ("a b\\", {"a": "b\\"}),
    ],
)
def test_what_tcl_reads_is_read(text: str, pairs: dict[str, str]) -> None:
    assert pairlist.decode(text) == pairs
    assert pairlist.decode(text.encode("ascii")) == pairs


@pytest.mark.parametrize(
    ("text", "position", "expected"),
    [
        ("a", 1, "a value for the last name"),
        ("a b c", 5, "a value for the last name"),
        ("a {b", 2, "a closing brace"),
        ("a {b\\}", 2, "a closing brace"),
        ('a "b', 2, "a closing quotation mark"),
        ("a {b}c", 5, "a blank after the closing brace or quotation mark"),
        ('a "b"c', 5, "a blank after the closing brace or quotation mark"),
        ("a b a c", 4, "every name once"),
        ("a é", 2, "ASCII"),
        ("a " + "b" * pairlist.MAX_LIST, pairlist.MAX_LIST, "at most 65536 characters"),
    ],
)
def test_all_else_is_refused_with_its_position(text: str, position: int, expected: str) -> None:
    with pytest.raises(PairListError) as refused:
        pairlist.decode(text)
    assert (refused.value.position, refused.value.expected) == (position, expected)
    assert str(pickle.loads(pickle.dumps(refused.value))) == str(refused.value)  # noqa: S301  # ours


def test_the_longest_list_is_read() -> None:
    text = "a " + "b" * (pairlist.MAX_LIST - 2)
    assert len(pairlist.decode(text)["a"]) == pairlist.MAX_LIST - 2


def test_bytes_that_are_not_ascii_are_refused_where_they_stand() -> None:
    with pytest.raises(PairListError, match="at character 12: expected ASCII"):
        pairlist.decode(b"url http://\xf3")
