"""What minting needs of the world: clocks, a ledger, the machine, and who may come by HTTP."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from ibi.model.clock import ClockReading
from ibi.model.token import TokenStore


@dataclass(frozen=True, slots=True)
class Entry:
    """What a ledger says of the prefixes of one subsystem."""

    ledger: str
    """The name that the ledger was given when it was made: a copy has it too."""
    generation: int
    """How often the entry was written. It only grows, or an old copy was put back."""
    mark: int | None
    """No label after this instant was ever given; None if there never was one."""
    seen: ClockReading | None
    """The clocks when the entry was last written under the asker's boot."""
    last_seen: int | None
    """The wall clock when it was last written at all."""
    moved: bool = False
    """Whether the storage began another history since, as a promoted replica does."""


@dataclass(frozen=True, slots=True)
class Commitment:
    """What must be durable before a label leaves."""

    mark: int
    generation: int
    reading: ClockReading


@dataclass(frozen=True, slots=True)
class Issue:
    """Labels that were given for an idempotency key."""

    key: str
    request: str
    """What was asked for, so that the same key with another request is noticed."""
    instants: tuple[int, ...]
    prefixes: tuple[str, ...]
    """Under which they were minted: under another the same instant may be somebody else's."""


@dataclass(frozen=True, slots=True)
class LabelRecord:
    """A label that was reserved for later, or bound to a target."""

    instant: int
    prefixes: tuple[str, ...]
    """Under which it was minted."""
    recorded: int
    target: str = ""
    """What the label was bound to; empty while it is only reserved."""


class Ledger(TokenStore, Protocol):
    """The durable memory of minting. Whatever a method writes is durable when it returns.

    Every method raises LedgerUnavailableError when the storage does not answer.
    """

    @property
    def name(self) -> str:
        """Where the ledger lies, for messages; without any password."""
        ...

    def identity(self) -> str:
        """Return the name that the ledger was given when it was made."""
        ...

    def settle(
        self, prefixes: Sequence[str], boot: str, decide: Callable[[Entry], Commitment | None]
    ) -> Entry:
        """Read the entry, write what `decide` makes of it, and return what now stands there.

        Nobody else reads or writes the entry in between. If `decide` raises, nothing is written.
        """
        ...

    def record(self, issues: Sequence[Issue], labels: Sequence[LabelRecord]) -> Issue | None:
        """Write all of it, or nothing if a key is taken: then return by what."""
        ...

    def issued(self, prefixes: Sequence[str], keys: Sequence[str]) -> dict[str, Issue]:
        """Return what was given for these keys under any of the prefixes."""
        ...

    def bind(self, prefix: str, instant: int, target: str) -> LabelRecord | None:
        """Bind a reserved label, unless it is bound; return what stands there, None if nothing."""
        ...

    def find(self, prefix: str, instant: int) -> LabelRecord | None:
        """Return what is recorded of a label."""
        ...

    def unbound(self, prefixes: Sequence[str], after: int, limit: int) -> list[LabelRecord]:
        """Return labels reserved and never bound, the oldest first, later than `after`."""
        ...

    def pause(self) -> None:
        """Let go of the storage and let nobody in until `resume`: the process is about to fork."""
        ...

    def resume(self) -> None:
        """Go on, in the parent and in the child."""
        ...

    def close(self) -> None:
        """Let go of the storage."""
        ...


@dataclass(frozen=True, slots=True)
class Witness:
    """What a machine remembers of a prefix, apart from any ledger."""

    ledger: str
    generation: int
    mark: int


class PrefixClaim(Protocol):
    """A prefix held on this machine: whoever comes with another ledger is refused meanwhile."""

    def witness(self) -> Witness | None:
        """Return what anybody on this machine last saw of the prefixes, None if nothing."""
        ...

    def note(self, witness: Witness) -> None:
        """Remember it. Best effort: the ledger is what counts."""
        ...

    def release(self) -> None:
        """Let others have the prefixes."""
        ...


class Machine(Protocol):
    """The one place on a machine where minters meet."""

    def claim(self, prefixes: Sequence[str], ledger: str, place: str) -> PrefixClaim:
        """Hold prefixes for a ledger; PrefixHeldError while another ledger holds one."""
        ...
