"""The API of an archive: what comes in a bag.

Of many small items two requests bring a hundred: one tells of them, the other has their files.
Larger files are sent as those of a deposit are.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from starlette.responses import Response

from ibi.archive.exchange.bag_import import BagImporter, ImportDecision
from ibi.archive.web.api.messages import (
    ImportCompletionRequest,
    ImportRequest,
    KeyAnswer,
    ReceptionAnswer,
    ReceptionsAnswer,
    StagedAnswer,
)
from ibi.errors import ArchiveRequestError
from ibi.foundation.web.json_response import json_answer
from ibi.foundation.web.operations import AuthorizedRequest

_MOST: Final = 1000

KeyOf = Callable[[str], tuple[str, str]]
"""Asks an archive at an address for its service label and its key."""


class ImportsApi:
    """Its handlers."""

    def __init__(self, importing: BagImporter, key_of: KeyOf) -> None:
        """Take items in; those who trust an address are told its key."""
        self._importing = importing
        self._key_of = key_of

    async def open(self, request: AuthorizedRequest) -> Response:
        """Say of items that are brought which may come, and what of them has to."""
        wanted = await request.read(ImportRequest)
        found = await asyncio.to_thread(
            self._importing.open, wanted.items, wanted.key, request.caller
        )
        return json_answer(ReceptionsAnswer([_answer(each) for each in found]))

    async def complete(self, request: AuthorizedRequest) -> Response:
        """Make items of what came."""
        wanted = await request.read(ImportCompletionRequest)
        if not 1 <= len(wanted.imports) <= _MOST:
            msg = f"{len(wanted.imports)} imports cannot be completed at a time: 1 to {_MOST} can."
            raise ArchiveRequestError(msg)
        found = await asyncio.to_thread(self._complete, wanted, request.caller)
        return json_answer(ReceptionsAnswer(found))

    def _complete(self, wanted: ImportCompletionRequest, who: str) -> list[ReceptionAnswer]:
        return [
            _answer(self._importing.complete(each.id, each.files, who)) for each in wanted.imports
        ]

    async def key(self, request: AuthorizedRequest) -> Response:
        """Ask another archive by which key it signs."""
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
