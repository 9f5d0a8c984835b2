"""Labels and what they are for: ordered alone or in groups, remembered in a real ledger."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from ibi import Minter, parse
from ibi.errors import KeyReusedError, LedgerUnavailableError
from ibi.foundation.sql.sqlite import Sqlite
from ibi.foundation.system.clock import SystemClock
from ibi.minting.label_binding import LabelBindings, MintOrder, nanoseconds_of
from ibi.minting.ports import Issue, LabelRecord
from ibi.minting.rules.label_generator import Minted
from ibi.minting.rules.subsystem import Subsystem
from ibi.minting.storage.ledger import SqlLedger
from ibi.minting.storage.machine_folder import MachineFolder

BOTH = Subsystem("archive.example.org", ip="150.163.34.243")


class ObservedLedger(SqlLedger):
    """A ledger that lets the test step in just before it records."""

    before_record: Callable[[], None] | None = None
    steps = 0

    def record(self, issues: Sequence[Issue], labels: Sequence[LabelRecord]) -> Issue | None:
        """Record, after whatever the test does first."""
        self.steps += 1
        act, self.before_record = self.before_record, None
        if act is not None:
            act()
        return super().record(issues, labels)


class BoundMinter:
    """Associations on a connection of their own, as another process would have them."""

    def __init__(self, folder: Path, subsystem: Subsystem = BOTH) -> None:
        """Open the ledger of the folder."""
        self.ledger = ObservedLedger(Sqlite(folder / "ledger.sqlite"))
        self.minter = Minter(
            subsystem,
            self.ledger,
            SystemClock(),
            MachineFolder(folder / "machine"),
        )
        self.associations = LabelBindings(self.minter)

    def issue(self, *orders: MintOrder) -> list[list[Minted]]:
        """Fill orders of which none is refused."""
        outcomes = self.associations.issue_all(orders)
        return [outcome for outcome in outcomes if isinstance(outcome, list)]

    def given(self) -> int:
        """Return how many labels it gave out."""
        return self.minter.health().given


@pytest.fixture
def minters(tmp_path: Path) -> Iterator[tuple[BoundMinter, BoundMinter]]:
    with ExitStack() as stack:
        one, other = BoundMinter(tmp_path), BoundMinter(tmp_path)
        stack.enter_context(one.minter)
        stack.enter_context(other.minter)
        yield one, other


@pytest.fixture
def minter(minters: tuple[BoundMinter, BoundMinter]) -> BoundMinter:
    return minters[0]


def test_a_group_is_filled_in_one_step_each_with_its_own(minter: BoundMinter) -> None:
    orders = [
        MintOrder(),
        MintOrder(3, key="a"),
        MintOrder(target="there"),
        MintOrder(2, reserve=True),
        MintOrder(2),
        MintOrder(key="b", target="here"),
    ]
    filled = minter.issue(*orders)
    assert [len(labels) for labels in filled] == [1, 3, 1, 2, 2, 1]
    assert len({label.rep for labels in filled for label in labels}) == 10
    assert minter.given() == 10
    assert minter.ledger.steps == 1
    assert minter.issue(orders[1]) == [filled[1]]
    unbound = [label for label, _ in minter.associations.unbound()]
    assert unbound == filled[3]
    for labels, target in ((filled[2], "there"), (filled[5], "here")):
        found = minter.associations.find(parse(labels[0].rep or ""))
        assert found
        assert (found[0], found[1].target) == (labels[0], target)


def test_who_needs_no_memory_costs_no_step_of_the_ledger(minter: BoundMinter) -> None:
    minter.issue(MintOrder(), MintOrder(5))
    assert minter.ledger.steps == 0


def test_the_same_key_twice_in_a_group_gets_the_same_labels_once(minter: BoundMinter) -> None:
    first, other, again = minter.issue(MintOrder(3, "k"), MintOrder(3), MintOrder(3, "k"))
    assert first == again
    assert first != other
    assert minter.given() == 6


def test_the_same_key_twice_in_a_group_with_other_requests_is_refused_for_the_second(
    minter: BoundMinter,
) -> None:
    outcomes = minter.associations.issue_all(
        [MintOrder(2, "k"), MintOrder(3, "k"), MintOrder(2, "k")]
    )
    assert outcomes[0] == outcomes[2]
    assert isinstance(outcomes[1], KeyReusedError)
    assert minter.given() == 2
    with pytest.raises(KeyReusedError, match="'k' was used for another request"):
        minter.associations.issue(MintOrder(3, "k"))


def test_a_key_that_another_process_takes_meanwhile_gets_the_labels_of_that_one(
    minters: tuple[BoundMinter, BoundMinter],
) -> None:
    one, other = minters
    theirs: list[list[Minted]] = []
    one.ledger.before_record = lambda: theirs.extend(other.issue(MintOrder(2, "k", reserve=True)))
    mine, free, late = one.issue(
        MintOrder(2, "k", reserve=True),
        MintOrder(1, reserve=True),
        MintOrder(1, "own", reserve=True),
    )
    assert [mine] == theirs
    assert not {*free, *late} & set(mine)
    # What was drawn in vain is recorded nowhere.
    unbound = [label for label, _ in one.associations.unbound()]
    assert sorted(unbound) == sorted([*mine, *free, *late])
    assert one.issue(MintOrder(1, "own", reserve=True)) == [late]


def test_a_key_that_another_process_takes_meanwhile_for_another_request_is_refused(
    minters: tuple[BoundMinter, BoundMinter],
) -> None:
    one, other = minters
    theirs: list[list[Minted]] = []
    one.ledger.before_record = lambda: theirs.extend(other.issue(MintOrder(1, "k")))
    outcomes = one.associations.issue_all([MintOrder(2, "k", reserve=True), MintOrder(1)])
    assert isinstance(outcomes[0], KeyReusedError)
    assert isinstance(outcomes[1], list)
    assert one.associations.unbound() == []


def test_several_keys_taken_one_after_the_other(minters: tuple[BoundMinter, BoundMinter]) -> None:
    one, other = minters
    orders = [MintOrder(1, f"k{number}") for number in range(5)]
    theirs: list[list[Minted]] = []
    one.ledger.before_record = lambda: theirs.extend(other.issue(*orders[1:4]))
    mine = one.issue(*orders)
    assert mine[1:4] == theirs
    assert other.issue(*orders) == mine


def test_nothing_is_remembered_when_the_ledger_fails(minter: BoundMinter) -> None:
    def fail() -> None:
        raise LedgerUnavailableError(minter.ledger.name, "the disk is full")

    minter.ledger.before_record = fail
    with pytest.raises(LedgerUnavailableError):
        minter.issue(MintOrder(2, "k", reserve=True), MintOrder(target="x"))
    assert minter.associations.unbound() == []
    [labels] = minter.issue(MintOrder(2, "k", reserve=True))
    assert [label for label, _ in minter.associations.unbound()] == labels


def test_a_form_that_came_later_is_not_that_of_an_earlier_label(tmp_path: Path) -> None:
    """Under the other prefix the same instant may have been given to somebody else."""
    with BoundMinter(tmp_path, Subsystem("archive.example.org")).minter as by_name:
        order = MintOrder(key="k", reserve=True)
        [name] = LabelBindings(by_name).issue(order)
        assert name.ibip is None
    with BoundMinter(tmp_path).minter as both:
        associations = LabelBindings(both)
        assert associations.issue(order) == [name]
        assert [label for label, _ in associations.unbound()] == [name]
        assert associations.bind(parse(name.rep or ""), "there")[0] == name
    with BoundMinter(tmp_path, Subsystem(ip="150.163.34.243")).minter as by_address:
        [address] = LabelBindings(by_address).issue(MintOrder(key="a", reserve=True))
    with BoundMinter(tmp_path).minter as both:
        associations = LabelBindings(both)
        assert associations.issue(MintOrder(key="a", reserve=True)) == [address]
        assert associations.bind(parse(address.ibip or ""), "here")[0] == address


def test_instants_that_no_minter_gave_have_no_nanoseconds() -> None:
    for text in ("a.br/b/9999/01.01.00.00", "a.br/b/2026/01.01.00.00.00.1234567891"):
        assert nanoseconds_of(parse(text).instant) is None
    assert (
        nanoseconds_of(parse("a.br/b/2001/09.09.01.46.40.5").instant) == 1_000_000_000_500_000_000
    )
