"""Sequences of related events: resolvers with outdated knowledge, and resolvers that fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from tests.simulation.scenarios.events import (
    ARCHIVES,
    NO_ARCHIVE,
    RESOLVERS,
    ClockJump,
    Delete,
    Deposit,
    DiskFailure,
    Drop,
    Event,
    ForgeInclusion,
    ForgeOriginal,
    Kill,
    NetworkDegradation,
    Partition,
    Read,
    Readdress,
    Restart,
    Settle,
    Slowness,
    Transfer,
)

if TYPE_CHECKING:
    from tests.simulation.scenarios.generator import ScenarioGenerator

_Known = dict[type[Event], dict[str, Any]]


def inclusion_forged_for_silent_archive(generator: ScenarioGenerator) -> list[Event]:
    """Impostors announce an archive that is down."""
    archive = generator.draw.randrange(ARCHIVES)
    events = [generator.event(Kill, host=f"a{archive + 1}", seconds=40.0)]
    for resolver in range(RESOLVERS):
        generator.pause_up_to(8.0)
        events.append(generator.event(ForgeInclusion, archive=archive, resolver=resolver))
    return events


def archive_returns_elsewhere(generator: ScenarioGenerator) -> list[Event]:
    """An archive is killed, and returns elsewhere just after readers noticed the outage."""
    archive, first = generator.draw.randrange(ARCHIVES), generator.items
    events = [generator.event(Deposit, archive=archive) for _ in range(2)]
    generator.at += 5.0
    if generator.draw.random() < 0.7:
        events.append(generator.event(Slowness, host="r2", seconds=60.0))
    for _ in range(generator.draw.choice((1, 2))):
        events.append(generator.event(Kill, host=f"a{archive + 1}", seconds=20.0))
        # A search that just failed is not repeated, so each read asks for something else.
        wanted = [
            (item, original) for item in range(first, first + 2) for original in (True, False)
        ]
        for number, (item, original) in enumerate(wanted):
            generator.pause_up_to(0.2)
            known: dict[str, Any] = {"item": item, "original": original, "times": 1}
            events += [
                generator.event(Read, resolver=each, **known) for each in range(1, RESOLVERS)
            ]
            if number == 1:
                events.append(generator.event(Readdress, archive=archive, swap_with=NO_ARCHIVE))
        generator.at += 8.0
        generator.pause_up_to(8.0)
    return events


def deletion_overtakes_answers(generator: ScenarioGenerator) -> list[Event]:
    """Items are deleted while answers about them are under way; the log arrives first."""
    archive, first = generator.draw.randrange(ARCHIVES), generator.items
    items = range(first, first + 2)
    events = [generator.event(Deposit, archive=archive) for _ in items]
    generator.at += 10.0
    begun = generator.at
    wanted = [(item, resolver) for item in items for resolver in range(RESOLVERS)]
    known: dict[str, Any] = {"original": False, "times": 1}
    events += [
        generator.event(Read, item=items[0], resolver=each, **known) for each in range(RESOLVERS)
    ]
    # The log is read at intervals of a third of the time for which a redirect is cached.
    generator.at = begun + 6.667 * generator.draw.choice((3, 4, 5)) - 0.3
    events.append(
        generator.event(NetworkDegradation, seconds=3.0, loss=0.0, slow=50.0, duplication=0.0)
    )
    events += [generator.event(Read, item=item, resolver=each, **known) for item, each in wanted]
    generator.at += 0.2
    events += [generator.event(Delete, item=item) for item in items]
    generator.at += 35.0
    generator.pause_up_to(20.0)
    return [
        *events,
        *(generator.event(Read, item=item, resolver=each, **known) for item, each in wanted),
    ]


def item_leaves_after_read(generator: ScenarioGenerator) -> list[Event]:
    """An item leaves an archive to which readers were just redirected."""
    item, resolver = generator.draw.randrange(generator.items), generator.draw.randrange(RESOLVERS)
    reading: dict[str, Any] = {
        "item": item,
        "resolver": resolver,
        "original": generator.draw.random() < 0.5,
    }
    events = [generator.event(Read, **reading)]
    generator.pause_up_to()
    kind = generator.draw.choice((Transfer, Delete, Drop, Readdress))
    events.append(generator.event(kind) if kind is Readdress else generator.event(kind, item=item))
    for _ in range(3):
        generator.pause_up_to(12.0)
        events.append(generator.event(Read, **reading))
    return events


def cached_item_leaves(generator: ScenarioGenerator) -> list[Event]:
    """An item is read repeatedly, so that its redirect is cached, and then leaves its archive."""
    item, archive = generator.items, generator.draw.randrange(ARCHIVES)
    reading: dict[str, Any] = {
        "item": item,
        "resolver": generator.draw.randrange(RESOLVERS),
        "original": False,
    }
    events = [generator.event(Deposit, archive=archive)]
    for _ in range(3):
        generator.at += 21.0
        generator.pause_up_to(4.0)
        events.append(generator.event(Read, **reading))
    if generator.draw.random() < 0.4:
        events.append(
            generator.event(
                Partition, hosts=(f"a{archive + 1}",), seconds=100.0, inbound_only=False
            )
        )
        generator.pause_up_to()
    kind = generator.draw.choice((Delete, Readdress, Kill, Restart))
    known: _Known = {
        Readdress: {"archive": archive},
        Kill: {"host": f"a{archive + 1}"},
        Restart: {"host": f"a{archive + 1}", "seconds": 120.0},
    }
    events.append(generator.event(kind, **known.get(kind, {"item": item})))
    if kind is Kill:
        generator.at += 5.0
        events.append(generator.event(Readdress, archive=archive, swap_with=NO_ARCHIVE))
    for _ in range(4):
        generator.pause_up_to(25.0)
        events.append(generator.event(Read, **reading))
    return events


def contested_original(generator: ScenarioGenerator) -> list[Event]:
    """Two archives claim an Original that a reader requires; the conflict may be settled."""
    item, archive = generator.items, generator.draw.randrange(ARCHIVES)
    resolver = generator.draw.randrange(RESOLVERS)
    reading: dict[str, Any] = {"item": item, "resolver": resolver, "original": True}
    events = [generator.event(Deposit, archive=archive)]
    generator.at += 5.0
    events.append(generator.event(Read, **reading))
    generator.at += 20.0
    other = (archive + generator.draw.randrange(1, ARCHIVES)) % ARCHIVES
    events.append(generator.event(ForgeOriginal, item=item, archive=other))
    generator.pause_up_to(5.0)
    if generator.draw.random() < 0.4:
        events.append(
            generator.event(Partition, hosts=(f"a{archive + 1}",), seconds=50.0, inbound_only=False)
        )
    for _ in range(2):
        generator.pause_up_to(30.0)
        events.append(generator.event(Read, **reading))
    if generator.draw.random() < 0.5:
        events.append(generator.event(Settle, item=item, resolver=resolver))
    generator.at += 35.0
    return [*events, generator.event(Read, **reading)]


def claim_against_silent_holder(generator: ScenarioGenerator) -> list[Event]:
    """An archive claims an item that was never read, while the archive that has it is silent."""
    item, archive = generator.items, generator.draw.randrange(ARCHIVES)
    other = (archive + generator.draw.randrange(1, ARCHIVES)) % ARCHIVES
    events = [generator.event(Deposit, archive=archive)]
    generator.at += 5.0
    if generator.draw.random() < 0.5:
        # Then it is not where its label was made.
        third = (archive + generator.draw.randrange(1, ARCHIVES)) % ARCHIVES
        events.append(generator.event(Transfer, item=item, archive=third))
        archive, other = third, (third + generator.draw.randrange(1, ARCHIVES)) % ARCHIVES
    # Until resolvers have read that it is there.
    generator.at += 150.0
    events.append(generator.event(ForgeOriginal, item=item, archive=other))
    # And before, or after, they have read that it is elsewhere too.
    generator.at += generator.draw.choice((2.0, 2.0, 150.0))
    kind = generator.draw.choice((Kill, Restart, Partition))
    host = f"a{archive + 1}"
    known: _Known = {Partition: {"hosts": (host,), "inbound_only": False}}
    events.append(generator.event(kind, seconds=90.0, **known.get(kind, {"host": host})))
    generator.at += 3.0
    for resolver in range(RESOLVERS):
        for original in (False, True):
            generator.pause_up_to(4.0)
            events.append(
                generator.event(Read, item=item, resolver=resolver, original=original, times=1)
            )
    return events


def recorded_owner_leaves(generator: ScenarioGenerator) -> list[Event]:
    """The recorded owner of an item, which may publish no digest, stops or is killed."""
    item, archive = generator.items, ARCHIVES - 1
    events = [generator.event(Deposit, archive=generator.draw.randrange(archive))]
    generator.at += 5.0
    events.append(generator.event(Transfer, item=item, archive=archive))
    generator.at += 30.0
    reading: dict[str, Any] = {"item": item, "original": True, "times": 1}
    events += [generator.event(Read, resolver=each, **reading) for each in range(RESOLVERS)]
    generator.at += 30.0
    kind = generator.draw.choice((Restart, Restart, Kill))
    events.append(generator.event(kind, host=f"a{archive + 1}", seconds=90.0))
    for resolver in range(RESOLVERS):
        generator.at += 3.0
        generator.pause_up_to(10.0)
        events.append(generator.event(Read, resolver=resolver, **reading))
    return events


def process_cannot_write(generator: ScenarioGenerator) -> list[Event]:
    """One of two processes cannot write for so long that the other declares it gone."""
    resolver = generator.draw.choice((RESOLVERS - 2, RESOLVERS - 1))
    failure = generator.event(DiskFailure, host=f"r{resolver + 1}", seconds=100.0)
    events = [failure]
    for _ in range(8):
        generator.at += 4.0
        generator.pause_up_to(16.0)
        events.append(generator.event(Read, resolver=resolver, original=False))
    return events


def reads_with_duplicated_messages(generator: ScenarioGenerator) -> list[Event]:
    """Items are read while messages are duplicated, and a resolver is killed."""
    item, resolver = generator.draw.randrange(generator.items), generator.draw.randrange(RESOLVERS)
    events = [generator.event(NetworkDegradation, seconds=90.0, loss=0.05, duplication=0.4)]
    for _ in range(3):
        generator.pause_up_to(8.0)
        events.append(generator.event(Read, item=item, resolver=resolver, original=False))
    generator.pause_up_to(20.0)
    return [*events, generator.event(Kill, host=f"r{resolver + 1}", seconds=5.0)]


def archive_starts_with_wrong_clock(generator: ScenarioGenerator) -> list[Event]:
    """An archive that received acknowledgments restarts with a clock that is ahead."""
    item, archive = generator.items, generator.draw.randrange(ARCHIVES)
    host = f"a{archive + 1}"
    events = [generator.event(Deposit, archive=archive)]
    generator.at += 5.0
    events.append(
        generator.event(NetworkDegradation, seconds=40.0, loss=0.0, slow=1.0, duplication=0.4)
    )
    for reader in range(3):
        generator.pause_up_to(2.0)
        events.append(generator.event(Read, item=item, reader=reader, original=False))
    generator.at += 25.0
    events.append(generator.event(Kill, host=host, seconds=2.0))
    events.append(generator.event(ClockJump, host=host, jump=3600.0))
    generator.at += 8.0
    return [*events, generator.event(ClockJump, host=host, jump=-3600.0)]


RESOLVER_SEQUENCES: Final[tuple[Callable[[ScenarioGenerator], list[Event]], ...]] = (
    inclusion_forged_for_silent_archive,
    archive_returns_elsewhere,
    deletion_overtakes_answers,
    item_leaves_after_read,
    cached_item_leaves,
    cached_item_leaves,
    cached_item_leaves,
    contested_original,
    claim_against_silent_holder,
    claim_against_silent_holder,
    recorded_owner_leaves,
    process_cannot_write,
    process_cannot_write,
    reads_with_duplicated_messages,
    archive_starts_with_wrong_clock,
)
