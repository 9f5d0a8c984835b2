"""The handlers of the minting API: mint, bind, describe (spec part 2)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import Response

from ibi.errors import IbiError, Sentence
from ibi.foundation.web.json_response import json_answer
from ibi.foundation.web.operations import AuthorizedRequest
from ibi.foundation.web.request_body import hang_up_of, key_of, number_of
from ibi.foundation.web.tokens import Tokens
from ibi.identifier.description import describe
from ibi.identifier.instant import instant_of
from ibi.identifier.label import parse
from ibi.minting.label_binding import LabelBindings, MintOrder
from ibi.minting.minter import Minter
from ibi.minting.rules.granularity import (
    check_duration,
)
from ibi.minting.rules.scopes import SCOPES
from ibi.minting.web import messages
from ibi.minting.web.messages import MintRequest
from ibi.minting.web.metrics import MintingMetrics
from ibi.minting.web.request_queue import SEATS, SHARE, RequestQueue
from ibi.model.clock import SECOND, Clock


class MintingService:
    """The handlers of one minter."""

    def __init__(
        self,
        minter: Minter,
        clock: Clock,
        metrics: MintingMetrics,
        seats: int = SEATS,
    ) -> None:
        """Take a minter, whose ledger also stores the tokens."""
        self.minter = minter
        self.tokens = Tokens(minter.ledger, clock, SCOPES)
        self._clock = clock
        self._metrics = metrics
        self._bindings = LabelBindings(minter)
        self._seats = seats
        self._checking = asyncio.Lock()
        self._checked_at: int | None = None
        self._trouble: IbiError | None = None

    @asynccontextmanager
    async def lifespan(self, _: Starlette) -> AsyncIterator[None]:
        """Serve the queue of requests while the server runs."""
        self.queue = RequestQueue(self._bindings, self._seats)
        self._metrics.watch(self.minter, self.queue)
        self.queue.open()
        try:
            yield
        finally:
            await self.queue.close()

    async def mint(self, request: AuthorizedRequest) -> Response:
        """Mint labels, at once if possible, otherwise in turn."""
        wanted = await request.read(MintRequest)
        # Without an object for all headers: labels are minted by the thousand.
        has_key = b"idempotency-key" in dict(request.scope["headers"])
        key = key_of(request) if has_key else ""
        labels = None
        if not (key or wanted.target or wanted.reserve or len(self.queue)):
            labels = self.minter.attempt(wanted.count)
        if labels is None:
            if not key:  # a key may have its labels already
                check_duration(wanted.count, self.minter.granularity, int(SHARE * SECOND))
            order = MintOrder(wanted.count, key, wanted.target, wanted.reserve, request.caller)
            labels = await self.queue.wait(request.caller, order, hang_up_of(request))
        answer = messages.MintAnswer([messages.minted_label(label) for label in labels])
        return json_answer(answer, HTTPStatus.CREATED)

    async def unbound(self, request: AuthorizedRequest) -> Response:
        """List labels that were reserved and never bound."""
        limit = number_of(request.query_params.get("limit", "1000"), 1, 1000)
        after = request.query_params.get("after", "")
        start = number_of(after, 0, 2**63 - 1) if after else 0
        found = await asyncio.to_thread(self._bindings.unbound, start, limit)
        more = str(found[-1][1].instant) if len(found) == limit else ""
        labels = [messages.recorded(minted, record) for minted, record in found]
        return json_answer(messages.UnboundAnswer(labels, more))

    async def record(self, request: AuthorizedRequest) -> Response:
        """Return the record of a label."""
        label = parse(request.path_params["label"])
        found = await asyncio.to_thread(self._bindings.find, label)
        if found is None:
            text = Sentence("Nothing is recorded of this label here.")
            raise HTTPException(HTTPStatus.NOT_FOUND, text)
        return json_answer(messages.recorded(*found))

    async def bind(self, request: AuthorizedRequest) -> Response:
        """Bind a reserved label to its target."""
        label = parse(request.path_params["label"])
        wanted = await request.read(messages.BindRequest)
        bound = await asyncio.to_thread(self._bindings.bind, label, wanted.target)
        return json_answer(messages.recorded(*bound))

    async def describe(self, request: AuthorizedRequest) -> Response:
        """Describe a label."""
        text = request.query_params.get("text", "")
        described = describe(text, now=instant_of(self._clock.wall()))
        return json_answer(described.as_dict())

    async def subsystem(self, _: AuthorizedRequest) -> Response:
        """Return the state of the minter."""
        return self._state()

    async def granularity(self, request: AuthorizedRequest) -> Response:
        """Change the granularity, without interrupting minting."""
        wanted = await request.read(messages.GranularityRequest)
        await asyncio.to_thread(self.minter.set_granularity, wanted.granularity)
        return self._state()

    async def confirm(self, _: AuthorizedRequest) -> Response:
        """Accept the operator's word that clock and ledger are right."""
        await asyncio.to_thread(self.minter.confirm)
        self._checked_at = None
        return self._state()

    def _state(self) -> Response:
        health = self.minter.health()
        prefixes = self.minter.subsystem.prefixes
        return json_answer(messages.subsystem_answer(prefixes, health, len(self.queue)))

    async def check(self) -> None:
        """Raise if no label could be minted now, by a check that is at most a second old."""
        async with self._checking:
            # The check costs a step of the ledger, and any client may request it: at most one is
            # made in a second.
            if self._checked_at is None or self._clock.uptime() - self._checked_at > SECOND:
                try:
                    await asyncio.to_thread(self.minter.check)
                    self._trouble = None
                except IbiError as trouble:
                    self._trouble = trouble
                self._checked_at = self._clock.uptime()
        if self._trouble is not None:
            raise self._trouble
