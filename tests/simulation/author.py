"""Who makes up scenarios, from a seed alone."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import fields
from typing import Any, Final

from simulation.scenario import (
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
    Read,
    Readdress,
    Restart,
    Revise,
    Scenario,
    Settle,
    Stranger,
    Transfer,
    Undo,
    Weather,
)

_EVENTS: Final = 100
_PAUSE: Final = 30.0
"""Seconds between two events that have nothing to do with each other, on the average."""
_DRAMAS: Final = 0.12
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
    Readdress: 2,
    Restart: 3,
    Kill: 4,
    PowerLoss: 5,
    DiskFailure: 2,
    ClockJump: 3,
    Weather: 6,
    Partition: 4,
}


_Known = dict[type[Event], dict[str, Any]]


class _Author:
    """Makes up events."""

    def __init__(self, seed: int) -> None:
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
            return draw.choice(_scripts(self))()
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

    def printing(self) -> list[Event]:
        """Both minters are busy, and one is killed or has its clock set."""
        press = self.draw.randrange(PRESSES)
        host = f"p{press + 1}"
        events = []
        for turn in range(4):
            events.append(self.one(Mint, press=(press + turn // 2) % PRESSES, count=50))
            self.soon(0.1)
        jump = self.draw.choice((-1.0, -0.2, -0.05))
        events.append(
            self.one(Kill, host=host, seconds=0.1)
            if self.draw.random() < 0.5
            else self.one(ClockJump, host=host, jump=jump)
        )
        self.soon(0.4)
        return [*events, *(self.one(Mint, press=each, count=50) for each in range(PRESSES))]

    def handing(self) -> list[Event]:
        """An Original goes to another archive while something goes wrong."""
        item = self.draw.randrange(self.items)
        events = [self.one(Transfer, item=item)]
        self.soon(0.2)
        kind = self.draw.choice((Kill, PowerLoss, Undo, Partition, Weather, Weather, Weather))
        known: _Known = {Undo: {"item": item}, Weather: {"seconds": 60.0, "loss": 0.4, "slow": 1.0}}
        events.append(self.one(kind, **known.get(kind, {})))
        self.soon(25.0)
        events.append(self.one(Undo, item=item, receiving=False))
        self.soon(60.0)
        return [*events, self.one(Transfer, item=item)]

    def passing_on(self) -> list[Event]:
        """An Original goes on at once, while messages are doubled and come late."""
        item = self.draw.randrange(self.items)
        events = [self.one(Weather, seconds=20.0, loss=0.05, slow=1.0, doubling=0.4)]
        for _ in range(3):
            events.append(self.one(Transfer, item=item))
            self.soon(20.0)
        return events

    def losing(self) -> list[Event]:
        """An item leaves a place to which readers were sent a moment ago."""
        item, resolver = self.draw.randrange(self.items), self.draw.randrange(RESOLVERS)
        reading: dict[str, Any] = {
            "item": item,
            "resolver": resolver,
            "original": self.draw.random() < 0.5,
        }
        events = [self.one(Read, **reading)]
        self.soon()
        kind = self.draw.choice((Transfer, Delete, Drop, Readdress))
        events.append(self.one(kind) if kind is Readdress else self.one(kind, item=item))
        for _ in range(3):
            self.soon(12.0)
            events.append(self.one(Read, **reading))
        return events

    def lingering(self) -> list[Event]:
        """An item is read again and again, until it is not where it was any more."""
        item, archive = self.items, self.draw.randrange(ARCHIVES)
        reading: dict[str, Any] = {
            "item": item,
            "resolver": self.draw.randrange(RESOLVERS),
            "original": False,
        }
        events = [self.one(Deposit, archive=archive)]
        for _ in range(3):
            self.at += 21.0
            self.soon(4.0)
            events.append(self.one(Read, **reading))
        if self.draw.random() < 0.4:
            events.append(self.one(Partition, hosts=(f"a{archive + 1}",), seconds=100.0))
            self.soon()
        kind = self.draw.choice((Delete, Delete, Readdress, Kill))
        known: _Known = {Readdress: {"archive": archive}, Kill: {"host": f"a{archive + 1}"}}
        events.append(self.one(kind, **known.get(kind, {"item": item})))
        if kind is Kill:
            self.at += 5.0
            events.append(self.one(Readdress, archive=archive, swapped=NOBODY))
        for _ in range(4):
            self.soon(25.0)
            events.append(self.one(Read, **reading))
        return events

    def counting(self) -> list[Event]:
        """Many read while messages are doubled, and a resolver is killed."""
        item, resolver = self.draw.randrange(self.items), self.draw.randrange(RESOLVERS)
        events = [self.one(Weather, seconds=90.0, loss=0.05, doubling=0.4)]
        for _ in range(3):
            self.soon(8.0)
            events.append(self.one(Read, item=item, resolver=resolver, original=False))
        self.soon(20.0)
        return [*events, self.one(Kill, host=f"r{resolver + 1}", seconds=5.0)]


def _scripts(author: _Author) -> tuple[Callable[[], list[Event]], ...]:
    return (
        author.printing,
        author.handing,
        author.handing,
        author.passing_on,
        author.losing,
        author.lingering,
        author.counting,
    )


def _seconds(author: _Author) -> float:
    return author.draw.choice((2.0, 20.0, 120.0, 600.0)) * (0.5 + author.draw.random())


def _swapped(author: _Author) -> int:
    return author.draw.randrange(ARCHIVES) if author.draw.random() < 0.25 else NOBODY


def _hosts(author: _Author) -> tuple[str, ...]:
    count = author.draw.randrange(1, len(HOSTS))
    return tuple(sorted(author.draw.sample(HOSTS, count)))


_CHOICES: Final[dict[str, Callable[[_Author], Any]]] = {
    "item": lambda author: author.draw.randrange(author.items),
    "archive": lambda author: author.draw.randrange(ARCHIVES),
    "resolver": lambda author: author.draw.randrange(RESOLVERS),
    "reader": lambda author: author.draw.randrange(READERS),
    "press": lambda author: author.draw.randrange(PRESSES),
    "host": lambda author: author.draw.choice(HOSTS),
    "hosts": _hosts,
    "swapped": _swapped,
    "original": lambda author: author.draw.random() < 0.3,
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
    author = _Author(seed)
    events: list[Event] = []
    while len(events) < count:
        events += author.some()
    return Scenario(seed, tuple(events))
