"""Clocks that tests set, and a ledger and a machine folder in memory, for tests of minting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from ibi.minting.ports import Commitment, Entry, LabelRecord, Ledger, PrefixClaim, Witness
from ibi.minting.rules.adoption import beginning
from ibi.model.clock import ClockReading

SECOND: Final = 1_000_000_000
START: Final = 1_700_000_000 * SECOND + 123_456_789


class FakeClock:
    """Clocks that advance only by `sleep`, and that a test may set."""

    def __init__(self, now: int = START) -> None:
        """Begin at a moment, with a right wall clock, an hour after the machine was started."""
        self.true = now
        self.error = 0
        """How far the wall clock is ahead of true time."""
        self.started = now - 3600 * SECOND
        self.boots = 1

    def wall(self) -> int:
        """Return what the wall clock says."""
        return self.true + self.error

    def uptime(self) -> int:
        """Return how long the machine has been on."""
        return self.true - self.started

    def boot(self) -> str:
        """Return the name of this run."""
        return f"boot-{self.boots}"

    def sleep(self, nanoseconds: int) -> None:
        """Let time pass, a microsecond at the least, as any call takes."""
        self.true += max(1000, nanoseconds)

    def restart(self) -> None:
        """Start the machine anew."""
        self.boots += 1
        self.started = self.true


@dataclass
class MemoryLedger:
    """A ledger of one entry, whatever the prefixes; only what minters ask of it."""

    name: str = "memory"
    own_identity: str = "memory-1"
    generation: int = 0
    mark: int | None = None
    sightings: dict[str, ClockReading] = field(default_factory=dict)
    began: int | None = None

    def identity(self) -> str:
        """Return its name."""
        return self.own_identity

    def settle(
        self,
        prefixes: Sequence[str],  # noqa: ARG002  # one entry for all
        boot: str,
        decide: Callable[[Entry], Commitment | None],
    ) -> Entry:
        """Read, decide and write."""
        entry = self.entry(boot)
        commitment = decide(entry)
        if commitment is not None:
            if self.began is None:
                self.began = beginning(entry, commitment)
            self.write(commitment)
        return self.entry(boot)

    def adopt(
        self,
        prefixes: Sequence[str],  # noqa: ARG002  # one entry for all
        boot: str,
        label: LabelRecord,  # noqa: ARG002  # it keeps no records
        decide: Callable[[Entry, int | None], Commitment | None],
    ) -> Entry:
        """Read, decide and write, without a record of the label."""
        commitment = decide(self.entry(boot), self.began)
        if commitment is not None:
            self.write(commitment)
        return self.entry(boot)

    def entry(self, boot: str) -> Entry:
        """Return what stands there."""
        return Entry(
            ledger=self.own_identity,
            generation=self.generation,
            mark=self.mark,
            seen=self.sightings.get(boot),
            last_seen=max((seen.wall for seen in self.sightings.values()), default=None),
        )

    def write(self, commitment: Commitment) -> None:
        """Make it durable."""
        self.mark = commitment.mark
        self.generation = commitment.generation
        self.sightings[commitment.reading.boot] = commitment.reading

    def as_port(self) -> Ledger:
        """Return itself as the port; an allocator calls no other method of it."""
        return self  # type: ignore[return-value]


@dataclass
class MemoryMachine:
    """A machine that remembers one witness."""

    remembered: Witness | None = None

    def claim(self, prefixes: Sequence[str], ledger: str, place: str) -> PrefixClaim:  # noqa: ARG002
        """Grant every claim; the tests of the machine folder cover refusals."""
        return MemoryClaim(self)


@dataclass
class MemoryClaim:
    """A prefix claimed on a machine in memory."""

    machine: MemoryMachine

    def witness(self) -> Witness | None:
        """Return what the machine remembers."""
        return self.machine.remembered

    def note(self, witness: Witness) -> None:
        """Let the machine remember it."""
        self.machine.remembered = witness

    def release(self) -> None:
        """Let go."""
