"""003, chapter 6: the temporal distributor, its table and its algorithm."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Final

import pytest

from ibi import RepositoryName
from ibi.foundation.sql.sqlite import Sqlite
from ibi.identifier.instant import instant_of
from ibi.identifier.repository_name import mount_suffix
from ibi.minting.minter import Minter
from ibi.minting.rules.distributor import create_date, create_dates
from ibi.minting.rules.label_generator import LabelGenerator
from ibi.minting.rules.subsystem import Subsystem
from ibi.minting.storage.ledger import SqlLedger
from tests.conformance.algorithm_4 import CreateDateToMountSuffixOfIbiOfAnItem
from tests.conformance.standard import covers
from tests.support.doubles.minting_machine import FakeClock, MemoryMachine
from tests.support.extent import tried

NANO: Final = 1_000_000_000

# Table 6.2, in the order of the requests: i, t_i, t'_i, t(i), suffix.
ROWS: Final = (
    ("d", "1287587646.394023", 1287587646, 1287587646, "2010/10.20.15.14.06"),
    ("b", "1287588012.2930", 1287588012, 1287588000, "2010/10.20.15.20"),
    ("a", "1287588115.186234", 1287588115, 1287588060, "2010/10.20.15.21"),
    ("c", "1287588115.3462", 1287588115, 1287588115, "2010/10.20.15.21.55"),
    ("g", "1287588115.99623", 1287588116, 1287588116, "2010/10.20.15.21.56"),
    ("f", "1287588116.72", 1287588117, 1287588117, "2010/10.20.15.21.57"),
    ("e", "1287588539.788342", 1287588539, 1287588480, "2010/10.20.15.28"),
)


@covers("003", "Table 6.2")
@pytest.mark.parametrize(
    ("before", "row"), list(zip((None, *ROWS), ROWS, strict=False)), ids=[row[0] for row in ROWS]
)
def test_table_6_2(
    before: tuple[str, str, int, int, str] | None, row: tuple[str, str, int, int, str]
) -> None:
    _, requested, created, date, suffix = row
    last = before and before[3] * NANO
    now = int(Decimal(requested) * NANO)
    assert create_date(now, last, NANO) == (created * NANO, date * NANO)
    assert mount_suffix(instant_of(date * NANO)) == suffix
    label = LabelGenerator(Subsystem("mtc-m18.sid.inpe.br")).label(date * NANO).rep
    assert label == f"sid.inpe.br/mtc-m18/{suffix}"
    assert RepositoryName.parse(label).instant.seconds == date


@covers("003", "Table 6.2")
def test_table_6_2_by_the_printed_algorithm() -> None:
    printed = CreateDateToMountSuffixOfIbiOfAnItem(Fraction(1))
    for _, requested, created, date, _ in ROWS:
        assert printed.run(Fraction(requested)) == date
        assert printed.waited == max(0, created - Fraction(requested))


@covers("003", "Table 6.2")
def test_table_6_2_by_a_minter(tmp_path: Path) -> None:
    clock = FakeClock(int(Decimal(ROWS[0][1]) * NANO))
    ledger = SqlLedger(Sqlite(tmp_path / "ledger.sqlite"))
    subsystem = Subsystem("mtc-m18.sid.inpe.br")
    with Minter(subsystem, ledger, clock, MemoryMachine(), granularity="1") as minter:
        for _, requested, created, date, suffix in ROWS:
            clock.true = int(Decimal(requested) * NANO)
            minted = minter.mint()
            assert minted.rep == f"sid.inpe.br/mtc-m18/{suffix}"
            assert minted.nanoseconds == date * NANO
            assert clock.true >= created * NANO


def sequences(
    random: Random, count: int, granularities: tuple[int, ...]
) -> Iterator[list[tuple[int, int]]]:
    """Yield sequences of requests, each a date and a granularity, in nanoseconds.

    Most come close to each other, as measured by the granularity, so that they wait, share a
    step, or find a shorter date; some come when the clock was set back.
    """
    for _ in range(count):
        r = random.choice(granularities)
        now = random.randrange(807_235_200, 4_000_000_000) * NANO + random.randrange(NANO)
        requests = []
        for _ in range(random.randrange(1, 6)):
            requests.append((now, r))
            if random.random() < 0.2:
                r = random.choice(granularities)
            kind = random.random()
            if kind < 0.2:
                continue
            if kind < 0.6:
                now += random.randrange(2 * r + 1)
            elif kind < 0.7:
                now += r - now % r
            elif kind < 0.9:
                now += random.randrange(100 * NANO)
            else:
                now -= random.randrange(3 * r)
        yield requests


@covers("003", "Algorithm 4")
@pytest.mark.parametrize(
    ("count", "granularities"),
    [
        (tried(100_000), (60 * NANO, NANO, NANO // 10, NANO // 100, NANO // 1000)),
        (tried(10_000), (60 * NANO, NANO, *(10**digits for digits in range(9)))),
    ],
    ids=["down to a millisecond", "down to a nanosecond"],
)
@pytest.mark.many
def test_algorithm_4(count: int, granularities: tuple[int, ...]) -> None:
    exact = {r: Fraction(r, NANO) for r in granularities}
    happened = {"wait": 0, "short": 0, "behind": 0, "change": 0}
    random = Random(4)  # noqa: S311  # the same sequences every time
    for requests in sequences(random, count, granularities):
        printed = CreateDateToMountSuffixOfIbiOfAnItem(exact[requests[0][1]])
        last: int | None = None
        for now, r in requests:
            happened["change"] += printed.r != exact[r]
            happened["behind"] += last is not None and now < last
            printed.r = exact[r]
            date = printed.run(Fraction(now, NANO))
            creation, last = create_date(now, last, r)
            assert date * NANO == last, requests
            assert printed.waited * NANO == max(0, creation - now), requests
            happened["wait"] += creation > now
            happened["short"] += last < creation
    assert min(happened.values()) > count // 10, happened


@covers("003", "Algorithm 4")
def test_algorithm_4_for_requests_that_come_when_the_one_before_is_served() -> None:
    random = Random(44)  # noqa: S311  # the same sequences every time
    granularities = (60 * NANO, NANO, *(10**digits for digits in range(9)))
    for requests in sequences(random, 3000, granularities):
        (now, r), (before, _) = requests[-1], requests[0]
        count = random.randrange(1, 30)
        last = None if random.random() < 0.1 else before - random.randrange(-3 * r, 100 * r)
        printed = CreateDateToMountSuffixOfIbiOfAnItem(Fraction(r, NANO))
        printed.last_date_for_suffix = None if last is None else Fraction(last, NANO)
        served = Fraction(now, NANO)
        dates = []
        for _ in range(count):
            dates.append(printed.run(served) * NANO)
            served += printed.waited
        creation, given = create_dates(now, last, r, count)
        assert given == dates, (now, last, r, count)
        assert max(creation, now) == served * NANO, (now, last, r, count)
