"""The formats that are read, and which of them a file has."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from ibi.errors import MetadataError, Sentence, shown
from ibi.metadata.crosswalks import oai_dc
from ibi.metadata.crosswalks.own_json import ITEM
from ibi.metadata.json_record import record_from
from ibi.metadata.readers import csl_json, datacite, datacite_xml
from ibi.metadata.readers.json_text import json_in, object_in
from ibi.metadata.readers.reading import Reading
from ibi.metadata.xml_text import root_name


class InputFormat(NamedTuple):
    """A format that is read."""

    name: str
    """Its name in the API and on the command line."""
    title: str
    """Its name for people, the same in every language."""
    read: Callable[[bytes], Reading]


# The libraries of the first three are loaded with the first file of their format.


def _read_bibtex(content: bytes) -> Reading:
    from ibi.metadata.readers import bibtex  # noqa: PLC0415  # see above

    return bibtex.read(content)


def _read_ris(content: bytes) -> Reading:
    from ibi.metadata.readers import ris  # noqa: PLC0415  # see above

    return ris.read(content)


def _read_cff(content: bytes) -> Reading:
    from ibi.metadata.readers import citation_cff  # noqa: PLC0415  # see above

    return citation_cff.read(content)


def _read_oai_dc(content: bytes) -> Reading:
    return Reading(oai_dc.read(content))


def _read_record(content: bytes) -> Reading:
    given = object_in(content)
    return Reading(record_from({name: part for name, part in given.items() if name != ITEM}))


FORMATS: Final[Mapping[str, InputFormat]] = {
    format_.name: format_
    for format_ in (
        InputFormat("bibtex", "BibTeX", _read_bibtex),
        InputFormat("ris", "RIS", _read_ris),
        InputFormat("csl", "CSL-JSON", csl_json.read),
        InputFormat("datacite", "DataCite JSON", datacite.read),
        InputFormat("datacite_xml", "DataCite XML", datacite_xml.read),
        InputFormat("cff", "CITATION.cff", _read_cff),
        InputFormat("oai_dc", "Dublin Core", _read_oai_dc),
        InputFormat("ibi", "JSON", _read_record),
    )
}
"""The formats by name; `ibi` is the archive's own JSON."""

_RIS: Final = re.compile(r"\s{0,20}TY  -")
_YAML: Final = re.compile(r"^cff-version\s{0,9}:", re.MULTILINE)
_BIBTEX: Final = re.compile(r"@[A-Za-z]{1,30}[ \t]{0,9}[{(]")
_BEGINNING: Final = 4096
"""Characters in which a format is looked for."""


def read_metadata(content: bytes, format_: str = "") -> Reading:
    """Read a file that describes a work; its format is found by its content, unless it is given.

    MetadataError if the format is not known, or nothing of it can be read.
    """
    name = format_ or format_of(content)
    known = FORMATS.get(name)
    if known is None:
        formats = ", ".join(FORMATS)
        raise MetadataError(
            Sentence(
                "%(name)s is not a format that is read: expected one of %(formats)s.",
                name=shown(name),
                formats=formats,
            )
        )
    return known.read(content)


def format_of(content: bytes) -> str:
    """Return the name of the format of a file; MetadataError if it has none of them."""
    text = content.decode("utf-8", "replace").removeprefix("\ufeff").lstrip()
    if text.startswith("<"):
        root = root_name(content)
        return "datacite_xml" if datacite_xml.is_resource(root) else "oai_dc"
    if text.startswith(("{", "[")):
        return _of_json(json_in(content))
    beginning = text[:_BEGINNING]
    if _RIS.match(beginning):
        return "ris"
    if _YAML.search(text):
        return "cff"
    if _BIBTEX.search(text):
        return "bibtex"
    raise MetadataError(
        Sentence(
            "The file is in none of the formats that are read: %(formats)s.", formats=_titles()
        )
    )


def _of_json(value: object) -> str:
    first = value[0] if isinstance(value, list) and value else value
    given: Mapping[str, Any] = first if isinstance(first, Mapping) else {}
    if "data" in given or {"creators", "publicationYear"} <= set(given) or "types" in given:
        is_own = isinstance(given.get("types"), list)
        return "ibi" if is_own else "datacite"
    if "titles" in given:
        return "ibi" if not _has_objects_of_datacite(given["titles"]) else "datacite"
    return "csl"


def _has_objects_of_datacite(titles: object) -> bool:
    values = titles if isinstance(titles, list) else [titles]
    return any(isinstance(each, Mapping) and "title" in each for each in values)


def _titles() -> str:
    return ", ".join(each.title for each in FORMATS.values())
