"""CITATION.cff of a software or data set (Citation File Format 1.2), which is YAML."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import yaml

from ibi.errors import MetadataError, Sentence, shown
from ibi.metadata.readers.reading import (
    DEEPEST,
    Gathering,
    Reading,
    objects_in,
    one_line,
    paragraphs,
    text_in,
    text_of,
    texts_in,
)
from ibi.metadata.readers.words import date_of

LARGEST: Final = 65_536
"""The largest file that is read, in bytes: the parser takes ten seconds for a megabyte."""

_READ: Final = frozenset(
    (
        *("cff-version", "message", "title", "abstract", "authors", "contact", "date-released"),
        *("doi", "identifiers", "keywords", "license", "license-url", "repository-code", "url"),
        *("repository", "repository-artifact", "type", "version"),
    )
)


class _Loader(yaml.BaseLoader):  # type: ignore[misc]  # the library ships no types
    """Loads texts, lists and mappings only: no type, no alias, no deep nesting."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = 0

    def compose_node(self, parent: object, index: object) -> object:
        if self.check_event(yaml.AliasEvent):
            raise MetadataError(Sentence("The file has an alias of YAML, which is not read here."))
        self._depth += 1
        if self._depth > DEEPEST:
            raise MetadataError(Sentence("The file is nested too deep."))
        try:
            return super().compose_node(parent, index)
        finally:
            self._depth -= 1


def read(content: bytes) -> Reading:
    """Read a citation file; MetadataError if it is not one."""
    given = _loaded(text_of(content, LARGEST))
    if not isinstance(given, Mapping) or "cff-version" not in given:
        raise MetadataError(Sentence("The file is not a CITATION.cff: it has no cff-version."))
    gathering = Gathering()
    gathering.add("titles", one_line(text_in(given.get("title"))), "title")
    for person in objects_in(given.get("authors")):
        _person(person, "", "authors", gathering)
    for person in objects_in(given.get("contact")):
        _person(person, "ContactPerson", "contact", gathering)
    kind = text_in(given.get("type")) or "software"
    gathering.add("types", "Dataset" if kind == "dataset" else "Software", "type")
    _date(text_in(given.get("date-released")), gathering)
    gathering.add("descriptions", paragraphs(text_in(given.get("abstract"))), "abstract")
    gathering.add(
        "subjects", [one_line(each) for each in texts_in(given.get("keywords"))], "keywords"
    )
    for licence in (*texts_in(given.get("license")), *texts_in(given.get("license-url"))):
        gathering.add_licence(licence, "license")
    _identifiers(given, gathering)
    gathering.left_out(sorted(str(name) for name in given if name not in _READ))
    if "version" in given:
        gathering.left_out(["version"])
    return gathering.reading()


def _loaded(text: str) -> object:
    try:
        return _Loader(text).get_single_data()
    except MetadataError:
        raise
    except (yaml.YAMLError, RecursionError, ValueError, TypeError):
        raise MetadataError(Sentence("The file cannot be read as YAML.")) from None


def _person(given: Mapping[str, object], role: str, field: str, gathering: Gathering) -> None:
    family, first, particle, suffix, name, affiliation, orcid = (
        one_line(text_in(given.get(part)))
        for part in (
            *("family-names", "given-names", "name-particle", "name-suffix", "name"),
            *("affiliation", "orcid"),
        )
    )
    family = " ".join(filter(None, (family, suffix)))
    first = " ".join(filter(None, (first, particle)))
    parts = {"family": family, "given": first} if family else {"name": name or first}
    known = {"orcid": orcid, "affiliation": affiliation, "role": role}
    kept = {part: text for part, text in (parts | known).items() if text}
    if parts.get("family") or parts.get("name"):
        gathering.add("contributors" if role else "creators", kept, field)
    elif text_in(given.get("alias")):
        gathering.add(
            "contributors" if role else "creators",
            {"name": one_line(text_in(given.get("alias")))},
            field,
        )


def _date(text: str, gathering: Gathering) -> None:
    found = date_of(*text.split("-")) if text else ""
    gathering.add("dates", found, "date-released")
    if text and not found:
        gathering.doubt(Sentence("The date %(text)s cannot be read.", text=shown(text)))


def _identifiers(given: Mapping[str, object], gathering: Gathering) -> None:
    for doi in texts_in(given.get("doi")):
        gathering.add_identifier(doi, "doi")
    for each in objects_in(given.get("identifiers")):
        gathering.add_identifier(one_line(text_in(each.get("value"))), "identifiers")
    for field in ("url", "repository-code", "repository", "repository-artifact"):
        for address in texts_in(given.get(field)):
            gathering.add_identifier(address, field)
