"""Dramas of resolvers: what they know is not so any more, or they are not there."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from tests.simulation.scenarios.events import (
    ARCHIVES,
    NOBODY,
    RESOLVERS,
    ClockJump,
    Delete,
    Deposit,
    DiskFailure,
    Drop,
    Event,
    Forge,
    Kill,
    Partition,
    Read,
    Readdress,
    Restart,
    Settle,
    Slowness,
    Stranger,
    Transfer,
    Weather,
)

if TYPE_CHECKING:
    from tests.simulation.scenarios.generator import Author

_Known = dict[type[Event], dict[str, Any]]


def usurping(author: Author) -> list[Event]:
    """Strangers say that they are an archive which does not answer just now."""
    archive = author.draw.randrange(ARCHIVES)
    events = [author.one(Kill, host=f"a{archive + 1}", seconds=40.0)]
    for resolver in range(RESOLVERS):
        author.soon(8.0)
        events.append(author.one(Stranger, archive=archive, resolver=resolver))
    return events


def hurrying(author: Author) -> list[Event]:
    """An archive is killed, and comes back elsewhere just when readers have noticed it."""
    archive, first = author.draw.randrange(ARCHIVES), author.items
    events = [author.one(Deposit, archive=archive) for _ in range(2)]
    author.at += 5.0
    if author.draw.random() < 0.7:
        events.append(author.one(Slowness, host="r2", seconds=60.0))
    for _ in range(author.draw.choice((1, 2))):
        events.append(author.one(Kill, host=f"a{archive + 1}", seconds=20.0))
        # Of what nobody has answered a moment ago, nobody is asked again: so each asks for another.
        wanted = [
            (item, original) for item in range(first, first + 2) for original in (True, False)
        ]
        for number, (item, original) in enumerate(wanted):
            author.soon(0.2)
            known: dict[str, Any] = {"item": item, "original": original, "times": 1}
            events += [author.one(Read, resolver=each, **known) for each in range(1, RESOLVERS)]
            if number == 1:
                events.append(author.one(Readdress, archive=archive, swapped=NOBODY))
        author.at += 8.0
        author.soon(8.0)
    return events


def overtaking(author: Author) -> list[Event]:
    """Items are deleted while answers that tell of them are on their way; the log is quicker."""
    archive, first = author.draw.randrange(ARCHIVES), author.items
    items = range(first, first + 2)
    events = [author.one(Deposit, archive=archive) for _ in items]
    author.at += 10.0
    begun = author.at
    wanted = [(item, resolver) for item in items for resolver in range(RESOLVERS)]
    known: dict[str, Any] = {"original": False, "times": 1}
    events += [author.one(Read, item=items[0], resolver=each, **known) for each in range(RESOLVERS)]
    # The log is read anew a third of the time that an answer is remembered after that.
    author.at = begun + 6.667 * author.draw.choice((3, 4, 5)) - 0.3
    events.append(author.one(Weather, seconds=3.0, loss=0.0, slow=50.0, doubling=0.0))
    events += [author.one(Read, item=item, resolver=each, **known) for item, each in wanted]
    author.at += 0.2
    events += [author.one(Delete, item=item) for item in items]
    author.at += 35.0
    author.soon(20.0)
    return [
        *events,
        *(author.one(Read, item=item, resolver=each, **known) for item, each in wanted),
    ]


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
        events.append(author.one(Partition, hosts=(f"a{archive + 1}",), seconds=100.0, deaf=False))
        author.soon()
    kind = author.draw.choice((Delete, Readdress, Kill, Restart))
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
        events.append(author.one(Partition, hosts=(f"a{archive + 1}",), seconds=50.0, deaf=False))
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


OF_RESOLVERS: Final[tuple[Callable[[Author], list[Event]], ...]] = (
    usurping,
    hurrying,
    overtaking,
    losing,
    lingering,
    lingering,
    lingering,
    contending,
    fainting,
    counting,
    waking,
)
