"""A metadata record: the fifteen Dublin Core elements, with what richer formats need of them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Text:
    """A text and the language that it is in (BCP 47); empty if nobody said."""

    value: str
    language: str = ""


@dataclass(frozen=True, slots=True)
class Agent:
    """Who made, published or contributed: a person in parts, or a body by one name."""

    name: str = ""
    """Of a body, or of a person whose name nobody took apart."""
    family: str = ""
    given: str = ""
    orcid: str = ""

    def __str__(self) -> str:
        """Write it as a catalogue does: the family name first."""
        if self.family:
            return f"{self.family}, {self.given}" if self.given else self.family
        return self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataRecord:
    """Metadata. Every element may be repeated or absent, but for a title."""

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
    """Other than its IBI, which every format adds by itself."""
    sources: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    relations: tuple[str, ...] = ()
    coverages: tuple[Text, ...] = ()
    rights: tuple[Text, ...] = ()
    licence: str = ""
    """An SPDX identifier or a URL."""

    @property
    def title(self) -> Text:
        """The title by which it is known: the first."""
        return self.titles[0]
