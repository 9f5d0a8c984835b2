"""schema.org as JSON-LD, which search engines and FAIR assessments read (https://schema.org)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ibi.metadata import licence, orcid
from ibi.metadata.cited_work import cited_work
from ibi.metadata.crosswalks.item_facts import NO_FACTS, FileFacts, ItemFacts
from ibi.metadata.schema_types import schema_type
from ibi.model.label_pair import Forms
from ibi.model.metadata_record import Agent, MetadataRecord, Text

CONTEXT: Final = "https://schema.org"


def value(
    record: MetadataRecord, forms: Forms, base: str, facts: ItemFacts = NO_FACTS
) -> dict[str, Any]:
    """Return the item with these labels as JSON-LD; `base` begins persistent URLs."""
    work = cited_work(record, forms, base)
    creators = [_agent(each) for each in record.named_creators]
    every: dict[str, Any] = {
        "@type": schema_type(record.types),
        "@id": work.url,
        "url": work.url,
        "identifier": [
            *(
                {
                    "@type": "PropertyValue",
                    "propertyID": "IBI",
                    "value": f"ibi:{label.spelling}",
                    "url": f"{base}/{label.spelling}",
                }
                for label in forms
            ),
            *record.identifiers,
        ],
        "sameAs": f"https://doi.org/{work.doi}" if work.doi else "",
        "name": work.title,
        "alternateName": _texts(record.titles[1:]),
        "creator": creators,
        "author": creators,
        "publisher": [_agent(each) for each in record.publishers],
        "datePublished": work.date.day_text if work.date else "",
        "dateModified": facts.updated.iso8601 if facts.updated else "",
        "description": _texts(record.descriptions),
        "keywords": _texts(record.subjects),
        "inLanguage": list(record.languages),
        "license": licence.address_of(record.licence) if record.licence else "",
        "isAccessibleForFree": not facts.restricted,
        "distribution": [_file(each) for each in facts.files],
    }
    return {"@context": CONTEXT, **_filled(every)}


def _agent(given: Agent) -> dict[str, Any]:
    places = (each.strip() for each in given.affiliation.split(";"))
    every: dict[str, Any] = {
        "@type": "Person" if given.family or given.orcid else "Organization",
        "@id": orcid.address_of(given.orcid) if given.orcid else "",
        "name": f"{given.given} {given.family}".strip() if given.family else given.name,
        "familyName": given.family,
        "givenName": given.given,
        "affiliation": [{"@type": "Organization", "name": place} for place in places if place],
    }
    return _filled(every)


def _texts(texts: Sequence[Text]) -> list[object]:
    """Return texts, with their languages if these differ."""
    is_mixed = len({text.language for text in texts}) > 1
    return [
        {"@value": text.value, "@language": text.language}
        if is_mixed and text.language
        else text.value
        for text in texts
    ]


def _file(file: FileFacts) -> dict[str, Any]:
    return _filled(
        {
            "@type": "DataDownload",
            "name": file.path,
            "contentUrl": file.url,
            "encodingFormat": file.media_type.partition(";")[0],
            "contentSize": f"{file.size} B",
            "sha256": file.sha256,
        }
    )


def _filled(every: dict[str, Any]) -> dict[str, Any]:
    """Return what is not empty; the only value of a list stands for the list."""
    alone = {
        name: part[0] if isinstance(part, list) and len(part) == 1 else part
        for name, part in every.items()
    }
    return {name: part for name, part in alone.items() if part not in ("", [])}
