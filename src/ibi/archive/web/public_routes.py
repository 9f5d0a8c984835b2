"""The public routes of an archive: files, pages, and persistent URLs on its own host."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from typing import Final, TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.archive.archive import Archive, ItemWithMetadata
from ibi.archive.ports.catalogue import StoredItem
from ibi.archive.rules.answer import BY_PATH
from ibi.archive.rules.file_path import check_path
from ibi.archive.web.delivery.file_chunks import afar
from ibi.archive.web.delivery.file_delivery import Content, deliver
from ibi.archive.web.item.endpoint import ItemEndpoint
from ibi.archive.web.item.metadata_endpoint import MetadataEndpoint
from ibi.archive.web.item.metadata_forms import choices_of, not_acceptable
from ibi.archive.web.item.whole_download import FORMAT, ZIP, WholeDownloads
from ibi.archive.web.item_pages import ItemPages
from ibi.archive.web.landing import VARY, LandingPages, comes_from_elsewhere, embedded_as, navigates
from ibi.archive.web.manifest import ManifestEndpoint
from ibi.archive.web.not_here import held_elsewhere, no_file, no_format, original_elsewhere
from ibi.archive.web.protocol import ArchiveService
from ibi.archive.web.reader_access import ReaderAccess
from ibi.archive.web.redirects import land, onward, redirect, with_pairs
from ibi.archive.web.signposting.mementos import dated
from ibi.archive.web.signposting.signposts import Signposts, linked
from ibi.archive.web.urls import ArchiveUrls, divided
from ibi.archive.web.usage_recorder import UsageRecorder
from ibi.errors import (
    FileNameError,
    LabelError,
    PersistentUrlError,
    ReadersError,
    UnknownError,
)
from ibi.foundation.translation.language import preference_of
from ibi.identifier.label import Label
from ibi.identifier.language_preference import LanguagePreference
from ibi.identifier.persistent_url import PersistentUrl
from ibi.identifier.verbs import GetMetadata, GetTranslation
from ibi.metadata.negotiation import OFFERED, in_form, is_negotiable
from ibi.model.item import File, Item, State
from ibi.model.label_pair import Forms
from ibi.wire.url_list import Related

MANIFEST: Final = "/ibi.json"
"""The end of the path of a manifest, after the label."""

T = TypeVar("T")

DIRECT: Final = "ibi-direct"
"""The header of clients that want the file from the archive itself, without a redirect."""
_SERVICE_SUBJECT: Final = b"servicesubject="
_METADATA_PAGES: Final = frozenset({"", "metadata", "metadata.cgi"})
"""Paths after `doc/` in the address of metadata, also those of older archives."""


class PublicRoutes:
    """Handlers of the public routes."""

    def __init__(  # noqa: PLR0913, PLR0917  # its parts
        self,
        archive: Archive,
        service: ArchiveService,
        urls: ArchiveUrls,
        pages: ItemPages,
        readers: ReaderAccess,
        landing: LandingPages,
        usage: UsageRecorder,
    ) -> None:
        """Serve an archive; `readers` decides on access to files."""
        self._archive = archive
        self._service = service
        self._urls = urls
        self._pages = pages
        self._readers = readers
        self._landing = landing
        self._manifests = ManifestEndpoint(archive, readers)
        self._items = archive.catalogue.items
        self._usage = usage
        self._item_page = ItemEndpoint(archive, pages, usage, urls)
        self._metadata = MetadataEndpoint(archive, pages.forms, self._item_page, usage)
        self._whole = WholeDownloads(archive, usage, urls)
        self._signposts = Signposts(urls)
        self._is_quick = archive.catalogue.quick
        self._service_paths = {f"/{label.spelling}".encode() for label in urls.identity.service}

    @property
    def routes(self) -> list[Route]:
        """The routes; the last one matches every path."""
        return [
            Route("/col/{rest:path}", self.file),
            Route("/displaydoccontent.cgi/{rest:path}", self.file_list),
            Route("/{rest:path}", self.persistent),
            Route("/{rest:path}", self.to_service, methods=["POST"]),
        ]

    async def _look(self, read: Callable[[], T]) -> T:
        """Read from the catalogue: directly if that is quick, otherwise in a thread."""
        return read() if self._is_quick else await asyncio.to_thread(read)

    async def file(self, request: Request) -> Response:
        """Deliver a file of an item, the page that describes one, or a manifest."""
        if page := await self._metadata.cached(request):
            return page
        found = divided(request.scope["raw_path"], b"/col/")
        if found is not None and found[1] == MANIFEST:
            return await self._manifests.answer(await self._held(found[0]), request)
        if found is None or not found[1].startswith("/doc/"):
            raise HTTPException(HTTPStatus.NOT_FOUND)
        return await self._file(found[0], found[1].removeprefix("/doc/"), request)

    async def _file(self, label: Label, path: str, request: Request) -> Response:
        held = await self._held(label)
        if held.item.state is State.DELETED:
            return await self._tombstone(label, request)
        if held.item.kind == "metadata" and path in _METADATA_PAGES:
            return await self._metadata.answer(label, request)
        if held.item.runs_at:
            return onward(held.item.runs_at, path, request)
        if not path:
            may_read = await self._readers.of(request)
            url = await self._look(lambda: self._urls.of(held.item, may_read))
            url = url or f"{self._urls.base}/{label.spelling}:"
            return await self._landed(held, navigates(request.headers), url)
        return await self._target(held, path, request)

    async def _target(self, held: StoredItem, path: str, request: Request) -> Response:
        """Deliver a file, or land a person who follows a label to it on the page of the item."""
        is_marked = BY_PATH in request.query_params
        if path == held.item.target and not is_marked and comes_from_elsewhere(request.headers):
            page = await self._look(lambda: self._landing.address(held))
            if page:
                return land(page)
        if not await self._readers.may_read(held.item, request):
            return await self._refuse(held.item.forms.label, request)
        if path == held.item.target and DIRECT not in request.headers:
            await self._check_accepted(held, request)
        response = await self._deliver(held, path, request)
        if embedded_as(request.headers) != "image":  # a part of the view of a page
            self._usage.download(held.id, path, request, response)
        if path == held.item.target and await self._look(lambda: self._landing.may_differ(held)):
            response.headers["Vary"] = VARY
        return response

    async def _check_accepted(self, held: StoredItem, request: Request) -> None:
        """Raise if a client takes neither the target of an item nor any form of its metadata.

        What a page embeds is not asked for by its media type.
        """
        is_embedded = request.headers.get("sec-fetch-mode", "navigate") not in {"navigate", "cors"}
        if choices_of(request) or is_embedded:
            return
        if not await self._look(lambda: self._pages.forms.fits(held, request)):
            look = await self._look(lambda: self._archive.get_described(held.item.forms.label))
            raise not_acceptable(look.record)

    async def _landed(self, held: StoredItem, navigates: bool, url: str) -> Response:  # noqa: FBT001  # of the request
        """Redirect to the page on which people land, or to the URL that the standard gives."""
        page = await self._look(lambda: self._landing.address(held))
        if page and navigates:
            return land(page)
        response = redirect(url, public=not held.item.readers)
        if page:
            response.headers["Vary"] = VARY
        return response

    async def _refuse(self, label: Label, request: Request) -> Response:
        """Answer that the files are restricted, and where their public metadata are."""
        look = await self._look(lambda: self._archive.get_described(label))
        if "text/html" in request.headers.get("accept", ""):
            return self._pages.limited(look, request)
        raise ReadersError(label.spelling, self._described_at(look.item))

    def _described_at(self, item: Item) -> str:
        metadata = item.metadata
        return f"{self._urls.base}/{metadata.short.spelling}" if metadata else ""

    async def _held(self, label: Label) -> StoredItem:
        held = await self._look(lambda: self._items.find(label.canonical))
        if held is None:
            raise UnknownError("item", label.spelling)
        return held

    async def _deliver(self, held: StoredItem, path: str, request: Request) -> Response:
        item = held.item
        try:
            file = await self._look(lambda: self._items.file(held.id, check_path(path)))
        except FileNameError:
            file = None
        if file is None:
            raise no_file(held.item, path, request)
        if not self._archive.store.quick:
            return await self._from_afar(item, file, request)
        response = await deliver(request, self._content(item, file))
        response.headers.update(dated(item))
        return response

    async def _from_afar(self, item: Item, file: File, request: Request) -> Response:
        """Deliver a file of an object store, or redirect the reader there."""
        place = item.forms.label.spelling
        url = ""
        if not item.readers:  # the URL would give a restricted file to other readers too
            url = await afar(self._archive.store.link, place, file.path, request.method)
        # The URL gives access for some minutes; archives ask for the file without a redirect, and
        # the policy of a page that embeds the file forbids one to another host.
        if url and DIRECT not in request.headers and not embedded_as(request.headers):
            headers = {"Location": url, "Cache-Control": "no-store"}
            return Response(status_code=HTTPStatus.FOUND, headers=headers)
        response = await deliver(request, await afar(self._content, item, file))
        response.headers.update(dated(item))
        return response

    def _content(self, item: Item, file: File) -> Content:
        opened = self._archive.store.open(item.forms.label.spelling, file.path)
        # A file that is being replaced may differ from what the catalogue has.
        as_known = (opened.size, opened.modified) == (file.size, file.modified)
        cite_as, *links = self._signposts.of_file(item)
        return Content(
            file=opened,
            name=file.path.rpartition("/")[2],
            media_type=file.media_type,
            sha256=file.sha256 if as_known else "",
            cite_as=cite_as.target,
            links=tuple((each.target, each.relation, each.media_type) for each in links),
            public=not item.readers,
        )

    async def _tombstone(self, label: Label, request: Request) -> Response:
        look = await self._look(lambda: self._archive.get_described(label))
        return await self._buried(look, request)

    async def _buried(self, look: ItemWithMetadata, request: Request) -> Response:
        replacement = await self._look(lambda: self._archive.replacement(look.item))
        return self._pages.tombstone(look, replacement, request)

    async def file_list(self, request: Request) -> Response:
        """Answer with the list of files of an item, or all of them; or that it is not public."""
        found = divided(request.scope["raw_path"], b"/displaydoccontent.cgi/")
        if found is None or found[1]:
            raise HTTPException(HTTPStatus.NOT_FOUND)
        look = await self._look(lambda: self._archive.get_described(found[0]))
        if look.item.state is State.DELETED:
            return await self._buried(look, request)
        if not look.item.list_public:
            return self._pages.files_refused(look, request)
        if request.query_params.get(FORMAT) == ZIP:
            if not await self._readers.may_read(look.item, request):
                return await self._refuse(look.item.forms.label, request)
            return await self._whole.answer(look.held, request)
        after = request.query_params.get("after", "")
        limit = self._pages.most_files + 1
        files = await self._look(lambda: self._items.files(look.held.id, after, limit))
        pictures = self._archive.catalogue.pictures
        pictured = await self._look(lambda: pictures.made(look.held.id))
        return self._pages.files(look, files, pictured, request)

    async def to_service(self, request: Request) -> Response:
        """Answer a resolver whose request is too long for a query."""
        if not self._is_service(request.scope["raw_path"]):
            raise HTTPException(HTTPStatus.METHOD_NOT_ALLOWED, headers={"Allow": "GET, HEAD"})
        return await self._service.serve_long(request)

    async def persistent(self, request: Request) -> Response:
        """Answer a persistent URL of an item that is held here, or a request of a resolver."""
        raw: bytes = request.scope["raw_path"]
        query: bytes = request.scope["query_string"]
        if _SERVICE_SUBJECT in query and self._is_service(raw):
            return await self._service.serve(request)
        text = raw.decode("ascii", "replace") + (
            f"?{query.decode('ascii', 'replace')}" if query else ""
        )
        try:
            wanted = PersistentUrl.parse(f"{self._urls.base}{text}")
        except PersistentUrlError:
            raise
        except LabelError:
            raise HTTPException(HTTPStatus.NOT_FOUND) from None
        preference = preference_of(
            request.headers.get("accept-language", ""), str(wanted.language or "")
        )
        if not is_negotiable(wanted):
            return await self._resolve(wanted, preference, request)
        return await self._negotiated(wanted, preference, request)

    async def _negotiated(
        self, wanted: PersistentUrl, preference: LanguagePreference, request: Request
    ) -> Response:
        """Answer with the form of an item that its client likes best of those that there are."""
        refused: HTTPException | None = None
        for choice in choices_of(request):
            asked = in_form(wanted, choice) if choice.format else wanted
            try:
                response = await self._resolve(asked, preference, request)
            except HTTPException as refusal:
                refused = refused or refusal
                continue
            break
        else:
            if refused is not None:
                raise refused
            response = await self._unnamed(wanted, preference, request)
        vary = response.headers.get("Vary", "")
        if "Accept" not in vary.split(", "):
            response.headers["Vary"] = f"Accept, {vary}" if vary else "Accept"
        return response

    async def _unnamed(
        self, wanted: PersistentUrl, preference: LanguagePreference, request: Request
    ) -> Response:
        """Answer a client that takes neither pages nor metadata: the file, if it takes that."""
        held = await self._look(lambda: self._items.find(wanted.label.canonical))
        if held is not None and not wanted.verbs and held.item.state is not State.DELETED:
            await self._check_accepted(held, request)
        return await self._resolve(wanted, preference, request)

    def _is_service(self, raw: bytes) -> bool:
        if raw in self._service_paths:  # the usual spelling
            return True
        found = divided(raw, b"/")
        return found is not None and found[0] in tuple(self._urls.identity.service) and not found[1]

    async def _resolve(
        self, wanted: PersistentUrl, preference: LanguagePreference, request: Request
    ) -> Response:
        may_read = await self._readers.of(request)
        found = await self._look(lambda: self._urls.ask(wanted, may_read))
        if found is None:
            raise UnknownError("item", wanted.label.spelling)
        if found.deleted:
            return await self._tombstone(wanted.label, request)
        for verb in wanted.verbs:
            if isinstance(verb, GetMetadata) and verb.format and verb.format not in OFFERED:
                raise no_format(verb.format)
        varies = any(isinstance(verb, GetTranslation) for verb in wanted.verbs)
        choose = partial(self._urls.choose, wanted, preference, may_read)
        chosen = await self._look(choose)
        if isinstance(chosen, Label):
            held = await self._look(partial(self._archive.find, Forms.of(chosen)))
            if held is not None and held.state is State.DELETED:
                return await self._tombstone(chosen, request)
            if self._urls.persistent_base != self._urls.base:
                return redirect(wanted.at(self._urls.persistent_base), varies=varies)
            chosen = await self._look(partial(choose, only_here=True)) or chosen
        if not isinstance(chosen, Related):
            raise held_elsewhere(chosen)
        if wanted.original_required and chosen.state is not State.ORIGINAL:
            raise original_elsewhere()
        return await self._sent_to(chosen, wanted, request, varies=varies)

    async def _sent_to(
        self, chosen: Related, wanted: PersistentUrl, request: Request, *, varies: bool
    ) -> Response:
        """Redirect to the chosen URL, or a person to the page of the item."""
        held = await self._look(lambda: self._urls.held(chosen))
        # The newest edition is another one tomorrow, and so is a translation.
        edition = held.item if held and not wanted.verbs else None
        links = linked(self._signposts.of_redirect(held.item), edition) if held else {}
        is_whole = held is not None and not wanted.path and not wanted.file_list
        page = await self._look(lambda: self._landing.address(held)) if held and is_whole else ""
        if page and navigates(request.headers):
            return land(page, links)
        url = with_pairs(chosen.url, wanted.passed_on)
        is_limited = held is not None and bool(held.item.readers)
        response = redirect(url, varies=varies, public=not is_limited, links=links)
        if page:
            response.headers["Vary"] = f"Accept-Language, {VARY}" if varies else VARY
        return response

    async def _landing_of(self, chosen: Related) -> str:
        forms = chosen.forms
        if forms is None:
            return ""
        held = await self._look(lambda: self._items.find(forms.label.canonical))
        return await self._look(lambda: self._landing.address(held)) if held else ""
