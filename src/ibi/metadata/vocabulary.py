"""The closed lists of DataCite's schema: roles of contributors, relations, kinds of identifiers.

A new record takes its values from these lists. One that is stored, or comes from another archive,
needs well-formed ones only: another archive may know a later version of the lists.

https://datacite-metadata-schema.readthedocs.io/en/4.6/appendices/appendix-1/
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from ibi.errors import MetadataError, Sentence, shown

ROLES: Final[Mapping[str, str]] = {
    "ContactPerson": Sentence("Contact person"),
    "DataCollector": Sentence("Data collector"),
    "DataCurator": Sentence("Data curator"),
    "DataManager": Sentence("Data manager"),
    "Distributor": Sentence("Distributor"),
    "Editor": Sentence("Editor"),
    "HostingInstitution": Sentence("Hosting institution"),
    "Producer": Sentence("Producer"),
    "ProjectLeader": Sentence("Project leader"),
    "ProjectManager": Sentence("Project manager"),
    "ProjectMember": Sentence("Project member"),
    "RegistrationAgency": Sentence("Registration agency"),
    "RegistrationAuthority": Sentence("Registration authority"),
    "RelatedPerson": Sentence("Related person"),
    "Researcher": Sentence("Researcher"),
    "ResearchGroup": Sentence("Research group"),
    "RightsHolder": Sentence("Rights holder"),
    "Sponsor": Sentence("Sponsor"),
    "Supervisor": Sentence("Supervisor"),
    "Translator": Sentence("Translator"),
    "WorkPackageLeader": Sentence("Work package leader"),
    "Other": Sentence("Other contributor"),
}
"""DataCite's contributorType, with names for people."""

RELATIONS: Final[Mapping[str, str]] = {
    "IsCitedBy": Sentence("is cited by"),
    "Cites": Sentence("cites"),
    "IsCollectedBy": Sentence("is collected by"),
    "Collects": Sentence("collects"),
    "IsSupplementTo": Sentence("is a supplement to"),
    "IsSupplementedBy": Sentence("is supplemented by"),
    "IsContinuedBy": Sentence("is continued by"),
    "Continues": Sentence("continues"),
    "IsDescribedBy": Sentence("is described by"),
    "Describes": Sentence("describes"),
    "HasMetadata": Sentence("has as its metadata"),
    "IsMetadataFor": Sentence("is the metadata of"),
    "HasVersion": Sentence("has the version"),
    "IsVersionOf": Sentence("is a version of"),
    "IsNewVersionOf": Sentence("is a new version of"),
    "IsPreviousVersionOf": Sentence("is an earlier version of"),
    "IsPartOf": Sentence("is part of"),
    "HasPart": Sentence("has the part"),
    "IsPublishedIn": Sentence("is published in"),
    "IsReferencedBy": Sentence("is referred to by"),
    "References": Sentence("refers to"),
    "IsDocumentedBy": Sentence("is documented by"),
    "Documents": Sentence("documents"),
    "IsCompiledBy": Sentence("is compiled by"),
    "Compiles": Sentence("compiles"),
    "IsVariantFormOf": Sentence("is another form of"),
    "IsOriginalFormOf": Sentence("is the original form of"),
    "IsIdenticalTo": Sentence("is identical to"),
    "IsReviewedBy": Sentence("is reviewed by"),
    "Reviews": Sentence("reviews"),
    "IsDerivedFrom": Sentence("is derived from"),
    "IsSourceOf": Sentence("is a source of"),
    "IsRequiredBy": Sentence("is required by"),
    "Requires": Sentence("requires"),
    "IsObsoletedBy": Sentence("is made obsolete by"),
    "Obsoletes": Sentence("makes obsolete"),
    "HasTranslation": Sentence("has the translation"),
    "IsTranslationOf": Sentence("is a translation of"),
}
"""DataCite's relationType, as what stands between the item and the related one."""

SCHEMES: Final = (
    *("DOI", "IBI", "URL", "ARK", "arXiv", "bibcode", "CSTR", "EAN13", "EISSN", "Handle", "IGSN"),
    *("ISBN", "ISSN", "ISTC", "LISSN", "LSID", "PMID", "PURL", "RRID", "UPC", "URN", "w3id"),
)
"""DataCite's relatedIdentifierType, and IBI; people know these names too."""

_WORD: Final = re.compile(r"[A-Za-z][A-Za-z0-9]{0,63}")
_LISTS: Final[Mapping[str, tuple[str, ...]]] = {
    "role": tuple(ROLES),
    "relation": tuple(RELATIONS),
    "scheme": SCHEMES,
}
_FOLDED: Final = {name: {each.lower(): each for each in list_} for name, list_ in _LISTS.items()}


def role_name(role: str) -> str:
    """Return the name of a role for people; the role itself if the list lacks it."""
    return ROLES.get(role, role)


def relation_name(relation: str) -> str:
    """Return a relation as people say it; the relation itself if the list lacks it."""
    return RELATIONS.get(relation, relation)


def check_word(part: str, text: str) -> str:
    """Return a role, relation or scheme as it was written; MetadataError if it is not one word."""
    if _WORD.fullmatch(text) is None:
        raise _refusal(part, text)
    return text


def check_in_list(part: str, text: str) -> str:
    """Return a role, relation or scheme as its list writes it; MetadataError if it has none."""
    found = _FOLDED[part].get(text.lower())
    if found is None:
        raise _refusal(part, text)
    return found


def _refusal(part: str, text: str) -> MetadataError:
    known = ", ".join(_LISTS[part])
    if part == "role":
        what = Sentence(
            "%(text)s is not a role of a contributor: expected one of %(known)s.",
            text=shown(text),
            known=known,
        )
    elif part == "relation":
        what = Sentence(
            "%(text)s is not a relation between items: expected one of %(known)s.",
            text=shown(text),
            known=known,
        )
    else:
        what = Sentence(
            "%(text)s is not a kind of identifier: expected one of %(known)s.",
            text=shown(text),
            known=known,
        )
    return MetadataError(what)
