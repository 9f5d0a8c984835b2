"""What readers get of an archive: files, pages, and persistent URLs answered on its own host."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from functools import partial
from http import HTTPStatus
from typing import Final, TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.archive.archive import Archive, Described
from ibi.archive.file_path import check_path
from ibi.errors import FileNameError, LabelError, PersistentUrlError, UnknownError
from ibi.identifier.label import Label
from ibi.identifier.language import LanguagePreference
from ibi.identifier.persistent_url import PersistentUrl
from ibi.identifier.verbs import GetMetadata, GetTranslation
from ibi.metadata.formats import FORMATS
from ibi.model.forms import Forms
from ibi.model.item import File, Item, State
from ibi.ports import Held
from ibi.web.archive_service import ArchiveService
from ibi.web.archive_urls import ArchiveUrls, divided
from ibi.web.file_delivery import Content, deliver
from ibi.web.item_count import ItemCount
from ibi.web.item_pages import ItemPages
from ibi.web.page_language import preference_of
from ibi.web.pages import SECURITY_POLICY, STYLE_SHEET, style_sheet
from ibi.wire.percent_encoding import path as in_url
from ibi.wire.percent_encoding import url_mended
from ibi.wire.url_list import UrlList

T = TypeVar("T")

_SERVICE_SUBJECT: Final = b"servicesubject="
_METADATA_PAGES: Final = frozenset({"", "metadata", "metadata.cgi"})
"""What follows `doc/` in the address of metadata: ours, and that of older archives."""


class Reading:
    """Its handlers."""

    def __init__(
        self, archive: Archive, service: ArchiveService, urls: ArchiveUrls, pages: ItemPages
    ) -> None:
        """Read from an archive."""
        self._archive = archive
        self._service = service
        self._urls = urls
        self._pages = pages
        self._count = ItemCount(archive.catalogue, archive.clock)
        self._style_sheet = style_sheet()

    @property
    def routes(self) -> list[Route]:
        """Where they answer; the last one takes whatever no other does."""
        return [
            Route("/", self.home),
            Route(STYLE_SHEET, self.style),
            Route("/col/{rest:path}", self.file),
            Route("/displaydoccontent.cgi/{rest:path}", self.file_list),
            Route("/{rest:path}", self.persistent),
        ]

    async def _look(self, read: Callable[[], T]) -> T:
        """Read from the catalogue: at once, or in a thread if that may take a while."""
        return read() if self._archive.catalogue.quick else await asyncio.to_thread(read)

    async def home(self, request: Request) -> Response:
        """Say what this archive is."""
        count = await self._count.count()
        return self._pages.home(count, self._urls.identity.service, request)

    async def style(self, _: Request) -> Response:
        """Give the style sheet of all pages."""
        headers = {"Cache-Control": "public, max-age=3600"}
        return Response(self._style_sheet, headers=headers, media_type="text/css")

    async def file(self, request: Request) -> Response:
        """Deliver a file of an item, or the page that describes one."""
        found = divided(request.scope["raw_path"], b"/col/")
        if found is None or not found[1].startswith("/doc/"):
            raise HTTPException(HTTPStatus.NOT_FOUND)
        label, path = found[0], found[1].removeprefix("/doc/")
        held = await self._held(label)
        if held.item.state is State.DELETED:
            return await self._tombstone(label, request)
        if held.item.kind == "metadata" and path in _METADATA_PAGES:
            return await self._metadata(label, request)
        if held.item.runs_at:
            return _onward(held.item.runs_at, path, request)
        if not path:
            url = await self._look(lambda: self._urls.of(held.item))
            return _redirect(url or f"{self._urls.base}/{label.spelling}:")
        return await self._deliver(held, path, request)

    async def _held(self, label: Label) -> Held:
        held = await self._look(lambda: self._archive.catalogue.find(label.canonical))
        if held is None:
            raise UnknownError("item", label.spelling)
        return held

    async def _deliver(self, held: Held, path: str, request: Request) -> Response:
        item = held.item
        try:
            file = await self._look(lambda: self._archive.catalogue.file(held.id, check_path(path)))
        except FileNameError:
            file = None
        if file is None:
            raise UnknownError("file", path)
        content = self._content(item, file)
        return await deliver(request, content)

    def _content(self, item: Item, file: File) -> Content:
        fd = self._archive.store.open(item.forms.label.spelling, file.path)
        status = os.fstat(fd)
        # A file that is being replaced just now is not yet, or no more, what the catalogue says.
        as_known = (status.st_size, status.st_mtime_ns) == (file.size, file.modified)
        metadata = item.metadata
        described_by = f"{self._urls.base}/{metadata.short.spelling}" if metadata else ""
        return Content(
            fd=fd,
            name=file.path.rpartition("/")[2],
            size=status.st_size,
            modified=status.st_mtime_ns,
            media_type=file.media_type,
            sha256=file.sha256 if as_known else "",
            cite_as=self._urls.persistent(item.forms),
            links=((described_by, "describedby", "text/html"),) if described_by else (),
        )

    async def _tombstone(self, label: Label, request: Request) -> Response:
        look = await self._look(lambda: self._archive.look(label))
        return self._pages.tombstone(look, request)

    async def _metadata(self, label: Label, request: Request) -> Response:
        """Show metadata: as a page, or by `choice` in a format."""
        look = await self._look(lambda: self._archive.look(label))
        choice = request.query_params.get("choice", "")
        if not choice:
            return await self._item_page(look, request)
        written = FORMATS.get(choice.lower())
        if written is None:
            raise _no_format(choice)
        record = look.record
        if record is None:
            raise UnknownError("metadata of", label.spelling)
        body = written.write(record, look.item.forms, self._urls.persistent_base)
        headers = {
            "Content-Security-Policy": SECURITY_POLICY,
            "X-Content-Type-Options": "nosniff",
            "Cache-Control": "public, max-age=60",
        }
        return Response(body, headers=headers, media_type=written.media_type)

    async def _item_page(self, look: Described, request: Request) -> Response:
        files = []
        item = look.item
        if item.list_public and item.state is not State.DELETED:
            limit = self._pages.first_files + 1
            files = await self._look(lambda: self._archive.catalogue.files(look.held.id, "", limit))
        return self._pages.item(look, files, request)

    async def file_list(self, request: Request) -> Response:
        """List the files of an item, or say that the list is not public."""
        found = divided(request.scope["raw_path"], b"/displaydoccontent.cgi/")
        if found is None or found[1]:
            raise HTTPException(HTTPStatus.NOT_FOUND)
        look = await self._look(lambda: self._archive.look(found[0]))
        if look.item.state is State.DELETED:
            return self._pages.tombstone(look, request)
        if not look.item.list_public:
            return self._pages.files_refused(look, request)
        after = request.query_params.get("after", "")
        limit = self._pages.most_files + 1
        files = await self._look(lambda: self._archive.catalogue.files(look.held.id, after, limit))
        return self._pages.files(look, files, request)

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
        return await self._resolve(wanted, preference, request)

    def _is_service(self, raw: bytes) -> bool:
        found = divided(raw, b"/")
        return found is not None and found[0] in tuple(self._urls.identity.service) and not found[1]

    async def _resolve(
        self, wanted: PersistentUrl, preference: LanguagePreference, request: Request
    ) -> Response:
        found = await self._look(lambda: self._urls.ask(wanted))
        if found is None:
            raise UnknownError("item", wanted.label.spelling)
        if found.deleted:
            return await self._tombstone(wanted.label, request)
        for verb in wanted.verbs:
            if isinstance(verb, GetMetadata) and verb.format and verb.format not in FORMATS:
                raise _no_format(verb.format)
        chosen = await self._look(lambda: self._urls.choose(found, wanted, preference))
        if chosen is None:
            return await self._absent(found, request)
        if wanted.original_required and chosen.state is not State.ORIGINAL:
            raise HTTPException(HTTPStatus.NOT_FOUND, "The Original is not held in this archive.")
        varies = any(isinstance(verb, GetTranslation) for verb in wanted.verbs)
        return _redirect(_with_pairs(chosen.url, wanted.passed_on), varies=varies)

    async def _absent(self, found: UrlList, request: Request) -> Response:
        """Show the tombstone of what was asked for, or say from where on it may be found."""
        known = [each.forms for each in found.related.values() if each.forms is not None]
        known += [found.next_edition] if found.next_edition is not None else []
        for forms in known:
            item = await self._look(partial(self._archive.find, forms))
            if item is not None and item.state is State.DELETED:
                return await self._tombstone(forms.label, request)
        raise HTTPException(HTTPStatus.NOT_FOUND, _elsewhere(known))


def _no_format(name: str) -> HTTPException:
    known = ", ".join(FORMATS)
    return HTTPException(
        HTTPStatus.NOT_ACCEPTABLE, f"Metadata are not offered as {name!r}, only as {known}."
    )


def _elsewhere(known: Sequence[Forms]) -> str:
    labels = ", ".join(forms.label.spelling for forms in known)
    where = f" It may be found from {labels} on, by a resolver." if labels else ""
    return f"The item is held here, but not what was asked for of it.{where}"


def _with_pairs(url: str, pairs: tuple[str, ...]) -> str:
    if not pairs:
        return url
    return f"{url}{'&' if '?' in url else '?'}{'&'.join(pairs)}"


def _onward(runs_at: str, path: str, request: Request) -> Response:
    """Send a reader on to a web service that runs elsewhere, with the pairs that belong to it."""
    query = request.scope["query_string"].decode("iso-8859-1")
    address, mark, own = runs_at.partition("?")
    if {".", ".."} & set(path.split("/")):
        raise UnknownError("file", path)
    if path:
        address = f"{address.rstrip('/')}/{in_url(path)}"
    onward = _with_pairs(address + mark + own, (query,) if query else ())
    # What is not of a URL is encoded: nothing that a reader sends gets into a header as it is.
    return _redirect(url_mended(onward))


def _redirect(url: str, *, varies: bool = False) -> Response:
    headers = {"Location": url, "Cache-Control": "public, max-age=60"}
    if varies:
        headers["Vary"] = "Accept-Language"
    return Response(status_code=HTTPStatus.FOUND, headers=headers)
