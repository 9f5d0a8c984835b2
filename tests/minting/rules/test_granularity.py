"""The granularity: how it is read and written, and how it finds itself."""

from __future__ import annotations

import pytest

from ibi.errors import MintingRequestError
from ibi.minting.rules.granularity import (
    CALM,
    COARSER,
    GRANULARITIES,
    MINUTE,
    PATIENCE,
    Granularity,
    granularity_text,
    parse_granularity,
)
from ibi.model.clock import SECOND

NOW = 1_700_000_000 * SECOND + 123_456_789


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("60", MINUTE),
        ("1", SECOND),
        ("0.1", 100_000_000),
        ("0.01", 10_000_000),
        ("0.001", 1_000_000),
        ("0.000000001", 1),
        (" 1 ", SECOND),
        ("1.0", SECOND),
        ("60.00", MINUTE),
        (".1", 100_000_000),
        ("0.100", 100_000_000),
        ("auto", None),
        ("AUTO", None),
    ],
)
def test_granularities_are_read_in_seconds(text: str, nanoseconds: int | None) -> None:
    assert parse_granularity(text) == nanoseconds


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        ".",
        "0",
        "0.0",
        "00.1",
        "2",
        "10",
        "30",
        "600",
        "0.2",
        "0.5",
        "0.0000000001",
        "-1",
        "+1",
        "1e-3",
        "1/10",
        "0,1",
        "1s",
        "minute",
        "automatic",
        "nan",
        "inf",
        "\u0661",  # Arabic-Indic 1
        "1\n0",
        "1" * 10_000,
    ],
)
def test_what_is_no_granularity_is_refused_in_one_sentence(text: str) -> None:
    with pytest.raises(MintingRequestError) as refused:
        parse_granularity(text)
    message = str(refused.value)
    assert "is not a granularity: expected auto, 60, 1, 0.1, 0.01" in message
    assert message.endswith("0.000000001 seconds.")
    assert message.isprintable()
    assert len(message) < 200


@pytest.mark.parametrize("r", GRANULARITIES)
def test_what_is_written_is_read_back(r: int) -> None:
    assert parse_granularity(granularity_text(r)) == r
    assert str(Granularity(r, fixed=True)) == granularity_text(r)
    assert Granularity.of(granularity_text(r)) == Granularity(r, fixed=True)


def test_granularities_are_those_of_the_standard_down_to_a_nanosecond() -> None:
    assert (MINUTE, *(SECOND // 10**digits for digits in range(10))) == GRANULARITIES
    assert COARSER[SECOND // 10] == (SECOND, MINUTE)
    assert COARSER[MINUTE] == ()


def test_auto_says_what_it_has_found() -> None:
    assert str(Granularity.of("auto")) == "auto (1)"
    assert str(Granularity(SECOND // 1000)) == "auto (0.001)"


def test_a_fixed_granularity_never_changes() -> None:
    fixed = Granularity.of("1")
    assert fixed.adapted(NOW, NOW, 1_000_000) is fixed


@pytest.mark.parametrize(
    ("last", "count", "expected"),
    [
        (None, 1, SECOND),
        (NOW - 10 * SECOND, 1, SECOND),
        # The step of the last one is over.
        (NOW - 200_000_000, 1, SECOND),
        # A caller would wait for the end of the second: a millisecond is short enough.
        (NOW - 3_456_789, 1, 1_000_000),
        (NOW, 1, 1_000_000),
        # Many at once: as fine as keeps the last of them from waiting.
        (None, 2, 1_000_000),
        (None, 100, 10_000),
        (NOW - 10 * SECOND, 1000, 1000),
        (NOW, 1_000_000, 1),
    ],
)
def test_auto_refines_when_a_caller_would_wait(last: int | None, count: int, expected: int) -> None:
    assert Granularity().adapted(NOW, last, count).nanoseconds == expected


def test_auto_refines_no_further_than_patience_asks() -> None:
    for count in (1, 10, 500):
        adapted = Granularity().adapted(NOW, NOW, count)
        assert adapted.nanoseconds * count <= PATIENCE + adapted.nanoseconds
        assert adapted.nanoseconds * 10 * count > PATIENCE


def test_auto_coarsens_one_step_after_each_calm_and_no_further_than_a_second() -> None:
    granularity = Granularity().adapted(NOW, NOW, 1000)
    assert granularity.nanoseconds == 1000
    now, found = NOW, []
    for _ in range(8):
        assert granularity.adapted(now + CALM, now - SECOND, 1) is granularity
        now += CALM + 1
        granularity = granularity.adapted(now, now - 5 * SECOND, 1)
        found.append(granularity.nanoseconds)
    assert found == [10**4, 10**5, 10**6, 10**7, 10**8, SECOND, SECOND, SECOND]


def test_auto_does_not_coarsen_while_the_crowd_is_there() -> None:
    fine = Granularity().adapted(NOW, NOW, 1000)
    later = NOW + CALM + 1
    assert fine.adapted(later, later, 1000) is fine


@pytest.mark.parametrize("behind", [1, SECOND, 3600 * SECOND])
@pytest.mark.parametrize("granularity", [Granularity(), Granularity(1_000_000, changed_at=NOW)])
def test_auto_never_refines_because_the_clock_is_behind(
    granularity: Granularity, behind: int
) -> None:
    last = NOW // SECOND * SECOND - 1  # the next step begins at once
    assert granularity.adapted(last - behind, last, 1) is granularity
