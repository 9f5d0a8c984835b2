"""The temporal distributor has the properties of Definition 2 (000, section 4)."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from ibi.minting.rules.distributor import create_date, create_dates

SECOND = 1_000_000_000
G = (60 * SECOND, *(SECOND // 10**digits for digits in range(10)))

granularities = st.sampled_from(G)
dates = st.integers(807_235_200 * SECOND, 2**63 - 1)


@st.composite
def requests(draw: st.DrawFn) -> tuple[int, int, int]:
    """Return a date, a granularity, and a date given before: near, far, or ahead of the clock."""
    now, r = draw(dates), draw(granularities)
    steps = draw(st.sampled_from([1, 3, 100, 10_000]))
    distance = draw(st.integers(-3 * r, steps * r))
    return now, r, max(0, now - distance)


def is_on_grid(date: int, r: int) -> bool:
    return date % r == 0


@given(requests())
@example((1_287_588_115_186_234_000, SECOND, 1_287_588_000 * SECOND))
def test_dates_grow_strictly(request: tuple[int, int, int]) -> None:
    now, r, last = request
    _, date = create_date(now, last, r)
    assert date > last


@given(requests())
def test_no_date_is_after_its_creation_date_nor_the_creation_date_further_than_it_must(
    request: tuple[int, int, int],
) -> None:
    now, r, last = request
    creation, date = create_date(now, last, r)
    assert date <= creation
    # The definition: the greater of the next step after the last one and the request, rounded.
    assert is_on_grid(creation, r)
    assert creation in {now // r * r, last // r * r + r}
    assert creation >= now // r * r


@given(requests())
def test_a_date_is_as_short_as_it_may_be(request: tuple[int, int, int]) -> None:
    now, r, last = request
    creation, date = create_date(now, last, r)
    # r_(t, s): the greatest granularity whose rounding is greater than the one before.
    before = last // r * r
    shortest = max(s for s in G if s >= r and creation // s * s > before)
    assert date == creation // shortest * shortest


@given(requests())
def test_a_date_lies_on_the_grid(request: tuple[int, int, int]) -> None:
    now, r, last = request
    assert is_on_grid(create_date(now, last, r)[1], r)


@given(dates, granularities)
def test_the_first_date_is_the_request_rounded(now: int, r: int) -> None:
    # Definition 2: t(]1[) is the date of the first request rounded in r seconds.
    assert create_date(now, None, r) == (now // r * r, now // r * r)


@given(requests(), st.integers(1, 200))
def test_many_at_once_grow_strictly_on_the_grid(request: tuple[int, int, int], count: int) -> None:
    now, r, last = request
    creation, given_dates = create_dates(now, last, r, count)
    assert len(given_dates) == count
    assert all(a < b for a, b in zip([last, *given_dates], given_dates, strict=False))
    assert all(is_on_grid(date, r) for date in given_dates)
    assert given_dates[-1] <= creation


@given(requests(), st.lists(st.tuples(st.integers(-(10**11), 10**11), granularities), max_size=20))
def test_dates_grow_whatever_clock_and_granularity_do(
    request: tuple[int, int, int], changes: list[tuple[int, int]]
) -> None:
    now, _, last = request
    for change, r in changes:
        now = max(0, now + change)
        _, date = create_date(now, last, r)
        assert date > last
        last = date
