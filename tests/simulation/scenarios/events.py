"""Scenarios: what people do and what goes wrong, as a list of values that a seed makes.

A scenario can be replayed, and replayed without some of its events: whatever refers to an item
refers to the deposit that made it, and is left out where that did not happen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

ARCHIVES: Final = 4
RESOLVERS: Final = 3
"""Processes: the last two are of one resolver."""
PRESSES: Final = 2
READERS: Final = 5
NOBODY: Final = -1


@dataclass(frozen=True, slots=True)
class Deposit:
    """Somebody deposits an item; by its number it is called from then on."""

    at: float
    item: int
    archive: int


@dataclass(frozen=True, slots=True)
class Revise:
    """Somebody puts another file in the place of the one that the item has."""

    at: float
    item: int


@dataclass(frozen=True, slots=True)
class Delete:
    """Somebody deletes an item where its Original is."""

    at: float
    item: int


@dataclass(frozen=True, slots=True)
class Copy:
    """An archive copies an item, or brings its Copy up to date."""

    at: float
    item: int
    archive: int


@dataclass(frozen=True, slots=True)
class Drop:
    """An archive lets go of its Copy."""

    at: float
    item: int
    archive: int


@dataclass(frozen=True, slots=True)
class Transfer:
    """Whoever has the Original offers it to another archive."""

    at: float
    item: int
    archive: int


@dataclass(frozen=True, slots=True)
class Undo:
    """An administrator undoes the transfer of an item, on either side."""

    at: float
    item: int
    receiving: bool


@dataclass(frozen=True, slots=True)
class Read:
    """Somebody reads an item by a resolver, perhaps many times in a row."""

    at: float
    item: int
    resolver: int
    reader: int
    original: bool
    times: int


@dataclass(frozen=True, slots=True)
class Mint:
    """Somebody wants labels of one of two minters that share a ledger."""

    at: float
    press: int
    count: int


@dataclass(frozen=True, slots=True)
class Forge:
    """An administrator puts an item into his archive as its Original, which it is not."""

    at: float
    item: int
    archive: int


@dataclass(frozen=True, slots=True)
class Settle:
    """The operator of a resolver says who has the Original: whoever has it by right."""

    at: float
    item: int
    resolver: int


@dataclass(frozen=True, slots=True)
class Stranger:
    """Somebody who does not have its key says that an archive is at his address."""

    at: float
    resolver: int
    archive: int


@dataclass(frozen=True, slots=True)
class Pretender:
    """Somebody brings the key of one item for an access to another, which nobody made."""

    at: float
    item: int
    archive: int


@dataclass(frozen=True, slots=True)
class Readdress:
    """An archive is stopped, and started at another address."""

    at: float
    archive: int
    swapped: int
    """With which other archive it changes places; nobody: it moves to an address of its own."""


@dataclass(frozen=True, slots=True)
class Restart:
    """A program is stopped in good order, and started again."""

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
    """A machine loses power in the midst of a write."""

    at: float
    host: str
    writes: int
    """How many more it makes."""


@dataclass(frozen=True, slots=True)
class DiskFailure:
    """A disk reports errors for a while, and takes hardly anything."""

    at: float
    host: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Slowness:
    """A machine has so much to do that its threads wait, some for long and others not."""

    at: float
    host: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Setback:
    """The ledger that minters share is copied, and the copy is put in its place after a while."""

    at: float
    seconds: float


@dataclass(frozen=True, slots=True)
class ClockJump:
    """Somebody sets the clock of a machine."""

    at: float
    host: str
    jump: float
    """Seconds."""


@dataclass(frozen=True, slots=True)
class Weather:
    """The network loses, delays and doubles messages for a while."""

    at: float
    seconds: float
    loss: float
    slow: float
    doubling: float


@dataclass(frozen=True, slots=True)
class Partition:
    """Some machines reach each other, and nobody else, for a while."""

    at: float
    seconds: float
    hosts: tuple[str, ...]
    deaf: bool
    """Whether they are heard all the same, and hear nothing."""


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
    | Forge
    | Settle
    | Stranger
    | Pretender
    | Readdress
    | Restart
    | Kill
    | PowerLoss
    | DiskFailure
    | Slowness
    | Setback
    | ClockJump
    | Weather
    | Partition
)

FAULTS: Final = (
    Restart,
    Kill,
    PowerLoss,
    DiskFailure,
    Slowness,
    Setback,
    ClockJump,
    Weather,
    Partition,
)
"""Those that nobody does on purpose."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """All that happens in one run, and the seed of all that is left to chance."""

    seed: int
    events: tuple[Event, ...]


HOSTS: Final = tuple(
    f"{kind}{number + 1}"
    for kind, count in (("a", ARCHIVES), ("r", RESOLVERS), ("p", PRESSES))
    for number in range(count)
)
