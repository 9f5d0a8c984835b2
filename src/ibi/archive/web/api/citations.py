"""The API of an archive: citations of an item, ready to be pasted."""

from __future__ import annotations

import asyncio

import msgspec
from starlette.responses import Response

from ibi.archive.archive import Archive
from ibi.archive.rules.item_languages import record_to_cite
from ibi.archive.web.api.uploads import path_after
from ibi.archive.web.citations import LOCALES, Citations, check_style, language_of
from ibi.archive.web.urls import ArchiveUrls
from ibi.errors import UnknownError
from ibi.foundation.web.json_response import json_answer
from ibi.foundation.web.operations import AuthorizedRequest
from ibi.identifier.label import parse
from ibi.metadata.cited_work import cited_work


class StyledCitation(msgspec.Struct, frozen=True):
    """A citation in one style."""

    style: str
    name: str
    text: str
    html: str
    """The same, with <b> and <i>; everything else is escaped."""


class CitationsAnswer(msgspec.Struct, frozen=True):
    """Citations of an item in one language."""

    locale: str
    citations: list[StyledCitation]


class CitationsApi:
    """The handler of citations, which are public as the page that shows them."""

    def __init__(self, archive: Archive, urls: ArchiveUrls, citations: Citations) -> None:
        """Cite the items of an archive."""
        self._archive = archive
        self._urls = urls
        self._citations = citations

    async def cite(self, request: AuthorizedRequest) -> Response:
        """Cite an item in one style, or in all of them."""
        label = parse(path_after(request, b"/api/v1/items/").removesuffix("/citation"))
        style = request.query_params.get("style", "")
        if style:
            check_style(style)
        locale = request.query_params.get("locale", "")
        language = language_of(locale, request.headers.get("accept-language", ""))
        look = await asyncio.to_thread(self._archive.get_described, label)
        record = record_to_cite(look.item, look.metadata.item if look.metadata else None)
        if record is None:
            raise UnknownError("metadata of", label.spelling)
        published = self._citations.published(look.item, record)
        work = cited_work(published, look.item.forms, self._urls.persistent_base)
        made = await asyncio.to_thread(self._citations.of, work, language)
        citations = [
            StyledCitation(each.style_id, each.style_name, each.text, str(each.html))
            for each in made
            if style in {"", each.style_id}
        ]
        return json_answer(CitationsAnswer(LOCALES.get(language, language), citations))
