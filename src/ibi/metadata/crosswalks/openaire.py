"""OpenAIRE's guidelines for literature repositories 4, as OAI-PMH gives them (oai_openaire).

People, titles and identifiers are elements of DataCite; texts are those of Dublin Core; type, files
and licence are OpenAIRE's own. The words of the lists are those of COAR.

https://openaire-guidelines-for-literature-repository-managers.readthedocs.io/en/v4.0.0/
"""

from __future__ import annotations

from typing import Any, Final

from lxml import etree

from ibi.metadata import licence
from ibi.metadata.cited_work import WorkKind, kind_of
from ibi.metadata.crosswalks.datacite import attributes
from ibi.metadata.crosswalks.datacite_xml import NAMESPACE as DATACITE
from ibi.metadata.crosswalks.datacite_xml import fundings, people
from ibi.metadata.crosswalks.item_facts import NO_FACTS, ItemFacts, year_of
from ibi.metadata.xml_writing import add, document, root_of
from ibi.model.label_pair import Forms
from ibi.model.metadata_record import MetadataRecord

NAMESPACE: Final = "http://namespace.openaire.eu/schema/oaire/"
SCHEMA: Final = "https://www.openaire.eu/schema/repo-lit/4.0/openaire.xsd"

_DC: Final = "http://purl.org/dc/elements/1.1/"
_COAR: Final = "http://purl.org/coar"
_LITERATURE: Final = "literature"
_OTHER: Final = "other research product"
_TYPES: Final[dict[WorkKind, tuple[str, str, str]]] = {
    WorkKind.ARTICLE: ("c_6501", "journal article", _LITERATURE),
    WorkKind.BOOK: ("c_2f33", "book", _LITERATURE),
    WorkKind.CHAPTER: ("c_3248", "book part", _LITERATURE),
    WorkKind.CONFERENCE_PAPER: ("c_5794", "conference paper", _LITERATURE),
    WorkKind.DATASET: ("c_ddb1", "dataset", "dataset"),
    WorkKind.DOCTORAL_THESIS: ("c_db06", "doctoral thesis", _LITERATURE),
    WorkKind.DOCUMENT: ("c_1843", "other", _OTHER),
    WorkKind.IMAGE: ("c_c513", "image", _OTHER),
    WorkKind.MAP: ("c_12cd", "map", _OTHER),
    WorkKind.MASTER_THESIS: ("c_bdcc", "master thesis", _LITERATURE),
    WorkKind.PRESENTATION: ("c_c94f", "conference object", _LITERATURE),
    WorkKind.REPORT: ("c_93fc", "report", _LITERATURE),
    WorkKind.SOFTWARE: ("c_5ce6", "software", "software"),
    WorkKind.SOUND: ("c_18cc", "sound", _OTHER),
    WorkKind.THESIS: ("c_46ec", "thesis", _LITERATURE),
    WorkKind.VIDEO: ("c_12ce", "video", _OTHER),
    WorkKind.WEB_PAGE: ("c_7ad9", "website", _OTHER),
}
"""The number of COAR's type, its name, and OpenAIRE's general type."""
_OBJECTS: Final = {"dataset": "dataset", "software": "software", _LITERATURE: "fulltext"}
_OPEN: Final = (f"{_COAR}/access_right/c_abf2", "open access")
_RESTRICTED: Final = (f"{_COAR}/access_right/c_16ec", "restricted access")
_NEWER_ROLES: Final = frozenset(("Translator",))
_NEWER_SCHEMES: Final = frozenset(("CSTR", "RRID"))
_NEWER_RELATIONS: Final = frozenset(
    (
        *("IsCollectedBy", "Collects", "IsPublishedIn", "IsObsoletedBy", "Obsoletes"),
        *("HasTranslation", "IsTranslationOf"),
    )
)
"""Words of DataCite that are younger than its schema 4.1, on which the guidelines rest."""


