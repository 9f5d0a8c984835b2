"""The pages of an archive as responses."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Final

import msgspec
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from ibi.archive.archive import ItemWithMetadata
from ibi.archive.rules.collections.membership import is_collection
from ibi.archive.rules.item_languages import (
    own_languages,
    preferred,
    record_for,
    record_to_cite,
)
from ibi.archive.web.api.messages import Labels
from ibi.archive.web.api.responses import labels, moment
from ibi.archive.web.citations import Citation, Citations
from ibi.archive.web.item.context import ItemContext
from ibi.archive.web.item.json_ld import Place, json_ld
from ibi.archive.web.item.metadata_forms import MetadataForms, choices_of
from ibi.archive.web.not_here import not_found
from ibi.archive.web.page_response import here, page_response, preference
from ibi.archive.web.pages import Pages
from ibi.archive.web.signposting.signposts import Signposts, linked, linked_files
from ibi.archive.web.urls import ArchiveUrls
from ibi.archive.web.views import (
    FIRST_FILES,
    MOST_FILES,
    NO_JSON_LD,
    EditionListView,
    FileListView,
    ItemView,
    LimitedView,
    RefusedListView,
    TombstoneView,
    TranslationListView,
)
from ibi.errors import DeletedError, Sentence
from ibi.foundation.pages.response import PAGE_HEADERS
from ibi.foundation.pages.templates import ProblemView
from ibi.foundation.translation.language import in_one_language, page_language
from ibi.foundation.web.problems import MEDIA_TYPE, Problem, problem_of
from ibi.identifier.instant import instant_of
from ibi.identifier.language_preference import LanguagePreference
from ibi.metadata.cited_work import CitedWork, cited_work
from ibi.metadata.formats import formats_of
from ibi.metadata.negotiation import Choice
from ibi.model.clock import Clock
from ibi.model.item import File, Item, State
from ibi.model.label_pair import Forms
from ibi.model.metadata_record import MetadataRecord
from ibi.wire.percent_encoding import path as in_url

_JSON: Final = ("application/json", "application/problem+json")


class TombstoneProblem(msgspec.Struct, frozen=True, omit_defaults=True):
    """The tombstone of a deleted item, as a problem document (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    deleted: str
    who: str
    reason: str
    replaced_by: Labels | None = None
    metadata: Labels | None = None
    """The labels of its metadata, if they were not deleted with it."""
    item_title: str = ""
    """The title that the item had, if its metadata were not deleted with it."""
    replacement_title: str = ""
    """The title of the item that replaces it, if this archive has it."""


class ItemPages:
    """Makes the responses with pages of items."""

    most_files = MOST_FILES

    def __init__(self, pages: Pages, urls: ArchiveUrls, clock: Clock, citations: Citations) -> None:
        """Use the pages of an archive."""
        self._pages = pages
        self._urls = urls
        self._clock = clock
        self._citations = citations
        self.forms = MetadataForms(urls.items, urls, citations)
        self._signposts = Signposts(urls)

    def published(self, item: Item, record: MetadataRecord) -> MetadataRecord:
        """Return a record with the publisher of the archive, if it names none."""
        return self._citations.published(item, record)

    async def item(
        self, look: ItemWithMetadata, context: ItemContext, request: Request
    ) -> Response:
        """Return the page of an item and its metadata."""
        item, files = look.item, context.files
        more = len(files) > FIRST_FILES
        metadata = look.metadata.item if look.metadata else None
        language = preferred(metadata, preference(request)) if metadata else None
        others = own_languages(metadata) if metadata else ()
        record = _record(look, request)
        to_cite = record_to_cite(item, metadata)
        work = self._work(item, to_cite)
        offered = linked_files(item, context.target, files[:FIRST_FILES])
        collections = tuple(
            (each.item.forms, _title(each, request)) for each in context.collections
        )
        view = ItemView(
            item=item,
            record=record,
            formats=formats_of(record) if record else (),
            other_languages=tuple(each for each in others if each not in {language, None}),
            other_metadata=metadata.translations if metadata else (),
            files=files[:FIRST_FILES],
            file_count=0 if more else len(files),
            may_change=context.may_change,
            gone=context.gone,
            total=context.total,
            list_address=self._list_address(item.forms) if item.list_public and files else "",
            described=item.tombstone,
            replacement=_record(context.replacement, request) if context.replacement else None,
            target=context.target,
            editions=context.editions,
            newer_translation=context.newer_translation,
            collections=collections,
            is_collection=is_collection(item, look.record),
            acts=context.acts,
            checked=context.checked,
            missing=context.missing,
            holders=context.holders,
            preview=context.preview,
            pictured=context.pictured,
            usage=context.usage,
            now=self._clock.wall(),
            to_cite=to_cite,
            citations=await self._cite(work, request),
            page=self._signposts.page_of(metadata.forms) if metadata else "",
            work=work,
            json_ld=self._json_ld(look, offered, collections),
        )
        page = self._pages.item(view, preference(request), here(request))
        links = self._signposts.of_page(look, offered)
        response = page_response(page, headers=linked(links, item))
        response.headers["Vary"] = f"Accept, {response.headers['Vary']}"
        return response

    def _work(self, item: Item, record: MetadataRecord | None) -> CitedWork | None:
        if record is None or item.state is State.DELETED:
            return None
        return cited_work(self.published(item, record), item.forms, self._urls.persistent_base)

    def _json_ld(
        self,
        look: ItemWithMetadata,
        files: tuple[File, ...],
        collections: tuple[tuple[Forms, str], ...],
    ) -> Markup:
        item, record = look.item, look.record
        if record is None or look.metadata is None or item.state is State.DELETED:
            return NO_JSON_LD
        place = Place(
            base=self._urls.base,
            persistent_base=self._urls.persistent_base,
            archive=self._pages.archive,
            page=self._signposts.page_of(look.metadata.item.forms),
            collections=collections,
        )
        return json_ld(item, self.published(item, record), files, place)

    async def _cite(self, work: CitedWork | None, request: Request) -> tuple[Citation, ...]:
        if work is None:
            return ()
        language = page_language(preference(request)).code
        # Citations that are not cached take some 10 ms.
        return await asyncio.to_thread(self._citations.of, work, language)

    def _list_address(self, forms: Forms) -> str:
        return (
            f"{self._urls.base}/displaydoccontent.cgi/{forms.short.spelling}?displaytype=FileList"
        )

    def files(
        self,
        look: ItemWithMetadata,
        files: list[File],
        pictured: frozenset[str],
        request: Request,
    ) -> Response:
        """Return the page with the files of an item; those `pictured` have a preview."""
        view = FileListView(
            forms=look.item.forms,
            files=tuple(files[:MOST_FILES]),
            title=_title(look, request),
            target=look.item.target,
            page=_page_of(look),
            more=len(files) > MOST_FILES,
            limited=bool(look.item.readers),
            pictured=pictured,
        )
        return page_response(self._pages.files(view, preference(request), here(request)))

    def title(self, look: ItemWithMetadata, request: Request) -> str:
        """Return the title of an item in the language that a reader prefers; its label if none."""
        return _title(look, request) or look.item.forms.short.spelling

    def editions(self, view: EditionListView, request: Request) -> Response:
        """Return a page of the list of editions of an item."""
        return page_response(self._pages.editions(view, preference(request), here(request)))

    def translations(self, view: TranslationListView, request: Request) -> Response:
        """Return a page of the list of translations of an item or its metadata."""
        return page_response(self._pages.translations(view, preference(request), here(request)))

    def files_refused(self, look: ItemWithMetadata, request: Request) -> Response:
        """Return the page of an item whose list of files is not public."""
        view = RefusedListView(forms=look.item.forms, title=_title(look, request))
        page = self._pages.files_refused(view, preference(request), here(request))
        return page_response(page, HTTPStatus.FORBIDDEN)

    def limited(self, look: ItemWithMetadata, request: Request) -> Response:
        """Return the page of an item whose files are for readers in other networks."""
        view = LimitedView(
            forms=look.item.forms, title=_title(look, request), metadata=look.item.metadata
        )
        page = self._pages.limited(view, preference(request), here(request))
        response = page_response(page, HTTPStatus.FORBIDDEN)
        response.headers["Cache-Control"] = "no-store"
        response.headers["Vary"] = "Accept, Accept-Language, Authorization, Cookie"
        return response

    def tombstone(
        self, look: ItemWithMetadata, replacement: ItemWithMetadata | None, request: Request
    ) -> Response:
        """Return the tombstone of a deleted item: a page, or a problem document for programs."""
        tombstone = look.item.tombstone
        assert tombstone is not None  # noqa: S101  # only of deleted items
        view = TombstoneView(
            forms=look.item.forms,
            tombstone=tombstone,
            record=_record(look, request),
            metadata=look.metadata.item.forms if look.record and look.metadata else None,
            replacement=_record(replacement, request) if replacement else None,
        )
        if _prefers_json(request):
            response = _tombstone_problem(view, preference(request))
        else:
            page = self._pages.tombstone(view, preference(request), here(request))
            response = page_response(page, HTTPStatus.GONE)
        response.headers["Vary"] = "Accept, Accept-Language, Cookie"
        response.headers.update(linked(self._signposts.of_tombstone(look)))
        return response

    def problem(self, problem: Problem, request: Request) -> Response:
        """Return the page of an error."""
        view = ProblemView.of(problem)
        if problem.status == HTTPStatus.NOT_FOUND:
            missing = not_found(view, self._urls, instant_of(self._clock.wall()), request)
            page = self._pages.not_found(missing, preference(request), here(request))
            return page_response(page, problem.status)
        page = self._pages.problem(view, preference(request), here(request))
        return page_response(page, problem.status)


def _prefers_json(request: Request) -> bool:
    accepted = request.headers.get("accept", "")
    if "text/html" in accepted:
        return False
    return any(each in accepted for each in _JSON) or Choice("") not in choices_of(request)


def _tombstone_problem(view: TombstoneView, reader: LanguagePreference) -> Response:
    label, reason = view.forms.label.spelling, view.tombstone.reason
    general, _ = problem_of(DeletedError(label))
    what = Sentence("%(label)s was deleted. %(reason)s", label=label, reason=reason)
    (title, detail), language = in_one_language((general.title, what), reader)
    problem = TombstoneProblem(
        general.type,
        title,
        general.status,
        detail,
        moment(view.tombstone.deleted),
        view.tombstone.who,
        reason,
        labels(view.tombstone.replaced_by),
        labels(view.metadata),
        view.title,
        view.replacement.title.value if view.replacement else "",
    )
    headers = {**PAGE_HEADERS, "Cache-Control": "no-cache", "Content-Language": language}
    return Response(msgspec.json.encode(problem), general.status, headers, MEDIA_TYPE)


def _page_of(look: ItemWithMetadata) -> str:
    """Return the path of the page of an item below the archive's address; empty if there is none.

    Pages show nothing of files that are limited to some readers.
    """
    if look.metadata is None or look.item.readers:
        return ""
    metadata = look.metadata.item
    return f"/col/{metadata.forms.label.spelling}/doc/{in_url(metadata.target)}"


def _title(look: ItemWithMetadata, request: Request) -> str:
    record = _record(look, request)
    return record.title.value if record else ""


def _record(look: ItemWithMetadata, request: Request) -> MetadataRecord | None:
    return record_for(look.metadata.item if look.metadata else None, preference(request))
