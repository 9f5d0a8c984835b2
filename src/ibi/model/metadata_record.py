"""A metadata record: the fifteen Dublin Core elements, with the parts that richer formats need."""

from __future__ import annotations

from dataclasses import dataclass, replace


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

    def __str__(self) -> str:
        """Return the name as catalogues do: the family name first."""
        if self.family:
            return f"{self.family}, {self.given}" if self.given else self.family
        return self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataRecord:
    """Metadata of an item. Every element may be repeated or absent, except for the title."""

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

    @property
    def title(self) -> Text:
        """The main title: the first."""
        return self.titles[0]

    def published_by(self, publisher: str) -> MetadataRecord:
        """Return the record with a publisher, if it names none."""
        return self if self.publishers else replace(self, publishers=(Agent(publisher),))
