"""Generates a scenario from a seed."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import fields
from typing import Any, Final

from tests.simulation.scenarios.archive_sequences import ARCHIVE_SEQUENCES
from tests.simulation.scenarios.events import (
    ARCHIVES,
    HOSTS,
    MINTERS,
    NO_ARCHIVE,
    READERS,
    RESOLVERS,
    ClockJump,
    Copy,
    Delete,
    Deposit,
    DiskFailure,
    Drop,
    Event,
    ForgeAcknowledgment,
    ForgeInclusion,
    ForgeOriginal,
    Kill,
    LedgerRestore,
    Mint,
    NetworkDegradation,
    Partition,
    PowerLoss,
    Read,
    Readdress,
    Restart,
    Revise,
    Scenario,
    Settle,
    Slowness,
    Transfer,
    Undo,
)
from tests.simulation.scenarios.resolver_sequences import RESOLVER_SEQUENCES

SEQUENCES: Final = (*ARCHIVE_SEQUENCES, *RESOLVER_SEQUENCES)
"""Sequences of related events, which independent events form in one world of thousands."""
_EVENTS: Final = 100
_PAUSE: Final = 30.0
"""Mean number of seconds between two independent events."""
_SEQUENCE_SHARE: Final = 0.18
"""Share of the choices that are a sequence of related events."""
_WEIGHTS: Final[dict[type[Event], int]] = {
    Deposit: 10,
    Revise: 4,
    Delete: 2,
    Copy: 8,
    Drop: 2,
    Transfer: 12,
    Undo: 4,
    Read: 34,
    Mint: 3,
    ForgeOriginal: 1,
    Settle: 1,
    ForgeInclusion: 1,
    ForgeAcknowledgment: 3,
    Readdress: 2,
    Restart: 3,
    Kill: 4,
    PowerLoss: 5,
    DiskFailure: 2,
    Slowness: 2,
    LedgerRestore: 1,
    ClockJump: 3,
    NetworkDegradation: 6,
    Partition: 4,
}


class ScenarioGenerator:
    """Generates the events of one scenario, in order of time."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(f"{seed}/scenario")  # noqa: S311  # reproducible, not secret
        self.items = 0
        self.at = 30.0

    def next_events(self) -> list[Event]:
        """Return the next event, or the next sequence of related events."""
        draw = self.draw
        # Some events follow at once, and some after a long time.
        self.at += draw.expovariate(1 / _PAUSE) if draw.random() < 0.8 else 0.05
        if self.items < 3:
            return [self.event(Deposit)]
        if draw.random() < _SEQUENCE_SHARE:
            return draw.choice(SEQUENCES)(self)
        return [self.event(draw.choices(list(_WEIGHTS), list(_WEIGHTS.values()))[0])]

    def pause_up_to(self, seconds: float = 1.0) -> None:
        """Advance the time by a random number of seconds below a limit."""
        self.at += self.draw.random() * seconds

    def event(self, kind: type[Event], **known: Any) -> Event:  # noqa: ANN401  # fields of the event
        """Generate an event; fields that are not given are drawn at random."""
        if kind is Deposit:
            known["item"] = self.items
            self.items += 1
        names = [each.name for each in fields(kind) if each.name not in {"at", *known}]
        chosen = {name: _CHOICES[name](self) for name in names}
        return kind(at=round(self.at, 3), **chosen, **known)


def _seconds(generator: ScenarioGenerator) -> float:
    return generator.draw.choice((2.0, 20.0, 120.0, 600.0)) * (0.5 + generator.draw.random())


def _swapped(generator: ScenarioGenerator) -> int:
    return generator.draw.randrange(ARCHIVES) if generator.draw.random() < 0.25 else NO_ARCHIVE


def _hosts(generator: ScenarioGenerator) -> tuple[str, ...]:
    count = generator.draw.randrange(1, len(HOSTS))
    return tuple(sorted(generator.draw.sample(HOSTS, count)))


_CHOICES: Final[dict[str, Callable[[ScenarioGenerator], Any]]] = {
    "item": lambda generator: generator.draw.randrange(generator.items),
    "archive": lambda generator: generator.draw.randrange(ARCHIVES),
    "resolver": lambda generator: generator.draw.randrange(RESOLVERS),
    "reader": lambda generator: generator.draw.randrange(READERS),
    "minter": lambda generator: generator.draw.randrange(MINTERS),
    "host": lambda generator: generator.draw.choice(HOSTS),
    "hosts": _hosts,
    "swap_with": _swapped,
    "original": lambda generator: generator.draw.random() < 0.3,
    "inbound_only": lambda generator: generator.draw.random() < 0.3,
    "receiving": lambda generator: generator.draw.random() < 0.4,
    "times": lambda generator: generator.draw.choice((1, 1, 1, 2, 5)),
    "count": lambda generator: generator.draw.choice((1, 1, 3, 50)),
    "writes": lambda generator: int(generator.draw.random() ** 2 * 60),
    "jump": lambda generator: generator.draw.choice(
        (-7200.0, -300.0, -2.0, -0.1, 0.5, 30.0, 400.0, 3600.0)
    ),
    "seconds": _seconds,
    "loss": lambda generator: generator.draw.choice((0.0, 0.05, 0.3)),
    "slow": lambda generator: generator.draw.choice((1.0, 10.0, 100.0)),
    "duplication": lambda generator: generator.draw.choice((0.0, 0.1, 0.4)),
}


def scenario_of(seed: int, count: int = _EVENTS) -> Scenario:
    """Generate the scenario of a seed, of at least `count` events."""
    generator = ScenarioGenerator(seed)
    events: list[Event] = []
    while len(events) < count:
        events += generator.next_events()
    return Scenario(seed, tuple(events))
