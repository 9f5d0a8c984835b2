"""Who makes up scenarios, from a seed alone."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import fields
from typing import Any, Final

from tests.simulation.scenarios.events import (
    ARCHIVES,
    HOSTS,
    NOBODY,
    PRESSES,
    READERS,
    RESOLVERS,
    ClockJump,
    Copy,
    Delete,
    Deposit,
    DiskFailure,
    Drop,
    Event,
    Forge,
    Kill,
    Mint,
    Partition,
    PowerLoss,
    Pretender,
    Read,
    Readdress,
    Restart,
    Revise,
    Scenario,
    Setback,
    Settle,
    Slowness,
    Stranger,
    Transfer,
    Undo,
    Weather,
)
from tests.simulation.scenarios.sequences import DRAMAS

_EVENTS: Final = 100
_PAUSE: Final = 30.0
"""Seconds between two events that have nothing to do with each other, on the average."""
_DRAMAS: Final = 0.18
"""How often several things happen that have to do with each other."""
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
    Forge: 1,
    Settle: 1,
    Stranger: 1,
    Pretender: 3,
    Readdress: 2,
    Restart: 3,
    Kill: 4,
    PowerLoss: 5,
    DiskFailure: 2,
    Slowness: 2,
    Setback: 1,
    ClockJump: 3,
    Weather: 6,
    Partition: 4,
}


class Author:
    """Makes up events."""

    def __init__(self, seed: int) -> None:
        """Begin half a minute after everybody was switched on."""
        self.draw = random.Random(f"{seed}/scenario")  # noqa: S311  # reproducible, not secret
        self.items = 0
        self.at = 30.0

    def some(self) -> list[Event]:
        """Return what happens next: one thing, or several that have to do with each other."""
        draw = self.draw
        # Some things happen at once, and some after a long time.
        self.at += draw.expovariate(1 / _PAUSE) if draw.random() < 0.8 else 0.05
        if self.items < 3:
            return [self.one(Deposit)]
        if draw.random() < _DRAMAS:
            return draw.choice(DRAMAS)(self)
        return [self.one(draw.choices(list(_WEIGHTS), list(_WEIGHTS.values()))[0])]

    def soon(self, seconds: float = 1.0) -> None:
        """Let some time pass."""
        self.at += self.draw.random() * seconds

    def one(self, kind: type[Event], **known: Any) -> Event:  # noqa: ANN401  # fields of the event
        """Make up an event; what is known of it is given."""
        if kind is Deposit:
            known["item"] = self.items
            self.items += 1
        names = [each.name for each in fields(kind) if each.name not in {"at", *known}]
        chosen = {name: _CHOICES[name](self) for name in names}
        return kind(at=round(self.at, 3), **chosen, **known)


def _seconds(author: Author) -> float:
    return author.draw.choice((2.0, 20.0, 120.0, 600.0)) * (0.5 + author.draw.random())


def _swapped(author: Author) -> int:
    return author.draw.randrange(ARCHIVES) if author.draw.random() < 0.25 else NOBODY


def _hosts(author: Author) -> tuple[str, ...]:
    count = author.draw.randrange(1, len(HOSTS))
    return tuple(sorted(author.draw.sample(HOSTS, count)))


_CHOICES: Final[dict[str, Callable[[Author], Any]]] = {
    "item": lambda author: author.draw.randrange(author.items),
    "archive": lambda author: author.draw.randrange(ARCHIVES),
    "resolver": lambda author: author.draw.randrange(RESOLVERS),
    "reader": lambda author: author.draw.randrange(READERS),
    "press": lambda author: author.draw.randrange(PRESSES),
    "host": lambda author: author.draw.choice(HOSTS),
    "hosts": _hosts,
    "swapped": _swapped,
    "original": lambda author: author.draw.random() < 0.3,
    "deaf": lambda author: author.draw.random() < 0.3,
    "receiving": lambda author: author.draw.random() < 0.4,
    "times": lambda author: author.draw.choice((1, 1, 1, 2, 5)),
    "count": lambda author: author.draw.choice((1, 1, 3, 50)),
    "writes": lambda author: int(author.draw.random() ** 2 * 60),
    "jump": lambda author: author.draw.choice(
        (-7200.0, -300.0, -2.0, -0.1, 0.5, 30.0, 400.0, 3600.0)
    ),
    "seconds": _seconds,
    "loss": lambda author: author.draw.choice((0.0, 0.05, 0.3)),
    "slow": lambda author: author.draw.choice((1.0, 10.0, 100.0)),
    "doubling": lambda author: author.draw.choice((0.0, 0.1, 0.4)),
}


def scenario_of(seed: int, count: int = _EVENTS) -> Scenario:
    """Make up a scenario."""
    author = Author(seed)
    events: list[Event] = []
    while len(events) < count:
        events += author.some()
    return Scenario(seed, tuple(events))
