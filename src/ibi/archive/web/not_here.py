"""Errors of persistent URLs: the archive has the item, but not what was asked of it."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final
from urllib.parse import unquote_to_bytes, urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request

from ibi.archive.web.urls import ArchiveUrls
from ibi.archive.web.views import NotFoundView
from ibi.errors import ReadingError, Sentence, UnknownError
from ibi.foundation.pages.templates import ProblemView
from ibi.identifier.instant import Instant
from ibi.identifier.label import Label
from ibi.identifier.persistent_url import PersistentUrl
from ibi.metadata.formats import formats_of
from ibi.metadata.negotiation import OFFERED
from ibi.model.item import Item
from ibi.model.metadata_record import MetadataRecord
from ibi.wire.percent_encoding import text_of

_ITEMS: Final = b"/col/"
"""The beginning of the addresses of files."""
_ITEM: Final = "item_without_file"
"""The name in the state of a request for the item that lacks the file which was asked for."""


def not_found(
    problem: ProblemView, urls: ArchiveUrls, now: Instant, request: Request
) -> NotFoundView:
    """Return the page of an address at which there is nothing, with where to go from there."""
    path = request.scope["raw_path"].removeprefix(_ITEMS)
    text = text_of(unquote_to_bytes(path)).strip("/").partition("/doc/")[0]
    suggestions: tuple[str, ...] = ()
    try:
        asked = PersistentUrl.parse(text, now=now).label.spelling
    except ReadingError as fault:
        suggestions = fault.suggestions
        asked = text if suggestions else ""
    base = "" if urls.persistent_base == urls.base else urls.persistent_base
    return NotFoundView(
        status=problem.status,
        title=problem.title,
        detail=problem.detail,
        item=getattr(request.state, _ITEM, None),
        suggestions=suggestions,
        elsewhere=f"{base}/search?{urlencode({'q': asked})}" if base and asked else "",
    )


def no_file(item: Item, path: str, request: Request) -> UnknownError:
    """Return the error of a file that an item does not have; its page leads to the item."""
    setattr(request.state, _ITEM, item.forms)
    return UnknownError("file", path)


def no_format(name: str, record: MetadataRecord | None = None) -> HTTPException:
    """Return the error of metadata in a format that is not offered, of an item or of any."""
    return HTTPException(
        HTTPStatus.NOT_ACCEPTABLE,
        Sentence(
            "Metadata are not offered as %(name)s, only as %(known)s.",
            name=repr(name),
            known=", ".join(formats_of(record) if record else OFFERED),
        ),
    )


def held_elsewhere(label: Label | None) -> HTTPException:
    """Return the error of what is not here, with the label from which it may be found."""
    if label is None:
        detail = Sentence("The item is held here, but not what was asked for of it.")
    else:
        detail = Sentence(
            "The item is held here, but not what was asked for of it. It may be found from "
            "%(label)s on, by a resolver.",
            label=label.spelling,
        )
    return HTTPException(HTTPStatus.NOT_FOUND, detail)


def original_elsewhere() -> HTTPException:
    """Return the error of an Original that another archive has."""
    return HTTPException(
        HTTPStatus.NOT_FOUND, Sentence("The Original is not held in this archive.")
    )