def write(record: MetadataRecord, forms: Forms, base: str, facts: ItemFacts = NO_FACTS) -> bytes:
    """Return the record of the item with these labels; `base` begins persistent URLs."""
    return document(element(record, forms, base, facts))


def element(
    record: MetadataRecord, forms: Forms, base: str, facts: ItemFacts = NO_FACTS
) -> etree._Element:
    """Return the same as an element, with its parts in the order of the guidelines."""
    given = attributes(record, forms, base)
    root = root_of(_own("resource"), {"oaire": NAMESPACE, "datacite": DATACITE, "dc": _DC}, SCHEMA)
    _listed(root, "titles", "title", given.get("titles", []))
    people(root, "creators", given["creators"])
    people(root, "contributors", [_older_role(each) for each in given.get("contributors", [])])
    fundings(root, given.get("fundingReferences", []), _own)
    alternate = given.get("alternateIdentifiers", [])
    _listed(root, "alternateIdentifiers", "alternateIdentifier", alternate)
    _listed(root, "relatedIdentifiers", "relatedIdentifier", _older_relations(given))
    day = record.dates[0] if record.dates else year_of(record, forms)
    _listed(root, "dates", "date", [{"date": day, "dateType": "Issued"}])
    for tag in record.languages:
        add(root, _dc("language"), tag)
    for publisher in record.publishers:
        add(root, _dc("publisher"), str(publisher))
    number, name, general = _TYPES[kind_of(record.types)]
    kind = {"resourceTypeGeneral": general, "uri": f"{_COAR}/resource_type/{number}"}
    add(root, _own("resourceType"), name, attributes=kind)
    for text in record.descriptions:
        add(root, _dc("description"), text.value, text.language)
    for media_type in dict.fromkeys((*record.formats, *_media_types(facts))):
        add(root, _dc("format"), media_type)
    doi = given.get("doi", "")
    is_doi = {"identifierType": "DOI" if doi else "URL"}
    add(root, _of_datacite("identifier"), doi or given["url"], attributes=is_doi)
    access, access_name = _RESTRICTED if facts.restricted else _OPEN
    add(root, _of_datacite("rights"), access_name, attributes={"rightsURI": access})
    for source in record.sources:
        add(root, _dc("source"), source)
    _listed(root, "subjects", "subject", given.get("subjects", []))
    if record.licence:
        terms = {"uri": licence.address_of(record.licence)}
        add(root, _own("licenseCondition"), record.licence, attributes=terms)
    for place in record.coverages:
        add(root, _dc("coverage"), place.value, place.language)
    for file in facts.files:
        about = {
            "accessRightsURI": access,
            "mimeType": file.media_type,
            "objectType": _OBJECTS.get(general, "other"),
        }
        add(root, _own("file"), file.url, attributes=about)
    return root


def _listed(root: etree._Element, plural: str, singular: str, given: list[dict[str, Any]]) -> None:
    """Append a list of DataCite's elements, each with its attributes."""
    if not given:
        return
    parent = add(root, _of_datacite(plural))
    for each in given:
        kept = {name: value for name, value in each.items() if name not in {singular, "lang"}}
        add(parent, _of_datacite(singular), each[singular], each.get("lang", ""), kept)


def _older_role(given: dict[str, Any]) -> dict[str, Any]:
    is_newer = given["contributorType"] in _NEWER_ROLES
    return {**given, "contributorType": "Other"} if is_newer else given


def _older_relations(given: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        each
        for each in given.get("relatedIdentifiers", [])
        if each["relationType"] not in _NEWER_RELATIONS
        and each["relatedIdentifierType"] not in _NEWER_SCHEMES
    ]


def _media_types(facts: ItemFacts) -> list[str]:
    return [each.media_type.partition(";")[0] for each in facts.files if each.media_type]


def _own(local: str) -> str:
    return f"{{{NAMESPACE}}}{local}"


def _of_datacite(local: str) -> str:
    return f"{{{DATACITE}}}{local}"


def _dc(local: str) -> str:
    return f"{{{_DC}}}{local}"
