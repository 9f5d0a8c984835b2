"""The API for tokens, the same for an archive and a resolver."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import TypeAlias

import msgspec
from starlette.responses import Response

from ibi.errors import IbiError
from ibi.foundation.web.json_response import json_answer
from ibi.foundation.web.openapi import parameter
from ibi.foundation.web.operations import AuthorizedRequest, Operation
from ibi.foundation.web.tokens import Tokens
from ibi.identifier.instant import Instant
from ibi.model.clock import SECOND
from ibi.model.token import Token, TokenStore


class TokenRequest(msgspec.Struct, forbid_unknown_fields=True):
    """A token to be made."""

    name: str
    scope: str
    days: int = 0
    """The days for which it is valid; 0 until it is removed."""


class TokenAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """A token; what is secret of it is shown only when it is made."""

    name: str
    scope: str
    created: str
    expires: str = ""
    """When it becomes invalid; absent if it does not."""
    secret: str = ""


class TokensAnswer(msgspec.Struct, frozen=True):
    """All tokens."""

    tokens: list[TokenAnswer]


NoteToken: TypeAlias = Callable[[str, str, str, str], Awaitable[None]]
"""Records an act, the caller, and the name and the scope of the token."""


class TokensApi:
    """Handlers of the token operations."""

    def __init__(
        self,
        store: TokenStore,
        tokens: Tokens,
        note: NoteToken,
        unknown: Callable[[str, str], IbiError],
    ) -> None:
        """Make and remove tokens.

        `unknown` returns the error for a missing thing, by its kind and its name.
        """
        self._store = store
        self._tokens = tokens
        self._note = note
        self._unknown = unknown

    async def list(self, _: AuthorizedRequest) -> Response:
        """List the tokens, without their secrets."""
        found = await asyncio.to_thread(self._store.tokens)
        return json_answer(TokensAnswer([_answer(each) for each in found]))

    async def add(self, request: AuthorizedRequest) -> Response:
        """Make a token, and show its secret, once."""
        wanted = await request.read(TokenRequest)
        secret = await asyncio.to_thread(self._tokens.add, wanted.name, wanted.scope, wanted.days)
        await self._note("add token", request.caller, wanted.name, wanted.scope)
        found = await asyncio.to_thread(self._store.tokens)
        [token] = [each for each in found if each.name == wanted.name]
        return json_answer(_answer(token, secret), HTTPStatus.CREATED)

    async def remove(self, request: AuthorizedRequest) -> Response:
        """Remove a token."""
        name = request.path_params["name"]
        if not await asyncio.to_thread(self._tokens.remove, name):
            raise self._unknown("token", name)
        await self._note("remove token", request.caller, name, "")
        return Response(status_code=HTTPStatus.NO_CONTENT)


def _answer(token: Token, secret: str = "") -> TokenAnswer:
    created = Instant(token.created // SECOND).iso8601
    expires = Instant(token.expires // SECOND).iso8601 if token.expires else ""
    return TokenAnswer(token.name, token.scope, created, expires, secret)


def token_operations(highest: str) -> tuple[Operation, ...]:
    """Return the operations of a program; they need its highest scope."""
    return (
        Operation(
            "GET",
            "/api/v1/tokens",
            highest,
            TokensApi.list,
            "All tokens",
            answer=TokensAnswer,
        ),
        Operation(
            "POST",
            "/api/v1/tokens",
            highest,
            TokensApi.add,
            "Make a token, and show it once",
            request=TokenRequest,
            answer=TokenAnswer,
            status=201,
            problems=(413, 507),
        ),
        Operation(
            "DELETE",
            "/api/v1/tokens/{name}",
            highest,
            TokensApi.remove,
            "Remove a token",
            status=204,
            problems=(404, 409, 507),
            parameters=(parameter("name", "The name of a token"),),
        ),
    )
