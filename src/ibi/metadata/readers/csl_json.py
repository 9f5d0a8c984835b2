"""CSL-JSON: the first item of a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ibi.errors import Sentence, shown
from ibi.metadata.readers.json_text import json_in, object_in
from ibi.metadata.readers.reading import (
    Gathering,
    Reading,
    objects_in,
    one_line,
    paragraphs,
    text_in,
    texts_in,
)
from ibi.metadata.readers.words import date_of, language_of, type_of

_TYPES: Final = {
    "article": "Preprint",
    "article-journal": "Article",
    "article-magazine": "Article",
    "article-newspaper": "Article",
    "book": "Book",
    "broadcast": "Sound",
    "chapter": "Book chapter",
    "collection": "Collection",
    "dataset": "Dataset",
    "document": "Text",
    "entry": "Text",
    "event": "Event",
    "figure": "Image",
    "graphic": "Image",
    "interview": "Text",
    "manuscript": "Text",
    "map": "Map",
    "motion_picture": "MovingImage",
    "paper-conference": "Conference paper",
    "post": "Web page",
    "post-weblog": "Web page",
    "report": "Report",
    "review": "Text",
    "software": "Software",
    "song": "Sound",
    "speech": "Presentation",
    "standard": "Text",
    "thesis": "Thesis",
    "webpage": "Web page",
}
_PEOPLE: Final = {"author": "", "editor": "Editor", "translator": "Translator"}
_SOURCE: Final = ("container-title", "collection-title", "volume", "issue", "page")
_READ: Final = frozenset(
    (
        *(*_PEOPLE, *_SOURCE),
        *("id", "type", "genre", "title", "issued", "publisher", "language", "URL", "DOI", "ISBN"),
        *("ISSN", "abstract", "keyword", "note", "license", "accessed", "citation-key"),
        *("title-short", "indexed", "score", "citation-label", "source", "author-count"),
    )
)
_NOTE: Final = "IBI: "
"""How the note begins in which an archive writes the label of an item."""


def read(content: bytes) -> Reading:
    """Read the first item; MetadataError if there is none."""
    item = object_in(content)
    gathering = Gathering()
    given = json_in(content)
    if isinstance(given, list) and len(given) > 1:
        gathering.doubt(
            Sentence("The file has %(count)s items: only the first was read.", count=len(given))
        )
    language = _language(item, gathering)
    gathering.add_texts("titles", map(one_line, texts_in(item.get("title"))), "title", language)
    for field, role in _PEOPLE.items():
        for name in objects_in(item.get(field)):
            _person(name, field, role, gathering)
    gathering.add("types", _type(item), "type")
    gathering.add("dates", _issued(item.get("issued"), gathering), "issued")
    gathering.add("publishers", one_line(text_in(item.get("publisher"))), "publisher")
    abstracts = map(paragraphs, texts_in(item.get("abstract")))
    gathering.add_texts("descriptions", abstracts, "abstract", language)
    words = [word for text in texts_in(item.get("keyword")) for word in text.split(",")]
    gathering.add_texts("subjects", map(one_line, words), "keyword")
    gathering.add("languages", language, "language")
    for licence in texts_in(item.get("license")):
        gathering.add_licence(licence, "license")
    _identifiers(item, gathering)
    source = ", ".join(one_line(text) for name in _SOURCE for text in texts_in(item.get(name))[:1])
    gathering.add("sources", source, "container-title")
    gathering.left_out(sorted(set(item) - _READ))
    return gathering.reading()


def _person(name: Mapping[str, object], field: str, role: str, gathering: Gathering) -> None:
    family, given, particle, suffix, literal = (
        one_line(text_in(name.get(part)))
        for part in ("family", "given", "dropping-particle", "suffix", "literal")
    )
    inner = one_line(text_in(name.get("non-dropping-particle")))
    family = " ".join(filter(None, (inner, family, suffix)))
    given = " ".join(filter(None, (given, particle)))
    agent = {"name": literal or given} if not family else {"family": family, "given": given}
    known = {part: text for part, text in agent.items() if text}
    if not known:
        return
    orcid = text_in(name.get("ORCID"))
    element = "contributors" if role else "creators"
    parts = known | ({"orcid": orcid} if orcid else {}) | ({"role": role} if role else {})
    gathering.add(element, parts, field)


def _type(item: Mapping[str, object]) -> str:
    kind, genre = text_in(item.get("type")), one_line(text_in(item.get("genre")))
    if kind == "thesis" and genre:
        return type_of(genre)
    return _TYPES.get(kind, kind)


def _issued(value: object, gathering: Gathering) -> str:
    for issued in objects_in(value):
        ends = issued.get("date-parts")
        first = ends[0] if isinstance(ends, list) and ends else None
        if isinstance(first, list) and first:
            parts = [str(part).zfill(4 if number == 0 else 2) for number, part in enumerate(first)]
            found = date_of(*parts[:3])
        else:
            raw = text_in(issued.get("raw")) or text_in(issued.get("literal"))
            found = date_of(*raw.split("T")[0].split("-")) if raw else ""
        if found:
            return found
        gathering.doubt(Sentence("The date %(text)s cannot be read.", text=shown(str(issued)[:60])))
    return ""


def _language(item: Mapping[str, object], gathering: Gathering) -> str:
    text = text_in(item.get("language"))
    tag = language_of(text) if text else ""
    if text and not tag:
        gathering.doubt(Sentence("The language %(text)s is not known.", text=shown(text)))
    return tag


def _identifiers(item: Mapping[str, object], gathering: Gathering) -> None:
    note = text_in(item.get("note"))
    label = note.removeprefix(_NOTE) if note.startswith(_NOTE) else ""
    if label:
        gathering.add_identifier(f"ibi:{label}", "note")
    elif note:
        gathering.left_out(["note"])
    for doi in texts_in(item.get("DOI")):
        gathering.add_identifier(doi, "DOI")
    for scheme in ("ISBN", "ISSN"):
        for text in texts_in(item.get(scheme)):
            gathering.add_identifier(f"{scheme} {text}", scheme)
    for address in texts_in(item.get("URL")):
        if not (label and address.endswith(label)):
            gathering.add_identifier(address, "URL")
