"""Builds what harvesters read: OAI-PMH and the feed of changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from starlette.routing import Route

from ibi.archive.archive import Archive
from ibi.archive.harvest.change_feed import ChangeFeed
from ibi.archive.harvest.harvest import Harvest, HarvestSettings
from ibi.archive.repeating_thread import RepeatingThread
from ibi.archive.settings import ArchiveSettings
from ibi.archive.web.harvest.changes import ChangesApi
from ibi.archive.web.harvest.oai import PATH, OaiEndpoint
from ibi.archive.web.harvest.queue import HarvestQueue
from ibi.archive.web.urls import ArchiveUrls

_BREATH: Final = 0.02
"""Seconds between two steps of the backfill, in which other work goes on."""


@dataclass(frozen=True, slots=True)
class HarvestParts:
    """What answers harvesters in one process."""

    api: ChangesApi
    routes: list[Route]


def build_harvest(
    archive: Archive, settings: ArchiveSettings, urls: ArchiveUrls, secret: str
) -> HarvestParts:
    """Return what answers harvesters; all processes of an archive seal tokens with one secret."""
    presented = HarvestSettings(
        name=settings.name,
        address=f"{urls.base}{PATH}",
        namespace=settings.oai_host or settings.host,
        administrator=settings.administrator,
        publisher=settings.published_by,
        page=settings.oai_page,
    )
    harvest = Harvest(archive, presented, bytes.fromhex(secret), lambda: urls.persistent_base)
    feed = ChangeFeed(archive, settings.published_by, urls.persistent)
    queue = HarvestQueue(harvest.is_whole)
    return HarvestParts(ChangesApi(feed, queue), OaiEndpoint(harvest, queue).routes)


def harvest_backfill(archive: Archive) -> RepeatingThread:
    """Return the thread that logs the items that are older than the log."""
    return RepeatingThread(
        "ibi-harvest",
        lambda: archive.catalogue.harvest.fill(archive.clock.wall()),
        pause=_BREATH,
        failure="the log of changes cannot be filled",
    )
