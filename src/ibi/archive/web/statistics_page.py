"""The statistics of an archive as a page: what came, what is kept, and how often it is read."""

from __future__ import annotations

import asyncio
import re
from http import HTTPStatus
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.archive.ports.statistics import Statistics
from ibi.archive.rules.calendar import day_of, monthly
from ibi.archive.web.page_response import here, page_response, preference
from ibi.archive.web.pages import STATISTICS, Pages
from ibi.archive.web.statistics_view import StatisticsView, statistics_view
from ibi.model.clock import SECOND, Clock

_DAY: Final = 86_400 * SECOND
_YEAR: Final = re.compile(r"[0-9]{4}")


class StatisticsPage:
    """Handler of the page."""

    def __init__(self, statistics: Statistics, clock: Clock, pages: Pages) -> None:
        """Show the statistics of a catalogue."""
        self._statistics = statistics
        self._clock = clock
        self._pages = pages

    @property
    def routes(self) -> list[Route]:
        """The route."""
        return [Route(STATISTICS, self.show)]

    async def show(self, request: Request) -> Response:
        """Answer with the last twelve months, or those of a year."""
        year = request.query_params.get("year", "")
        if year and not _YEAR.fullmatch(year):
            raise HTTPException(HTTPStatus.NOT_FOUND)
        view = await asyncio.to_thread(self._view, year)
        if not view.months:
            raise HTTPException(HTTPStatus.NOT_FOUND)
        return page_response(self._pages.statistics(view, preference(request), here(request)))

    def _view(self, year: str) -> StatisticsView:
        today = day_of(self._clock.wall() // _DAY).isoformat()
        is_whole = self._statistics.is_whole()
        months = monthly(self._statistics.months(), today)
        return statistics_view(months, year, is_whole=is_whole)
