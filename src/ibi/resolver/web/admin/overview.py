"""The first page of operators: archives and what needs a person; traffic; the history."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Final
from urllib.parse import urlencode

from starlette.responses import Response

from ibi.errors import LabelError, Sentence
from ibi.foundation.pages.administration import ADMIN, AdminSite
from ibi.foundation.pages.figures_view import (
    Column,
    FiguresView,
    Span,
    count,
    figures_view,
    highest,
    level,
    share,
    slowest,
    span_of,
    wanted,
)
from ibi.foundation.web.page_operations import PageRequest
from ibi.identifier.label import parse
from ibi.model.clock import SECOND, Clock
from ibi.model.figures import HOUR, FigureStore, Tally, total
from ibi.model.registration import ArchiveState, RegisteredArchive
from ibi.resolver.ports.store import ArchiveStore, DigestProgress, EventChoice, RegistryEvent
from ibi.resolver.registry.registry import Registry
from ibi.resolver.search.conflicts import Conflicts
from ibi.resolver.web.admin.tabs import AUDIT_LOG, FIGURES
from ibi.resolver.web.figures import CACHED, REQUESTS, RESOLUTIONS
from ibi.resolver.web.metrics import BOUNDS

_LAST_ACTS: Final = 5
_PAGE: Final = 50
"""Lines of a page of the history."""
_DAY: Final = 86_400
FILTERS: Final = ("who", "act", "archive")
"""The filters of the history."""
PLOTS: Final[Sequence[Sequence[Column]]] = (
    (
        Column(Sentence("Resolutions"), "number", count(RESOLUTIONS)),
        Column(Sentence("From the cache"), "number", count(CACHED)),
    ),
    (Column(Sentence("Hit rate of the cache"), "percent", share(CACHED, RESOLUTIONS)),),
    (Column(Sentence("Time to answer, 99 of 100"), "milliseconds", slowest(REQUESTS, BOUNDS)),),
    (
        Column(Sentence("Not found (404)"), "number", count("status.404")),
        Column(Sentence("An archive did not answer (503)"), "number", count("status.503")),
    ),
    (
        Column(Sentence("Conflict (409)"), "number", count("status.409")),
        Column(Sentence("Deleted (410)"), "number", count("status.410")),
    ),
    (
        Column(Sentence("Archives that answer"), "number", level("archives.answering")),
        Column(Sentence("Archives that are down"), "number", highest("archives.down")),
    ),
    (Column(Sentence("Endless chains (508)"), "number", count("status.508")),),
    (Column(Sentence("Age of the oldest digest, in seconds"), "number", highest("digest.age")),),
)
"""The columns of each plot."""


@dataclass(frozen=True, slots=True)
class ArchiveRow:
    """An archive, and what is known of its answers."""

    archive: RegisteredArchive
    name: str
    seconds: float | None
    """How long it takes to answer; None before it has answered to this process."""
    digest: DigestProgress | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OverviewView:
    """The archives, what needs a person, and the traffic of the last day."""

    archives: list[ArchiveRow]
    pending: int
    conflicts: int
    today: Tally
    """The last 24 hours."""
    figures: FiguresView
    events: list[RegistryEvent]

    @property
    def answering(self) -> int:
        """How many archives answer."""
        return sum(row.archive.state is ArchiveState.INCLUDED for row in self.archives)

    @property
    def down(self) -> int:
        """How many archives do not answer."""
        return sum(row.archive.state is ArchiveState.DOWN for row in self.archives)

    @property
    def troubles(self) -> int:
        """How many things a person has to look at."""
        return self.pending + self.conflicts + self.down

    def rate(self, name: str) -> int:
        """Return which percentage of the requests of the last day a count is."""
        return share(name, REQUESTS)(self.today)

    @property
    def hit_rate(self) -> int:
        """The percentage of the resolutions of the last day from the cache."""
        return share(CACHED, RESOLUTIONS)(self.today)

    @property
    def slowest(self) -> int:
        """The milliseconds in which 99 of 100 requests of the last day were answered."""
        return slowest(REQUESTS, BOUNDS)(self.today)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditLogView:
    """A page of the history, the newest first."""

    events: list[RegistryEvent]
    acts: list[str]
    """All acts that the history has."""
    filled: Mapping[str, str]
    """The filters, as they were typed."""
    fault: str
    """Why a filter cannot be used; empty if it can."""
    older: str
    """The path of the next page; empty on the last."""
    newest: str
    """The path of the first page; empty on it."""


class OverviewPages:
    """Handlers of the first page, of the figures, and of the history."""

    def __init__(  # noqa: PLR0913, PLR0917  # what it shows
        self,
        site: AdminSite,
        registry: Registry,
        history: ArchiveStore,
        conflicts: Conflicts,
        digest: Callable[[str], DigestProgress | None],
        name: Callable[[str], str],
        figures: FigureStore,
        clock: Clock,
    ) -> None:
        """Show one resolver; `digest` and `name` return those of an archive."""
        self._site = site
        self._registry = registry
        self._history = history
        self._conflicts = conflicts
        self._digest = digest
        self._name = name
        self._figures = figures
        self._clock = clock

    async def overview(self, request: PageRequest) -> Response:
        """Show the state of everything."""
        span = span_of(request.query_params.get("span", ""))
        archives = self._registry.all()
        now = self._clock.wall() // SECOND
        recent = await asyncio.to_thread(self._figures.periods, HOUR, now - _DAY, now)
        view = OverviewView(
            archives=[
                self._row(each) for each in archives if each.state is not ArchiveState.PENDING
            ],
            pending=sum(each.state is ArchiveState.PENDING for each in archives),
            conflicts=await self._conflicts.count_open(),
            today=total(period.tally for period in recent),
            figures=await asyncio.to_thread(self._view, span),
            events=await asyncio.to_thread(self._history.newest_events, 0, _LAST_ACTS),
        )
        return self._site.page(request, "admin_overview.html", view, ADMIN)

    def _row(self, archive: RegisteredArchive) -> ArchiveRow:
        seconds = self._registry.response_times.of(archive.id)
        return ArchiveRow(archive, self._name(archive.id), seconds, self._digest(archive.id))

    async def figures(self, request: PageRequest) -> Response:
        """Show the figures of a span, as plots and as a table."""
        span = span_of(request.query_params.get("span", ""))
        view = await asyncio.to_thread(self._view, span)
        return self._site.page(request, "admin_figures.html", view, FIGURES)

    def _view(self, span: Span) -> FiguresView:
        now = self._clock.wall() // SECOND
        return figures_view(PLOTS, self._figures.periods(*wanted(span, now)), span, now)

    def _events(self, before: int, choice: EventChoice) -> list[RegistryEvent]:
        """Return events, those of an account also by its name without @."""
        found = self._history.newest_events(before, _PAGE + 1, choice)
        if found or not choice.who or choice.who.startswith("@"):
            return found
        account = replace(choice, who=f"@{choice.who}")
        return self._history.newest_events(before, _PAGE + 1, account)

    async def audit_log(self, request: PageRequest) -> Response:
        """Show a page of the history."""
        given = request.query_params
        text = given.get("before", "")
        before = min(int(text), 2**62) if text.isascii() and text.isdigit() and text else 0
        filled = {name: given[name].strip() for name in FILTERS if given.get(name, "").strip()}
        fault, found = "", list[RegistryEvent]()
        try:
            archive = parse(filled["archive"]).canonical if "archive" in filled else ""
            choice = EventChoice(
                who=filled.get("who", ""), act=filled.get("act", ""), archive=archive
            )
            found = await asyncio.to_thread(self._events, before, choice)
        except LabelError as error:
            fault = error.message()
        shown, query = found[:_PAGE], urlencode(filled)
        older = f"{AUDIT_LOG}?{urlencode({**filled, 'before': shown[-1].number})}" if shown else ""
        view = AuditLogView(
            events=shown,
            acts=await asyncio.to_thread(self._history.acts),
            filled=filled,
            fault=fault,
            older=older if len(found) > _PAGE else "",
            newest=(f"{AUDIT_LOG}?{query}" if query else AUDIT_LOG) if before else "",
        )
        status = HTTPStatus.BAD_REQUEST if fault else HTTPStatus.OK
        return self._site.page(request, "admin_audit_log.html", view, AUDIT_LOG, status)
