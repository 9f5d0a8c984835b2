"""The API of an archive: what it is, reserved labels, resolvers and tokens."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from http import HTTPStatus
from typing import Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.archive.archive import Archive
from ibi.archive.links.announcer import Announcer, Links
from ibi.archive.rules.announcement import Link, new_registration_key, resolver_address
from ibi.archive.web.api import messages
from ibi.archive.web.api import responses as answers
from ibi.archive.web.authorization import ArchiveAuthorizer
from ibi.archive.web.item_count import ItemCount
from ibi.archive.web.urls import ArchiveUrls
from ibi.errors import UnknownError
from ibi.foundation.web.json_response import by_method, json_answer
from ibi.foundation.web.request_body import body_of, decoded, number_of
from ibi.foundation.web.tokens_api import TokensApi
from ibi.identifier.label import parse
from ibi.model.archive_record import RegistrationKey
from ibi.wire.requests import DEFAULT_SERVICE

_MOST: Final = 1000

_DECODE_RESERVATION: Final = msgspec.json.Decoder(messages.ReservationRequest).decode
_DECODE_LINK: Final = msgspec.json.Decoder(messages.LinkRequestBody).decode


class AdministrationApi:
    """Its handlers."""

    def __init__(  # noqa: PLR0913, PLR0917  # what it acts on
        self,
        archive: Archive,
        door: ArchiveAuthorizer,
        urls: ArchiveUrls,
        links: Links,
        announcer: Announcer,
        about: messages.ArchiveAnswer,
        check_linkable: Callable[[], None],
    ) -> None:
        """Act on an archive; `check_linkable` refuses one that lacks what resolvers must know."""
        self._archive = archive
        self._door = door
        self._urls = urls
        self._links = links
        self._announcer = announcer
        self._about = about
        self._check_linkable = check_linkable
        self.tokens_api = TokensApi(archive.catalogue.tokens, door, self._note_token, UnknownError)
        self._count = ItemCount(archive.catalogue.items, archive.clock)

    @property
    def routes(self) -> list[Route]:
        """Where they answer."""
        return [
            by_method("/api/v1/archive", GET=self.about),
            by_method("/api/v1/reservations", GET=self.reservations, POST=self.reserve),
            by_method("/api/v1/resolvers", GET=self.resolvers, POST=self.link),
            by_method("/api/v1/resolvers/{resolver:path}", DELETE=self.unlink),
            *self.tokens_api.routes,
        ]

    async def about(self, _: Request) -> Response:
        """Tell what this archive is."""
        count = await self._count.count()
        return json_answer(msgspec.structs.replace(self._about, items=count))

    async def reserve(self, request: Request) -> Response:
        """Mint labels for items that come later."""
        who = await self._door.admit(request, "deposit")
        body = await body_of(request)
        wanted = decoded(_DECODE_RESERVATION, body) if body else messages.ReservationRequest()
        reserved = await asyncio.to_thread(self._archive.reserve, wanted.count, who, wanted.note)
        answer = messages.ReservationsAnswer([answers.reservation_answer(r) for r in reserved])
        return json_answer(answer, HTTPStatus.CREATED)

    async def reservations(self, request: Request) -> Response:
        """List labels that still wait for their item."""
        await self._door.admit(request, "read")
        limit = number_of(request.query_params.get("limit", "1000"), 1, _MOST)
        after = request.query_params.get("after", "")
        found = await asyncio.to_thread(self._archive.catalogue.reservations.page, after, limit)
        more = found[-1].forms.label.canonical if len(found) == limit else ""
        labels = [answers.reservation_answer(each) for each in found]
        return json_answer(messages.ReservationsAnswer(labels, more))

    async def resolvers(self, request: Request) -> Response:
        """Tell how the archive stands with its resolvers."""
        await self._door.admit(request, "read")
        links = await asyncio.to_thread(self._links.all)
        service = self._urls.identity.service
        return json_answer(messages.LinksAnswer([answers.link_answer(e, service) for e in links]))

    async def link(self, request: Request) -> Response:
        """Link the archive to a resolver."""
        who = await self._door.admit(request, "administer")
        self._check_linkable()
        wanted = decoded(_DECODE_LINK, await body_of(request))
        address = resolver_address(wanted.resolver)
        known = {link.resolver: link for link in await asyncio.to_thread(self._links.all)}
        kept = known.get(address)
        if wanted.key:
            key = RegistrationKey(wanted.key)
        else:
            key = kept.key if kept else new_registration_key(secrets.randbelow)
        link = Link(
            address,
            key,
            parse(wanted.service) if wanted.service else DEFAULT_SERVICE,
            since=self._archive.clock.wall(),
        )
        await asyncio.to_thread(self._announcer.link, link)
        await self._note("link", who, resolver=address)
        answer = answers.link_answer(link, self._urls.identity.service, with_key=True)
        return json_answer(answer, HTTPStatus.CREATED)

    async def unlink(self, request: Request) -> Response:
        """Leave a resolver."""
        who = await self._door.admit(request, "administer")
        address = resolver_address(request.path_params["resolver"])
        await asyncio.to_thread(self._announcer.unlink, address)
        await self._note("unlink", who, resolver=address)
        return Response(status_code=HTTPStatus.NO_CONTENT)

    async def _note(self, act: str, who: str, **detail: str) -> None:
        await asyncio.to_thread(self._archive.note, act, who, {**detail})

    async def _note_token(self, act: str, who: str, name: str, scope: str) -> None:
        await self._note(act, who, name=name, **({"scope": scope} if scope else {}))
