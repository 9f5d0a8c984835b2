"""A metadata record: the fifteen Dublin Core elements, with the parts that richer formats need."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

UNKNOWN: Final = ":unkn"
"""The name of a creator that is known to be unknown (DataCite 4.6, appendix 3)."""


@dataclass(frozen=True, slots=True)
class Text:
    """A text and its language (BCP 47), which is empty if unknown."""

    value: str
    language: str = ""


@dataclass(frozen=True, slots=True)
class Agent:
    """A creator, publisher or contributor: a person, or an organisation."""

    name: str = ""
    """The name of an organisation, or of a person whose family name is not known apart."""
    family: str = ""
    given: str = ""
    orcid: str = ""
    affiliation: str = ""
    """Where the person worked; several places have semicolons between them."""
    role: str = ""
    """What a contributor did, as DataCite's contributorType; a creator has none."""

    def __str__(self) -> str:
        """Return the name as catalogues do: the family name first."""
        if self.family:
            return f"{self.family}, {self.given}" if self.given else self.family
        return self.name


@dataclass(frozen=True, slots=True)
class RelatedIdentifier:
    """A related item, of this archive or not, by an identifier that other systems know."""

    relation: str
    """How the item is related to it, as DataCite's relationType: IsSupplementTo."""
    scheme: str
    """The kind of identifier, as DataCite's relatedIdentifierType, or IBI."""
    identifier: str


@dataclass(frozen=True, slots=True)
class Funding:
    """The funder of a work, and the award."""

    funder: str
    funder_id: str = ""
    """An address or another identifier of the funder, as of ROR or of Crossref's registry."""
    award: str = ""
    """The number of the award."""
    title: str = ""
    """The title of the award."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataRecord:
    """Metadata of an item. Every element may be repeated or absent, except for the title.

    Only a record that is still being written may lack its title.
    """

    titles: tuple[Text, ...]
    creators: tuple[Agent, ...] = ()
    subjects: tuple[Text, ...] = ()
    descriptions: tuple[Text, ...] = ()
    publishers: tuple[Agent, ...] = ()
    contributors: tuple[Agent, ...] = ()
    dates: tuple[str, ...] = ()
    """ISO 8601: a year, a month, a day, an instant, or two of them with a slash between."""
    types: tuple[str, ...] = ()
    formats: tuple[str, ...] = ()
    identifiers: tuple[str, ...] = ()
    """Identifiers other than its IBI, which every format adds by itself."""
    sources: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    relations: tuple[str, ...] = ()
    coverages: tuple[Text, ...] = ()
    rights: tuple[Text, ...] = ()
    licence: str = ""
    """An SPDX identifier or a URL."""
    related: tuple[RelatedIdentifier, ...] = ()
    funding: tuple[Funding, ...] = ()

    @property
    def title(self) -> Text:
        """The main title: the first."""
        return self.titles[0] if self.titles else Text("")

    @property
    def named_creators(self) -> tuple[Agent, ...]:
        """The creators, without one that is said to be unknown."""
        return tuple(creator for creator in self.creators if creator.name != UNKNOWN)

    @property
    def has_unknown_creator(self) -> bool:
        """Whether the record says that its creator is unknown."""
        return any(creator.name == UNKNOWN for creator in self.creators)

    def published_by(self, publisher: str) -> MetadataRecord:
        """Return the record with a publisher, if it names none."""
        return self if self.publishers else replace(self, publishers=(Agent(publisher),))
