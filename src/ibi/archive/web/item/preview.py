"""What a page shows of a file, and of which files it shows something.

A preview executes nothing (threats, rows 9 and 10). Images, sound and films are elements whose
content browsers never run as a document; SVG is such an image too. Of text, Markdown and tables the
archive itself makes an excerpt, as escaped text. HTML is not shown in a page of the archive at all,
nor is PDF: the viewers of browsers run the scripts of a PDF, and some open dialogs for it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from markupsafe import Markup

from ibi.archive.web.media_types import bare, media_type_of
from ibi.model.item import File

PreviewKind: TypeAlias = Literal["image", "audio", "video", "text", "markdown", "table"]

MAX_IMAGE: Final = 10_000_000
"""Bytes of the largest image that a page shows."""

_TYPES: Final[tuple[tuple[re.Pattern[str], PreviewKind], ...]] = (
    (re.compile(r"image/(avif|bmp|gif|jpeg|png|svg\+xml|vnd\.microsoft\.icon|webp)"), "image"),
    (re.compile(r"audio/(aac|flac|mp4|mpeg|ogg|wav|webm)"), "audio"),
    (re.compile(r"video/(mp4|ogg|webm)"), "video"),
    (re.compile(r"text/(csv|tab-separated-values)"), "table"),
    (re.compile(r"text/markdown"), "markdown"),
    (re.compile(r"text/(?!html|rtf)[a-z0-9.+-]+"), "text"),
    (re.compile(r"application/((geo\+|ld\+)?json|(rdf\+)?xml|x-tex|yaml|toml)"), "text"),
)


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
    kind = next((kind for pattern, kind in _TYPES if pattern.fullmatch(media_type)), None)
    return None if kind == "image" and file.size > MAX_IMAGE else kind
