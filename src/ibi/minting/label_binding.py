"""The association of labels with items: bound at once, or reserved and bound later.

003 calls the moment of association the date of a label. Who needs no memory of it asks the minter
itself; whoever orders here gets what is recorded in the ledger before the label leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from ibi.errors import BindingError, IbiError, KeyReusedError, MintingRequestError, shown
from ibi.identifier.instant import Instant
from ibi.identifier.label import Label
from ibi.minting.minter import Minter
from ibi.minting.ports import Issue, LabelRecord
from ibi.minting.rules.granularity import SECOND, check_count
from ibi.minting.rules.label_generator import EARLIEST, LATEST, Minted

LONGEST_KEY: Final = 255
"""As the draft of the Idempotency-Key header suggests to bound it; a UUID has 36."""

MOST_A_REQUEST: Final = 10_000
"""Labels in one answer over HTTP: about a megabyte."""

LONGEST_TARGET: Final = 2048
"""What sitemaps.org allows a URL, and browsers have long agreed on."""


@dataclass(frozen=True, slots=True)
class MintOrder:
    """Labels that somebody wants, and what is to be remembered of them."""

    count: int = 1
    key: str = ""
    """The same key gets the same labels again; empty for none."""
    target: str = ""
    """What the labels are bound to; empty for nothing."""
    reserve: bool = False
    """Whether they are to be bound later."""
    client: str = ""
    """Whose key it is: two clients who happen upon one key must not get one label."""

    def __post_init__(self) -> None:
        """Refuse what cannot be written down."""
        check_count(self.count)
        check_text(self.key, "a key", LONGEST_KEY)
        check_text(self.target, "a target", LONGEST_TARGET)
        if self.target and self.count > 1:
            msg = "A target takes one label: several labels for one thing help nobody."
            raise MintingRequestError(msg)

    @property
    def is_recorded(self) -> bool:
        """Tell whether anything is to be remembered."""
        return bool(self.key or self.target or self.reserve)

    @property
    def ledger_key(self) -> str:
        """The key under which the ledger remembers it; empty for none."""
        return self.key and f"{self.client} {self.key}"

    @property
    def request(self) -> str:
        """What was asked for, beside the key."""
        return f"{self.count} {int(self.reserve)} {self.target}"


def check_text(text: str, thing: str, longest: int) -> None:
    """Refuse a text that is too long or does not print."""
    if len(text) > longest or not text.isprintable():
        msg = f"{shown(text)} is not {thing}: expected at most {longest} printable characters."
        raise MintingRequestError(msg)


class LabelBindings:
    """Mints labels and remembers what they are for."""

    def __init__(self, minter: Minter) -> None:
        """Record under the prefixes of the minter's subsystem."""
        self.minter = minter
        self._ledger = minter.ledger
        self._prefixes = minter.subsystem.prefixes

    def issue(self, order: MintOrder, timeout: float | None = None) -> list[Minted]:
        """Fill one order."""
        [outcome] = self.issue_all([order], timeout)
        if isinstance(outcome, IbiError):
            raise outcome
        return outcome

    def issue_all(
        self, orders: Sequence[MintOrder], timeout: float | None = None
    ) -> list[list[Minted] | KeyReusedError]:
        """Fill orders of many callers in one durable step, or two where the mark must move."""
        keys = sorted({order.ledger_key for order in orders if order.key})
        issued = self._ledger.issued(self._prefixes, keys) if keys else {}
        filled: list[tuple[MintOrder, tuple[int, ...]]] = []
        if fresh := _fresh(orders, issued):
            allocation = iter(self.minter.instants(sum(order.count for order in fresh), timeout))
            filled = [(order, tuple(islice(allocation, order.count))) for order in fresh]
            issued |= self._record(filled)
        without_key = iter([instants for order, instants in filled if not order.key])
        return [
            self._outcome(order, issued[order.ledger_key])
            if order.key
            else self.minter.labels(next(without_key))
            for order in orders
        ]

    def _record(self, filled: list[tuple[MintOrder, tuple[int, ...]]]) -> dict[str, Issue]:
        """Record what is to be remembered; return the issues that stand, ours or another's."""
        now = self.minter.now()
        standing: dict[str, Issue] = {}
        while True:
            open_orders = [pair for pair in filled if pair[0].ledger_key not in standing]
            issues = {
                order.ledger_key: Issue(order.ledger_key, order.request, instants, self._prefixes)
                for order, instants in open_orders
                if order.key
            }
            labels = [
                LabelRecord(instant, self._prefixes, now, order.target)
                for order, instants in open_orders
                if order.target or order.reserve
                for instant in instants
            ]
            taken = self._ledger.record(list(issues.values()), labels) if issues or labels else None
            if taken is None:
                return standing | issues
            # Another process took the same key a moment ago: its labels are the ones.
            standing[taken.key] = taken

    def _outcome(self, order: MintOrder, issue: Issue) -> list[Minted] | KeyReusedError:
        if issue.request != order.request:
            return KeyReusedError(order.key)
        return [self._minted(instant, issue.prefixes) for instant in issue.instants]

    def _minted(self, instant: int, prefixes: tuple[str, ...]) -> Minted:
        """Make the labels that were minted then: not those of a form that came later."""
        [label] = self.minter.labels([instant])
        subsystem = self.minter.subsystem
        return Minted(
            label.rep if subsystem.rep_prefix in prefixes else None,
            label.ibip if subsystem.ibip_prefix in prefixes else None,
            instant,
        )

    def bind(self, label: Label, target: str) -> tuple[Minted, LabelRecord]:
        """Bind a reserved label to what it names, once and for all."""
        check_text(target, "a target", LONGEST_TARGET)
        if not target:
            msg = "A label is bound to something: the target is empty."
            raise MintingRequestError(msg)
        prefix, instant = self._place(label)
        record = self._ledger.bind(prefix, instant, target) if prefix else None
        if record is None:
            raise BindingError(str(label))
        if record.target != target:
            raise BindingError(str(label), record.target)
        return self._minted(instant, record.prefixes), record

    def find(self, label: Label) -> tuple[Minted, LabelRecord] | None:
        """Return what is recorded of a label, None if nothing is."""
        prefix, instant = self._place(label)
        record = self._ledger.find(prefix, instant) if prefix else None
        return None if record is None else (self._minted(instant, record.prefixes), record)

    def _place(self, label: Label) -> tuple[str, int]:
        """Return prefix and instant of a label; no prefix if it cannot be one of ours."""
        instant = nanoseconds_of(label.instant)
        subsystem = self.minter.subsystem
        if instant is None or not subsystem.owns(label):
            return "", 0
        prefix = subsystem.ibip_prefix if label.kind == "ibip" else subsystem.rep_prefix
        return prefix or "", instant

    def unbound(self, after: int = 0, limit: int = 1000) -> list[tuple[Minted, LabelRecord]]:
        """Return labels that were reserved and never bound, the oldest first."""
        records = self._ledger.unbound(self._prefixes, after, limit)
        return [(self._minted(record.instant, record.prefixes), record) for record in records]


def _fresh(orders: Sequence[MintOrder], issued: dict[str, Issue]) -> list[MintOrder]:
    """Return the orders for which labels must be minted: of those with one key, the first."""
    seen = set(issued)
    fresh = []
    for order in orders:
        if not order.key:
            fresh.append(order)
        elif order.ledger_key not in seen:
            seen.add(order.ledger_key)
            fresh.append(order)
    return fresh


def nanoseconds_of(instant: Instant) -> int | None:
    """Return the instant in nanoseconds of POSIX time; None if no minter can have given it."""
    fraction = instant.significant_fraction
    if len(fraction) > len(str(SECOND)) - 1:
        return None
    nanoseconds = instant.seconds * SECOND + int(fraction.ljust(9, "0") or 0)
    return nanoseconds if EARLIEST <= nanoseconds <= LATEST else None
