"""MODS 3, the format of library catalogues (https://www.loc.gov/standards/mods/).

Elements and attributes are those of version 3.4, which every later version has too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from lxml import etree

from ibi.identifier.persistent_url import PersistentUrl
from ibi.metadata import licence
from ibi.metadata.cited_work import WorkKind, kind_of
from ibi.metadata.crosswalks.item_facts import NO_FACTS, ItemFacts
from ibi.metadata.related import scheme_of
from ibi.metadata.xml_writing import add, document, root_of
from ibi.model.label_pair import Forms
from ibi.model.metadata_record import Agent, Funding, MetadataRecord, RelatedIdentifier, Text

MEDIA_TYPE: Final = "application/mods+xml; charset=utf-8"
NAMESPACE: Final = "http://www.loc.gov/mods/v3"
SCHEMA: Final = "http://www.loc.gov/standards/mods/v3/mods-3-4.xsd"

_VERSION: Final = "3.4"
_XLINK: Final = "http://www.w3.org/1999/xlink"
_HREF: Final = f"{{{_XLINK}}}href"
_ORCID: Final = "https://orcid.org"
_RESOURCES: Final[Mapping[WorkKind, str]] = {
    WorkKind.DATASET: "software, multimedia",
    WorkKind.IMAGE: "still image",
    WorkKind.MAP: "cartographic",
    WorkKind.SOFTWARE: "software, multimedia",
    WorkKind.SOUND: "sound recording",
    WorkKind.VIDEO: "moving image",
}
"""The type of resource of each kind of works; all others are texts."""
_ROLES: Final[Mapping[str, str]] = {
    "DataCollector": "collector",
    "DataCurator": "curator",
    "DataManager": "data manager",
    "Distributor": "distributor",
    "Editor": "editor",
    "HostingInstitution": "host institution",
    "Producer": "producer",
    "ProjectLeader": "project director",
    "Researcher": "researcher",
    "RightsHolder": "copyright holder",
    "Sponsor": "sponsor",
    "Supervisor": "thesis advisor",
    "Translator": "translator",
}
"""The term of MARC for a role; other roles are written as they are."""
_RELATIONS: Final[Mapping[str, str]] = {
    "IsPartOf": "host",
    "IsPublishedIn": "host",
    "HasPart": "constituent",
    "Continues": "preceding",
    "IsNewVersionOf": "preceding",
    "IsContinuedBy": "succeeding",
    "IsPreviousVersionOf": "succeeding",
    "IsVersionOf": "otherVersion",
    "HasVersion": "otherVersion",
    "IsTranslationOf": "otherVersion",
    "HasTranslation": "otherVersion",
    "IsVariantFormOf": "otherFormat",
    "IsDerivedFrom": "original",
    "IsReferencedBy": "isReferencedBy",
    "IsCitedBy": "isReferencedBy",
    "References": "references",
    "Cites": "references",
    "Reviews": "reviewOf",
}
"""The type of a related item; other relations have none."""


def write(record: MetadataRecord, forms: Forms, base: str, facts: ItemFacts = NO_FACTS) -> bytes:
    """Return the record of the item with these labels; `base` begins persistent URLs."""
    return document(element(record, forms, base, facts))


def element(
    record: MetadataRecord, forms: Forms, base: str, facts: ItemFacts = NO_FACTS
) -> etree._Element:
    """Return the same as an element."""
    root = root_of(_name("mods"), {None: NAMESPACE, "xlink": _XLINK}, SCHEMA)
    root.set("version", _VERSION)
    for number, title in enumerate(record.titles):
        _title(root, title, record.title if number else None)
    for creator in record.named_creators:
        _agent(root, creator, "creator")
    for each in record.contributors:
        _agent(root, each, _ROLES.get(each.role, each.role) or "contributor")
    _kind(root, record)
    _contents(root, record)
    for funding in record.funding:
        add(root, _name("note"), _funded(funding), attributes={"type": "funding"})
    for related in record.related:
        _related(root, related)
    for source in record.sources:
        _other(root, source, "original")
    for relation in record.relations:
        _other(root, relation, "")
    _identifiers(root, record, forms)
    _location(root, PersistentUrl(forms.short).at(base), facts)
    _rights(root, record)
    return root


def _kind(root: etree._Element, record: MetadataRecord) -> None:
    """Append what the item is, where it was published, its languages and formats."""
    add(root, _name("typeOfResource"), _RESOURCES.get(kind_of(record.types), "text"))
    for word in record.types:
        add(root, _name("genre"), word)
    if record.publishers or record.dates:
        _origin(root, record)
    for tag in record.languages:
        coded = {"type": "code", "authority": "rfc4646"}
        add(add(root, _name("language")), _name("languageTerm"), tag, attributes=coded)
    if record.formats:
        physical = add(root, _name("physicalDescription"))
        for media_type in record.formats:
            add(physical, _name("internetMediaType"), media_type)


def _contents(root: etree._Element, record: MetadataRecord) -> None:
    """Append what the item is about."""
    for text in record.descriptions:
        add(root, _name("abstract"), text.value, text.language)
    for name, texts in (("topic", record.subjects), ("geographic", record.coverages)):
        for text in texts:
            parent = add(root, _name("subject"), language=text.language)
            add(parent, _name(name), text.value)


def _location(root: etree._Element, url: str, facts: ItemFacts) -> None:
    location = add(root, _name("location"))
    add(location, _name("url"), url, attributes={"usage": "primary display"})
    for file in facts.files:
        attributes = {"access": "raw object", "displayLabel": file.path}
        add(location, _name("url"), file.url, attributes=attributes)


def _title(root: etree._Element, title: Text, main: Text | None) -> None:
    kind = ""
    if main is not None:
        is_other = title.language and title.language != main.language
        kind = "translated" if is_other else "alternative"
    info = add(root, _name("titleInfo"), language=title.language, attributes={"type": kind})
    add(info, _name("title"), title.value)


def _agent(root: etree._Element, agent: Agent, role: str) -> None:
    is_person = agent.family or agent.orcid
    attributes = {"type": "personal" if is_person else "corporate"}
    if agent.orcid:
        uri = f"{_ORCID}/{agent.orcid}"
        attributes |= {"authority": "orcid", "authorityURI": _ORCID, "valueURI": uri}
    name = add(root, _name("name"), attributes=attributes)
    if agent.family:
        add(name, _name("namePart"), agent.family, attributes={"type": "family"})
        if agent.given:
            add(name, _name("namePart"), agent.given, attributes={"type": "given"})
    else:
        add(name, _name("namePart"), agent.name)
    terms = {"type": "text", "authority": "marcrelator"}
    add(add(name, _name("role")), _name("roleTerm"), role, attributes=terms)
    if agent.affiliation:
        add(name, _name("affiliation"), agent.affiliation)


def _origin(root: etree._Element, record: MetadataRecord) -> None:
    origin = add(root, _name("originInfo"))
    for publisher in record.publishers:
        add(origin, _name("publisher"), str(publisher))
    for number, text in enumerate(record.dates):
        first, slash, second = text.partition("/")
        coded = {"encoding": "w3cdtf", "keyDate": "" if number else "yes"}
        start = {**coded, "point": "start" if slash else ""}
        add(origin, _name("dateIssued"), first, attributes=start)
        if slash:
            end = {"encoding": "w3cdtf", "point": "end"}
            add(origin, _name("dateIssued"), second, attributes=end)


def _funded(funding: Funding) -> str:
    parts = (funding.funder, funding.funder_id, funding.award, funding.title)
    return "; ".join(part for part in parts if part)


def _related(root: etree._Element, related: RelatedIdentifier) -> None:
    kind = _RELATIONS.get(related.relation, "")
    item = add(
        root, _name("relatedItem"), attributes={"type": kind, "displayLabel": related.relation}
    )
    scheme = {"type": related.scheme.lower()}
    add(item, _name("identifier"), related.identifier, attributes=scheme)


def _other(root: etree._Element, text: str, kind: str) -> None:
    item = add(root, _name("relatedItem"), attributes={"type": kind})
    add(add(item, _name("titleInfo")), _name("title"), text)


def _identifiers(root: etree._Element, record: MetadataRecord, forms: Forms) -> None:
    for label in forms:
        add(root, _name("identifier"), label.spelling, attributes={"type": "ibi"})
    for text in record.identifiers:
        scheme, bare = scheme_of(text)
        is_known = scheme in {"DOI", "ISBN", "ISSN"}
        kind = {"type": scheme.lower() if scheme else "local"}
        add(root, _name("identifier"), bare if is_known else text, attributes=kind)


def _rights(root: etree._Element, record: MetadataRecord) -> None:
    use = {"type": "use and reproduction"}
    for text in record.rights:
        add(root, _name("accessCondition"), text.value, text.language, use)
    if record.licence:
        address = {_HREF: licence.address_of(record.licence)}
        add(root, _name("accessCondition"), record.licence, attributes={**use, **address})


def _name(local: str) -> str:
    return f"{{{NAMESPACE}}}{local}"
