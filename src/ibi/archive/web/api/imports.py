"""The API of an archive: import of items from bags.

Two requests import a hundred small items: one with their manifests, the other with their files.
Larger files are sent like those of a deposit.
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
from ibi.errors import ArchiveRequestError, Sentence
from ibi.foundation.web.json_response import json_answer
from ibi.foundation.web.operations import AuthorizedRequest

_MAX_ITEMS: Final = 1000
"""Items of one request at most."""

KeyOf = Callable[[str], tuple[str, str]]
"""Asks an archive at an address for its service label and its key."""


class ImportsApi:
    """Handlers of the operations on imports."""

    def __init__(self, importing: BagImporter, key_of: KeyOf) -> None:
        """Import items; `key_of` returns the key of the archive at an address."""
        self._importing = importing
        self._key_of = key_of

    async def open(self, request: AuthorizedRequest) -> Response:
        """Answer which items may be imported, and which of their files are missing here."""
        wanted = await request.read(ImportRequest)
        found = await asyncio.to_thread(
            self._importing.open, wanted.items, wanted.key, request.caller
        )
        return json_answer(ReceptionsAnswer([_answer(each) for each in found]))

    async def complete(self, request: AuthorizedRequest) -> Response:
        """Complete imports whose files were sent."""
        wanted = await request.read(ImportCompletionRequest)
        if not 1 <= len(wanted.imports) <= _MAX_ITEMS:
            msg = Sentence(
                "%(imports)s imports in one request: expected 1 to %(most)s.",
                imports=len(wanted.imports),
                most=_MAX_ITEMS,
            )
            raise ArchiveRequestError(msg)
        found = await asyncio.to_thread(self._complete, wanted, request.caller)
        return json_answer(ReceptionsAnswer(found))

    def _complete(self, wanted: ImportCompletionRequest, who: str) -> list[ReceptionAnswer]:
        return [
            _answer(self._importing.complete(each.id, each.files, who)) for each in wanted.imports
        ]

    async def key(self, request: AuthorizedRequest) -> Response:
        """Ask another archive for its public key."""
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
