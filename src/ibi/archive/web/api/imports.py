"""The API of an archive: what comes in a bag.

Of many small items two requests bring a hundred: one tells of them, the other has their files.
Larger files are sent as those of a deposit are.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.archive.exchange.bag_import import BagImporter, ImportDecision
from ibi.archive.web.api.messages import (
    ImportCompletionRequest,
    ImportRequest,
    KeyAnswer,
    ReceptionAnswer,
    ReceptionsAnswer,
    StagedAnswer,
)
from ibi.archive.web.authorization import ArchiveAuthorizer
from ibi.errors import ArchiveRequestError
from ibi.foundation.web.json_response import by_method, json_answer
from ibi.foundation.web.openapi import operation, query
from ibi.foundation.web.request_body import body_of, decoded

LARGEST_REQUEST: Final = 256 << 20
"""Bytes: the manifest of an item of more than half a million files."""
_MOST: Final = 1000
_DECODE: Final = msgspec.json.Decoder(ImportRequest).decode
_DECODE_COMPLETION: Final = msgspec.json.Decoder(ImportCompletionRequest).decode

KeyOf = Callable[[str], tuple[str, str]]
"""Asks an archive at an address for its service label and its key."""


class ImportsApi:
    """Its handlers."""

    def __init__(self, importing: BagImporter, door: ArchiveAuthorizer, key_of: KeyOf) -> None:
        """Take items in; those who trust an address are told its key."""
        self._importing = importing
        self._door = door
        self._key_of = key_of

    @property
    def routes(self) -> list[Route]:
        """Where they answer."""
        return [
            by_method("/api/v1/imports", POST=self.open),
            by_method("/api/v1/imports/completion", POST=self.complete),
            by_method("/api/v1/keys", GET=self.key),
        ]

    async def open(self, request: Request) -> Response:
        """Say of items that are brought which may come, and what of them has to."""
        who = await self._door.admit(request, "administer")
        wanted = decoded(_DECODE, await body_of(request, LARGEST_REQUEST))
        found = await asyncio.to_thread(self._importing.open, wanted.items, wanted.key, who)
        return json_answer(ReceptionsAnswer([_answer(each) for each in found]))

    async def complete(self, request: Request) -> Response:
        """Make items of what came."""
        who = await self._door.admit(request, "administer")
        wanted = decoded(_DECODE_COMPLETION, await body_of(request, LARGEST_REQUEST))
        if not 1 <= len(wanted.imports) <= _MOST:
            msg = f"{len(wanted.imports)} imports cannot be completed at a time: 1 to {_MOST} can."
            raise ArchiveRequestError(msg)
        found = await asyncio.to_thread(self._complete, wanted, who)
        return json_answer(ReceptionsAnswer(found))

    def _complete(self, wanted: ImportCompletionRequest, who: str) -> list[ReceptionAnswer]:
        return [
            _answer(self._importing.complete(each.id, each.files, who)) for each in wanted.imports
        ]

    async def key(self, request: Request) -> Response:
        """Ask another archive by which key it signs."""
        await self._door.admit(request, "administer")
        address = request.query_params.get("address", "")
        service, key = await asyncio.to_thread(self._key_of, address)
        return json_answer(KeyAnswer(address, service, key))


def _answer(reception: ImportDecision) -> ReceptionAnswer:
    return ReceptionAnswer(
        label=reception.label,
        outcome=reception.outcome,
        detail=reception.detail,
        id=reception.deposit,
        needed=list(reception.needed),
        staged=[
            StagedAnswer(
                staged.path,
                staged.size,
                staged.file is not None,
                staged.file.sha256 if staged.file else "",
            )
            for staged in reception.staged
        ],
    )


def described() -> dict[str, Any]:
    """Describe them."""
    return {
        "/api/v1/imports": {
            "post": operation(
                "Bring items: which of them may come, and what of them has to",
                body="ImportRequest",
                answer="ReceptionsAnswer",
                errors=(413, 507),
            )
        },
        "/api/v1/imports/completion": {
            "post": operation(
                "Make items of what came; small files may come with this",
                body="ImportCompletionRequest",
                answer="ReceptionsAnswer",
                errors=(404, 413, 507),
            )
        },
        "/api/v1/keys": {
            "get": operation(
                "By which key another archive signs",
                answer="KeyAnswer",
                parameters=[query("address", "Where it answers")],
                errors=(404, 502),
            )
        },
    }
