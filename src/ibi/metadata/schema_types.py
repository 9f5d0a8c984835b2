"""The types of schema.org for the kinds of works, for JSON-LD and for links that tell a type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ibi.metadata.cited_work import WorkKind, kind_of

SCHEMA_ORG: Final = "https://schema.org/"
"""The beginning of the addresses of types."""
ABOUT_PAGE: Final = f"{SCHEMA_ORG}AboutPage"
"""The type of a page that is about an item, as FAIR Signposting has it."""
COLLECTION: Final = "Collection"
"""The type of an item that has other items."""

_TYPES: Final[Mapping[WorkKind, str]] = {
    WorkKind.ARTICLE: "ScholarlyArticle",
    WorkKind.BOOK: "Book",
    WorkKind.CHAPTER: "Chapter",
    WorkKind.CONFERENCE_PAPER: "ScholarlyArticle",
    WorkKind.DATASET: "Dataset",
    WorkKind.DOCTORAL_THESIS: "Thesis",
    WorkKind.DOCUMENT: "CreativeWork",
    WorkKind.IMAGE: "ImageObject",
    WorkKind.MAP: "Map",
    WorkKind.MASTER_THESIS: "Thesis",
    WorkKind.PRESENTATION: "PresentationDigitalDocument",
    WorkKind.REPORT: "Report",
    WorkKind.SOFTWARE: "SoftwareSourceCode",
    WorkKind.SOUND: "AudioObject",
    WorkKind.THESIS: "Thesis",
    WorkKind.VIDEO: "VideoObject",
    WorkKind.WEB_PAGE: "WebPage",
}


def schema_type(types: tuple[str, ...], *, is_collection: bool = False) -> str:
    """Return the name of the type of schema.org for the types that a record names."""
    return COLLECTION if is_collection else _TYPES[kind_of(types)]
