"""CSL-JSON, the input of citation processors (https://citationstyles.org, version 1.0.2).

One object is written, not a list of one, as DOI registries do for the same media type.
"""

from __future__ import annotations

import json
from typing import Any, Final

from ibi.metadata.cited_work import CitedWork, Person, WorkKind, cited_work
from ibi.metadata.dates import Moment
from ibi.model.label_pair import Forms
from ibi.model.metadata_record import MetadataRecord

MEDIA_TYPE: Final = "application/vnd.citationstyles.csl+json"

_TYPES: Final[dict[WorkKind, str]] = {
    WorkKind.ARTICLE: "article-journal",
    WorkKind.BOOK: "book",
    WorkKind.CHAPTER: "chapter",
    WorkKind.CONFERENCE_PAPER: "paper-conference",
    WorkKind.DATASET: "dataset",
    WorkKind.DOCTORAL_THESIS: "thesis",
    WorkKind.DOCUMENT: "document",
    WorkKind.IMAGE: "graphic",
    WorkKind.MAP: "map",
    WorkKind.MASTER_THESIS: "thesis",
    WorkKind.PRESENTATION: "speech",
    WorkKind.REPORT: "report",
    WorkKind.SOFTWARE: "software",
    WorkKind.SOUND: "song",
    WorkKind.THESIS: "thesis",
    WorkKind.VIDEO: "motion_picture",
    WorkKind.WEB_PAGE: "webpage",
}
_GENRES: Final = {
    WorkKind.DOCTORAL_THESIS: "Doctoral thesis",
    WorkKind.MASTER_THESIS: "Master's thesis",
}


def write(record: MetadataRecord, forms: Forms, base: str) -> bytes:
    """Return the record of the item with these labels; `base` begins persistent URLs."""
    value = csl_value(cited_work(record, forms, base))
    # Surrogates, which no checked record has, stay escaped.
    return json.dumps(value, ensure_ascii=False, indent=1).encode("utf-8", "backslashreplace")


def csl_value(work: CitedWork) -> dict[str, Any]:
    """Return a work as the variables of CSL, without empty ones."""
    value = {
        "id": work.label,
        "type": _TYPES[work.kind],
        "genre": _GENRES.get(work.kind, ""),
        "title": work.title,
        "author": [_name(author) for author in work.authors],
        "editor": [_name(editor) for editor in work.editors],
        "translator": [_name(translator) for translator in work.translators],
        "issued": {"date-parts": [_date_parts(work.date)]} if work.date else None,
        "publisher": work.publisher,
        "language": work.language,
        "URL": work.url,
        "DOI": work.doi,
        "ISBN": work.isbn,
        "ISSN": work.issn,
        "abstract": work.abstract,
        "keyword": ", ".join(work.keywords),
        "note": f"IBI: {work.label}",
    }
    return {name: part for name, part in value.items() if part}


def _name(author: Person | str) -> dict[str, str]:
    if isinstance(author, str):
        return {"literal": author}
    name = {"family": author.family, "given": author.given, "dropping-particle": author.particle}
    return {part: text for part, text in name.items() if text}


def _date_parts(date: Moment) -> list[int]:
    return [part for part in (date.year, date.month, date.day) if part is not None]
