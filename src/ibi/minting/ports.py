"""What minting needs from outside: the interfaces of the ledger and of the machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from ibi.model.clock import ClockReading
from ibi.model.token import TokenStore


@dataclass(frozen=True, slots=True)
class Entry:
    """The entry of a ledger for the prefixes of one subsystem."""

    ledger: str
    """The random identity that the ledger got when it was created; a copy has it too."""
    generation: int
    """How many times the entry was written. A lower number than before means an old copy."""
    mark: int | None
    """No label after this instant was ever issued; None if there never was one."""
    seen: ClockReading | None
    """The clocks when the entry was last written during the caller's boot."""
    last_seen: int | None
    """The wall clock when the entry was last written at all."""
    moved: bool = False
    """Whether the storage has begun another history since, as a promoted replica does."""


@dataclass(frozen=True, slots=True)
class Commitment:
    """What must be durable before a label is issued."""

    mark: int
    generation: int
    reading: ClockReading


@dataclass(frozen=True, slots=True)
class Issue:
    """Labels that were issued for an idempotency key."""

    key: str
    request: str
    """The order, to detect that the same key comes with another order."""
    instants: tuple[int, ...]
    prefixes: tuple[str, ...]
    """The prefixes of the labels: under others, the same instant may belong to another minter."""


@dataclass(frozen=True, slots=True)
class LabelRecord:
    """A label that was reserved for later, or bound to a target."""

    instant: int
    prefixes: tuple[str, ...]
    """The prefixes under which it was minted."""
    recorded: int
    target: str = ""
    """The target that the label is bound to; empty while it is only reserved."""


class Ledger(TokenStore, Protocol):
    """The durable storage of minting. Whatever a method writes is durable when it returns.

    Every method raises LedgerUnavailableError if the storage does not answer.
    """

    @property
    def name(self) -> str:
        """The place of the ledger, for messages; without any password."""
        ...

    def identity(self) -> str:
        """Return the random identity that the ledger got when it was created."""
        ...

    def settle(
        self, prefixes: Sequence[str], boot: str, decide: Callable[[Entry], Commitment | None]
    ) -> Entry:
        """Read the entry, write what `decide` returns for it, and return the new entry.

        The entry is locked meanwhile. If `decide` raises, nothing is written.
        """
        ...

    def adopt(
        self,
        prefixes: Sequence[str],
        boot: str,
        label: LabelRecord,
        decide: Callable[[Entry, int | None], Commitment | None],
    ) -> Entry:
        """Record a label that this ledger did not issue, in one transaction with its mark.

        `label` has one prefix, which is one of `prefixes`. `decide` is called with the entry of all
        the prefixes and the beginning of the label's own: no label before that instant was ever
        issued under it; None if none was at all. A label that was reserved is bound without a
        decision; BindingError if it is bound to another target.
        """
        ...

    def record(self, issues: Sequence[Issue], labels: Sequence[LabelRecord]) -> Issue | None:
        """Write all of it, or nothing if a key is already used: then return its issue."""
        ...

    def issued(self, prefixes: Sequence[str], keys: Sequence[str]) -> dict[str, Issue]:
        """Return what was issued for these keys under any of the prefixes."""
        ...

    def bind(self, prefix: str, instant: int, target: str) -> LabelRecord | None:
        """Bind a reserved label if it is unbound; return its record, None if there is none."""
        ...

    def find(self, prefix: str, instant: int) -> LabelRecord | None:
        """Return what is recorded of a label."""
        ...

    def unbound(self, prefixes: Sequence[str], after: int, limit: int) -> list[LabelRecord]:
        """Return labels reserved and never bound, the oldest first, later than `after`."""
        ...

    def pause(self) -> None:
        """Disconnect from the storage and block callers until `resume`, because of a fork."""
        ...

    def resume(self) -> None:
        """Reconnect after a fork, in the parent and in the child."""
        ...

    def close(self) -> None:
        """Disconnect from the storage."""
        ...


@dataclass(frozen=True, slots=True)
class Witness:
    """What the machine has recorded of a prefix, independently of any ledger."""

    ledger: str
    generation: int
    mark: int


class PrefixClaim(Protocol):
    """A claim on prefixes of this machine: minters with another ledger are refused meanwhile."""

    def witness(self) -> Witness | None:
        """Return the latest record of the prefixes on this machine, None if there is none."""
        ...

    def note(self, witness: Witness) -> None:
        """Record it. Best effort: the ledger is authoritative."""
        ...

    def release(self) -> None:
        """Release the prefixes."""
        ...


class Machine(Protocol):
    """The place on a machine where its minters coordinate."""

    def claim(self, prefixes: Sequence[str], ledger: str, place: str) -> PrefixClaim:
        """Claim prefixes for a ledger; PrefixHeldError while another ledger has one of them."""
        ...
