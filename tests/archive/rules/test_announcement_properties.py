"""Whatever resolvers and clocks do, an archive keeps saying that it is on, and not too often."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ibi.archive.rules.announcement import (
    AGAIN,
    FIRST_RETRY,
    FIRST_RETRY_REFUSED,
    LONGEST_RETRY,
    LONGEST_RETRY_REFUSED,
    Excluded,
    Included,
    Link,
    Outcome,
    Refused,
    Unreachable,
    after,
    document,
    due,
    leaving,
    read_document,
    resolver_address,
)
from ibi.errors import ArchiveRequestError
from ibi.identifier.ibip import Ibip
from ibi.model.archive_record import ArchiveRecord, RegistrationKey
from ibi.model.clock import SECOND
from ibi.wire.requests import ExclusionRequest, InclusionRequest

RECORDS = [
    ArchiveRecord(address, Ibip.parse("8JMKD3MGP7W/3EPGUE5"), "150.163.34.239", "1", "a@b.br")
    for address in ("one.example.org", "two.example.org")
]
KEY = RegistrationKey("1234567890")

reasons = st.text(max_size=5)
outcomes: st.SearchStrategy[Outcome] = st.one_of(
    st.builds(Included, st.booleans()),
    st.builds(Refused, reasons, reasons),
    st.builds(Unreachable, reasons),
)
jitters = st.floats(0, 1, exclude_max=True)
steps = st.lists(
    st.tuples(
        st.integers(0, 2 * AGAIN),  # time that passes
        st.sampled_from([0, 0, 0, -AGAIN, -(10**9) * SECOND, 10**9 * SECOND]),  # clock set
        st.sampled_from(RECORDS),
        outcomes,
        jitters,
    ),
    max_size=30,
)


@given(steps)
def test_an_archive_that_is_on_is_announced_again_within_an_hour(
    taken: list[tuple[int, int, ArchiveRecord, Outcome, float]],
) -> None:
    now, link = 1_700_000_000 * SECOND, Link("http://urlib.net", KEY)
    said: InclusionRequest | ExclusionRequest | None = None
    for passed, step, record, outcome, jitter in taken:
        now += passed + step
        request = due(link, now, on=True, record=record, said=said)
        if request is None:
            # It was said already, and its time comes within the hour by whatever the clock says.
            assert said == InclusionRequest(record, KEY)
            assert now < link.next_try <= now + AGAIN
        else:
            assert request == InclusionRequest(record, KEY)
            said = request
            following = after(link, outcome, now, jitter)
            assert following is not None
            link = following


@given(st.lists(st.tuples(outcomes, jitters), min_size=1, max_size=40))
def test_no_resolver_is_hurried(taken: list[tuple[Outcome, float]]) -> None:
    now, link = 1_700_000_000 * SECOND, Link("http://urlib.net", KEY)
    for outcome, jitter in taken:
        following = after(link, outcome, now, jitter)
        assert following is not None
        wait = following.next_try - now
        match outcome:
            case Included(confirmed=True):
                assert wait == AGAIN
            case Refused():
                assert FIRST_RETRY_REFUSED // 2 <= wait <= LONGEST_RETRY_REFUSED
            case _:
                assert FIRST_RETRY // 2 <= wait <= LONGEST_RETRY
        assert (following.failures == 0) == (outcome == Included(confirmed=True))
        link = following


@given(st.lists(st.tuples(st.builds(Unreachable, reasons), jitters), max_size=20))
def test_a_resolver_is_left_in_the_end_and_never_joined_again(
    taken: list[tuple[Outcome, float]],
) -> None:
    now = 1_700_000_000 * SECOND
    link = leaving(Link("http://urlib.net", KEY, state="included"), now)
    said = None
    for outcome, jitter in taken:
        request = due(link, now, on=True, record=RECORDS[0], said=said)
        assert request == ExclusionRequest(RECORDS[0], KEY)
        said = request
        following = after(link, outcome, now, jitter)
        assert following is not None
        link, now = following, following.next_try
    assert after(link, Excluded(), now, 0.0) is None


@given(outcomes, jitters, st.integers(0, 2**62))
def test_links_are_kept_whole(outcome: Outcome, jitter: float, now: int) -> None:
    link = after(Link("http://urlib.net", KEY), outcome, now, jitter)
    assert link is not None
    assert read_document(link.resolver, document(link)) == link


@given(st.text("htps:/.@#?[]0123456789abAB_-%\\ \n", max_size=40))
def test_a_resolver_has_one_address_or_none(text: str) -> None:
    for each in (text, f"http://{text}"):
        try:
            address = resolver_address(each)
        except ArchiveRequestError:
            continue
        assert resolver_address(address) == address
        assert not set(address.partition("://")[2]) & set("/@#?%\\ \n")
