"""Facts of an item beside its metadata record, which some formats have a place for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ibi.identifier.instant import Instant
from ibi.metadata.dates import Moment, read_date
from ibi.model.label_pair import Forms
from ibi.model.metadata_record import MetadataRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFacts:
    """A file of an item, as a reader can fetch it."""

    path: str
    """The path below the item, with slashes."""
    url: str
    media_type: str = ""
    size: int = 0
    """Bytes."""
    sha256: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemFacts:
    """What an archive knows of an item; what is empty is left out of a format."""

    files: tuple[FileFacts, ...] = ()
    """Files whose list is public."""
    updated: Instant | None = None
    """When the metadata were changed last."""
    archive: str = ""
    """The name of the archive."""
    address: str = ""
    """The address of the archive, without a slash at its end."""
    restricted: bool = False
    """Whether the files can be read from some networks only."""


NO_FACTS: Final = ItemFacts()


def first_date(record: MetadataRecord) -> Moment | None:
    """Return the beginning of the first date of a checked record."""
    return read_date(record.dates[0])[0] if record.dates else None


def year_of(record: MetadataRecord, forms: Forms) -> str:
    """Return the year of publication; that of the label if the record has no date."""
    moment = first_date(record)
    return moment.text[:4] if moment else day_of_label(forms)[:4]


def day_of_label(forms: Forms) -> str:
    """Return the day on which the label of an item was made: the item is no older here."""
    return forms.label.instant.iso8601.partition("T")[0]


def day_of(record: MetadataRecord, forms: Forms) -> str:
    """Return the day of publication; that of the label if the record does not know it exactly."""
    moment = first_date(record)
    return moment.day_text if moment and moment.day else day_of_label(forms)


def unique(values: list[dict[str, object]]) -> list[dict[str, object]]:
    """Return objects without empty parts, each once, in their order."""
    kept: list[dict[str, object]] = []
    for value in values:
        filled = {name: part for name, part in value.items() if part}
        if filled and filled not in kept:
            kept.append(filled)
    return kept
