"""Bugs planted in archives: deposits, digests, keys, and the durability of changes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final, TypeVar

from ibi.archive.archive import Archive, ItemWithMetadata
from ibi.archive.deposits.deposits import Deposits
from ibi.archive.housekeeping import (
    UsedKeyCleanup,
)
from ibi.archive.ports.catalogue import DigestState, NameChange, StoredItem
from ibi.archive.ports.deposits import Deposit
from ibi.archive.resolver_links import digest_log
from ibi.archive.rules import answer
from ibi.archive.rules.access import MayRead
from ibi.archive.rules.answer import Identity
from ibi.archive.rules.relations import ItemSource, RelatedItem
from ibi.errors import UnknownError
from ibi.foundation.sql.database import Execute
from ibi.identifier.label import Label, parse
from ibi.model.change import Change
from ibi.model.clock import SECOND
from ibi.model.item import Item, State
from ibi.model.label_pair import Forms
from ibi.wire.digest import DigestPage
from ibi.wire.requests import UrlRequest
from ibi.wire.url_list import Related
from tests.simulation.planted.mutation import Mutation
from tests.simulation.world.disks import MemoryDatabase
from tests.simulation.world.machines import Host
from tests.simulation.world.virtual_time import PROCESS, run_blocking

T = TypeVar("T")

_get: Final = Deposits.get
_related: Final = answer._related  # noqa: SLF001  # what is changed
_gathered: Final = digest_log.gathered
_make: Final = Archive.make
_look: Final = Archive.get_described
_transaction: Final = MemoryDatabase.transaction
_start: Final = Host.start


def _never_completed(self: Deposits, id: str) -> Deposit:  # noqa: A002  # as it is called
    return replace(_get(self, id), completed="")


def _whole(self: Deposits, id: str) -> None:  # noqa: A002
    del self, id


def _make_without_files(self: Archive, change: Change) -> None:
    with self.changing():
        self.settle()
        self.catalogue.items.apply(change, lambda _: None)


def _make_later(self: Archive, change: Change) -> None:
    """Acknowledge a change, and write it five seconds later."""
    PROCESS.get().spawn(_in_a_while(self, change))


async def _in_a_while(archive: Archive, change: Change) -> None:
    await asyncio.sleep(5.0)
    await run_blocking(_make, archive, change)


def _promised(self: Archive, label: Label | str) -> ItemWithMetadata:
    """Return an item that is not stored yet."""
    try:
        return _look(self, label)
    except UnknownError:
        forms = Forms.of(parse(label) if isinstance(label, str) else label)
        return ItemWithMetadata(StoredItem(0, 0, Item(forms=forms)), None)


def _unsettled(self: Archive) -> None:
    self._unsettled = False


def _unsynced(self: MemoryDatabase, work: Callable[[Execute], T]) -> T:
    """Commit in memory only; the disk is one transaction behind."""
    on_disk = self.snapshot()
    result = _transaction(self, work)
    self.__dict__["on_disk"] = on_disk
    return result


def _start_from_disk(self: Host) -> None:
    for database in self.disk.databases.values():
        on_disk = database.__dict__.pop("on_disk", None)
        if on_disk is not None:
            database.restore(on_disk)
    _start(self)


def _forget_at_once(self: UsedKeyCleanup) -> None:
    self._statistics.forget_keys(self._clock.wall() // SECOND)


def _nothing_changes(execute: Execute, noted: Sequence[tuple[Iterable[str], bool]]) -> None:
    del execute, noted


def _always_original(
    knowledge: ItemSource,
    identity: Identity,
    request: UrlRequest,
    reached: RelatedItem,
    may_read: MayRead,
) -> Related:
    found = _related(knowledge, identity, request, reached, may_read)
    return replace(found, state=State.ORIGINAL) if found.url else found


def _among_any(block: str, blocks: str) -> bool:
    del block, blocks
    return True


def _no_news(state: DigestState, after: int, rows: Sequence[NameChange]) -> DigestPage:
    page = _gathered(state, after, rows)
    return replace(page, held=(), dropped=()) if after else page


IN_ARCHIVES: Final = (
    Mutation(
        "an archive answers Original for a Copy",
        {"ibi.archive.rules.answer._related": _always_original},
    ),
    Mutation(
        "a key counts for any item",
        {"ibi.archive.rules.url_keys._is_among": _among_any},
    ),
    Mutation(
        "a digest advances without listing changes",
        {"ibi.archive.resolver_links.digest_log.gathered": _no_news},
    ),
    Mutation(
        "a deposit that was completed is completed again",
        {"ibi.archive.deposits.deposits.Deposits.get": _never_completed},
    ),
    Mutation(
        "an incomplete deposit is completed",
        {"ibi.archive.deposits.deposits.Deposits.check_whole": _whole},
    ),
    Mutation(
        "a change is made in the catalogue alone",
        {"ibi.archive.archive.Archive.make": _make_without_files},
    ),
    Mutation(
        "a deposit is acknowledged before it is durable",
        {
            "ibi.archive.archive.Archive.make": _make_later,
            "ibi.archive.archive.Archive.get_described": _promised,
        },
    ),
    Mutation(
        "a committed change is not finished after a crash",
        {"ibi.archive.archive.Archive._settle": _unsettled},
        within=90,
    ),
    Mutation(
        "a database reports a commit before it is durable",
        {
            "tests.simulation.world.disks.MemoryDatabase.transaction": _unsynced,
            "tests.simulation.world.machines.Host.start": _start_from_disk,
        },
    ),
    Mutation(
        "a used key is removed by a clock that is ahead",
        {"ibi.archive.housekeeping.UsedKeyCleanup.forget": _forget_at_once},
    ),
    Mutation(
        "the log of an archive omits changes",
        {"ibi.archive.storage.catalogue.items.note_names": _nothing_changes},
    ),
)
