"""RIS, the format of reference managers: lines of a tag and a value, in UTF-8.

The format has no escape: a value is one line, and a line that begins with a tag begins a value. So
line breaks become spaces, and nothing else needs to be done to a text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ibi.metadata.cited_work import CitedWork, Person, WorkKind, cited_work
from ibi.metadata.dates import Moment
from ibi.model.label_pair import Forms
from ibi.model.metadata_record import MetadataRecord

MEDIA_TYPE: Final = "application/x-research-info-systems; charset=utf-8"

_TYPES: Final[dict[WorkKind, str]] = {
    WorkKind.ARTICLE: "JOUR",
    WorkKind.BOOK: "BOOK",
    WorkKind.CHAPTER: "CHAP",
    WorkKind.CONFERENCE_PAPER: "CPAPER",
    WorkKind.DATASET: "DATA",
    WorkKind.DOCTORAL_THESIS: "THES",
    WorkKind.DOCUMENT: "GEN",
    WorkKind.IMAGE: "FIGURE",
    WorkKind.MAP: "MAP",
    WorkKind.MASTER_THESIS: "THES",
    WorkKind.PRESENTATION: "SLIDE",
    WorkKind.REPORT: "RPRT",
    WorkKind.SOFTWARE: "COMP",
    WorkKind.SOUND: "SOUND",
    WorkKind.THESIS: "THES",
    WorkKind.VIDEO: "VIDEO",
    WorkKind.WEB_PAGE: "ELEC",
}
_LEVELS: Final = {
    WorkKind.DOCTORAL_THESIS: "Doctoral thesis",
    WorkKind.MASTER_THESIS: "Master's thesis",
}

# Everything that a reader may take for the end of a line (str.splitlines), other control
# characters, and surrogates.
_UNFIT: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]+")


def write(record: MetadataRecord, forms: Forms, base: str) -> bytes:
    """Return the record of the item with these labels; `base` begins persistent URLs."""
    lines = [
        f"{tag}  - {_UNFIT.sub(' ', value)}\r\n"
        for tag, value in _tags(cited_work(record, forms, base))
        if value
    ]
    return ("".join(lines) + "ER  - \r\n").encode()


def _tags(work: CitedWork) -> Iterator[tuple[str, str]]:
    yield "TY", _TYPES[work.kind]
    yield "ID", work.label
    yield "TI", work.title
    for author in work.authors:
        yield "AU", _name(author)
    for editor in work.editors:
        yield "ED", _name(editor)
    for translator in work.translators:
        yield "A4", _name(translator)
    yield "PY", work.date.text[:4] if work.date else ""
    yield "DA", _date(work.date) if work.date else ""
    yield "PB", work.publisher
    yield "M3", _LEVELS.get(work.kind, "")
    yield "LA", work.language
    yield "AN", f"ibi:{work.label}"
    yield "UR", work.url
    yield "DO", work.doi
    yield "SN", work.isbn or work.issn
    for keyword in work.keywords:
        yield "KW", keyword
    yield "AB", work.abstract


def _name(author: Person | str) -> str:
    if isinstance(author, str):
        return author
    given = f"{author.given} {author.particle}".strip()
    return f"{author.family}, {given}" if given else author.family


def _date(date: Moment) -> str:
    """Return YYYY/MM/DD/, with the parts that are known."""
    parts = (date.month, date.day)
    return f"{date.text[:4]}/{'/'.join('' if part is None else f'{part:02}' for part in parts)}/"
