"""The binding of labels to items: at once, or reserved first and bound later.

003 calls the moment of association the date of a label. A caller that needs no record of it uses
the minter directly; orders placed here are recorded in the ledger before the labels are returned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from ibi.errors import BindingError, IbiError, KeyReusedError, MintingRequestError, Sentence, shown
from ibi.identifier import ibip, repository_name
from ibi.identifier.ibip import Ibip
from ibi.identifier.instant import Instant
from ibi.identifier.label import Label
from ibi.identifier.repository_name import RepositoryName
from ibi.minting.minter import Minter
from ibi.minting.ports import Issue, LabelRecord
from ibi.minting.rules.granularity import (
    check_count,
)
from ibi.minting.rules.label_generator import EARLIEST, LATEST, Minted
from ibi.model.clock import SECOND

LONGEST_KEY: Final = 255
"""The longest idempotency key in characters, as the draft of the header suggests; a UUID has 36."""

MOST_A_REQUEST: Final = 10_000
"""The largest number of labels in one answer over HTTP: about a megabyte."""

LONGEST_TARGET: Final = 2048
"""The longest target in characters, the limit of sitemaps.org and of browsers for a URL."""


@dataclass(frozen=True, slots=True)
class MintOrder:
    """An order for labels, with what the ledger is to record of them."""

    count: int = 1
    key: str = ""
    """The idempotency key: the same key returns the same labels again; empty for none."""
    target: str = ""
    """The target that the label is bound to; empty for none."""
    reserve: bool = False
    """Whether the labels are to be bound later."""
    client: str = ""
    """The client that owns the key: equal keys of two clients must not return the same labels."""

    def __post_init__(self) -> None:
        check_count(self.count)
        check_text(self.key, "a key", LONGEST_KEY)
        check_text(self.target, "a target", LONGEST_TARGET)
        if self.target and self.count > 1:
            msg = Sentence("A target takes one label: ask for one, or leave the target out.")
            raise MintingRequestError(msg)

    @property
    def is_recorded(self) -> bool:
        """Whether the ledger records this order."""
        return bool(self.key or self.target or self.reserve)

    @property
    def ledger_key(self) -> str:
        """The key of the order in the ledger; empty for none."""
        return self.key and f"{self.client} {self.key}"

    @property
    def request(self) -> str:
        """The order without its key, to detect that a key is reused for another order."""
        return f"{self.count} {int(self.reserve)} {self.target}"


def check_text(text: str, thing: str, longest: int) -> None:
    """Raise if a text is too long or has unprintable characters."""
    if len(text) > longest or not text.isprintable():
        msg = Sentence(
            "%(text)s is not %(thing)s: expected at most %(longest)s printable characters.",
            text=shown(text),
            thing=thing,
            longest=longest,
        )
        raise MintingRequestError(msg)


class LabelBindings:
    """Mints labels and records their keys, reservations and targets in the ledger."""

    def __init__(self, minter: Minter) -> None:
        self.minter = minter
        self._ledger = minter.ledger
        self._prefixes = minter.subsystem.prefixes

    def issue(self, order: MintOrder, timeout: float | None = None) -> list[Minted]:
        """Return the labels for one order."""
        [outcome] = self.issue_all([order], timeout)
        if isinstance(outcome, IbiError):
            raise outcome
        return outcome

    def issue_all(
        self, orders: Sequence[MintOrder], timeout: float | None = None
    ) -> list[list[Minted] | KeyReusedError]:
        """Return the labels for many orders, in one durable step, or two if the mark moves."""
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
        """Record the orders; return the issues now in the ledger, ours or another process's."""
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
            # Another process recorded the same key a moment ago: its labels are the valid ones.
            standing[taken.key] = taken

    def _outcome(self, order: MintOrder, issue: Issue) -> list[Minted] | KeyReusedError:
        if issue.request != order.request:
            return KeyReusedError(order.key)
        return [self._minted(instant, issue.prefixes) for instant in issue.instants]

    def _minted(self, instant: int, prefixes: tuple[str, ...]) -> Minted:
        """Return the labels as minted then, without a form that the subsystem gained later."""
        [label] = self.minter.labels([instant])
        subsystem = self.minter.subsystem
        return Minted(
            label.rep if subsystem.rep_prefix in prefixes else None,
            label.ibip if subsystem.ibip_prefix in prefixes else None,
            instant,
        )

    def bind(self, label: Label, target: str) -> tuple[Minted, LabelRecord]:
        """Bind a reserved label to a target, permanently."""
        check_text(target, "a target", LONGEST_TARGET)
        if not target:
            msg = Sentence("A label is bound to a target, and the target is empty.")
            raise MintingRequestError(msg)
        prefix, instant = self._place(label)
        record = self._ledger.bind(prefix, instant, target) if prefix else None
        if record is None:
            raise BindingError(str(label))
        if record.target != target:
            raise BindingError(str(label), record.target)
        return self._minted(instant, record.prefixes), record

    def adopt(self, label: Label, target: str) -> None:
        """Record a label of the past that was issued elsewhere, bound to a target.

        When this returns it is durable that the ledger will never issue the label. A label that no
        minter of any ledger can issue needs no record.
        """
        check_text(target, "a target", LONGEST_TARGET)
        prefix, instant = prefix_of(label), nanoseconds_of(label.instant)
        if prefix and instant is not None:
            record = LabelRecord(instant, (prefix,), self.minter.now(), target)
            self.minter.adopt(record, label.spelling)

    def find(self, label: Label) -> tuple[Minted, LabelRecord] | None:
        """Return what is recorded of a label, None if nothing is."""
        prefix, instant = self._place(label)
        record = self._ledger.find(prefix, instant) if prefix else None
        return None if record is None else (self._minted(instant, record.prefixes), record)

    def _place(self, label: Label) -> tuple[str, int]:
        """Return prefix and instant of a label; an empty prefix if it cannot be one of ours."""
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
    """Return the orders that need new labels: of those with the same key, the first."""
    seen = set(issued)
    fresh = []
    for order in orders:
        if not order.key:
            fresh.append(order)
        elif order.ledger_key not in seen:
            seen.add(order.ledger_key)
            fresh.append(order)
    return fresh


def prefix_of(label: Label) -> str:
    """Return the prefix under which a minter would issue a label; empty for a legacy label."""
    match label:
        case RepositoryName(host=host, port=port):
            return repository_name.mount_prefix(host, port)
        case Ibip(ip=ip, port=port):
            return ibip.mount_prefix(ip, port)
        case _:
            return ""


def nanoseconds_of(instant: Instant) -> int | None:
    """Return the instant in nanoseconds of POSIX time; None if no minter can have issued it."""
    fraction = instant.significant_fraction
    if len(fraction) > len(str(SECOND)) - 1:
        return None
    nanoseconds = instant.seconds * SECOND + int(fraction.ljust(9, "0") or 0)
    return nanoseconds if EARLIEST <= nanoseconds <= LATEST else None
