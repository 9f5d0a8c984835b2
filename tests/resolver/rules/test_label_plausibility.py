"""Labels that no archive can have, as a table of what is known of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ibi.identifier.description import describe
from ibi.identifier.instant import Instant
from ibi.identifier.label import parse
from ibi.resolver.rules.decision import Decision, NotFound, Unsure
from ibi.resolver.rules.evidence import Evidence
from ibi.resolver.rules.label_plausibility import (
    CLOCK_TOLERANCE,
    Impossibility,
    impossibility,
    with_impossibility,
)
from tests.support.values.resolutions import FIRST, SECOND, evidence, has, has_not, silent

NOW = Instant(1_384_689_600)  # 2013-11-17T12:00:00Z
NAME = "strange.example/house/2013/11.16.11.00"
RECENT = "strange.example/house/2013/11.17.11.00"
READ = NOW.seconds
MADE = parse(NAME).instant.seconds
TODAY = "strange.example/house/2013/11.18.11.59.59"
TOMORROW = "strange.example/house/2013/11.18.12.00.01"
IBIP = "8JMKD3MGP7W/3EPGUE5"
ADDRESS = describe(IBIP).as_dict()["ip"]
LEGACY = "6qtX3pFwXQZGivnJSY/M7t8D"
FUTURE, HOST = Impossibility.IN_THE_FUTURE, Impossibility.UNKNOWN_HOST
SILENT = evidence(has_not(FIRST), silent(SECOND))


def judged(
    text: str, heard: Evidence, hosts: tuple[str, ...] = (), digest_read: int = NOW.seconds
) -> Impossibility | None:
    label = parse(text)
    return impossibility(label, heard, NOW, hosts.__contains__, lambda _: digest_read)


@pytest.mark.parametrize(
    ("text", "hosts", "digest_read", "expected"),
    [
        (NAME, (), READ, HOST),
        (IBIP, (), READ, HOST),
        # An archive is, or was, at that host.
        (NAME, ("house.strange.example",), READ, None),
        (IBIP, (ADDRESS,), READ, None),
        (NAME, ("strange.example",), READ, HOST),
        # A silent archive that publishes no digest may have adopted any label.
        (NAME, (), 0, None),
        # One whose digest was read before the label was made may have given it out.
        (NAME, (), MADE + CLOCK_TOLERANCE, HOST),
        (NAME, (), MADE + CLOCK_TOLERANCE - 1, None),
        (RECENT, (), READ, None),
        # A day of tolerance for clocks; whatever the archives publish.
        (TODAY, ("house.strange.example",), READ, None),
        (TOMORROW, ("house.strange.example",), READ, FUTURE),
        (TOMORROW, (), 0, FUTURE),
    ],
)
def test_a_label_is_impossible_by_its_date_or_its_host(
    text: str,
    hosts: tuple[str, ...],
    digest_read: int,
    expected: Impossibility | None,
) -> None:
    assert judged(text, SILENT, hosts, digest_read) is expected


def test_the_origin_of_a_legacy_label_proves_nothing() -> None:
    assert judged(LEGACY, SILENT) is None


@pytest.mark.parametrize("text", [NAME, TOMORROW])
@pytest.mark.parametrize(
    "heard",
    [
        evidence(silent(SECOND), owner=FIRST),
        replace(SILENT, listed=frozenset({SECOND})),
        evidence(has(FIRST), silent(SECOND)),
        evidence(has(FIRST, None, deleted="2020-01-01T00:00:00Z"), silent(SECOND)),
        replace(SILENT, is_on_record=False),
        replace(SILENT, are_digests_read=False),
        replace(SILENT, awaited=frozenset({FIRST})),
        replace(SILENT, others_held_back=True),
    ],
    ids=["owner", "listed", "held", "deleted", "unread", "digests unread", "awaited", "held back"],
)
def test_nothing_is_impossible_that_something_speaks_for(text: str, heard: Evidence) -> None:
    assert judged(text, heard) is None


def test_a_home_speaks_for_a_host() -> None:
    assert judged(NAME, replace(SILENT, homes=frozenset({FIRST}))) is None
    assert judged(TOMORROW, replace(SILENT, homes=frozenset({FIRST}))) is FUTURE


def test_the_tolerance_is_a_day() -> None:
    label = parse("strange.example/house/2013/11.18.12.00")
    seconds = label.instant.seconds - CLOCK_TOLERANCE
    for now, expected in ((seconds, None), (seconds - 1, FUTURE)):
        found = impossibility(label, SILENT, Instant(now), lambda _: True, lambda _: 0)
        assert found is expected


@pytest.mark.parametrize(
    ("decision", "is_judged"),
    [
        (Unsure(SILENT.silences), True),
        (Unsure(SILENT.silences, (has(FIRST),)), False),
        (Unsure(SILENT.silences, is_unread=True), False),
        (NotFound(), False),
    ],
)
def test_only_a_doubt_without_a_claim_is_judged(
    decision: Decision,
    is_judged: bool,  # noqa: FBT001  # a column of the table
) -> None:
    found = with_impossibility(decision, lambda: FUTURE)
    assert (found == NotFound("in-the-future", SILENT.silences)) is is_judged
    assert is_judged or found is decision
    assert with_impossibility(decision, lambda: None) is decision
