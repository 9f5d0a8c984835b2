"""What a page shows of a file, and of which files it shows something.

A preview executes nothing (threats, rows 9 and 10). Images, sound and films are elements whose
content browsers never run as a document; SVG is such an image too. Of text, Markdown and tables the
archive itself makes an excerpt, as escaped text. HTML is not shown in a page of the archive at all.
Of a PDF it shows a picture of the first page, made by another process (storage.extraction): the
viewers of browsers run the scripts of a PDF, and some open dialogs for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from markupsafe import Markup

from ibi.archive.web.delivery.media_types import bare, media_type_of
from ibi.model.item import File

PreviewKind: TypeAlias = Literal["image", "audio", "video", "text", "markdown", "table", "page"]

MAX_IMAGE: Final = 10_000_000
"""Bytes of the largest image that a page shows."""

_IMAGES: Final = "avif bmp gif jpeg png svg+xml vnd.microsoft.icon webp"
_SOUNDS: Final = "aac flac mp4 mpeg ogg wav webm"
_TEXTS: Final = "geo+json ld+json json rdf+xml xml x-tex yaml toml"
_KINDS: Final[Mapping[str, PreviewKind]] = {
    **{f"image/{name}": "image" for name in _IMAGES.split()},
    **{f"audio/{name}": "audio" for name in _SOUNDS.split()},
    **{f"video/{name}": "video" for name in ("mp4", "ogg", "webm")},
    **{f"application/{name}": "text" for name in _TEXTS.split()},
    "text/csv": "table",
    "text/tab-separated-values": "table",
    "text/markdown": "markdown",
    "application/pdf": "page",
}
_NOT_PLAIN: Final = frozenset({"text/html", "text/rtf"})
"""Texts that mean little as they are written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What a page shows of a file."""

    kind: PreviewKind
    file: File
    text: str = ""
    """The beginning of a text."""
    html: Markup | None = None
    """The beginning of a Markdown text."""
    rows: tuple[tuple[str, ...], ...] = ()
    """The first rows of a table; the first one has the names of the columns."""
    is_cut: bool = False
    """Whether the file goes on."""


def preview_kind(file: File) -> PreviewKind | None:
    """Return how a page shows a file; None if it does not."""
    if not file.size:
        return None
    media_type = bare(media_type_of(file.path, file.media_type))
    kind = _kind_of(media_type)
    return None if kind == "image" and file.size > MAX_IMAGE else kind


def _kind_of(media_type: str) -> PreviewKind | None:
    is_plain = media_type.startswith("text/") and media_type not in _NOT_PLAIN
    return _KINDS.get(media_type) or ("text" if is_plain else None)
