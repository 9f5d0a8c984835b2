"""BibTeX and BibLaTeX, read by bibtexparser: the first entry of a file."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from typing import Final

from bibtexparser.entrypoint import parse_string
from bibtexparser.exceptions import ParsingException
from bibtexparser.library import Library
from bibtexparser.middlewares.names import (
    InvalidNameError,
    NameParts,
    parse_single_name_into_parts,
    split_multiple_persons_names,
)
from bibtexparser.model import DuplicateBlockKeyBlock, DuplicateFieldKeyBlock, Entry

from ibi.errors import MetadataError, Sentence, shown
from ibi.metadata.readers.latex_text import decoded
from ibi.metadata.readers.reading import Gathering, Reading, one_line, text_of
from ibi.metadata.readers.words import date_of, language_of, month_of, type_of

LARGEST: Final = 262_144
"""The largest file that is read, in bytes."""
MOST_MARKS: Final = 5_000
"""Signs @ in a file: the parser takes each for the beginning of an entry, which costs time."""

_TYPES: Final = {
    "article": "Article",
    "book": "Book",
    "booklet": "Text",
    "audio": "Sound",
    "bookinbook": "Book chapter",
    "collection": "Book",
    "conference": "Conference paper",
    "data": "Dataset",
    "dataset": "Dataset",
    "image": "Image",
    "inbook": "Book chapter",
    "incollection": "Book chapter",
    "inproceedings": "Conference paper",
    "manual": "Text",
    "mastersthesis": "Master thesis",
    "mvbook": "Book",
    "online": "Web page",
    "phdthesis": "Doctoral thesis",
    "proceedings": "Book",
    "report": "Report",
    "software": "Software",
    "techreport": "Report",
    "thesis": "Thesis",
    "unpublished": "Text",
    "video": "MovingImage",
    "www": "Web page",
}
_THESES: Final = {"phdthesis": "Doctoral thesis", "mathesis": "Master thesis"}
"""The values of the field type of BibLaTeX."""
_PEOPLE: Final = {"author": "", "editor": "Editor", "translator": "Translator"}
_PUBLISHERS: Final = ("publisher", "school", "institution", "organization")
_LICENCES: Final = ("copyright", "license", "licence", "rights")
_WHOLE: Final = ("journal", "journaltitle", "booktitle", "series")
"""Of what the work is a part."""
_READ: Final = frozenset(
    (
        *(*_PEOPLE, *_PUBLISHERS, *_LICENCES, *_WHOLE),
        *("title", "subtitle", "year", "month", "day", "date", "type", "abstract", "keywords"),
        *("language", "langid", "doi", "isbn", "issn", "url", "eprint", "eprinttype"),
        *("archiveprefix", "volume", "number", "pages", "keyword", "eissn"),
    )
)
_UNINTERESTING: Final = frozenset(
    (
        *("key", "urldate", "file", "timestamp", "owner", "bibsource", "biburl", "date-added"),
        *("date-modified", "bdsk-url-1", "bdsk-url-2", "primaryclass", "mendeley-tags"),
        *("shorttitle", "abstractnote"),
    )
)
"""Fields that are about the file, and not about the work."""
_SEPARATOR: Final = re.compile(r"[,;\n]")

# The parser reports what it skips to its log, with the foreign text.
logging.getLogger("bibtexparser").addHandler(logging.NullHandler())
logging.getLogger("bibtexparser").propagate = False


def read(content: bytes) -> Reading:
    """Read the first entry; MetadataError if there is none."""
    text = text_of(content, LARGEST)
    if text.count("@") > MOST_MARKS:
        raise MetadataError(Sentence("The file has too many entries: give one of them."))
    try:
        library = parse_string(text)
    except (ParsingException, ValueError, RecursionError):
        raise MetadataError(Sentence("The file cannot be read as BibTeX.")) from None
    gathering = Gathering()
    entry = _first(library, gathering)
    fields = {
        name: value
        for name, value in ((each.key.lower(), each.value) for each in entry.fields)
        if isinstance(value, str)
    }
    _Entry(entry.entry_type.lower(), fields, gathering).read()
    return gathering.reading()


def _first(library: Library, gathering: Gathering) -> Entry:
    entries = list(_entries(library))
    if not entries:
        raise MetadataError(Sentence("The file has no entry of BibTeX that can be read."))
    if len(entries) > 1:
        gathering.doubt(
            Sentence(
                "The file has %(count)s entries: only the first, %(name)s, was read.",
                count=len(entries),
                name=shown(entries[0].key),
            )
        )
    if any(isinstance(block, DuplicateFieldKeyBlock) for block in library.failed_blocks):
        gathering.doubt(Sentence("An entry has a field twice: one of the two was read."))
    return entries[0]


def _entries(library: Library) -> Iterator[Entry]:
    for block in library.blocks:
        if isinstance(block, Entry):
            yield block
        elif isinstance(block, DuplicateFieldKeyBlock | DuplicateBlockKeyBlock):
            ignored = block.ignore_error_block
            if isinstance(ignored, Entry):
                yield ignored


class _Entry:
    def __init__(self, kind: str, fields: Mapping[str, str], gathering: Gathering) -> None:
        self._kind = kind
        self._fields = fields
        self._gathering = gathering

    def read(self) -> None:
        add = self._gathering.add
        title, subtitle = self._text("title"), self._text("subtitle")
        language = self._language()
        tag = {"language": language} if language else {}
        whole = f"{title}: {subtitle}" if title and subtitle else title
        add("titles", {"value": whole, **tag}, "title")
        for field, role in _PEOPLE.items():
            self._people(field, role)
        add("types", self._type(), "type")
        add("dates", self._date(), "year")
        for field in _PUBLISHERS:
            add("publishers", self._text(field), field)
        add("descriptions", {"value": self._text("abstract"), **tag}, "abstract")
        for field in ("keywords", "keyword"):
            words = _SEPARATOR.split(self._text(field))
            self._gathering.add_texts("subjects", words, field)
        add("languages", language, "language")
        for field in _LICENCES:
            self._gathering.add_licence(self._text(field), field)
        self._identifiers()
        add("sources", self._source(), "journal")
        unread = set(self._fields) - _READ - _UNINTERESTING
        self._gathering.left_out(sorted(unread))

    def _text(self, field: str) -> str:
        """Return a field in one line, without LaTeX."""
        raw = self._fields.get(field, "")
        if raw.startswith('"') and "#" in raw:
            self._gathering.doubt(
                Sentence("%(field)s is made of several parts, and is not read.", field=shown(field))
            )
            return ""
        text, unknown = decoded(raw)
        for name in dict.fromkeys(unknown):
            self._gathering.doubt(
                Sentence(
                    "The command %(name)s of LaTeX in %(field)s is not known.",
                    name=shown(f"\\{name}"),
                    field=shown(field),
                )
            )
        return one_line(text)

    def _verbatim(self, field: str) -> str:
        """Return a field that BibLaTeX takes as it is; old files escape the underscore."""
        raw = self._fields.get(field, "")
        return one_line(raw.replace("\\_", "_").replace("\\%", "%").replace("\\&", "&"))

    # --- people -----------------------------------------------------------------------------------

    def _people(self, field: str, role: str) -> None:
        element = "contributors" if role else "creators"
        for name in split_multiple_persons_names(self._fields.get(field, "")):
            if name.strip().lower() == "others":
                self._gathering.doubt(
                    Sentence("%(field)s has others, who are not named.", field=shown(field))
                )
                continue
            agent = self._agent(name, field)
            if agent:
                given = {"role": role} if role else {}
                self._gathering.add(element, {**agent, **given}, field)

    def _agent(self, name: str, field: str) -> dict[str, str]:
        name = " ".join(name.split())
        if name.startswith("{") and name.endswith("}") and _is_one_group(name):
            whole, _ = decoded(name)
            return {"name": one_line(whole)}
        try:
            parts = parse_single_name_into_parts(name, strict=False)
        except InvalidNameError:
            whole, _ = decoded(name)
            self._gathering.doubt(
                Sentence("The name %(name)s could not be divided.", name=shown(whole))
            )
            return {"name": one_line(whole)}
        return self._parts(parts, field)

    def _parts(self, parts: NameParts, field: str) -> dict[str, str]:
        first, von, last, junior = (
            one_line(decoded(" ".join(words))[0])
            for words in (parts.first, parts.von, parts.last, parts.jr)
        )
        if not last:
            return {"name": first or von} if first or von else {}
        # Catalogues put particles behind the given names, and say what "Jr" is in the family name.
        given = " ".join(filter(None, (first, von)))
        family = f"{last} {junior}" if junior else last
        if junior:
            self._gathering.doubt(
                Sentence(
                    "Look at the name %(name)s in %(field)s.",
                    name=shown(family),
                    field=shown(field),
                )
            )
        return {"family": family, "given": given} if given else {"name": family}

    # --- what it is -------------------------------------------------------------------------------

    def _type(self) -> str:
        said = self._text("type")
        if self._kind == "thesis":
            return _THESES.get(said.lower(), type_of(said) if said else "Thesis")
        known = _TYPES.get(self._kind, "")
        if self._kind in {"phdthesis", "mastersthesis", "techreport", "report"}:
            return known
        return type_of(said) if said else known

    def _date(self) -> str:
        date = self._text("date")
        if date:
            found = date_of(*date.partition("/")[0].split("T")[0].split("-"))
            if date_of(date) == date:
                return date
            if found:
                return found
        year, month, day = (self._text(name) for name in ("year", "month", "day"))
        found = date_of(year, month_of(month), day.zfill(2)) if year else ""
        if year and not found:
            self._gathering.doubt(Sentence("The year %(year)s cannot be read.", year=shown(year)))
        return found

    def _language(self) -> str:
        for field in ("language", "langid"):
            text = self._text(field)
            tag = language_of(text) if text else ""
            if tag:
                return tag
            if text:
                self._gathering.doubt(
                    Sentence("The language %(text)s is not known.", text=shown(text))
                )
        return ""

    def _identifiers(self) -> None:
        label = ""
        eprint = self._verbatim("eprint")
        kind = (self._verbatim("eprinttype") or self._verbatim("archiveprefix")).lower()
        if eprint and kind == "ibi":
            label = eprint
            self._gathering.add_identifier(f"ibi:{eprint}", "eprint")
        elif eprint:
            self._gathering.add_identifier(f"{kind or 'eprint'}:{eprint}", "eprint")
        doi = self._verbatim("doi")
        if doi:
            self._gathering.add_identifier(doi, "doi")
        for field in ("isbn", "issn", "eissn"):
            for text in self._verbatim(field).replace(";", ",").split(","):
                if text.strip():
                    self._gathering.add_identifier(f"{field[-4:]}:{text.strip()}", field)
        url = self._verbatim("url")
        if url and not (label and url.endswith(label)):
            self._gathering.add_identifier(url, "url")

    def _source(self) -> str:
        whole = ", ".join(filter(None, (self._text(field) for field in _WHOLE)))
        number = self._text("number")
        volume = f"{self._text('volume')}{f'({number})' if number else ''}"
        return ", ".join(filter(None, (whole, volume, self._text("pages"))))


def _is_one_group(name: str) -> bool:
    """Return whether the first brace is closed by the last."""
    depth = 0
    for place, sign in enumerate(name):
        depth += (sign == "{") - (sign == "}")
        if not depth:
            return place == len(name) - 1
    return False
