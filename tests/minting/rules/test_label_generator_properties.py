"""The label generator writes, quickly, what the algorithms of the standard write."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ibi import Ibip, Instant, RepositoryName
from ibi.identifier.instant import instant_of
from ibi.identifier.numerals import IBIP, IPV4, IPV6, Numerals
from ibi.minting.rules.label_generator import EARLIEST, LATEST, LabelGenerator, Minted
from ibi.minting.rules.subsystem import Subsystem

SECOND = 1_000_000_000
STEPS = (60 * SECOND, *(SECOND // 10**digits for digits in range(10)))
HOST, PORT = "mtc-m19.sid.inpe.br", 8080
IP, IP_PORT = "150.163.34.243", 804

BOTH = Subsystem(HOST, PORT, IP, IP_PORT)
subsystems = st.sampled_from(
    [
        BOTH,
        Subsystem(HOST, PORT),
        Subsystem(ip=IP, ip_port=IP_PORT),
        Subsystem(HOST, ip="2800:3f0::8"),
    ]
)
seconds = st.integers(EARLIEST // SECOND, LATEST // SECOND - 10**6)


@st.composite
def instants(draw: st.DrawFn) -> int:
    """Return an instant with any number of digits, zeros at either end of them included."""
    digits = draw(st.integers(0, 9))
    unit: int = SECOND // 10**digits
    fraction = draw(st.integers(0, SECOND // unit - 1)) * unit
    whole = draw(seconds)
    return (whole - whole % draw(st.sampled_from([1, 60]))) * SECOND + fraction


def mounted(subsystem: Subsystem, nanoseconds: int) -> Minted:
    """Return the labels as the standard's algorithms mount them."""
    whole, rest = divmod(nanoseconds, SECOND)
    instant = Instant(whole, f"{rest:09}".rstrip("0"))
    rep = opaque = None
    if subsystem.host is not None:
        rep = str(RepositoryName.mount(subsystem.host, subsystem.port, instant))
    if subsystem.ip is not None:
        opaque = str(Ibip.mount(subsystem.ip, subsystem.ip_port, instant))
    return Minted(rep, opaque, nanoseconds)


@given(subsystems, st.lists(instants(), min_size=1, max_size=20))
def test_labels_one_by_one(subsystem: Subsystem, given_instants: list[int]) -> None:
    generator = LabelGenerator(subsystem)
    for instant in given_instants:
        assert generator.label(instant) == mounted(subsystem, instant)
        assert generator.label(instant).instant == instant_of(instant)


@given(subsystems, st.lists(instants(), max_size=200))
def test_labels_of_instants_in_no_order(subsystem: Subsystem, given_instants: list[int]) -> None:
    expected = [mounted(subsystem, instant) for instant in given_instants]
    assert LabelGenerator(subsystem).labels(given_instants) == expected


@settings(max_examples=50)
@given(
    subsystems,
    seconds,
    st.sampled_from(STEPS),
    # Before the end of a second, and where the number of leading zeros or digits changes.
    st.sampled_from([0, 1, 9, 10, 99, 100, 999, 1000, 9999, 10_000, 100_000, 10**9]),
    st.integers(0, 1100),
    st.integers(90, 2300),
    st.lists(st.integers(1, 10**11), max_size=4),
)
@example(BOTH, EARLIEST // SECOND + 60, 1, 0, 1100, 2300, [])
@example(BOTH, EARLIEST // SECOND + 60, 100_000, 1000, 0, 1000, [1])
@example(BOTH, EARLIEST // SECOND + 60, 100_000, 0, 10, 300, [10**9, 10**9])
def test_runs_at_every_step_and_across_seconds(  # noqa: PLR0913, PLR0917  # what makes a run
    subsystem: Subsystem,
    second: int,
    step: int,
    position: int,
    before: int,
    count: int,
    short: list[int],
) -> None:
    first = max(EARLIEST, second * SECOND // step * step + (position - before) * step)
    run = list(range(first, first + count * step, step))
    # A batch begins with some short labels, each older than the next.
    for distance in short:
        if run[0] - distance >= EARLIEST:
            run.insert(0, run[0] - distance)
    expected = [mounted(subsystem, instant) for instant in run]
    assert LabelGenerator(subsystem).labels(run) == expected


class Interrupted(LabelGenerator):
    """Another thread makes a label of another second whenever this one has looked."""

    _second: tuple[int, str | None, str | None, str, str]

    @property
    def _mounted(self) -> tuple[int, str | None, str | None, str, str]:
        seen = self._second
        self._second = self._mount(seen[0] + 1)
        return seen

    @_mounted.setter
    def _mounted(self, value: tuple[int, str | None, str | None, str, str]) -> None:
        self._second = value


@pytest.mark.parametrize("looks", [0, 1, 2, 3])
@pytest.mark.parametrize("step", [1, 10, 100_000])
def test_threads_may_share_a_generator(step: int, looks: int) -> None:
    first = 1_700_000_000 * SECOND + 1_230 * step
    run = list(range(first, first + 500 * step, step))
    generator = Interrupted(BOTH)
    for _ in range(looks):
        generator.label(first - SECOND)
    assert generator.labels(run) == [mounted(BOTH, instant) for instant in run]


@given(
    st.sampled_from([IBIP, IPV4, IPV6]),
    st.one_of(st.integers(0, 10**30), st.integers(19_000, 20_500), st.integers(0, 50)),
    st.integers(0, 300),
    st.sampled_from(["", "W2"]),
)
@example(IBIP, 27**3 - 2, 5, "")
@example(IBIP, 27**3 - 2, 2 * 27**3 + 5, "W")
@example(IBIP, 0, 27**3 + 1, "")
def test_consecutive_numerals_are_the_numerals_of_consecutive_numbers(
    numerals: Numerals, first: int, count: int, stem: str
) -> None:
    expected = [stem + numerals.from_decimal(number) for number in range(first, first + count)]
    assert numerals.consecutive(first, count, stem) == expected


def test_a_minted_label_is_written_with_a_tab_between_its_forms() -> None:
    assert str(Minted("a/b/2010/10.20.15.20", None, 0)) == "a/b/2010/10.20.15.20\t"
    assert str(Minted(None, "LK47B6W/362SFKH", 0)) == "\tLK47B6W/362SFKH"
