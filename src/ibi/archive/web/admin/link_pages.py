"""The pages of links to resolvers, of minting, and of the settings by which pages look."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus

from starlette.responses import Response

from ibi.archive.resolver_links.linking import Linking
from ibi.archive.rules.announcement import Link
from ibi.archive.settings import ArchiveSettings
from ibi.archive.web.admin.tabs import IDENTITY, MINTING, RESOLVERS
from ibi.errors import IbiError, LabelError, Sentence
from ibi.foundation.accounts.site import see_other
from ibi.foundation.pages.administration import AdminSite, Question
from ibi.foundation.web.page_operations import PageRequest
from ibi.foundation.web.problems import problem_of
from ibi.minting.stretch_allocator import MinterHealth
from ibi.model.clock import Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class LinksView:
    """The links, and the form of a new one."""

    links: list[Link]
    service: str
    """The label of the archive service, which operators of resolvers register."""
    made: Link | None = None
    """The link that was just made, whose key is shown only now."""
    filled: Mapping[str, str] = field(default_factory=dict)
    faults: Mapping[str, str] = field(default_factory=dict)

    def value(self, name: str) -> str:
        """Return what was typed into a field."""
        return self.filled.get(name, "")

    def fault(self, name: str) -> str:
        """Return the fault of a field; empty if there is none."""
        return self.faults.get(name, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class MintingView:
    """The state of the minter and of its clock."""

    health: MinterHealth
    now: int
    """In nanoseconds of POSIX time."""
    host: str
    port: int
    ip: str
    granularity: str
    """As the settings have it."""


class LinkPages:
    """Handlers of these pages."""

    def __init__(  # noqa: PLR0913, PLR0917  # what it shows
        self,
        site: AdminSite,
        linking: Linking,
        settings: ArchiveSettings,
        service: str,
        minting: Callable[[], MinterHealth],
        clock: Clock,
    ) -> None:
        """Show one archive, whose service has a label."""
        self._site = site
        self._linking = linking
        self._settings = settings
        self._service = service
        self._minting = minting
        self._clock = clock

    async def links(self, request: PageRequest) -> Response:
        """Show the links."""
        view = await self._links_view()
        return self._site.page(request, "admin_resolvers.html", view, RESOLVERS)

    async def _links_view(
        self,
        made: Link | None = None,
        filled: Mapping[str, str] | None = None,
        faults: Mapping[str, str] | None = None,
    ) -> LinksView:
        links = await asyncio.to_thread(self._linking.all)
        return LinksView(
            links=links,
            service=self._service,
            made=made,
            filled=filled or {},
            faults=faults or {},
        )

    async def link(self, request: PageRequest) -> Response:
        """Link the archive to a resolver, and show the key, once."""
        names = ("resolver", "key", "service")
        filled = {name: request.fields.get(name).strip() for name in names}
        try:
            made = await asyncio.to_thread(
                self._linking.link,
                filled["resolver"],
                filled["key"],
                filled["service"],
                request.visitor.actor,
            )
        except IbiError as error:
            problem, _ = problem_of(error)
            fault = problem.detail or problem.title
            faulty = _faulty_field(error, filled)
            shown = {**filled, "key": ""}  # a secret is not repeated
            view = await self._links_view(None, shown, {faulty: fault})
            status = HTTPStatus(problem.status)
            return self._site.page(request, "admin_resolvers.html", view, RESOLVERS, status)
        view = await self._links_view(made)
        return self._site.page(request, "admin_resolvers.html", view, RESOLVERS, HTTPStatus.CREATED)

    async def ask_unlink(self, request: PageRequest) -> Response:
        """Ask whether the archive is to leave a resolver."""
        resolver = request.query_params.get("resolver", "")
        question = Question(
            title=Sentence("Leave the resolver %(resolver)s?", resolver=resolver),
            consequences=(
                Sentence("It is told to ask this archive no more; then the link is removed."),
                Sentence("Persistent URLs at this resolver no longer lead here."),
                Sentence("You can link the archive again, with a key that its operator gives."),
            ),
            act=Sentence("Leave the resolver"),
            path=f"{RESOLVERS}/remove",
            fields={"resolver": resolver},
            back=RESOLVERS,
        )
        return self._site.ask(request, question, RESOLVERS)

    async def unlink(self, request: PageRequest) -> Response:
        """Leave a resolver."""
        resolver = request.fields.get("resolver")
        await asyncio.to_thread(self._linking.unlink, resolver, request.visitor.actor)
        return see_other(RESOLVERS, request)

    async def minting(self, request: PageRequest) -> Response:
        """Show the state of the minter."""
        settings = self._settings
        view = MintingView(
            health=await asyncio.to_thread(self._minting),
            now=self._clock.wall(),
            host=settings.host,
            port=settings.port,
            ip=settings.ip,
            granularity=settings.granularity,
        )
        return self._site.page(request, "admin_minting.html", view, MINTING)

    async def identity(self, request: PageRequest) -> Response:
        """Show the settings by which the archive presents itself."""
        return self._site.page(request, "admin_identity.html", self._settings, IDENTITY)


def _faulty_field(error: IbiError, filled: Mapping[str, str]) -> str:
    """Return the field that a fault is shown beside."""
    if isinstance(error, LabelError) and filled["service"]:
        return "service"
    return "key" if "key" in str(error).lower() and filled["key"] else "resolver"
