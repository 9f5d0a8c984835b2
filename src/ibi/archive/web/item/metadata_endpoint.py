"""The endpoint of metadata: a page, or the form that a client names or prefers."""

from __future__ import annotations

import asyncio
from typing import Final
from urllib.parse import unquote

from starlette.requests import Request
from starlette.responses import Response

from ibi.archive.archive import Archive, ItemWithMetadata
from ibi.archive.rules.item_languages import translated
from ibi.archive.web.item.endpoint import LIST, LISTS, PICTURE, QR, ItemEndpoint
from ibi.archive.web.item.metadata_forms import MetadataForms, choices_of, not_acceptable
from ibi.archive.web.usage_recorder import UsageRecorder
from ibi.errors import LanguageError, UnknownError
from ibi.identifier.label import Label
from ibi.identifier.language import Language
from ibi.metadata.formats import formats_of
from ibi.metadata.negotiation import BIBLIOGRAPHY, Choice
from ibi.model.metadata_record import MetadataRecord

CHOICE: Final = "choice"
"""The pair of a query that names a form."""
_OF_CITATIONS: Final = ("style", "locale")
_PAGE: Final = Choice("")


class MetadataEndpoint:
    """Answers with the metadata of items."""

    def __init__(
        self, archive: Archive, forms: MetadataForms, page: ItemEndpoint, usage: UsageRecorder
    ) -> None:
        """Describe the items of an archive, by pages or by other forms."""
        self._archive = archive
        self._forms = forms
        self._page = page
        self._usage = usage
        self._is_quick = archive.catalogue.quick

    async def cached(self, request: Request) -> Response | None:
        """Return a page that was made before and is current, if its client prefers a page."""
        if choices_of(request)[:1] != (_PAGE,):
            return None
        return await self._page.cached(request)

    async def answer(self, label: Label, request: Request) -> Response:
        """Show metadata: as a page, or in a form by its name or by the Accept header."""
        choice = request.query_params.get(CHOICE, "")
        if not choice and PICTURE in request.query_params:
            return await self._page.picture(label, request)
        if not choice and QR in request.query_params:
            return await self._page.qr_code(label)
        if not choice and request.query_params.get(LIST) in LISTS:
            return await self._page.listed(label, request)
        wished = choices_of(request)
        if not choice and wished[:1] == (_PAGE,):
            return await self._page.answer(label, request)
        look = await self._get(label)
        record = _in_language(look, request.query_params.get("lang", ""))
        if not choice:
            return await self._chosen(label, look, record, wished, request)
        if record is None:
            raise UnknownError("metadata of", label.spelling)
        given = request.query_params
        pairs = tuple(f"{name}={given[name]}" for name in _OF_CITATIONS if name in given)
        return await self._form(look, record, Choice(choice.lower(), "", pairs), request)

    async def _chosen(
        self,
        label: Label,
        look: ItemWithMetadata,
        record: MetadataRecord | None,
        wished: tuple[Choice, ...],
        request: Request,
    ) -> Response:
        """Answer in the form that the client likes best of those that there are."""
        for choice in wished:
            if not choice.format:
                return await self._page.answer(label, request)
            if record and choice.format in {BIBLIOGRAPHY, *formats_of(record)}:
                plain = choice._replace(pairs=tuple(map(unquote, choice.pairs)))
                response = await self._form(look, record, plain, request)
                vary = ("Accept", response.headers.get("Vary", ""))
                response.headers["Vary"] = ", ".join(filter(None, vary))
                return response
        raise not_acceptable(record)

    async def _form(
        self, look: ItemWithMetadata, record: MetadataRecord, choice: Choice, request: Request
    ) -> Response:
        """Answer with metadata in a form, which may take some 10 ms to be made."""
        response = await asyncio.to_thread(self._forms.answer, look, record, choice, request)
        self._usage.view(look.held.id, request)
        return response

    async def _get(self, label: Label) -> ItemWithMetadata:
        if self._is_quick:
            return self._archive.get_described(label)
        return await asyncio.to_thread(self._archive.get_described, label)


def _in_language(look: ItemWithMetadata, code: str) -> MetadataRecord | None:
    """Return the record in a language, in all if none is given or it has none of that language."""
    try:
        wanted = Language.parse(code) if code else None
    except LanguageError:
        return look.record
    if wanted is None or look.metadata is None:
        return look.record
    return translated(look.metadata.item, wanted) or look.record
