"""schema.org as JSON-LD, which search engines and FAIR assessments read (https://schema.org).

A text in one language is plain, because many readers expect that; of texts in several languages
each has its own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ibi.identifier.persistent_url import PersistentUrl
from ibi.metadata import licence
from ibi.metadata.crosswalks.datacite import affiliations
from ibi.metadata.crosswalks.item_facts import NO_FACTS, FileFacts, ItemFacts
from ibi.metadata.related import address_of, name_of, scheme_of
from ibi.metadata.schema_types import schema_type
from ibi.model.label_pair import Forms
from ibi.model.metadata_record import Agent, Funding, MetadataRecord, Text

MEDIA_TYPE: Final = "application/ld+json"
CONTEXT: Final = "https://schema.org"

_ROLES: Final = {"Editor": "editor", "Translator": "translator", "Sponsor": "sponsor"}
_RELATIONS: Final[Mapping[str, str]] = {
    "IsPartOf": "isPartOf",
    "IsPublishedIn": "isPartOf",
    "HasPart": "hasPart",
    "Cites": "citation",
    "References": "citation",
    "IsDerivedFrom": "isBasedOn",
    "IsNewVersionOf": "isBasedOn",
    "IsIdenticalTo": "sameAs",
    "IsTranslationOf": "translationOfWork",
    "HasTranslation": "workTranslation",
    "IsDescribedBy": "subjectOf",
    "IsDocumentedBy": "subjectOf",
    "IsReviewedBy": "subjectOf",
}
"""The property of each relation; an item with another relation is mentioned."""
_ORCID: Final = "https://orcid.org"


def write(record: MetadataRecord, forms: Forms, base: str, facts: ItemFacts = NO_FACTS) -> bytes:
    """Return the record of the item with these labels; `base` begins persistent URLs."""
    return encoded(value(record, forms, base, facts))


def encoded(document: Mapping[str, Any]) -> bytes:
    """Return a document of JSON-LD as bytes."""
    # Surrogates, which no checked record has, stay escaped.
    return json.dumps(document, ensure_ascii=False, indent=1).encode("utf-8", "backslashreplace")


def value(
    record: MetadataRecord, forms: Forms, base: str, facts: ItemFacts = NO_FACTS
) -> dict[str, Any]:
    """Return the document with its context."""
    return {"@context": CONTEXT, **description(record, forms, base, facts)}


def description(
    record: MetadataRecord, forms: Forms, base: str, facts: ItemFacts = NO_FACTS
) -> dict[str, Any]:
    """Return what describes the item, without a context and without empty parts."""
    url = PersistentUrl(forms.short).at(base)
    creators = [agent(each) for each in record.named_creators]
    every: dict[str, Any] = {
        "@type": schema_type(record.types),
        "@id": url,
        "url": url,
        "identifier": _identifiers(record, forms, base),
        "sameAs": [_doi(text) for text in record.identifiers if _doi(text)],
        "name": record.title.value,
        "alternateName": [_tagged(text) for text in record.titles[1:]],
        "creator": creators,
        "author": creators,
        "publisher": [agent(each) for each in record.publishers],
        "datePublished": record.dates[0] if record.dates else "",
        "dateModified": facts.updated.iso8601 if facts.updated else "",
        "temporalCoverage": [text for text in record.dates[1:] if "/" in text],
        "description": _texts(record.descriptions),
        "keywords": _texts(record.subjects),
        "inLanguage": list(record.languages),
        "additionalType": [text for text in record.types if "/" in text],
        "genre": list(record.types),
        "encodingFormat": list(record.formats),
        "spatialCoverage": [{"@type": "Place", "name": _tagged(text)} for text in record.coverages],
        "license": licence.address_of(record.licence) if record.licence else "",
        "copyrightNotice": _texts(record.rights),
        "isBasedOn": list(record.sources),
        "mentions": list(record.relations),
        "funding": [_grant(each) for each in record.funding],
        "isAccessibleForFree": not facts.restricted,
    }
    _add_contributors(every, record)
    _add_related(every, record, base)
    files = [_file(each) for each in facts.files]
    every["distribution" if every["@type"] == "Dataset" else "encoding"] = files
    return {name: _alone(part) for name, part in every.items() if part not in ("", [])}


def agent(given: Agent) -> dict[str, Any]:
    """Return a person or an organisation."""
    is_person = given.family or given.orcid
    spoken = f"{given.given} {given.family}".strip() if given.family else given.name
    places = [{"@type": "Organization", "name": place} for place in affiliations(given)]
    every: dict[str, Any] = {
        "@type": "Person" if is_person else "Organization",
        "@id": f"{_ORCID}/{given.orcid}" if given.orcid else "",
        "name": spoken,
        "familyName": given.family,
        "givenName": given.given,
        "affiliation": places,
    }
    return {name: _alone(part) for name, part in every.items() if part}


def _alone(part: Any) -> Any:  # noqa: ANN401  # any value of JSON
    """Return the only value of a list instead of the list."""
    return part[0] if isinstance(part, list) and len(part) == 1 else part


def _tagged(text: Text) -> object:
    return {"@value": text.value, "@language": text.language} if text.language else text.value


def _texts(texts: Sequence[Text]) -> list[object]:
    """Return texts, with their languages if these differ."""
    is_mixed = len({text.language for text in texts}) > 1
    return [_tagged(text) if is_mixed else text.value for text in texts]


def _identifiers(record: MetadataRecord, forms: Forms, base: str) -> list[dict[str, str]]:
    own = [
        {
            "@type": "PropertyValue",
            "propertyID": "IBI",
            "value": f"ibi:{label.spelling}",
            "url": f"{base}/{label.spelling}",
        }
        for label in forms
    ]
    others = []
    for text in record.identifiers:
        scheme, bare = scheme_of(text)
        others.append(
            {"@type": "PropertyValue", "propertyID": scheme or "other", "value": bare or text}
        )
    return own + others


def _doi(text: str) -> str:
    scheme, bare = scheme_of(text)
    return f"https://doi.org/{bare}" if scheme == "DOI" else ""


def _add_contributors(every: dict[str, Any], record: MetadataRecord) -> None:
    for each in record.contributors:
        every.setdefault(_ROLES.get(each.role, "contributor"), []).append(agent(each))


def _add_related(every: dict[str, Any], record: MetadataRecord, base: str) -> None:
    for each in record.related:
        address = f"{base}/{each.identifier}" if each.scheme == "IBI" else address_of(each)
        other: object = {"@id": address} if address else name_of(each)
        every.setdefault(_RELATIONS.get(each.relation, "mentions"), []).append(other)


def _grant(funding: Funding) -> dict[str, Any]:
    funder = {"@type": "Organization", "name": funding.funder, "identifier": funding.funder_id}
    every = {
        "@type": "Grant",
        "name": funding.title,
        "identifier": funding.award,
        "funder": {name: part for name, part in funder.items() if part},
    }
    return {name: part for name, part in every.items() if part}


def _file(file: FileFacts) -> dict[str, Any]:
    every: dict[str, Any] = {
        "@type": "DataDownload",
        "name": file.path,
        "contentUrl": file.url,
        "encodingFormat": file.media_type.partition(";")[0],
        "contentSize": f"{file.size} B",
        "sha256": file.sha256,
    }
    return {name: part for name, part in every.items() if part}
