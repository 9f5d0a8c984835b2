"""The figures of an archive over time: what its processes read of their counters once a minute."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from ibi.archive.archive import Archive
from ibi.archive.fixity.damage_log import DamageLog
from ibi.archive.web.metrics import ArchiveMetrics
from ibi.archive.web.usage_recorder import UsageCounter
from ibi.foundation.figures.recorder import Readings

DEPOSITS: Final = "deposits"
LABELS: Final = "labels"
"""Labels that were minted."""
VIEWS: Final = "views"
"""Readers of pages of items, as the statistics count them."""
DOWNLOADS: Final = "downloads"
ITEMS: Final = "items"
FILES: Final = "files"
SIZE: Final = "bytes"
"""Bytes of all files that are kept."""
TASKS: Final = "tasks"
"""Tasks that have not ended."""
DAMAGED: Final = "damaged"
"""Files that are known to be damaged."""


class ArchiveReadings:
    """Reads the counters of the process that changes the archive."""

    def __init__(  # noqa: PLR0913  # what it reads
        self,
        archive: Archive,
        metrics: ArchiveMetrics,
        damages: DamageLog,
        usage: UsageCounter,
        count_labels: Callable[[], int],
        *,
        counts_requests: bool,
    ) -> None:
        """`counts_requests` unless all requests come through other processes, which count them."""
        self._archive = archive
        self._metrics = metrics
        self._damages = damages
        self._usage = usage
        self._count_labels = count_labels
        self._counts_requests = counts_requests

    async def read(self) -> Readings:
        """Read everything."""
        requests = self._metrics.readings() if self._counts_requests else Readings()
        counts = {
            **requests.counts,
            DEPOSITS: self._archive.made["deposit"],
            LABELS: self._count_labels(),
            VIEWS: self._usage.views,
            DOWNLOADS: self._usage.downloads,
        }
        return Readings(counts, requests.durations, await asyncio.to_thread(self._levels))

    def _levels(self) -> dict[str, int]:
        catalogue = self._archive.catalogue
        totals = catalogue.statistics.totals()
        return {
            ITEMS: totals.items,
            FILES: totals.files,
            SIZE: totals.size,
            TASKS: len(catalogue.tasks.unfinished()),
            DAMAGED: self._damages.count,
        }
