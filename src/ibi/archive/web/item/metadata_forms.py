"""The metadata of an item in a form that a client asks for, by name or by its Accept header."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from ibi.archive.archive import ItemWithMetadata
from ibi.archive.ports.catalogue import Items, StoredItem
from ibi.archive.rules.item_languages import record_to_cite
from ibi.archive.web.citations import LOCALES, Citations, check_style, language_of
from ibi.archive.web.delivery.media_types import media_type_of
from ibi.archive.web.not_here import no_format
from ibi.archive.web.signposting.signposts import Signposts, linked
from ibi.archive.web.urls import ArchiveUrls
from ibi.errors import Sentence, UnknownError
from ibi.foundation.pages.static_files import SECURITY_POLICY
from ibi.foundation.web.header_values import content_disposition
from ibi.identifier.instant import instant_of
from ibi.metadata.cited_work import cited_work
from ibi.metadata.crosswalks.item_facts import FileFacts, ItemFacts
from ibi.metadata.formats import FORMATS, formats_of
from ibi.metadata.negotiation import (
    BIBLIOGRAPHY,
    BIBLIOGRAPHY_TYPE,
    Choice,
    accepts,
    choices,
)
from ibi.model.metadata_record import MetadataRecord
from ibi.wire.percent_encoding import path as in_url

MOST_FILES: Final = 1_000
"""Files that are named in metadata; an item with more of them has a list of its own."""
_HEADERS: Final = {
    "Content-Security-Policy": SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "public, max-age=60",
}
_DEFAULT_STYLE: Final = "apa"


def accept_of(request: Request) -> str:
    """Return the Accept header of a request, which may be written as several."""
    return ",".join(request.headers.getlist("accept"))


def choices_of(request: Request) -> tuple[Choice, ...]:
    """Return the forms of an item that the client of a request accepts, the dearest first."""
    return choices(accept_of(request))


def not_acceptable(record: MetadataRecord | None) -> HTTPException:
    """Return the error of an item in none of whose forms a client takes it; it names them all."""
    names = formats_of(record) if record else ()
    offered = [f"{name} ({FORMATS[name].media_type})" for name in names]
    citation = [f"{BIBLIOGRAPHY} ({BIBLIOGRAPHY_TYPE})"] if record else []
    known = ", ".join((*offered, *citation, "text/html"))
    return HTTPException(
        HTTPStatus.NOT_ACCEPTABLE,
        Sentence("The item is offered as %(known)s.", known=known),
        headers={"Vary": "Accept"},
    )


class MetadataForms:
    """Writes the metadata of items in formats, and citations of items."""

    def __init__(self, items: Items, urls: ArchiveUrls, citations: Citations) -> None:
        """Describe the items of a catalogue."""
        self._items = items
        self._urls = urls
        self._citations = citations
        self._signposts = Signposts(urls)

    def facts(self, look: ItemWithMetadata) -> ItemFacts:
        """Return what is known of an item beside its record."""
        item, described = look.item, look.metadata.item if look.metadata else look.item
        is_listed = item.list_public and not item.runs_at
        files = self._items.files(look.held.id, "", MOST_FILES) if is_listed else []
        folder = f"{self._urls.base}/col/{item.forms.label.spelling}/doc"
        return ItemFacts(
            files=tuple(
                FileFacts(
                    path=file.path,
                    url=f"{folder}/{in_url(file.path)}",
                    media_type=media_type_of(file.path, file.media_type),
                    size=file.size,
                    sha256=file.sha256,
                )
                for file in files
            ),
            updated=instant_of(described.updated // 1_000_000_000 * 1_000_000_000),
            archive=self._citations.publisher,
            address=self._urls.base,
            restricted=bool(item.readers),
        )

    def answer(
        self, look: ItemWithMetadata, record: MetadataRecord, choice: Choice, request: Request
    ) -> Response:
        """Answer with the record of an item in a form; raise if there is no such form of it."""
        if choice.format == BIBLIOGRAPHY:
            return self._citation(look, choice, request)
        written = FORMATS.get(choice.format)
        if written is None or not written.describes(record):
            raise no_format(choice.format, record)
        forms = look.item.forms
        facts = self.facts(look)
        base = self._urls.persistent_base
        body = written.of_item(self._citations.published(look.item, record), forms, base, facts)
        described = look.metadata or look.held
        headers = _HEADERS | linked(self._signposts.of_metadata(look.item, described))
        if name := written.file_name(forms):
            headers["Content-Disposition"] = content_disposition(name, attachment=True)
        return Response(body, headers=headers, media_type=_type_of(choice))

    def _citation(self, look: ItemWithMetadata, choice: Choice, request: Request) -> Response:
        """Answer with a citation, in a style and in the language of a locale."""
        given = dict(pair.partition("=")[::2] for pair in choice.pairs)
        style = given.get("style", "") or _DEFAULT_STYLE
        check_style(style)
        preferred = request.headers.get("accept-language", "")
        language = language_of(given.get("locale", ""), preferred)
        record = record_to_cite(look.item, look.metadata.item if look.metadata else None)
        if record is None:
            raise UnknownError("metadata of", look.item.forms.label.spelling)
        published = self._citations.published(look.item, record)
        work = cited_work(published, look.item.forms, self._urls.persistent_base)
        made = self._citations.of(work, language)
        text = next(each.text for each in made if each.style_id == style)
        headers = {**_HEADERS, "Content-Language": LOCALES.get(language, language)}
        if not given.get("locale"):
            headers["Vary"] = "Accept-Language"
        return Response(f"{text}\n", headers=headers, media_type=_type_of(choice))

    def fits(self, held: StoredItem, request: Request) -> bool:
        """Return whether a client may take what an item leads to: its target file, or a service."""
        if held.item.runs_at:
            return True
        if not held.item.target:
            return False
        file = self._items.file(held.id, held.item.target)
        media_type = media_type_of(held.item.target, file.media_type if file else "")
        return accepts(accept_of(request), media_type)


def _type_of(choice: Choice) -> str:
    """Return the media type of an answer: the one that the client named."""
    if choice.format == BIBLIOGRAPHY:
        return f"{BIBLIOGRAPHY_TYPE}; charset=utf-8"
    own = FORMATS[choice.format]
    if choice.content_type in {"", own.media_type}:
        return own.content_type
    parameters = own.content_type.partition(";")[2]
    return f"{choice.content_type};{parameters}" if parameters else choice.content_type
