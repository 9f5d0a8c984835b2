"""Tasks that copy or refresh many items, a few at a time, in an order that can be resumed.

The time goes into network and disk, not into this processor, so several threads work at once.
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
from ibi.errors import IbiError, Sentence, StateError, StorageError
from ibi.identifier.label import parse
from ibi.model.clock import SECOND

OpenListing: TypeAlias = Callable[[str], PeerListing]
"""Connects to the archive at an address, to list its items."""
_Outcome: TypeAlias = bool | str
"""Whether anything changed, or why the item could not be copied."""

THREADS: Final = 8
_BATCH: Final = 200
_END: Final = "end"
_HOUR: Final = 3600 * SECOND
_MOST_FAULTS: Final = 100
"""The most faults in the result of a task; further ones are only counted."""


@dataclass(slots=True)
class CopyTally:
    """The results of many copies."""

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
        """The number of copies tried."""
        return self.copied + self.current + self.failed


class CopyTasks:
    """Carries out the tasks `copy` and `refresh` of one archive."""

    def __init__(
        self,
        copies: Copies,
        open_source: OpenSource,
        open_listing: OpenListing,
    ) -> None:
        """Copy by `copies`, over connections that these functions open."""
        self._copies = copies
        self._open_source = open_source
        self._open_listing = open_listing

    def copy(self, progress: TaskProgress) -> None:
        """Copy the named items, or all items of an archive."""
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
                # A listing does not replace a Copy from another archive: the Original decides.
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
        """Compare every Copy with its Original, except those compared since the task began."""
        who = progress.task.who
        checking = CancellationCheck(progress)

        def refresh(sources: SourcePool, text: str) -> _Outcome:
            return self._copies.refresh(sources, parse(text), who, checking.report)

        progress.report(total=self._copies.take_stock())
        self._each(progress, self._due(progress.task.begun), refresh)

    def begin_if_due(self, tasks: Tasks, hours: int) -> None:
        """Begin to refresh if there are copies and the last refresh is so many hours ago."""
        if self._copies.take_stock() and hours and tasks.is_due("refresh", hours * _HOUR):
            tasks.begin("refresh", {}, "schedule")

    def _each(
        self,
        progress: TaskProgress,
        batches: Iterable[tuple[str, Sequence[str]]],
        do: Callable[[SourcePool, str], _Outcome],
    ) -> CopyTally:
        """Process each label of each batch; keep the place of a batch when it is done."""
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
                    raise StateError(
                        Sentence(
                            "The list of the archive at %(address)s has no end.", address=address
                        )
                    )
                place = after or _END
                yield place, labels

    def _due(self, before: int) -> Iterator[tuple[str, Sequence[str]]]:
        last: Sequence[str] = ()
        while (labels := self._copies.due(before, _BATCH)) and labels != last:
            yield "", labels
            last = labels  # after a clock was set back, the same labels would be due for ever


def _named(texts: Sequence[str], place: str) -> Iterator[tuple[str, Sequence[str]]]:
    for start in range(int(place or 0), len(texts), _BATCH):
        yield str(start + _BATCH), texts[start : start + _BATCH]


class CancellationCheck:
    """Lets copying threads notice, one at a time, that their task was cancelled."""

    def __init__(self, progress: TaskProgress) -> None:
        """Check one task."""
        self._progress = progress
        self._lock = Lock()

    def report(self, _done: int, _total: int) -> None:
        """Raise if the task was cancelled or interrupted."""
        with self._lock:
            self._progress.report()
