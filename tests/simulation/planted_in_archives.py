"""Bugs planted in archives: in transfers, copies, and in what makes a change durable."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final, TypeVar

from ibi.adapters.database import Execute
from ibi.archive import copy_rules, transfer
from ibi.archive import pair as pairs
from ibi.archive.archive import Archive, Described
from ibi.archive.giving import Giving
from ibi.archive.pair import Pair
from ibi.archive.receiving import Receiving
from ibi.errors import UnknownError
from ibi.identifier.label import Label, parse
from ibi.model.change import Change
from ibi.model.forms import Forms
from ibi.model.item import Item, State
from ibi.ports import Exchange, Held
from simulation.disks import MemoryDatabase
from simulation.machines import Host
from simulation.mutation import Mutation
from simulation.virtual_time import PROCESS, strand

T = TypeVar("T")

_handed: Final = transfer.handed
_accepted: Final = transfer.accepted
_as_copy: Final = copy_rules.as_copy
_make: Final = Archive.make
_look: Final = Archive.look
_transaction: Final = MemoryDatabase.transaction
_start: Final = Host.start


def _still_original(item: Item, id_: str, receipt: str, now: int) -> Item:
    return replace(_handed(item, id_, receipt, now), state=State.ORIGINAL)


def _forgetful(item: Item, id_: str) -> Item:
    return replace(_accepted(item, id_), custody=())


def _accept_again(self: Receiving, id_: str, pair: Pair) -> None:
    archive = self._archive
    pairs.make(archive, "accept", pair, lambda each: _once_more(each, id_), id_)
    self._end(id_, "done")


def _once_more(item: Item, id_: str) -> Item:
    custody = (*item.custody, id_)
    return replace(item, state=State.ORIGINAL, origin="", transfer=None, custody=custody)


def _undo_alone(self: Giving, exchange: Exchange, who: str) -> None:
    with self._archive.changing():
        pair = self._pair(exchange)
        row = self._open(exchange)
        if pair.part_in(row.id) is not None:
            self._take_back(row, pair, f"{who} undid it.", who)


def _copied_as_original(item: Item, origin: str, before: Item | None) -> Item:
    return replace(_as_copy(item, origin, before), state=State.ORIGINAL)


def _make_without_files(self: Archive, change: Change) -> None:
    with self.changing():
        self.settle()
        self.catalogue.apply(change, lambda _: None)


def _make_later(self: Archive, change: Change) -> None:
    """Answer first: it will be written soon enough."""
    PROCESS.get().spawn(_in_a_while(self, change))


async def _in_a_while(archive: Archive, change: Change) -> None:
    await asyncio.sleep(5.0)
    await strand(_make, archive, change)


def _promised(self: Archive, label: Label | str) -> Described:
    """Show what will be there soon."""
    try:
        return _look(self, label)
    except UnknownError:
        forms = Forms.of(parse(label) if isinstance(label, str) else label)
        return Described(Held(0, 0, Item(forms=forms)), None)


def _unsettled(self: Archive) -> None:
    self._unsettled = False


def _unsynced(self: MemoryDatabase, work: Callable[[Execute], T]) -> T:
    """Commit in memory; what the disk has is one step behind."""
    on_disk = self.copied()
    result = _transaction(self, work)
    self.__dict__["on_disk"] = on_disk
    return result


def _start_from_disk(self: Host) -> None:
    for database in self.disk.databases.values():
        on_disk = database.__dict__.pop("on_disk", None)
        if on_disk is not None:
            database.restore(on_disk)
    _start(self)


def _nothing_changes(execute: Execute, noted: Sequence[tuple[Iterable[str], bool]]) -> None:
    del execute, noted


IN_ARCHIVES: Final = (
    Mutation(
        "an archive answers Original after it handed over",
        {"ibi.archive.transfer.handed": _still_original},
    ),
    Mutation(
        "a receiver forgets that it accepted",
        {"ibi.archive.transfer.accepted": _forgetful},
    ),
    Mutation(
        "a receiver accepts a second time",
        {"ibi.archive.receiving.Receiving._accept": _accept_again},
    ),
    Mutation(
        "a giver takes back without asking",
        {"ibi.archive.giving.Giving.undo": _undo_alone},
    ),
    Mutation(
        "a Copy is stored as Original",
        {"ibi.archive.copies.as_copy": _copied_as_original},
    ),
    Mutation(
        "a change is made in the catalogue alone",
        {"ibi.archive.archive.Archive.make": _make_without_files},
    ),
    Mutation(
        "a deposit is acknowledged before it is durable",
        {
            "ibi.archive.archive.Archive.make": _make_later,
            "ibi.archive.archive.Archive.look": _promised,
        },
    ),
    Mutation(
        "what was decided is not finished after a crash",
        {"ibi.archive.archive.Archive._settle": _unsettled},
    ),
    Mutation(
        "a database says that it is durable before it is",
        {
            "simulation.disks.MemoryDatabase.transaction": _unsynced,
            "simulation.machines.Host.start": _start_from_disk,
        },
    ),
    Mutation(
        "the log of an archive does not tell of what changes",
        {"ibi.adapters.sql_items.note_names": _nothing_changes},
    ),
)
