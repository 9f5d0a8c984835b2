"""Manifests of items with images (IIIF Presentation API 3.0), level 0: images without a server.

https://iiif.io/api/presentation/3.0/
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import closing
from functools import lru_cache
from http import HTTPStatus
from typing import Any, Final

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.archive.archive import Archive, ItemWithMetadata
from ibi.archive.web.delivery.media_types import bare, media_type_of
from ibi.archive.web.item.image_size import HEAD, image_size
from ibi.archive.web.signposting.signposts import Signposts, linked_files
from ibi.archive.web.urls import ArchiveUrls, divided
from ibi.errors import StorageError, UnknownError
from ibi.identifier.label import Label
from ibi.metadata import licence
from ibi.metadata.formats import FORMATS
from ibi.model.item import File, Item
from ibi.model.metadata_record import MetadataRecord, Text
from ibi.wire.percent_encoding import path as in_url

START: Final = "/iiif/"
END: Final = "/manifest.json"
MOST_IMAGES: Final = 200
"""Images of one manifest: the head of each file is read once."""
_MOST_FILES: Final = 2000
"""Files among which images are looked for."""
_CONTEXT: Final = "http://iiif.io/api/presentation/3/context.json"
_IMAGES: Final = frozenset({"image/gif", "image/jpeg", "image/png", "image/webp"})
_RIGHTS: Final = ("https://creativecommons.org/", "http://rightsstatements.org/")
"""The licences that `rights` may name (3.1); they are named by http there."""
_AT_ONCE: Final = 4
"""Manifests that are made concurrently."""


class ManifestsOfImages:
    """Answers viewers of images."""

    def __init__(self, archive: Archive, urls: ArchiveUrls) -> None:
        """Show the images of an archive."""
        self._archive = archive
        self._items = archive.catalogue.items
        self._urls = urls
        self._page_of = Signposts(urls).page_of
        self._turns = asyncio.Semaphore(_AT_ONCE)
        # The bytes of a checksum never change, so neither does their size.
        self._sized = lru_cache(10_000)(self._size)

    @property
    def routes(self) -> list[Route]:
        """The routes."""
        return [Route(f"{START}{{ibi:path}}{END}", self.answer)]

    async def answer(self, request: Request) -> Response:
        """Answer with the manifest of an item; 404 if it has no image that every reader gets."""
        found = divided(request.scope["raw_path"], START.encode())
        if found is None or found[1] != END:
            raise HTTPException(HTTPStatus.NOT_FOUND)
        async with self._turns:
            manifest = await asyncio.to_thread(self._manifest, found[0])
        if manifest is None:
            raise UnknownError("image of", found[0].spelling)
        headers = {
            "Content-Type": f'application/ld+json;profile="{_CONTEXT}"',
            "Cache-Control": "public, max-age=60",
            "Access-Control-Allow-Origin": "*",
            "X-Robots-Tag": "noindex",
        }
        return Response(msgspec.json.encode(manifest), headers=headers)

    def _manifest(self, label: Label) -> dict[str, Any] | None:
        look = self._archive.get_described(label)
        item = look.item
        address = f"{self._urls.base}{START}{item.forms.short.spelling}{END}"
        canvases = [
            _canvas(address, number, self._url(item, file), file, size)
            for number, (file, size) in enumerate(self._images(look), 1)
        ]
        if not canvases:
            return None
        record = look.record
        title = record.title if record else Text(item.forms.short.spelling)
        return {
            "@context": _CONTEXT,
            "id": address,
            "type": "Manifest",
            "label": _texts(title),
            **(self._described(look, record) if record and look.metadata else {}),
            "items": canvases,
        }

    def _described(self, look: ItemWithMetadata, record: MetadataRecord) -> dict[str, Any]:
        assert look.metadata is not None  # noqa: S101  # its caller asked
        page = self._page_of(look.metadata.item.forms)
        found: dict[str, Any] = {
            "summary": _texts(*record.descriptions[:1]),
            "metadata": [
                {"label": {"en": [english], "pt": [portuguese]}, "value": {"none": values}}
                for english, portuguese, values in (
                    ("Creator", "Autor", [*map(str, record.named_creators)]),
                    ("Date", "Data", [*record.dates]),
                    ("Identifier", "Identificador", [self._urls.persistent(look.item.forms)]),
                )
                if values
            ],
            "homepage": [
                {"id": page, "type": "Text", "label": _texts(record.title), "format": "text/html"}
            ],
            "seeAlso": [
                {
                    "id": f"{page}?choice={name}",
                    "type": "Dataset",
                    "label": {"none": [format_.title]},
                    "format": format_.media_type,
                }
                for name, format_ in FORMATS.items()
            ],
        }
        rights = licence.address_of(record.licence) if record.licence else ""
        if rights.startswith(_RIGHTS):
            found["rights"] = rights.replace("https://", "http://")
        return {name: part for name, part in found.items() if part}

    def _images(self, look: ItemWithMetadata) -> Iterator[tuple[File, tuple[int, int]]]:
        """Yield the images that every reader gets, each with its width and height."""
        item = look.item
        target = self._items.file(look.held.id, item.target) if item.target else None
        listed = self._items.files(look.held.id, "", _MOST_FILES) if item.list_public else []
        tried = 0
        for file in linked_files(item, target, listed):
            if tried < MOST_IMAGES and _type(file) in _IMAGES:
                tried += 1
                try:
                    size = self._sized(item.forms.label.spelling, file.path, file.sha256)
                except (UnknownError, StorageError, OSError):
                    continue
                if size is not None:
                    yield file, size

    def _size(self, place: str, path: str, _sha256: str) -> tuple[int, int] | None:
        with closing(self._archive.store.open(place, path)) as file:
            return image_size(file.read(0, min(HEAD, file.size)))

    def _url(self, item: Item, file: File) -> str:
        return f"{self._urls.base}/col/{item.forms.label.spelling}/doc/{in_url(file.path)}"


def _type(file: File) -> str:
    return bare(media_type_of(file.path, file.media_type))


def _canvas(
    manifest: str, number: int, url: str, file: File, size: tuple[int, int]
) -> dict[str, Any]:
    canvas = f"{manifest}/canvas/{number}"
    width, height = size
    shape = {"width": width, "height": height}
    image = {"id": url, "type": "Image", "format": _type(file), **shape}
    painted = {
        "id": f"{canvas}/annotation",
        "type": "Annotation",
        "motivation": "painting",
        "body": image,
        "target": canvas,
    }
    page = {"id": f"{canvas}/page", "type": "AnnotationPage", "items": [painted]}
    label = {"none": [file.path]}
    return {"id": canvas, "type": "Canvas", "label": label, **shape, "items": [page]}


def _texts(*texts: Text) -> dict[str, list[str]]:
    """Return texts as a language map; `none` is an unknown language."""
    found: dict[str, list[str]] = {}
    for text in texts:
        found.setdefault(text.language or "none", []).append(text.value)
    return found
