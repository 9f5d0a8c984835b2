"""DataCite's metadata as XML (schema 4): the attributes of its JSON as elements.

An item without a DOI has its persistent URL as its identifier, with the type URL.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from lxml import etree

from ibi.metadata.crosswalks.datacite import attributes
from ibi.metadata.crosswalks.item_facts import NO_FACTS, ItemFacts
from ibi.metadata.xml_writing import add, document, root_of
from ibi.model.label_pair import Forms
from ibi.model.metadata_record import MetadataRecord

MEDIA_TYPE: Final = "application/vnd.datacite.datacite+xml; charset=utf-8"
NAMESPACE: Final = "http://datacite.org/schema/kernel-4"
SCHEMA: Final = "http://schema.datacite.org/meta/kernel-4/metadata.xsd"

_TEXTS: Final[Mapping[str, tuple[str, str]]] = {
    "titles": ("title", "title"),
    "subjects": ("subject", "subject"),
    "dates": ("date", "date"),
    "alternateIdentifiers": ("alternateIdentifier", "alternateIdentifier"),
    "relatedIdentifiers": ("relatedIdentifier", "relatedIdentifier"),
    "rightsList": ("rights", "rights"),
    "descriptions": ("description", "description"),
}
"""Lists of texts with attributes: the element of each, and the part that is its text."""
_PLAIN: Final[Mapping[str, str]] = {"sizes": "size", "formats": "format"}
_ATTRIBUTES: Final[Mapping[str, str]] = {"rightsUri": "rightsURI", "schemeUri": "schemeURI"}
"""Parts of the JSON that have another name as an attribute."""


def write(record: MetadataRecord, forms: Forms, base: str, facts: ItemFacts = NO_FACTS) -> bytes:
    """Return the record of the item with these labels; `base` begins persistent URLs."""
    return document(element(record, forms, base, facts))


def element(
    record: MetadataRecord, forms: Forms, base: str, facts: ItemFacts = NO_FACTS
) -> etree._Element:
    """Return the same as an element."""
    given = attributes(record, forms, base, facts)
    root = root_of(_name("resource"), {None: NAMESPACE}, SCHEMA)
    doi = given.get("doi", "")
    kind = {"identifierType": "DOI" if doi else "URL"}
    add(root, _name("identifier"), doi or given["url"], attributes=kind)
    people(root, "creators", given["creators"])
    _texts(root, "titles", given)
    add(root, _name("publisher"), given["publisher"]["name"])
    add(root, _name("publicationYear"), given["publicationYear"])
    types = {"resourceTypeGeneral": given["types"]["resourceTypeGeneral"]}
    add(root, _name("resourceType"), given["types"]["resourceType"], attributes=types)
    _texts(root, "subjects", given)
    people(root, "contributors", given.get("contributors", []))
    _texts(root, "dates", given)
    if "language" in given:
        add(root, _name("language"), given["language"])
    _texts(root, "alternateIdentifiers", given)
    _texts(root, "relatedIdentifiers", given)
    for plural, singular in _PLAIN.items():
        if plural in given:
            parent = add(root, _name(plural))
            for each in given[plural]:
                add(parent, _name(singular), each)
    _texts(root, "rightsList", given)
    _texts(root, "descriptions", given)
    _places(root, given.get("geoLocations", []))
    fundings(root, given.get("fundingReferences", []), _name)
    return root


def people(root: etree._Element, plural: str, given: list[dict[str, Any]]) -> None:
    """Append creators or contributors."""
    if not given:
        return
    singular = plural.removesuffix("s")
    parent = add(root, _name(plural))
    for each in given:
        kind = {"contributorType": each.get("contributorType", "")}
        agent = add(parent, _name(singular), attributes=kind)
        named = {"nameType": each.get("nameType", "")}
        add(agent, _name(f"{singular}Name"), each["name"], attributes=named)
        for part in ("givenName", "familyName"):
            if part in each:
                add(agent, _name(part), each[part])
        for known in each.get("nameIdentifiers", []):
            scheme = {
                "nameIdentifierScheme": known["nameIdentifierScheme"],
                "schemeURI": known["schemeUri"],
            }
            add(agent, _name("nameIdentifier"), known["nameIdentifier"], attributes=scheme)
        for place in each.get("affiliation", []):
            add(agent, _name("affiliation"), place["name"])


def _texts(root: etree._Element, plural: str, given: Mapping[str, Any]) -> None:
    if plural not in given:
        return
    singular, part = _TEXTS[plural]
    parent = add(root, _name(plural))
    for each in given[plural]:
        kept = {
            _ATTRIBUTES.get(name, name): value
            for name, value in each.items()
            if name not in {part, "lang"}
        }
        add(parent, _name(singular), each[part], each.get("lang", ""), kept)


def _places(root: etree._Element, given: list[dict[str, str]]) -> None:
    if given:
        parent = add(root, _name("geoLocations"))
        for each in given:
            place = add(parent, _name("geoLocation"))
            add(place, _name("geoLocationPlace"), each["geoLocationPlace"])


def fundings(root: etree._Element, given: list[dict[str, str]], name: Callable[[str], str]) -> None:
    """Append references to funding; `name` puts the name of an element into a namespace."""
    if not given:
        return
    parent = add(root, name("fundingReferences"))
    for each in given:
        funding = add(parent, name("fundingReference"))
        add(funding, name("funderName"), each["funderName"])
        if "funderIdentifier" in each:
            kind = {"funderIdentifierType": each["funderIdentifierType"]}
            add(funding, name("funderIdentifier"), each["funderIdentifier"], attributes=kind)
        if "awardNumber" in each:
            address = {"awardURI": each.get("awardUri", "")}
            add(funding, name("awardNumber"), each["awardNumber"], attributes=address)
        if "awardTitle" in each:
            add(funding, name("awardTitle"), each["awardTitle"])


def _name(local: str) -> str:
    return f"{{{NAMESPACE}}}{local}"
