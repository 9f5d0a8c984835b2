"""The routes for readers: redirects, and pages that explain why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final
from urllib.parse import unquote_to_bytes

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.errors import ReadingError, Sentence
from ibi.foundation.pages.api_reference import ApiView
from ibi.foundation.pages.links import IMPRINT
from ibi.foundation.pages.static_files import static_routes
from ibi.foundation.pages.templates import ProblemView
from ibi.foundation.translation.language import in_one_language, page_language
from ibi.foundation.web.header_values import uri
from ibi.foundation.web.json_response import json_answer
from ibi.foundation.web.problems import MEDIA_TYPE, Problem
from ibi.identifier.description import describe
from ibi.identifier.instant import Instant, instant_of
from ibi.identifier.language_preference import LanguagePreference
from ibi.identifier.persistent_url import PersistentUrl
from ibi.model.clock import Clock
from ibi.model.registration import ArchiveState
from ibi.resolver.registry.registry import Registry
from ibi.resolver.rules.foreign_identifiers import onward
from ibi.resolver.rules.redirect_target import with_pairs
from ibi.resolver.rules.resolution import Resolution
from ibi.resolver.search.conflicts import Conflicts
from ibi.resolver.web.explanation import Explanation
from ibi.resolver.web.explanation_builder import explain
from ibi.resolver.web.metrics import ResolverMetrics
from ibi.resolver.web.outcome_details import OutcomeDetails
from ibi.resolver.web.page_responses import (
    PAGE_HEADERS,
    page_response,
    preference_in,
    shared_page_response,
)
from ibi.resolver.web.pages import ResolverPages
from ibi.resolver.web.pasted_text import what_is
from ibi.resolver.web.protocol import InclusionEndpoint
from ibi.resolver.web.redirect import (
    LONGEST_URL,
    RedirectEndpoint,
    question_of,
    target_of,
    wanted_of,
)
from ibi.resolver.web.search_views import SearchView
from ibi.resolver.web.views import (
    ArchivesView,
    DeletedItem,
    ExplainView,
    OutcomeView,
    ResolverHomeView,
    ServiceView,
    counted,
)
from ibi.wire.percent_encoding import text_of

RETRY_AFTER: Final = 5
"""Seconds after which an archive that did not answer may."""
_OWN_LABEL: Final = "It is the label of this resolver service."
_ROBOTS: Final = "User-agent: *\nDisallow: /api/\nDisallow: /explain\nDisallow: /search\n"


class Resolved(msgspec.Struct, frozen=True):
    """Where a persistent URL leads."""

    asked: str
    outcome: str
    because: str
    location: str


class ServiceFacts(msgspec.Struct, frozen=True):
    """The resolver service, at its own label."""

    service_ibi: str
    address: str
    archives: int
    """The number of archives in service."""


class OutcomeProblem(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why a persistent URL leads nowhere, as a problem document (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    asked: str
    archives: tuple[str, ...] = ()
    """The archives concerned: claimants, those that deleted or have the item, or silent ones."""
    chain: tuple[str, ...] = ()
    formats: tuple[str, ...] = ()
    retry_after: int = 0
    tombstone: str = ""
    """The address of the tombstone of a deleted item, of which the following are facts."""
    item_title: str = ""
    deleted: str = ""
    who: str = ""
    reason: str = ""
    replaced_by: str = ""


class ResolverPublicRoutes:
    """Handlers of the routes for readers."""

    def __init__(  # noqa: PLR0913, PLR0917  # its parts
        self,
        base: str,
        gateways: Mapping[str, str],
        resolving: RedirectEndpoint,
        inclusion: InclusionEndpoint,
        registry: Registry,
        conflicts: Conflicts,
        details: OutcomeDetails,
        clock: Clock,
        pages: ResolverPages,
        metrics: ResolverMetrics,
    ) -> None:
        """Resolve below the public address `base`."""
        self._base = base
        self._gateways = gateways
        self._resolving = resolving
        self._inclusion = inclusion
        self._registry = registry
        self._conflicts = conflicts
        self._details = details
        self._clock = clock
        self._pages = pages
        self._metrics = metrics

    @property
    def routes(self) -> list[Route]:
        """Return the routes; the last one matches every path."""
        return [
            Route("/", self.home),
            Route("/archives", self.archives),
            Route("/explain", self.explain),
            *static_routes(self._pages.site_files),
            Route(IMPRINT, self.imprint),
            Route("/robots.txt", self.robots),
            Route("/{rest:path}", self.persistent),
        ]

    async def home(self, request: Request) -> Response:
        """Show the front page, and what a pasted text is."""
        text = request.query_params.get("q", "")
        pasted = what_is(text[:LONGEST_URL], self._now()) if text.strip() else None
        view = ResolverHomeView(
            archives=counted(self._registry.all()), listed=self._details.largest(), pasted=pasted
        )
        page = self._pages.home(view, preference_in(request), target_of(request))
        return page_response(page) if pasted else shared_page_response(page)

    async def archives(self, request: Request) -> Response:
        """List the archives."""
        count = await self._conflicts.count_open()
        known = tuple(
            archive for archive in self._registry.all() if archive.state is not ArchiveState.PENDING
        )
        names = {each.id: self._details.names.of(each.id) for each in known}
        now = self._clock.wall()
        view = ArchivesView(archives=known, now=now, open_conflicts=count, names=names)
        page = self._pages.archives(view, preference_in(request), target_of(request))
        return shared_page_response(page)

    async def imprint(self, request: Request) -> Response:
        """Show the imprint; without one this path is as unknown as any other."""
        page = self._pages.imprint(preference_in(request), target_of(request))
        if page is None:
            raise HTTPException(HTTPStatus.NOT_FOUND)
        return shared_page_response(page)

    def show_api(self, view: ApiView, request: Request) -> Response:
        """Show the description of the API, or of one part of it."""
        page = self._pages.api(view, preference_in(request), target_of(request))
        return shared_page_response(page)

    async def robots(self, _: Request) -> Response:
        """Exclude robots from searches among all archives, and from nothing else."""
        headers = {"Cache-Control": "public, max-age=3600"}
        return Response(_ROBOTS, headers=headers, media_type="text/plain")

    async def persistent(self, request: Request) -> Response:
        """Answer a persistent URL, an identifier of another system, or an archive."""
        if self._inclusion.is_for(request):
            return await self._inclusion.serve(request)
        if self._inclusion.is_named(request):
            return self._service(request)
        elsewhere = onward(target_of(request), self._gateways)
        if elsewhere is not None:
            headers = {"Location": uri(elsewhere), "Cache-Control": "public, max-age=3600"}
            return Response(status_code=HTTPStatus.FOUND, headers=headers)
        try:
            wanted = wanted_of(request, self._base, self._now())
        except ReadingError:
            if "text/html" not in request.headers.get("accept", ""):
                raise
            return self._unreadable(request)
        found = await self._resolving.answer(request, wanted)
        if isinstance(found, Response):
            self._metrics.observe_outcome("redirect")
            return found
        explanation = self._explained(found)
        self._metrics.observe_outcome(explanation.outcome)
        return self._nowhere(await self._outcome(explanation, found, request), request)

    def _unreadable(self, request: Request) -> Response:
        """Explain an address as if its path had been pasted, with the field to write it again."""
        path = request.scope["raw_path"].lstrip(b"/")
        pasted = what_is(text_of(unquote_to_bytes(path))[:LONGEST_URL], self._now())
        page = self._pages.search(
            SearchView(pasted=pasted), preference_in(request), target_of(request)
        )
        return page_response(page, HTTPStatus.BAD_REQUEST)

    async def api_resolve(self, request: Request) -> Response:
        """Answer where a persistent URL leads; no access is counted."""
        wanted, question = question_of(request)
        service = self._inclusion.service
        if wanted == PersistentUrl(service):
            location = f"{self._base}/{service.spelling}"
            return json_answer(Resolved(service.spelling, "redirect", _OWN_LABEL, location))
        resolution = await self._resolving.resolve(request, question)
        explanation = self._explained(resolution)
        if explanation.outcome != "redirect":
            view = await self._outcome(explanation, resolution, request)
            return _problem(view, preference_in(request))
        location = with_pairs(explanation.location, wanted.passed_on)
        return json_answer(Resolved(explanation.asked, "redirect", explanation.because, location))

    async def api_explain(self, request: Request) -> Response:
        """Answer the archives asked, their answers, the hops and the choice."""
        _, question = question_of(request)
        resolution = await self._resolving.resolve(request, question, ask_all=True)
        return json_answer(self._explained(resolution))

    async def explain(self, request: Request) -> Response:
        """Show the same as a page."""
        _, question = question_of(request)
        resolution = await self._resolving.resolve(request, question, ask_all=True)
        explanation = self._explained(resolution)
        description = describe(explanation.label, strict=True, now=self._now())
        meant = await self._details.meant(resolution, request)
        view = ExplainView(explanation=explanation, description=description, meant=meant)
        return page_response(self._pages.explain(view, preference_in(request), target_of(request)))

    def _service(self, request: Request) -> Response:
        """Show what the resolver service is: as a page, or as JSON."""
        view = ServiceView(
            service=self._inclusion.service,
            address=self._base,
            archives=counted(self._registry.all()),
        )
        accepted = request.headers.get("accept", "")
        if "application/json" in accepted and "text/html" not in accepted:
            included = view.archives.get(ArchiveState.INCLUDED, 0)
            return json_answer(ServiceFacts(view.service.spelling, view.address, included))
        page = self._pages.service(view, preference_in(request), target_of(request))
        return shared_page_response(page)

    def problem(self, problem: Problem, request: Request) -> Response:
        """Show an error as a page."""
        view = ProblemView.of(problem)
        page = self._pages.problem(view, preference_in(request), target_of(request))
        return page_response(page, problem.status)

    def _explained(self, resolution: Resolution) -> Explanation:
        return explain(resolution, self._registry.find, self._details.names.of)

    def _nowhere(self, view: OutcomeView, request: Request) -> Response:
        """Answer why there is no redirect: as a page, a plain text, or a problem document."""
        preference = preference_in(request)
        accepted = request.headers.get("accept", "")
        if "text/html" in accepted:
            page = self._pages.outcome(view, preference, target_of(request))
            response = page_response(page, view.status)
        elif "text/plain" in accepted:
            text = self._pages.plain_outcome(view, preference)
            headers = {**PAGE_HEADERS, "Content-Language": str(page_language(preference))}
            response = Response(text, view.status, headers, "text/plain")
        else:
            response = _problem(view, preference)
        if view.retry_after:
            response.headers["Retry-After"] = str(view.retry_after)
        return response

    async def _outcome(
        self, explanation: Explanation, resolution: Resolution, request: Request
    ) -> OutcomeView:
        description = describe(explanation.label, strict=True, now=self._now())
        retry_after = RETRY_AFTER if explanation.outcome == "unsure" else 0
        return OutcomeView(
            explanation=explanation,
            description=description,
            retry_after=retry_after,
            deleted=await self._details.deleted(resolution, request),
            meant=await self._details.meant(resolution, request),
        )

    def _now(self) -> Instant:
        return instant_of(self._clock.wall())


def _tombstone_facts(deleted: DeletedItem | None) -> tuple[str, ...]:
    if deleted is None:
        return ()
    said = deleted.tombstone
    replaced_by = said.replaced_by.spelling if said.replaced_by else ""
    return deleted.address, said.title, said.deleted, said.who, said.reason, replaced_by


def _problem(view: OutcomeView, reader: LanguagePreference) -> Response:
    explanation = view.explanation
    missing = (
        Sentence("In no archive: %(label)s.", label=explanation.missing)
        if explanation.missing
        else ""
    )
    (title, *details), language = in_one_language(
        (view.words.heading, explanation.because, missing, view.words.advice), reader
    )
    problem = OutcomeProblem(
        f"urn:ibi:problem:{explanation.outcome}",
        title,
        view.status,
        " ".join(filter(None, details)),
        explanation.asked,
        tuple(each.archive for each in view.concerned),
        explanation.chain if explanation.outcome in {"loop", "endless"} else (),
        view.formats,
        view.retry_after,
        *_tombstone_facts(view.deleted),
    )
    headers = {**PAGE_HEADERS, "Content-Language": language}
    response = Response(msgspec.json.encode(problem), view.status, headers, MEDIA_TYPE)
    if view.retry_after:
        response.headers["Retry-After"] = str(view.retry_after)
    return response
