"""The events of a scenario: actions of people, and faults.

A scenario is a list of values, so it can be replayed, also without some of its events. An event
names an item by the number of its deposit, and has no effect if that deposit did not happen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

ARCHIVES: Final = 4
RESOLVERS: Final = 3
"""Resolver processes; the last two belong to one resolver."""
MINTERS: Final = 2
READERS: Final = 5
NO_ARCHIVE: Final = -1


@dataclass(frozen=True, slots=True)
class Deposit:
    """A depositor deposits an item; other events refer to it by its number."""

    at: float
    item: int
    archive: int


@dataclass(frozen=True, slots=True)
class Revise:
    """A depositor replaces the file of an item."""

    at: float
    item: int


@dataclass(frozen=True, slots=True)
class Delete:
    """An administrator deletes an item at the archive that has its Original."""

    at: float
    item: int


@dataclass(frozen=True, slots=True)
class Copy:
    """An archive copies an item, or refreshes its Copy."""

    at: float
    item: int
    archive: int


@dataclass(frozen=True, slots=True)
class Drop:
    """An archive drops its Copy."""

    at: float
    item: int
    archive: int


@dataclass(frozen=True, slots=True)
class Transfer:
    """The archive that has the Original offers it to another archive."""

    at: float
    item: int
    archive: int


@dataclass(frozen=True, slots=True)
class Undo:
    """An administrator undoes the transfer of an item, on the sending or the receiving side."""

    at: float
    item: int
    receiving: bool


@dataclass(frozen=True, slots=True)
class Read:
    """A reader asks a resolver for an item, once or several times."""

    at: float
    item: int
    resolver: int
    reader: int
    original: bool
    times: int


@dataclass(frozen=True, slots=True)
class Mint:
    """A client requests labels from one of two minters that share a ledger."""

    at: float
    minter: int
    count: int


@dataclass(frozen=True, slots=True)
class ForgeOriginal:
    """An administrator stores a forged Original of an item in an archive."""

    at: float
    item: int
    archive: int


@dataclass(frozen=True, slots=True)
class Settle:
    """The operator of a resolver settles a conflict for the archive that has the Original."""

    at: float
    item: int
    resolver: int


@dataclass(frozen=True, slots=True)
class ForgeInclusion:
    """An impostor without the key of an archive announces it at another address."""

    at: float
    resolver: int
    archive: int


@dataclass(frozen=True, slots=True)
class ForgeAcknowledgment:
    """An impostor acknowledges an access that never happened, with the key of another item."""

    at: float
    item: int
    archive: int


@dataclass(frozen=True, slots=True)
class Readdress:
    """An archive is stopped, and started at another address."""

    at: float
    archive: int
    swap_with: int
    """The archive to swap addresses with; NO_ARCHIVE for a move to a new address."""


@dataclass(frozen=True, slots=True)
class Restart:
    """A program is stopped in order and started again."""

    at: float
    host: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Kill:
    """A program is killed."""

    at: float
    host: str
    seconds: float


@dataclass(frozen=True, slots=True)
class PowerLoss:
    """A machine loses power during a write."""

    at: float
    host: str
    writes: int
    """Number of writes that still succeed."""


@dataclass(frozen=True, slots=True)
class DiskFailure:
    """Most writes to a disk fail for a while."""

    at: float
    host: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Slowness:
    """A machine is overloaded: some of its threads wait long, others do not."""

    at: float
    host: str
    seconds: float


@dataclass(frozen=True, slots=True)
class LedgerRestore:
    """The shared ledger of the minters is copied, and the old copy restored after a while."""

    at: float
    seconds: float


@dataclass(frozen=True, slots=True)
class ClockJump:
    """The wall clock of a machine is set."""

    at: float
    host: str
    jump: float
    """Seconds by which the clock is set forward; negative is back."""


@dataclass(frozen=True, slots=True)
class NetworkDegradation:
    """The network loses, delays and duplicates messages for a while."""

    at: float
    seconds: float
    loss: float
    slow: float
    duplication: float


@dataclass(frozen=True, slots=True)
class Partition:
    """Some machines reach only each other for a while."""

    at: float
    seconds: float
    hosts: tuple[str, ...]
    inbound_only: bool
    """Whether only messages to these machines are cut, and theirs to others arrive."""


Event: TypeAlias = (
    Deposit
    | Revise
    | Delete
    | Copy
    | Drop
    | Transfer
    | Undo
    | Read
    | Mint
    | ForgeOriginal
    | Settle
    | ForgeInclusion
    | ForgeAcknowledgment
    | Readdress
    | Restart
    | Kill
    | PowerLoss
    | DiskFailure
    | Slowness
    | LedgerRestore
    | ClockJump
    | NetworkDegradation
    | Partition
)

FAULTS: Final = (
    Restart,
    Kill,
    PowerLoss,
    DiskFailure,
    Slowness,
    LedgerRestore,
    ClockJump,
    NetworkDegradation,
    Partition,
)
"""Events that are faults; the others are actions of people."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """The events of one run, and the seed of all random choices in it."""

    seed: int
    events: tuple[Event, ...]


HOSTS: Final = tuple(
    f"{kind}{number + 1}"
    for kind, count in (("a", ARCHIVES), ("r", RESOLVERS), ("p", MINTERS))
    for number in range(count)
)
