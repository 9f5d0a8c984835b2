"""BibTeX, with the fields of BibLaTeX for the identifier: `eprinttype = {ibi}` and `eprint`.

Text is written in UTF-8, which BibLaTeX, BibTeX of today and all citation managers read; only the
characters that TeX takes for commands are escaped, by pylatexenc.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from ibi.metadata.cited_work import CitedWork, Person, WorkKind, cited_work
from ibi.model.label_pair import Forms
from ibi.model.metadata_record import MetadataRecord

MEDIA_TYPE: Final = "application/x-bibtex; charset=utf-8"

_ENTRIES: Final = {
    WorkKind.BOOK: "book",
    WorkKind.DOCTORAL_THESIS: "phdthesis",
    WorkKind.MASTER_THESIS: "mastersthesis",
    WorkKind.REPORT: "techreport",
    WorkKind.THESIS: "phdthesis",
}
"""Entry types that the styles of BibTeX know; all others are `misc`, which requires no field."""
_PUBLISHER_FIELDS: Final = {
    "mastersthesis": "school",
    "phdthesis": "school",
    "techreport": "institution",
}
_UNTYPED: Final = frozenset(
    (WorkKind.BOOK, WorkKind.DOCTORAL_THESIS, WorkKind.DOCUMENT, WorkKind.MASTER_THESIS)
)
"""Kinds that the entry type says completely; of the others the field `type` says more."""

# BibTeX counts the brace of `\{` too, which would end the field where a text has one brace alone. A
# quotation mark needs no escape within braces.
_OWN: Final = {
    ord("{"): r"{\textbraceleft}",
    ord("}"): r"{\textbraceright}",
    ord('"'): '"',
}

_NOT_IN_KEYS: Final = re.compile(r"[^A-Za-z0-9:./-]+")
# Control characters and surrogates, which no checked record has.
_UNFIT: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_SEPARATING: Final = re.compile(r",|(?:^|\s)and(?:\s|$)", re.IGNORECASE)


def write(record: MetadataRecord, forms: Forms, base: str) -> bytes:
    """Return the record of the item with these labels; `base` begins persistent URLs."""
    work = cited_work(record, forms, base)
    entry = _ENTRIES.get(work.kind, "misc")
    key = f"ibi:{_NOT_IN_KEYS.sub('-', work.label)}"
    lines = [f"  {name} = {{{value}}}" for name, value in _fields(work, entry) if value]
    return ("@" + entry + "{" + ",\n".join([key, *lines]) + "\n}\n").encode()


def _fields(work: CitedWork, entry: str) -> list[tuple[str, str]]:
    """Return the fields in their order; BibLaTeX takes eprint, url and doi verbatim."""
    return [
        ("author", " and ".join(_name(author) for author in work.authors)),
        ("editor", " and ".join(_name(editor) for editor in work.editors)),
        ("translator", " and ".join(_name(translator) for translator in work.translators)),
        ("title", _escaped(work.title)),
        (_PUBLISHER_FIELDS.get(entry, "publisher"), _escaped(work.publisher)),
        ("date", work.date.day_text if work.date else ""),
        ("year", work.date.text[:4] if work.date else ""),
        ("type", "" if work.kind in _UNTYPED else work.kind.capitalize()),
        ("language", _escaped(work.language)),
        ("eprinttype", "ibi"),
        ("eprint", work.label),
        ("url", work.url),
        ("doi", work.doi),
        ("isbn", work.isbn),
        ("issn", work.issn),
        ("copyright", _escaped(work.licence)),
        ("keywords", ", ".join(_escaped(keyword) for keyword in work.keywords)),
        ("abstract", _escaped(work.abstract)),
    ]


def _name(author: Person | str) -> str:
    """Return a name as BibTeX divides it: "von Last, First", or an organisation in braces."""
    if isinstance(author, str):
        return f"{{{_escaped(author)}}}"
    family, given = (_part(text) for text in (author.family, author.given))
    last = f"{author.particle} {family}" if author.particle else family
    return f"{last}, {given}" if given else f"{{{_escaped(author.family)}}}"


def _part(text: str) -> str:
    """Return a part of a name, in braces where BibTeX would divide it further."""
    return f"{{{_escaped(text)}}}" if _SEPARATING.search(text) else _escaped(text)


@cache
def _escapes() -> dict[int, str]:
    """Return how each printable ASCII character is written; made when it is first needed."""
    from pylatexenc.latexencode import UnicodeToLatexEncoder  # noqa: PLC0415  # of no use elsewhere

    encoder = UnicodeToLatexEncoder(replacement_latex_protection="braces")
    return {code: encoder.unicode_to_latex(chr(code)) for code in range(0x20, 0x7F)} | _OWN


def _escaped(text: str) -> str:
    return _UNFIT.sub(" ", text).translate(_escapes())
