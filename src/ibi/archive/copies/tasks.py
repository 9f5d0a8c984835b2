"""The long work of copies: many items, a few at a time, in an order that can be gone on with.

What takes long is the way to the other archive and to the disk here, not this processor: several
threads wait for them at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import asdict, dataclass, field
from functools import partial
from threading import Lock
from typing import Final, TypeAlias

from ibi.archive.copies.copies import Copies
from ibi.archive.copies.fetch import OpenSource, SourcePool
from ibi.archive.ports.maintenance import PeerListing
from ibi.archive.tasks import TaskProgress, Tasks
from ibi.errors import IbiError, StateError, StorageError
from ibi.identifier.label import parse

OpenListing: TypeAlias = Callable[[str], PeerListing]
"""Returns the archive at an address, to be asked what it has."""
_Outcome: TypeAlias = bool | str
"""Whether there was news, or why it could not be copied."""

THREADS: Final = 8
_BATCH: Final = 200
_END: Final = "end"
_HOUR: Final = 3600 * 1_000_000_000
_MOST_FAULTS: Final = 100
"""That the result of a task tells; the rest it only counts."""


@dataclass(slots=True)
class CopyTally:
    """What came of many copies."""

    copied: int = 0
    current: int = 0
    failed: int = 0
    faults: list[dict[str, str]] = field(default_factory=list)

    def add(self, label: str, outcome: _Outcome) -> None:
        """Count one more."""
        if isinstance(outcome, str):
            self.failed += 1
            if len(self.faults) < _MOST_FAULTS:
                self.faults.append({"item": label, "fault": outcome})
        else:
            self.copied += outcome
            self.current += not outcome

    @property
    def done(self) -> int:
        """How many there were."""
        return self.copied + self.current + self.failed


class CopyTasks:
    """Does the tasks `copy` and `refresh` of one archive."""

    def __init__(
        self,
        copies: Copies,
        open_source: OpenSource,
        open_listing: OpenListing,
    ) -> None:
        """Take the copies, and the ways to other archives."""
        self._copies = copies
        self._open_source = open_source
        self._open_listing = open_listing

    def copy(self, progress: TaskProgress) -> None:
        """Copy the items that are named, or all of an archive."""
        wanted = progress.request
        address, texts = wanted.get("from", ""), wanted.get("items", [])
        if len(texts) == 1:
            self._copy_one(progress, texts[0], address)
            return
        place = progress.task.place
        batches = _named(texts, place) if texts else self._all(address, place)
        progress.report(total=len(texts))
        who = progress.task.who
        checking = CancellationCheck(progress)

        def copy(sources: SourcePool, text: str) -> _Outcome:
            try:
                label = parse(text)
                # That an archive lists an item gives it nobody's Copy: its Original is asked.
                others = not texts and self._copies.is_from_elsewhere(label, address)
                given = "" if others else address
                return self._copies.copy(sources, label, who, given, checking.report)
            except StorageError:
                raise
            except IbiError as fault:
                return str(fault)

        tally = self._each(progress, batches, copy)
        if tally.failed:
            first = tally.faults[0]
            msg = (
                f"{tally.failed} of {tally.done} items could not be copied. "
                f"The first is {first['item']}: {first['fault']}"
            )
            raise StateError(msg)

    def _copy_one(self, progress: TaskProgress, text: str, address: str) -> None:
        tally = CopyTally()
        with SourcePool(self._open_source) as sources:
            outcome = self._copies.copy(
                sources,
                parse(text),
                progress.task.who,
                address,
                lambda done, total: progress.report(done=done, total=total),
            )
        tally.add(text, outcome)
        self._copies.recount()
        progress.report(result=asdict(tally))

    def refresh(self, progress: TaskProgress) -> None:
        """Compare every Copy with its Original, unless that was done since the task was begun."""
        who = progress.task.who
        checking = CancellationCheck(progress)

        def refresh(sources: SourcePool, text: str) -> _Outcome:
            return self._copies.refresh(sources, parse(text), who, checking.report)

        progress.report(total=self._copies.take_stock())
        self._each(progress, self._due(progress.task.begun), refresh)

    def begin_if_due(self, tasks: Tasks, hours: int) -> None:
        """Begin to refresh, if there is anything and it was not done for so many hours."""
        if self._copies.take_stock() and hours and tasks.is_due("refresh", hours * _HOUR):
            tasks.begin("refresh", {}, "schedule")

    def _each(
        self,
        progress: TaskProgress,
        batches: Iterable[tuple[str, Sequence[str]]],
        do: Callable[[SourcePool, str], _Outcome],
    ) -> CopyTally:
        """Do something for each label of each batch; after a batch, its place is reached."""
        tally = CopyTally(**progress.result)
        with (
            SourcePool(self._open_source) as sources,
            ThreadPoolExecutor(THREADS, "ibi-copy") as pool,
        ):
            for place, batch in batches:
                outcomes = pool.map(partial(do, sources), batch)
                for text, outcome in zip(batch, outcomes, strict=True):
                    tally.add(text, outcome)
                self._copies.recount()
                total = max(progress.task.total, tally.done)
                progress.report(place=place, done=tally.done, total=total, result=asdict(tally))
        return tally

    def _all(self, address: str, place: str) -> Iterator[tuple[str, Sequence[str]]]:
        with closing(self._open_listing(address)) as listing:
            while place != _END:
                labels, after = listing.holdings(place)
                if after == place != "":
                    raise StateError(f"The list of the archive at {address} has no end.")
                place = after or _END
                yield place, labels

    def _due(self, before: int) -> Iterator[tuple[str, Sequence[str]]]:
        last: Sequence[str] = ()
        while (labels := self._copies.due(before, _BATCH)) and labels != last:
            yield "", labels
            last = labels  # a clock that was set back would never let them be done


def _named(texts: Sequence[str], place: str) -> Iterator[tuple[str, Sequence[str]]]:
    for start in range(int(place or 0), len(texts), _BATCH):
        yield str(start + _BATCH), texts[start : start + _BATCH]


class CancellationCheck:
    """Lets threads that copy see whether the task is still wanted; they take turns."""

    def __init__(self, progress: TaskProgress) -> None:
        """Ask on behalf of one task."""
        self._progress = progress
        self._lock = Lock()

    def report(self, _done: int, _total: int) -> None:
        """Raise if the work is to end."""
        with self._lock:
            self._progress.report()
