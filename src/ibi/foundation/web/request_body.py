"""Parts of a request, each read with its limit."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from http import HTTPStatus
from typing import Final, TypeVar

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request

from ibi.errors import RequestError, Sentence, printable, shown

T = TypeVar("T")

LARGEST_BODY: Final = 65_536
"""Bytes of the largest body of a request without an item: a target or a reason is shorter."""

_MAX_REASON: Final = 200
"""Characters of a reason, which repeats text of the request, the name of a field for example."""


async def body_of(request: Request, largest: int = LARGEST_BODY) -> bytes:
    """Return the body; raise HTTPException if it is too large."""
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > largest:
                raise HTTPException(
                    HTTPStatus.REQUEST_ENTITY_TOO_LARGE, Sentence("The body is too large.")
                )
    except ClientDisconnect:
        raise HTTPException(HTTPStatus.BAD_REQUEST, Sentence("The body ended early.")) from None
    return bytes(body)


def decoded(decode: Callable[[bytes], T], body: bytes) -> T:
    """Decode a body; raise RequestError, with one sentence, if it is invalid."""
    try:
        return decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        msg = Sentence(
            "The body is not what is expected: %(error)s.",
            error=printable(str(error)[:_MAX_REASON]),
        )
        raise RequestError(msg) from None


def key_of(request: Request) -> str:
    """Return the idempotency key of a request that has one."""
    key, *others = request.headers.getlist("idempotency-key")
    if others or not key.strip(" \t"):
        msg = Sentence("One Idempotency-Key is expected, and not an empty one.")
        raise RequestError(msg)
    return key


def number_of(text: str, least: int, most: int) -> int:
    """Parse a number; raise RequestError if it is none, or not within its bounds."""
    if text.isascii() and text.isdigit() and len(text) < 20 and least <= int(text) <= most:  # noqa: PLR2004  # 64 bits
        return int(text)
    msg = Sentence(
        "%(text)s is not a number from %(least)s to %(most)s.",
        text=shown(text),
        least=least,
        most=most,
    )
    raise RequestError(msg)


def hang_up_of(request: Request) -> Callable[[], Coroutine[object, object, None]]:
    """Return a coroutine function that returns when the client of a request has disconnected."""

    async def hang_up() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    return hang_up
