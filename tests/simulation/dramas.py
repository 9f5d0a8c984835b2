"""Dramas: several things that happen one after the other, and have to do with each other.

Each of them comes about by chance as well, but in one world of thousands.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from simulation.scenario import (
    ARCHIVES,
    NOBODY,
    PRESSES,
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
    Settle,
    Transfer,
    Undo,
    Weather,
)

if TYPE_CHECKING:
    from simulation.author import Author

_Known = dict[type[Event], dict[str, Any]]


def printing(author: Author) -> list[Event]:
    """Both minters are busy, and one is stopped, is killed, or has its clock set."""
    press = author.draw.randrange(PRESSES)
    host = f"p{press + 1}"
    events = []
    for turn in range(4):
        events.append(author.one(Mint, press=(press + turn // 2) % PRESSES, count=50))
        author.soon(0.1)
    jump = author.draw.choice((-1.0, -0.2, -0.05))
    kind = author.draw.choice((Kill, Restart, ClockJump, ClockJump))
    known = {"jump": jump} if kind is ClockJump else {"seconds": 0.1}
    events.append(author.one(kind, host=host, **known))
    author.soon(0.4)
    return [*events, *(author.one(Mint, press=each, count=50) for each in range(PRESSES))]


def handing(author: Author) -> list[Event]:
    """An Original goes to another archive while something goes wrong."""
    item = author.draw.randrange(author.items)
    events = [author.one(Transfer, item=item)]
    author.soon(0.2)
    kinds = (Kill, PowerLoss, Undo, Partition, Revise, Delete, Weather, Weather, Weather)
    kind = author.draw.choice(kinds)
    known: _Known = {
        **{each: {"item": item} for each in (Undo, Revise, Delete)},
        Weather: {"seconds": 60.0, "loss": 0.4, "slow": 1.0, "doubling": 0.4},
    }
    events.append(author.one(kind, **known.get(kind, {})))
    author.soon(25.0)
    events.append(author.one(Undo, item=item, receiving=False))
    author.soon(60.0)
    return [*events, author.one(Transfer, item=item)]


def passing_on(author: Author) -> list[Event]:
    """An Original goes on at once, while messages are doubled and come late."""
    item = author.draw.randrange(author.items)
    events = [author.one(Weather, seconds=20.0, loss=0.05, slow=1.0, doubling=0.4)]
    for _ in range(3):
        events.append(author.one(Transfer, item=item))
        author.soon(20.0)
    return events


def proving(author: Author) -> list[Event]:
    """A giver hears for long nothing of what was accepted, and much happens meanwhile."""
    item = author.items
    giver, receiver, third = author.draw.sample(range(ARCHIVES), 3)
    events = [author.one(Deposit, archive=giver)]
    author.at += 5.0
    events.append(author.one(Weather, seconds=8.0, loss=0.3, slow=1.0, doubling=0.0))
    events.append(author.one(Transfer, item=item, archive=receiver))
    author.soon(8.0)
    events.append(author.one(Partition, hosts=(f"a{giver + 1}",), seconds=120.0))
    author.at += 20.0
    if author.draw.random() < 0.3:
        return [*events, author.one(Readdress, archive=receiver, swapped=third)]
    events.append(author.one(Transfer, item=item, archive=third))
    author.at += 40.0
    kind = author.draw.choice((Copy, Drop))
    return [*events, author.one(kind, item=item, archive=receiver)]


def losing(author: Author) -> list[Event]:
    """An item leaves a place to which readers were sent a moment ago."""
    item, resolver = author.draw.randrange(author.items), author.draw.randrange(RESOLVERS)
    reading: dict[str, Any] = {
        "item": item,
        "resolver": resolver,
        "original": author.draw.random() < 0.5,
    }
    events = [author.one(Read, **reading)]
    author.soon()
    kind = author.draw.choice((Transfer, Delete, Drop, Readdress))
    events.append(author.one(kind) if kind is Readdress else author.one(kind, item=item))
    for _ in range(3):
        author.soon(12.0)
        events.append(author.one(Read, **reading))
    return events


def lingering(author: Author) -> list[Event]:
    """An item is read again and again, until it is not where it was any more."""
    item, archive = author.items, author.draw.randrange(ARCHIVES)
    reading: dict[str, Any] = {
        "item": item,
        "resolver": author.draw.randrange(RESOLVERS),
        "original": False,
    }
    events = [author.one(Deposit, archive=archive)]
    for _ in range(3):
        author.at += 21.0
        author.soon(4.0)
        events.append(author.one(Read, **reading))
    if author.draw.random() < 0.4:
        events.append(author.one(Partition, hosts=(f"a{archive + 1}",), seconds=100.0))
        author.soon()
    kind = author.draw.choice((Delete, Delete, Readdress, Kill, Restart))
    known: _Known = {
        Readdress: {"archive": archive},
        Kill: {"host": f"a{archive + 1}"},
        Restart: {"host": f"a{archive + 1}", "seconds": 120.0},
    }
    events.append(author.one(kind, **known.get(kind, {"item": item})))
    if kind is Kill:
        author.at += 5.0
        events.append(author.one(Readdress, archive=archive, swapped=NOBODY))
    for _ in range(4):
        author.soon(25.0)
        events.append(author.one(Read, **reading))
    return events


def contending(author: Author) -> list[Event]:
    """Two claim an Original that somebody wants, and perhaps it is settled who has it."""
    item, archive = author.items, author.draw.randrange(ARCHIVES)
    resolver = author.draw.randrange(RESOLVERS)
    reading: dict[str, Any] = {"item": item, "resolver": resolver, "original": True}
    events = [author.one(Deposit, archive=archive)]
    author.at += 5.0
    events.append(author.one(Read, **reading))
    author.at += 20.0
    other = (archive + author.draw.randrange(1, ARCHIVES)) % ARCHIVES
    events.append(author.one(Forge, item=item, archive=other))
    author.soon(5.0)
    if author.draw.random() < 0.4:
        events.append(author.one(Partition, hosts=(f"a{archive + 1}",), seconds=50.0))
    for _ in range(2):
        author.soon(30.0)
        events.append(author.one(Read, **reading))
    if author.draw.random() < 0.5:
        events.append(author.one(Settle, item=item, resolver=resolver))
    author.at += 35.0
    return [*events, author.one(Read, **reading)]


def fainting(author: Author) -> list[Event]:
    """A process of two cannot write for so long that the other takes it for gone."""
    resolver = author.draw.choice((RESOLVERS - 2, RESOLVERS - 1))
    failure = author.one(DiskFailure, host=f"r{resolver + 1}", seconds=100.0)
    events = [failure]
    for _ in range(8):
        author.at += 4.0
        author.soon(16.0)
        events.append(author.one(Read, resolver=resolver, original=False))
    return events


def counting(author: Author) -> list[Event]:
    """Many read while messages are doubled, and a resolver is killed."""
    item, resolver = author.draw.randrange(author.items), author.draw.randrange(RESOLVERS)
    events = [author.one(Weather, seconds=90.0, loss=0.05, doubling=0.4)]
    for _ in range(3):
        author.soon(8.0)
        events.append(author.one(Read, item=item, resolver=resolver, original=False))
    author.soon(20.0)
    return [*events, author.one(Kill, host=f"r{resolver + 1}", seconds=5.0)]


def waking(author: Author) -> list[Event]:
    """An archive starts with a clock that is ahead, after it was told of readers."""
    item, archive = author.items, author.draw.randrange(ARCHIVES)
    host = f"a{archive + 1}"
    events = [author.one(Deposit, archive=archive)]
    author.at += 5.0
    events.append(author.one(Weather, seconds=40.0, loss=0.0, slow=1.0, doubling=0.4))
    for reader in range(3):
        author.soon(2.0)
        events.append(author.one(Read, item=item, reader=reader, original=False))
    author.at += 25.0
    events.append(author.one(Kill, host=host, seconds=2.0))
    events.append(author.one(ClockJump, host=host, jump=3600.0))
    author.at += 8.0
    return [*events, author.one(ClockJump, host=host, jump=-3600.0)]


DRAMAS: Final[tuple[Callable[[Author], list[Event]], ...]] = (
    printing,
    handing,
    handing,
    passing_on,
    proving,
    losing,
    lingering,
    contending,
    fainting,
    counting,
    waking,
)
