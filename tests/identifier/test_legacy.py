"""Legacy labels: carried as they are, decoded where that is known."""

from __future__ import annotations

import pytest

from ibi import LegacyLabel, parse
from ibi.errors import LegacyLabelError

DECODABLE = "6qtX3pFwXQZGivnK2Y/SskcB"
# Several words, and none after Z.
NEITHER_FORM = "83LX3pFwXQZ/SskcB"
# The base-37 digit of value 8 is one of the nine letters that nobody has placed yet.
NOT_DECODABLE = "6qtX3pFwXQZa/SskcB"


def test_case_counts() -> None:
    assert parse(DECODABLE) == LegacyLabel.parse(DECODABLE)
    assert LegacyLabel.parse("6qtX3pFwXQZGivnK2Y/SskcB") != LegacyLabel.parse(
        "6QtX3pFwXQZGivnK2Y/SskcB"
    )


def test_a_port_is_decoded_and_is_80_when_left_out() -> None:
    assert LegacyLabel.parse("6qtX3pFwXQZ3r59YD6/GP5D6").port == 1912
    assert LegacyLabel.parse(DECODABLE).port == 80


def test_the_late_form_is_an_address() -> None:
    label = LegacyLabel.parse("APM77Z/UaJFT")
    assert (label.ip, label.host, label.repository_name) == ("127.0.0.1", None, None)


@pytest.mark.parametrize("text", [NOT_DECODABLE, NEITHER_FORM, "2Z/2", "VVVVVVVVVVVVVVZ/V"])
def test_what_is_not_decodable_is_carried_all_the_same(text: str) -> None:
    label = LegacyLabel.parse(text)
    assert not label.is_decodable
    assert (label.host, label.ip, label.port, label.repository_name) == (None, None, None, None)
    assert str(label) == label.canonical == text


@pytest.mark.parametrize(
    ("text", "part", "position"),
    [
        ("6qtX3pFwXQZGivnK2Y", "the label", 18),
        ("6qtX3pFwXQZGivnK2Y/", "the label", 19),
        ("6qtX3pFwXQZGivnK2Y/Ss0cB", "the label", 21),
        ("6qtX3pFwXQZGivnlK2Y/SskcB", "the label", 15),
        ("6qtX3pFwXQZGivnK2Y/SsXcB", "the suffix", 19),
        ("6qtX3pFwXQGivnK2Y/SskcB", "the prefix", 0),
        (f"6qtX3pFwXQZGivnK2Y/{'S' * 300}", "the label", 255),
    ],
)
def test_a_fault_is_named_with_its_place(text: str, part: str, position: int) -> None:
    with pytest.raises(LegacyLabelError) as caught:
        LegacyLabel.parse(text)
    assert (caught.value.part, caught.value.position) == (part, position)
