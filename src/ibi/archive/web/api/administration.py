"""The API of an archive: facts about the archive, reserved labels and resolvers."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Final

import msgspec
from starlette.responses import Response

from ibi.archive.archive import Archive
from ibi.archive.ports.catalogue import Items
from ibi.archive.resolver_links.linking import Linking
from ibi.archive.web.api import messages
from ibi.archive.web.api import responses as answers
from ibi.archive.web.urls import ArchiveUrls
from ibi.foundation.web.json_response import json_answer
from ibi.foundation.web.operations import AuthorizedRequest
from ibi.foundation.web.request_body import number_of
from ibi.foundation.web.tokens_api import NoteToken
from ibi.model.clock import SECOND, Clock

_MAX_PAGE: Final = 1000
"""Reservations of one page at most."""
_STALE: Final = 60 * SECOND
"""The time between two counts of the items."""


class _ItemCount:
    """Counts items at most once a minute, however often it is called."""

    def __init__(self, items: Items, clock: Clock) -> None:
        """Count the items of a catalogue."""
        self._items = items
        self._clock = clock
        self._counting = asyncio.Lock()
        self._counted_at: int | None = None
        self._count = 0

    async def count(self) -> int:
        """Return the number of items of data that are not deleted."""
        async with self._counting:
            now = self._clock.uptime()
            if self._counted_at is None or now - self._counted_at > _STALE:
                self._count = await asyncio.to_thread(self._items.count)
                self._counted_at = now
            return self._count


class AdministrationApi:
    """Handlers of the operations on the archive itself, reservations and resolvers."""

    def __init__(  # what it acts on
        self,
        archive: Archive,
        urls: ArchiveUrls,
        linking: Linking,
        about: messages.ArchiveAnswer,
    ) -> None:
        """Act on an archive."""
        self._archive = archive
        self._urls = urls
        self._linking = linking
        self._about = about
        self._count = _ItemCount(archive.catalogue.items, archive.clock)

    async def about(self, _: AuthorizedRequest) -> Response:
        """Answer with facts about the archive."""
        count = await self._count.count()
        return json_answer(msgspec.structs.replace(self._about, items=count))

    async def reserve(self, request: AuthorizedRequest) -> Response:
        """Mint labels for later items."""
        wanted = await request.read(messages.ReservationRequest)
        reserved = await asyncio.to_thread(
            self._archive.reserve, wanted.count, request.caller, wanted.note
        )
        answer = messages.ReservationsAnswer([answers.reservation_answer(r) for r in reserved])
        return json_answer(answer, HTTPStatus.CREATED)

    async def reservations(self, request: AuthorizedRequest) -> Response:
        """List reserved labels without an item."""
        limit = number_of(request.query_params.get("limit", "1000"), 1, _MAX_PAGE)
        after = request.query_params.get("after", "")
        found = await asyncio.to_thread(self._archive.catalogue.reservations.page, after, limit)
        more = found[-1].forms.label.canonical if len(found) == limit else ""
        labels = [answers.reservation_answer(each) for each in found]
        return json_answer(messages.ReservationsAnswer(labels, more))

    async def resolvers(self, _: AuthorizedRequest) -> Response:
        """List the links to resolvers with their states."""
        links = await asyncio.to_thread(self._linking.all)
        service = self._urls.identity.service
        return json_answer(messages.LinksAnswer([answers.link_answer(e, service) for e in links]))

    async def link(self, request: AuthorizedRequest) -> Response:
        """Link the archive to a resolver."""
        wanted = await request.read(messages.LinkRequestBody)
        link = await asyncio.to_thread(
            self._linking.link, wanted.resolver, wanted.key, wanted.service, request.caller
        )
        answer = answers.link_answer(link, self._urls.identity.service, with_key=True)
        return json_answer(answer, HTTPStatus.CREATED)

    async def unlink(self, request: AuthorizedRequest) -> Response:
        """Unlink the archive from a resolver."""
        resolver = request.path_params["resolver"]
        await asyncio.to_thread(self._linking.unlink, resolver, request.caller)
        return Response(status_code=HTTPStatus.NO_CONTENT)


def token_history(archive: Archive) -> NoteToken:
    """Return a function that records the creation and removal of tokens in the history."""

    async def note(act: str, who: str, name: str, scope: str) -> None:
        detail: dict[str, object] = {"name": name, **({"scope": scope} if scope else {})}
        await asyncio.to_thread(archive.note, act, who, detail)

    return note
