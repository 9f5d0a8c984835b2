"""The minting service: mint, bind, describe, watch (spec part 2)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Final

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.errors import IbiError
from ibi.foundation.web import problems
from ibi.foundation.web.authentication import Authenticator
from ibi.foundation.web.json_response import FRESH, by_method, json_answer
from ibi.foundation.web.request_body import body_of, decoded, hang_up_of, key_of, number_of
from ibi.foundation.web.tokens import Tokens
from ibi.identifier.description import describe
from ibi.identifier.label import parse
from ibi.minting.label_binding import LabelBindings, MintOrder
from ibi.minting.minter import Minter
from ibi.minting.rules.granularity import SECOND, check_duration
from ibi.minting.rules.label_generator import instant_of
from ibi.minting.web import messages
from ibi.minting.web import metrics as minting_metrics
from ibi.minting.web import openapi as minting_openapi
from ibi.minting.web.messages import MintRequest
from ibi.minting.web.metrics import MintingMetrics
from ibi.minting.web.request_queue import SEATS, SHARE, RequestQueue
from ibi.model.clock import Clock
from ibi.model.token import Token

_ENCODE: Final = msgspec.json.Encoder().encode
_DECODE_MINT: Final = msgspec.json.Decoder(MintRequest).decode
_ONE: Final = MintRequest()


class MintingService:
    """The handlers of one minter."""

    def __init__(
        self,
        minter: Minter,
        clock: Clock,
        metrics: MintingMetrics,
        version: str,
        seats: int = SEATS,
    ) -> None:
        """Serve a minter; its ledger also keeps the tokens."""
        self.minter = minter
        self.tokens = Tokens(minter.ledger, clock)
        self._clock = clock
        self._metrics = metrics
        self._openapi = _ENCODE(minting_openapi.document(version))
        self._bindings = LabelBindings(minter)
        self._seats = seats
        self._door = Authenticator(self.tokens, clock)
        self._checking = asyncio.Lock()
        self._checked_at: int | None = None
        self._trouble: IbiError | None = None

    @asynccontextmanager
    async def lifespan(self, _: Starlette) -> AsyncIterator[None]:
        """Open the waiting line while the server runs."""
        self.line = RequestQueue(self._bindings, self._seats)
        self._metrics.watch(self.minter, self.line)
        self.line.open()
        try:
            yield
        finally:
            await self.line.close()

    async def _token(self, request: Request, scope: str) -> Token:
        return await self._door.admit(request.headers.get("authorization"), scope)

    async def mint(self, request: Request) -> Response:
        """Mint labels, at once if possible, otherwise in turn."""
        # One pass, because this is the request that comes by the thousand.
        headers = dict(request.scope["headers"])
        authorization = headers.get(b"authorization", b"").decode("latin-1")
        token = await self._door.admit(authorization or None, "mint")
        body = b"" if headers.get(b"content-length") == b"0" else await body_of(request)
        wanted = decoded(_DECODE_MINT, body) if body else _ONE
        key = key_of(request) if b"idempotency-key" in headers else ""
        labels = None
        if not (key or wanted.target or wanted.reserve or len(self.line)):
            labels = self.minter.attempt(wanted.count)
        if labels is None:
            if not key:  # what has a key may have its labels already
                check_duration(wanted.count, self.minter.granularity, int(SHARE * SECOND))
            order = MintOrder(wanted.count, key, wanted.target, wanted.reserve, token.name)
            labels = await self.line.wait(token.name, order, hang_up_of(request))
        answer = messages.MintAnswer([messages.minted_label(label) for label in labels])
        return json_answer(answer, HTTPStatus.CREATED)

    async def unbound(self, request: Request) -> Response:
        """List labels that were reserved and never bound."""
        await self._token(request, "mint")
        limit = number_of(request.query_params.get("limit", "1000"), 1, 1000)
        after = request.query_params.get("after", "")
        start = number_of(after, 0, 2**63 - 1) if after else 0
        found = await asyncio.to_thread(self._bindings.unbound, start, limit)
        more = str(found[-1][1].instant) if len(found) == limit else ""
        labels = [messages.recorded(minted, record) for minted, record in found]
        return json_answer(messages.UnboundAnswer(labels, more))

    async def record(self, request: Request) -> Response:
        """Tell what is recorded of a label."""
        await self._token(request, "mint")
        label = parse(request.path_params["label"])
        found = await asyncio.to_thread(self._bindings.find, label)
        if found is None:
            text = "Nothing is recorded of this label here."
            raise HTTPException(HTTPStatus.NOT_FOUND, text)
        return json_answer(messages.recorded(*found))

    async def bind(self, request: Request) -> Response:
        """Bind a reserved label to its target."""
        await self._token(request, "mint")
        label = parse(request.path_params["label"])
        decode = msgspec.json.Decoder(messages.BindRequest).decode
        wanted = decoded(decode, await body_of(request))
        bound = await asyncio.to_thread(self._bindings.bind, label, wanted.target)
        return json_answer(messages.recorded(*bound))

    async def describe(self, request: Request) -> Response:
        """Say what a label says."""
        text = request.query_params.get("text", "")
        described = describe(text, now=instant_of(self._clock.wall()))
        return json_answer(described.as_dict())

    async def subsystem(self, request: Request) -> Response:
        """Tell how the minter fares."""
        await self._token(request, "mint")
        return self._state()

    async def granularity(self, request: Request) -> Response:
        """Change the granularity while minting goes on."""
        await self._token(request, "administer")
        decode = msgspec.json.Decoder(messages.GranularityRequest).decode
        wanted = decoded(decode, await body_of(request))
        await asyncio.to_thread(self.minter.set_granularity, wanted.granularity)
        return self._state()

    async def confirm(self, request: Request) -> Response:
        """Take an operator's word that clock and ledger are right."""
        await self._token(request, "administer")
        await asyncio.to_thread(self.minter.confirm)
        self._checked_at = None
        return self._state()

    def _state(self) -> Response:
        health = self.minter.health()
        prefixes = self.minter.subsystem.prefixes
        return json_answer(messages.subsystem_answer(prefixes, health, len(self.line)))

    async def openapi(self, _: Request) -> Response:
        """Describe the API."""
        return Response(self._openapi, media_type="application/json")

    async def healthz(self, _: Request) -> Response:
        """Tell that the process lives."""
        return Response(b"alive\n", media_type="text/plain", headers=FRESH)

    async def readyz(self, _: Request) -> Response:
        """Tell whether a label could be given out now, or could a moment ago."""
        async with self._checking:
            # Anybody may ask, and the question costs a step of the ledger: not more than one a
            # second is asked.
            if self._checked_at is None or self._clock.uptime() - self._checked_at > SECOND:
                try:
                    await asyncio.to_thread(self.minter.check)
                    self._trouble = None
                except IbiError as trouble:
                    self._trouble = trouble
                self._checked_at = self._clock.uptime()
        if self._trouble is not None:
            raise self._trouble
        return Response(b"ready\n", media_type="text/plain", headers=FRESH)

    async def metrics(self, _: Request) -> Response:
        """Tell Prometheus."""
        return Response(self._metrics.page(), media_type=minting_metrics.MEDIA_TYPE)


def minting_app(service: MintingService) -> Starlette:
    """Return the service as an ASGI application: the whole of it, readable in place."""
    app = Starlette(
        routes=[
            by_method("/api/v1/labels", POST=service.mint, GET=service.unbound),
            by_method("/api/v1/labels/{label:path}", GET=service.record, PUT=service.bind),
            Route("/api/v1/describe", service.describe),
            Route("/api/v1/subsystem", service.subsystem),
            Route("/api/v1/granularity", service.granularity, methods=["PUT"]),
            Route("/api/v1/confirmation", service.confirm, methods=["POST"]),
            Route("/openapi.json", service.openapi),
            Route("/healthz", service.healthz),
            Route("/readyz", service.readyz),
            Route("/metrics", service.metrics),
        ],
        exception_handlers={
            IbiError: problems.on_ibi_error,
            HTTPException: problems.on_http_error,
            Exception: problems.on_bug,
        },
        lifespan=service.lifespan,
    )
    app.router.redirect_slashes = False  # an address that is not there is not there
    return app
