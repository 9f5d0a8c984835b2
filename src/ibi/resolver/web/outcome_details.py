"""What pages tell beyond a decision: names of archives, tombstones, and labels that were meant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from starlette.requests import Request

from ibi.errors import TooManyRequestsError
from ibi.identifier.label import Label
from ibi.model.registration import RegisteredArchive
from ibi.resolver.digests.meant_labels import MeantLabels
from ibi.resolver.rules.archive_site import site_of
from ibi.resolver.rules.decision import Gone, NotFound, Unsure
from ibi.resolver.rules.resolution import Resolution
from ibi.resolver.search.archive_names import ArchiveNames
from ibi.resolver.search.tombstones import Tombstones
from ibi.resolver.web.search_limits import SearchLimits
from ibi.resolver.web.search_views import ListedArchive, NamedArchive
from ibi.resolver.web.views import DeletedItem

MAX_LISTED: Final = 6
"""Archives on the front page."""


class OutcomeDetails:
    """Finds the details of outcomes; each is left out if it does not come in time."""

    def __init__(
        self,
        names: ArchiveNames,
        tombstones: Tombstones,
        meant: MeantLabels,
        limits: SearchLimits,
        largest: Callable[[], list[tuple[RegisteredArchive, int]]],
    ) -> None:
        """Ask archives and digests; `largest` returns archives with the numbers of their labels."""
        self._largest = largest
        self.names = names
        self._tombstones = tombstones
        self._meant = meant
        self._limits = limits

    def largest(self) -> tuple[ListedArchive, ...]:
        """Return the archives with the most labels, for the front page."""
        return tuple(
            ListedArchive(
                archive=NamedArchive.of(archive, self.names.of(archive.id)),
                labels=labels,
                is_down=archive.outage is not None,
            )
            for archive, labels in self._largest()[:MAX_LISTED]
        )

    async def deleted(self, resolution: Resolution, request: Request) -> DeletedItem | None:
        """Return what an archive says of a deleted item; None if none was, or says nothing."""
        outcome, label = resolution.outcome, resolution.last.question.label
        if not isinstance(outcome, Gone):
            return None
        evidence = resolution.last.evidence
        by_trust = sorted((each.archive for each in outcome.answers), key=evidence.rank)
        try:
            found = await self._tombstones.find(
                label, by_trust, lambda messages: self._limits.charge(request, messages)
            )
        except TooManyRequestsError:
            return None
        if found is None:
            return None
        archive, tombstone = found
        return DeletedItem(
            label=label,
            archive=NamedArchive.of(archive, self.names.of(archive.id)),
            tombstone=tombstone,
            address=f"{site_of(archive.address)}/{label.spelling}",
        )

    async def meant(self, resolution: Resolution, request: Request) -> tuple[str, ...]:
        """Return labels that archives have, for people who perhaps meant one of them."""
        is_for_people = "text/html" in request.headers.get("accept", "")
        if not is_for_people or not isinstance(resolution.outcome, NotFound | Unsure):
            return ()
        return await self.near(resolution.last.question.label)

    async def near(self, label: Label) -> tuple[str, ...]:
        """Return labels that archives list, near one that none lists."""
        return tuple(each.spelling for each in await self._meant.find(label))
