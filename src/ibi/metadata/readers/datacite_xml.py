"""DataCite's metadata as XML (schema 3 and 4), brought into the form of its JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from lxml import etree

from ibi.errors import MetadataError, Sentence
from ibi.metadata.readers.datacite import reading_of
from ibi.metadata.readers.reading import Reading
from ibi.metadata.xml_text import parsed

_LANG: Final = "{http://www.w3.org/XML/1998/namespace}lang"
_LISTS: Final[Mapping[str, tuple[str, str]]] = {
    "titles": ("title", "title"),
    "subjects": ("subject", "subject"),
    "descriptions": ("description", "description"),
    "dates": ("date", "date"),
    "alternateIdentifiers": ("alternateIdentifier", "alternateIdentifier"),
    "relatedIdentifiers": ("relatedIdentifier", "relatedIdentifier"),
    "rightsList": ("rights", "rights"),
}
"""Elements that are lists: the element of each value, and the name of its text in JSON."""
_SIMPLE: Final = ("publicationYear", "language")
_UNREAD: Final = frozenset(("sizes", "version", "relatedItems"))


def read(content: bytes) -> Reading:
    """Read a resource; MetadataError if the file is not one."""
    root = parsed(content)
    if _name(root) != "resource":
        raise MetadataError(Sentence("The document is not a resource of DataCite."))
    return reading_of(dict(_attributes(root)))


def is_resource(root: str) -> bool:
    """Return whether the name of a root element is that of DataCite."""
    return root.startswith("{http://datacite.org/schema/") and root.endswith("}resource")


def _attributes(root: etree._Element) -> Iterator[tuple[str, object]]:
    for element in _children(root):
        name = _name(element)
        if name in _LISTS:
            inner, part = _LISTS[name]
            yield name, [_value(each, part) for each in _children(element) if _name(each) == inner]
        elif name in {"creators", "contributors"}:
            yield name, [_person(each, name.removesuffix("s")) for each in _children(element)]
        elif name == "resourceType":
            general = str(element.get("resourceTypeGeneral", ""))
            yield "types", {"resourceType": _text(element), "resourceTypeGeneral": general}
        elif name == "publisher" or name in _SIMPLE:
            yield name, _text(element)
        elif name == "identifier":
            kind = str(element.get("identifierType", ""))
            yield "identifiers", [{"identifier": _text(element), "identifierType": kind}]
        elif name == "formats":
            yield name, [_text(each) for each in _children(element)]
        elif name in {"fundingReferences", "geoLocations"}:
            yield name, [_parts(each) for each in _children(element)]
        else:
            yield name, "x" if name in _UNREAD or _text(element) else ""


def _value(element: etree._Element, part: str) -> dict[str, str]:
    own = {str(name): str(value) for name, value in element.attrib.items() if name != _LANG}
    language = str(element.get(_LANG, ""))
    return {part: _text(element), **own, **({"lang": language} if language else {})}


def _person(element: etree._Element, kind: str) -> dict[str, object]:
    person: dict[str, object] = {}
    if element.get("contributorType"):
        person["contributorType"] = str(element.get("contributorType"))
    identifiers: list[dict[str, str]] = []
    affiliations: list[str] = []
    for each in _children(element):
        name = _name(each)
        if name == f"{kind}Name":
            person["name"] = _text(each)
            person["nameType"] = str(each.get("nameType", ""))
        elif name == "nameIdentifier":
            scheme = str(each.get("nameIdentifierScheme", ""))
            identifiers.append({"nameIdentifier": _text(each), "nameIdentifierScheme": scheme})
        elif name == "affiliation":
            affiliations.append(_text(each))
        else:
            person[name] = _text(each)
    return person | {"nameIdentifiers": identifiers, "affiliation": affiliations}


def _parts(element: etree._Element) -> dict[str, str]:
    return {_name(each): _text(each) for each in _children(element)}


def _children(element: etree._Element) -> Iterator[etree._Element]:
    return element.iterchildren("{*}*")  # no comments


def _name(element: etree._Element) -> str:
    return str(etree.QName(element).localname)


def _text(element: etree._Element) -> str:
    """Return all text; DataCite allows a line break as an element in it."""
    return "".join(str(part) for part in element.itertext()).strip()
