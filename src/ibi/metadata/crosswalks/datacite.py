"""DataCite's metadata as JSON (schema 4), from which the XML is made too.

The identifier is the DOI of the item, if it has one; its labels and its persistent URL are in
`alternateIdentifiers` and `url`. What the schema requires and a record may lack has the words of
DataCite's appendix 3: a creator or publisher that is not given is `:unav`.

https://datacite-metadata-schema.readthedocs.io/en/4.6/properties/
"""

from __future__ import annotations

import json
from typing import Any, Final

from ibi.identifier.persistent_url import PersistentUrl
from ibi.metadata import licence
from ibi.metadata.choices import item_type
from ibi.metadata.cited_work import WorkKind, kind_of
from ibi.metadata.crosswalks.item_facts import NO_FACTS, ItemFacts, unique, year_of
from ibi.metadata.related import scheme_of
from ibi.metadata.vocabulary import RELATIONS, ROLES, SCHEMES
from ibi.model.label_pair import Forms
from ibi.model.metadata_record import UNKNOWN, Agent, Funding, MetadataRecord, RelatedIdentifier
from ibi.wire.addresses import is_web_address

MEDIA_TYPE: Final = "application/vnd.datacite.datacite+json"
UNAVAILABLE: Final = ":unav"
"""What stands for a value that the schema requires and the record does not have."""
SCHEMA_VERSION: Final = "http://datacite.org/schema/kernel-4"
ORCID: Final = "https://orcid.org"

_GENERAL: Final[dict[WorkKind, str]] = {
    WorkKind.ARTICLE: "JournalArticle",
    WorkKind.BOOK: "Book",
    WorkKind.CHAPTER: "BookChapter",
    WorkKind.CONFERENCE_PAPER: "ConferencePaper",
    WorkKind.DATASET: "Dataset",
    WorkKind.DOCTORAL_THESIS: "Dissertation",
    WorkKind.DOCUMENT: "Other",
    WorkKind.IMAGE: "Image",
    WorkKind.MAP: "Image",
    WorkKind.MASTER_THESIS: "Dissertation",
    WorkKind.PRESENTATION: "Text",
    WorkKind.REPORT: "Report",
    WorkKind.SOFTWARE: "Software",
    WorkKind.SOUND: "Sound",
    WorkKind.THESIS: "Dissertation",
    WorkKind.VIDEO: "Audiovisual",
    WorkKind.WEB_PAGE: "Text",
}
_FUNDER_REGISTRIES: Final = (
    ("ror.org/", "ROR"),
    ("10.13039/", "Crossref Funder ID"),
    ("isni.org/", "ISNI"),
    ("grid.", "GRID"),
)
"""A part of the identifiers of funders, and the name of the registry."""


def write(record: MetadataRecord, forms: Forms, base: str, facts: ItemFacts = NO_FACTS) -> bytes:
    """Return the record of the item with these labels; `base` begins persistent URLs."""
    value = attributes(record, forms, base, facts)
    # Surrogates, which no checked record has, stay escaped.
    return json.dumps(value, ensure_ascii=False, indent=1).encode("utf-8", "backslashreplace")


def attributes(
    record: MetadataRecord, forms: Forms, base: str, facts: ItemFacts = NO_FACTS
) -> dict[str, Any]:
    """Return the attributes of DataCite's JSON, without empty ones."""
    url = PersistentUrl(forms.short).at(base)
    dois, others = _identifiers(record, forms)
    every: dict[str, Any] = {
        "doi": dois[0] if dois else "",
        "url": url,
        "types": _types(record),
        "creators": _creators(record),
        "titles": _titles(record),
        "publisher": {"name": str(record.publishers[0]) if record.publishers else UNAVAILABLE},
        "publicationYear": year_of(record, forms),
        "subjects": unique(
            [{"subject": each.value, "lang": each.language} for each in record.subjects]
        ),
        "contributors": [_contributor(each) for each in record.contributors],
        "dates": _dates(record, facts),
        "language": record.languages[0] if record.languages else "",
        "alternateIdentifiers": others,
        "relatedIdentifiers": [_related(each, base) for each in record.related if _is_known(each)],
        "formats": list(dict.fromkeys(record.formats)),
        "sizes": [f"{sum(each.size for each in facts.files)} bytes"] if facts.files else [],
        "rightsList": _rights(record),
        "descriptions": unique(
            [
                {"description": text.value, "descriptionType": "Abstract", "lang": text.language}
                for text in record.descriptions
            ]
        ),
        "geoLocations": unique([{"geoLocationPlace": text.value} for text in record.coverages]),
        "fundingReferences": [_funding(each) for each in record.funding],
        "schemaVersion": SCHEMA_VERSION,
    }
    return {name: value for name, value in every.items() if value}


