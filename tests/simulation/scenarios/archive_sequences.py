"""Dramas of minters, and of archives that hand over Originals."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from tests.simulation.scenarios.events import (
    ARCHIVES,
    PRESSES,
    ClockJump,
    Copy,
    Delete,
    Deposit,
    Drop,
    Event,
    Kill,
    Mint,
    Partition,
    PowerLoss,
    Readdress,
    Restart,
    Revise,
    Setback,
    Transfer,
    Undo,
    Weather,
)

if TYPE_CHECKING:
    from tests.simulation.scenarios.generator import Author

_Known = dict[type[Event], dict[str, Any]]


def printing(author: Author) -> list[Event]:
    """Both minters are busy, and one is stopped, is killed, or has its clock set."""
    press = author.draw.randrange(PRESSES)
    events = _printed(author, press)
    jump = author.draw.choice((-1.0, -0.2, -0.05))
    kind = author.draw.choice((Kill, Restart, Restart, ClockJump, ClockJump))
    known = {"jump": jump} if kind is ClockJump else {"seconds": 0.1}
    events.append(author.one(kind, host=f"p{press + 1}", **known))
    for _ in range(2):
        author.soon(0.3)
        events += [author.one(Mint, press=each, count=50) for each in range(PRESSES)]
    return events


def returning(author: Author) -> list[Event]:
    """One minter holds time ahead, while the other ends, or their ledger is set back."""
    press = author.draw.randrange(PRESSES)
    other = (press + 1) % PRESSES
    both = (press, other)
    events = [author.one(Mint, press=each, count=1) for each in both]
    author.at += 4.0
    is_set_back = author.draw.random() < 0.5
    events.append(
        author.one(Setback, seconds=0.4) if is_set_back else author.one(Mint, press=other, count=50)
    )
    for _ in range(2):
        author.at += 0.05
        events.append(author.one(Mint, press=press, count=50))
    if not is_set_back:
        events.append(author.one(Restart, host=f"p{other + 1}", seconds=0.05))
    author.at += 0.35
    for _ in range(2):
        events += [author.one(Mint, press=each, count=50) for each in both]
        author.soon(0.2)
    return events


def _printed(author: Author, press: int) -> list[Event]:
    """One minter is busy, and then the other, by itself: so it takes time ahead."""
    events: list[Event] = []
    for turn in range(6):
        times = 2 if turn % 3 == 2 else 1
        each = (press + turn // 3) % PRESSES
        events += [author.one(Mint, press=each, count=50) for _ in range(times)]
        author.soon(0.05)
    return events


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


def regretting(author: Author) -> list[Event]:
    """A giver does not hear that the Original was accepted, and is told to take it back."""
    item, giver = author.items, author.draw.randrange(ARCHIVES)
    receiver = (giver + author.draw.randrange(1, ARCHIVES)) % ARCHIVES
    events = [author.one(Deposit, archive=giver)]
    author.at += 5.0
    events.append(author.one(Weather, seconds=12.0, loss=0.0, slow=100.0, doubling=0.0))
    events.append(author.one(Transfer, item=item, archive=receiver))
    author.at += 3.0
    author.soon(8.0)
    events.append(author.one(Partition, hosts=(f"a{giver + 1}",), seconds=30.0, deaf=True))
    author.soon(10.0)
    events.append(author.one(Undo, item=item, receiving=False))
    author.at += 40.0
    return events


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
    events.append(author.one(Partition, hosts=(f"a{giver + 1}",), seconds=120.0, deaf=False))
    author.at += 20.0
    if author.draw.random() < 0.3:
        return [*events, author.one(Readdress, archive=receiver, swapped=third)]
    events.append(author.one(Transfer, item=item, archive=third))
    author.at += 40.0
    kind = author.draw.choice((Copy, Drop))
    return [*events, author.one(kind, item=item, archive=receiver)]


OF_ARCHIVES: Final[tuple[Callable[[Author], list[Event]], ...]] = (
    printing,
    returning,
    handing,
    handing,
    regretting,
    passing_on,
    proving,
)
