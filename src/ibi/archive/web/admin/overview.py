"""The first page of administrators: what needs a person, and the figures of the last months."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from starlette.responses import Response

from ibi.archive.fixity.audit_schedule import WHOLE
from ibi.archive.health import Health
from ibi.archive.ports.catalogue import Catalogue, HistoryEntry
from ibi.archive.ports.statistics import Totals
from ibi.archive.resolver_links.linking import Linking
from ibi.archive.rules.announcement import Link
from ibi.archive.tasks import Tasks
from ibi.archive.web.admin.tabs import FIGURES
from ibi.archive.web.figures import DEPOSITS, DOWNLOADS, LABELS, SIZE, VIEWS
from ibi.archive.web.metrics import BOUNDS, REQUESTS
from ibi.errors import Sentence
from ibi.foundation.pages.administration import ADMIN, AdminSite
from ibi.foundation.pages.figures_view import (
    Column,
    FiguresView,
    Span,
    count,
    figures_view,
    level,
    slowest,
    span_of,
    wanted,
)
from ibi.foundation.system.disk import Room, room_of
from ibi.foundation.web.page_operations import PageRequest
from ibi.minting.stretch_allocator import MinterHealth
from ibi.model.clock import SECOND, Clock
from ibi.model.figures import DAY
from ibi.model.finding import Finding
from ibi.model.task import Task

_LAST_ACTS: Final = 5
PLOTS: Final[Sequence[Sequence[Column]]] = (
    (
        Column(Sentence("Views"), "number", count(VIEWS)),
        Column(Sentence("Downloads"), "number", count(DOWNLOADS)),
    ),
    (
        Column(Sentence("Deposits"), "number", count(DEPOSITS)),
        Column(Sentence("Labels minted"), "number", count(LABELS)),
    ),
    (Column(Sentence("Storage"), "size", level(SIZE)),),
    (Column(Sentence("Time to answer, 99 of 100"), "milliseconds", slowest(REQUESTS, BOUNDS)),),
    (
        Column(Sentence("Requests"), "number", count(REQUESTS)),
        Column(Sentence("Not found"), "number", count("status.404")),
    ),
)
"""The columns of each plot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OverviewView:
    """What needs a person, and the state of everything else."""

    findings: list[Finding]
    has_looked_up: bool
    """Whether the names of hosts were looked up for this page."""
    totals: Totals
    room: Room
    """Of the disk with the files."""
    audit: Task | None
    """The last audit of the whole archive."""
    damaged: int
    links: list[Link]
    minting: MinterHealth
    labels_today: int
    running: list[Task]
    figures: FiguresView
    acts: list[HistoryEntry]

    @property
    def troubles(self) -> list[Finding]:
        """The findings that are not in order."""
        return [each for each in self.findings if each.verdict != "ok"]

    @property
    def included(self) -> int:
        """How many resolvers include the archive."""
        return sum(link.state == "included" for link in self.links)


class OverviewPages:
    """Handlers of the first page, and of the figures."""

    def __init__(  # noqa: PLR0913, PLR0917  # what it shows
        self,
        site: AdminSite,
        catalogue: Catalogue,
        health: Health,
        linking: Linking,
        tasks: Tasks,
        minting: Callable[[], MinterHealth],
        clock: Clock,
    ) -> None:
        """Show the state of one archive."""
        self._site = site
        self._catalogue = catalogue
        self._health = health
        self._linking = linking
        self._tasks = tasks
        self._minting = minting
        self._clock = clock

    async def overview(self, request: PageRequest) -> Response:
        """Show the state of everything."""
        span = span_of(request.query_params.get("span", ""))
        looks_up = request.query_params.get("names") == "1"
        view = await asyncio.to_thread(self._overview, span, looks_up=looks_up)
        return self._site.page(request, "admin_overview.html", view, ADMIN)

    async def figures(self, request: PageRequest) -> Response:
        """Show the figures of a span, as plots and as a table."""
        span = span_of(request.query_params.get("span", ""))
        view = await asyncio.to_thread(self._figures, span)
        return self._site.page(request, "admin_figures.html", view, FIGURES)

    def _overview(self, span: Span, *, looks_up: bool) -> OverviewView:
        catalogue, now = self._catalogue, self._clock.wall()
        today = catalogue.figures.periods(DAY, DAY.start(now), now // SECOND)
        return OverviewView(
            findings=self._health.findings(looks_up=looks_up),
            has_looked_up=looks_up,
            totals=catalogue.statistics.totals(),
            room=room_of(self._health.places.root),
            audit=next(iter(self._tasks.newest(1, WHOLE)), None),
            damaged=catalogue.statistics.maintenance_counts().damaged,
            links=self._linking.all(),
            minting=self._minting(),
            labels_today=sum(each.tally.counts.get(LABELS, 0) for each in today),
            running=catalogue.tasks.unfinished(),
            figures=self._figures(span),
            acts=catalogue.history.entries(0, _LAST_ACTS, newest_first=True),
        )

    def _figures(self, span: Span) -> FiguresView:
        now = self._clock.wall() // SECOND
        periods = self._catalogue.figures.periods(*wanted(span, now))
        return figures_view(PLOTS, periods, span, now)