def _types(record: MetadataRecord) -> dict[str, str]:
    exact = record.types[0] if record.types else ""
    listed = item_type(exact)
    general = listed.general if listed else _GENERAL[kind_of(record.types)]
    return {"resourceTypeGeneral": general, "resourceType": exact or general}


def _titles(record: MetadataRecord) -> list[dict[str, object]]:
    main = record.title
    kinds = [
        "" if text is main else _title_type(text.language, main.language) for text in record.titles
    ]
    return unique(
        [
            {"title": text.value, "titleType": kind, "lang": text.language}
            for text, kind in zip(record.titles, kinds, strict=True)
        ]
    )


def _title_type(language: str, main: str) -> str:
    return "TranslatedTitle" if language and language != main else "AlternativeTitle"


def _creators(record: MetadataRecord) -> list[dict[str, Any]]:
    named = [person(each) for each in record.named_creators]
    return named or [{"name": UNKNOWN if record.has_unknown_creator else UNAVAILABLE}]


def person(agent: Agent) -> dict[str, Any]:
    """Return a person or an organisation, without empty parts."""
    is_person = agent.family or agent.orcid
    orcid = {
        "nameIdentifier": f"{ORCID}/{agent.orcid}",
        "nameIdentifierScheme": "ORCID",
        "schemeUri": ORCID,
    }
    every: dict[str, Any] = {
        "name": str(agent),
        "nameType": "Personal" if is_person else "Organizational",
        "givenName": agent.given,
        "familyName": agent.family,
        "nameIdentifiers": [orcid] if agent.orcid else [],
        "affiliation": unique([{"name": each} for each in affiliations(agent)]),
    }
    return {name: value for name, value in every.items() if value}


def affiliations(agent: Agent) -> list[str]:
    """Return the places where a person worked."""
    return [each.strip() for each in agent.affiliation.split(";") if each.strip()]


def _contributor(agent: Agent) -> dict[str, Any]:
    role = agent.role if agent.role in ROLES else "Other"
    return {**person(agent), "contributorType": role}


def _dates(record: MetadataRecord, facts: ItemFacts) -> list[dict[str, object]]:
    dates: list[dict[str, object]] = [
        {"date": text, "dateType": "Other" if number else "Issued"}
        for number, text in enumerate(dict.fromkeys(record.dates))
    ]
    if facts.updated:
        dates.append({"date": facts.updated.iso8601, "dateType": "Updated"})
    return dates


def _identifiers(record: MetadataRecord, forms: Forms) -> tuple[list[str], list[dict[str, object]]]:
    """Return the DOIs, and all identifiers but the first DOI."""
    found = [(*scheme_of(text), text) for text in record.identifiers]
    dois = [bare for scheme, bare, _ in found if scheme == "DOI"]
    others: list[dict[str, object]] = [
        {"alternateIdentifier": label.spelling, "alternateIdentifierType": "IBI"} for label in forms
    ]
    for scheme, bare, text in found:
        if scheme == "DOI" and bare == dois[0]:
            continue
        kept = bare if scheme in {"ISBN", "ISSN"} else text
        others.append({"alternateIdentifier": kept, "alternateIdentifierType": scheme or "Other"})
    return dois, unique(others)


def _is_known(related: RelatedIdentifier) -> bool:
    return related.relation in RELATIONS and related.scheme in SCHEMES


def _related(related: RelatedIdentifier, base: str) -> dict[str, str]:
    """Return a related identifier; an IBI by its persistent URL, because the list has no IBI."""
    is_ours = related.scheme == "IBI"
    return {
        "relatedIdentifier": f"{base}/{related.identifier}" if is_ours else related.identifier,
        "relatedIdentifierType": "URL" if is_ours else related.scheme,
        "relationType": related.relation,
    }


def _rights(record: MetadataRecord) -> list[dict[str, object]]:
    given: list[dict[str, object]] = [
        {"rights": text.value, "lang": text.language} for text in record.rights
    ]
    if record.licence:
        is_address = is_web_address(record.licence)
        given.append(
            {
                "rights": record.licence,
                "rightsUri": licence.address_of(record.licence),
                "rightsIdentifier": "" if is_address else record.licence,
                "rightsIdentifierScheme": "" if is_address else "SPDX",
                "schemeUri": "" if is_address else "https://spdx.org/licenses/",
            }
        )
    return unique(given)


def funder_registry(identifier: str) -> str:
    """Return the name of the registry of an identifier of a funder, as DataCite writes it."""
    return next((name for part, name in _FUNDER_REGISTRIES if part in identifier), "Other")


def _funding(funding: Funding) -> dict[str, str]:
    every = {
        "funderName": funding.funder,
        "funderIdentifier": funding.funder_id,
        "funderIdentifierType": funder_registry(funding.funder_id) if funding.funder_id else "",
        "awardNumber": funding.award,
        "awardUri": funding.award if is_web_address(funding.award) else "",
        "awardTitle": funding.title,
    }
    return {name: value for name, value in every.items() if value}
