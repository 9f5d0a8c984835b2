"""The API for tokens, the same for an archive and a resolver."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any, Final, Protocol

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.errors import IbiError
from ibi.foundation.web.json_response import by_method, json_answer
from ibi.foundation.web.openapi import operation, parameter
from ibi.foundation.web.request_body import body_of, decoded
from ibi.foundation.web.tokens import Tokens
from ibi.identifier.instant import Instant
from ibi.model.token import Token, TokenStore

_SECOND: Final = 1_000_000_000


class TokenRequest(msgspec.Struct, forbid_unknown_fields=True):
    """A token to be made."""

    name: str
    scope: str


class TokenAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """A token; what is secret of it is shown only when it is made."""

    name: str
    scope: str
    created: str
    secret: str = ""


class TokensAnswer(msgspec.Struct, frozen=True):
    """All tokens."""

    tokens: list[TokenAnswer]


_DECODE: Final = msgspec.json.Decoder(TokenRequest).decode


class Door(Protocol):
    """Who may come in."""

    tokens: Tokens

    async def admit(self, request: Request, scope: str) -> str:
        """Return the name of the token that a request carries, if it is good for this."""
        ...


class TokensApi:
    """Its handlers; whoever has the last scope of all may use them."""

    def __init__(
        self,
        store: TokenStore,
        door: Door,
        note: Callable[[str, str, str, str], Awaitable[None]],
        unknown: Callable[[str, str], IbiError],
    ) -> None:
        """`note` is told what was done, by whom, the name and the scope of the token.

        `unknown` makes the error for what is not there: what it is, and its name.
        """
        self._store = store
        self._door = door
        self._note = note
        self._unknown = unknown

    @property
    def routes(self) -> list[Route]:
        """Where they answer."""
        return [
            by_method("/api/v1/tokens", GET=self.list, POST=self.add),
            by_method("/api/v1/tokens/{name}", DELETE=self.remove),
        ]

    async def _admit(self, request: Request) -> str:
        return await self._door.admit(request, self._door.tokens.scopes[-1])

    async def list(self, request: Request) -> Response:
        """List the tokens, without what is secret of them."""
        await self._admit(request)
        found = await asyncio.to_thread(self._store.tokens)
        return json_answer(TokensAnswer([_answer(each) for each in found]))

    async def add(self, request: Request) -> Response:
        """Make a token, and show it, once."""
        who = await self._admit(request)
        wanted = decoded(_DECODE, await body_of(request))
        secret = await asyncio.to_thread(self._door.tokens.add, wanted.name, wanted.scope)
        await self._note("add token", who, wanted.name, wanted.scope)
        found = await asyncio.to_thread(self._store.tokens)
        [token] = [each for each in found if each.name == wanted.name]
        return json_answer(_answer(token, secret), HTTPStatus.CREATED)

    async def remove(self, request: Request) -> Response:
        """Remove a token."""
        who = await self._admit(request)
        name = request.path_params["name"]
        if not await asyncio.to_thread(self._door.tokens.remove, name):
            raise self._unknown("token", name)
        await self._note("remove token", who, name, "")
        return Response(status_code=HTTPStatus.NO_CONTENT)


def _answer(token: Token, secret: str = "") -> TokenAnswer:
    created = Instant(token.created // _SECOND).iso8601
    return TokenAnswer(token.name, token.scope, created, secret)


def described() -> dict[str, Any]:
    """Describe them for OpenAPI."""
    return {
        "/api/v1/tokens": {
            "get": operation("All tokens", answer="TokensAnswer"),
            "post": operation(
                "Make a token, and show it once",
                body="TokenRequest",
                answer="TokenAnswer",
                status=201,
                errors=(413, 507),
            ),
        },
        "/api/v1/tokens/{name}": {
            "parameters": [parameter("name", "The name of a token")],
            "delete": operation("Remove a token", status=204, errors=(404, 409, 507)),
        },
    }
