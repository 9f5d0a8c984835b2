"""Sequences of related events: minters under load, and transfers of Originals."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from tests.simulation.scenarios.events import (
    ARCHIVES,
    MINTERS,
    ClockJump,
    Copy,
    Delete,
    Deposit,
    Drop,
    Event,
    Kill,
    LedgerRestore,
    Mint,
    NetworkDegradation,
    Partition,
    PowerLoss,
    Readdress,
    Restart,
    Revise,
    Transfer,
    Undo,
)

if TYPE_CHECKING:
    from tests.simulation.scenarios.generator import ScenarioGenerator

_Known = dict[type[Event], dict[str, Any]]


def minters_with_fault(generator: ScenarioGenerator) -> list[Event]:
    """Both minters are busy while one is stopped or killed, or its clock is set."""
    minter = generator.draw.randrange(MINTERS)
    events = _busy_minters(generator, minter)
    jump = generator.draw.choice((-1.0, -0.2, -0.05))
    kind = generator.draw.choice((Kill, Restart, Restart, ClockJump, ClockJump))
    known = {"jump": jump} if kind is ClockJump else {"seconds": 0.1}
    events.append(generator.event(kind, host=f"p{minter + 1}", **known))
    for _ in range(2):
        generator.pause_up_to(0.3)
        events += [generator.event(Mint, minter=each, count=50) for each in range(MINTERS)]
    return events


def reservation_outlives_minter_or_ledger(generator: ScenarioGenerator) -> list[Event]:
    """One minter has reserved a stretch while the other ends, or an old ledger is restored."""
    minter = generator.draw.randrange(MINTERS)
    other = (minter + 1) % MINTERS
    both = (minter, other)
    events = [generator.event(Mint, minter=each, count=1) for each in both]
    generator.at += 4.0
    is_set_back = generator.draw.random() < 0.5
    events.append(
        generator.event(LedgerRestore, seconds=0.4)
        if is_set_back
        else generator.event(Mint, minter=other, count=50)
    )
    for _ in range(2):
        generator.at += 0.05
        events.append(generator.event(Mint, minter=minter, count=50))
    if not is_set_back:
        events.append(generator.event(Restart, host=f"p{other + 1}", seconds=0.05))
    generator.at += 0.35
    for _ in range(2):
        events += [generator.event(Mint, minter=each, count=50) for each in both]
        generator.pause_up_to(0.2)
    return events


def _busy_minters(generator: ScenarioGenerator, minter: int) -> list[Event]:
    """First one minter is busy alone, then the other, so that it reserves a stretch."""
    events: list[Event] = []
    for turn in range(6):
        times = 2 if turn % 3 == 2 else 1
        each = (minter + turn // 3) % MINTERS
        events += [generator.event(Mint, minter=each, count=50) for _ in range(times)]
        generator.pause_up_to(0.05)
    return events


def transfer_with_fault(generator: ScenarioGenerator) -> list[Event]:
    """An Original is transferred while a fault occurs."""
    item = generator.draw.randrange(generator.items)
    events = [generator.event(Transfer, item=item)]
    generator.pause_up_to(0.2)
    kinds = (
        Kill,
        PowerLoss,
        Undo,
        Partition,
        Revise,
        Delete,
        NetworkDegradation,
        NetworkDegradation,
        NetworkDegradation,
    )
    kind = generator.draw.choice(kinds)
    known: _Known = {
        **{each: {"item": item} for each in (Undo, Revise, Delete)},
        NetworkDegradation: {"seconds": 60.0, "loss": 0.4, "slow": 1.0, "duplication": 0.4},
    }
    events.append(generator.event(kind, **known.get(kind, {})))
    generator.pause_up_to(25.0)
    events.append(generator.event(Undo, item=item, receiving=False))
    generator.pause_up_to(60.0)
    return [*events, generator.event(Transfer, item=item)]


def transfer_undone_unheard(generator: ScenarioGenerator) -> list[Event]:
    """The answer to a sender that its Original was accepted is lost, and the transfer is undone."""
    item, sender = generator.items, generator.draw.randrange(ARCHIVES)
    receiver = (sender + generator.draw.randrange(1, ARCHIVES)) % ARCHIVES
    events = [generator.event(Deposit, archive=sender)]
    generator.at += 5.0
    events.append(
        generator.event(NetworkDegradation, seconds=12.0, loss=0.0, slow=100.0, duplication=0.0)
    )
    events.append(generator.event(Transfer, item=item, archive=receiver))
    generator.at += 3.0
    generator.pause_up_to(8.0)
    events.append(
        generator.event(Partition, hosts=(f"a{sender + 1}",), seconds=30.0, inbound_only=True)
    )
    generator.pause_up_to(10.0)
    events.append(generator.event(Undo, item=item, receiving=False))
    generator.at += 40.0
    return events


def chained_transfers(generator: ScenarioGenerator) -> list[Event]:
    """An Original is transferred three times in a row while messages are duplicated and late."""
    item = generator.draw.randrange(generator.items)
    events = [
        generator.event(NetworkDegradation, seconds=20.0, loss=0.05, slow=1.0, duplication=0.4)
    ]
    for _ in range(3):
        events.append(generator.event(Transfer, item=item))
        generator.pause_up_to(20.0)
    return events


def transfer_acknowledged_late(generator: ScenarioGenerator) -> list[Event]:
    """A sender is cut off before it learns that its Original was accepted; other events follow."""
    item = generator.items
    sender, receiver, third = generator.draw.sample(range(ARCHIVES), 3)
    events = [generator.event(Deposit, archive=sender)]
    generator.at += 5.0
    events.append(
        generator.event(NetworkDegradation, seconds=8.0, loss=0.3, slow=1.0, duplication=0.0)
    )
    events.append(generator.event(Transfer, item=item, archive=receiver))
    generator.pause_up_to(8.0)
    events.append(
        generator.event(Partition, hosts=(f"a{sender + 1}",), seconds=120.0, inbound_only=False)
    )
    generator.at += 20.0
    if generator.draw.random() < 0.3:
        return [*events, generator.event(Readdress, archive=receiver, swap_with=third)]
    events.append(generator.event(Transfer, item=item, archive=third))
    generator.at += 40.0
    kind = generator.draw.choice((Copy, Drop))
    return [*events, generator.event(kind, item=item, archive=receiver)]


ARCHIVE_SEQUENCES: Final[tuple[Callable[[ScenarioGenerator], list[Event]], ...]] = (
    minters_with_fault,
    reservation_outlives_minter_or_ledger,
    transfer_with_fault,
    transfer_with_fault,
    transfer_undone_unheard,
    chained_transfers,
    transfer_acknowledged_late,
)
