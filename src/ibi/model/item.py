"""Identified items as one archive stores them (004, section 3.2; spec part 4)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from ibi.identifier.label import Label
from ibi.identifier.language import Language
from ibi.model.label_pair import Forms
from ibi.model.metadata_record import MetadataRecord

Phase = Literal["offered", "handed", "ready"]
"""The phase of a transfer. On the sending side, `offered` is still the Original and `handed` is
not any more; on the receiving side, `ready` is a Copy that waits to become the Original."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """The state of an item's transfer. It is written into the manifest and holds no secret."""

    id: str
    peer: str
    """The address of the other archive."""
    phase: Phase
    since: int
    """Nanoseconds of POSIX time."""
    receipt: str = ""
    """A random text that the receiving side made when it was ready; accepting requires it."""
    was_here: bool = False
    """On the receiving side, whether it had a Copy before, which stays if the transfer fails."""


class State(StrEnum):
    """How an archive holds an item. Exactly one archive of the system has the Original."""

    ORIGINAL = "Original"
    COPY = "Copy"
    DELETED = "Deleted"


class ContentType(StrEnum):
    """What kind of content a URL leads to."""

    DATA = "Data"
    METADATA = "Metadata"


@dataclass(frozen=True, slots=True)
class File:
    """A file of an item: its path below `doc/`, and what was measured when it was deposited."""

    path: str
    size: int
    sha256: str
    sha512: str
    modified: int
    """Nanoseconds of POSIX time, from the file system."""
    media_type: str = ""
    """As declared by the depositor; empty to derive it from the name."""


@dataclass(frozen=True, slots=True)
class Tombstone:
    """What remains of a deleted item, for ever."""

    deleted: int
    """Nanoseconds of POSIX time."""
    who: str
    """The actor: the name of a token, or of a component of the archive."""
    reason: str
    replaced_by: Forms | None = None


Kind = Literal["data", "metadata", "service"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """An identified item."""

    forms: Forms
    further_names: tuple[Label, ...] = ()
    """Further labels by which it is found: older ones, or those of another archive."""
    state: State = State.ORIGINAL
    kind: Kind = "data"
    """`metadata` describes another item; `service` is the archive service itself."""
    transferable: bool = True
    """Whether the Original may be transferred to another archive (004, section 3.2)."""
    language: Language | None = None
    target: str = ""
    """The path of its target file; empty if it has no files."""
    target_chosen: bool = True
    """Whether the depositor chose the target; if not, it is one of several files, and only programs
    that follow the label get it."""
    runs_at: str = ""
    """The address of a web service that runs elsewhere; empty for every other item."""
    created: int = 0
    """Nanoseconds of POSIX time."""
    updated: int = 0
    """Nanoseconds of POSIX time."""
    metadata: Forms | None = None
    """The item that describes this one."""
    describes: Forms | None = None
    """The item that this metadata item describes."""
    previous_edition: Forms | None = None
    """The previous edition, which another archive may hold."""
    next_edition: Forms | None = None
    """The next edition, which another archive may hold."""
    translations: tuple[tuple[Language, Forms], ...] = ()
    """By language; other archives may hold them. The item's own language need not be among them."""
    collections: tuple[Forms, ...] = ()
    """The collections to which this archive has added it, each an item of its own."""
    list_public: bool = True
    """Whether the list of its files is public."""
    readers: tuple[str, ...] = ()
    """IP networks from which its files may be read; all networks if there are none."""
    platform_software: Forms | None = None
    """The software that it runs on, or is read with; None if that is what the archive names."""
    origin: str = ""
    """The address of the archive that a Copy came from."""
    transfer: Transfer | None = None
    """The state of its transfer, while there is one."""
    custody: tuple[str, ...] = ()
    """The transfers and hand-overs by which the Original came here, in order."""
    record: MetadataRecord | None = field(default=None)
    """The content of a metadata item."""
    tombstone: Tombstone | None = None

    @property
    def names(self) -> Iterator[Label]:
        """All labels by which it is found."""
        yield from self.forms
        yield from self.further_names

    def published(self, record: MetadataRecord, archive: str) -> MetadataRecord:
        """Return its record with the archive as publisher, if the record names none.

        A Copy was published elsewhere, by a publisher that this archive does not know.
        """
        return record if self.state is State.COPY else record.published_by(archive)


def is_same(one: File | None, other: File) -> bool:
    """Return whether two files of the same path are equal, regardless of their times."""
    return one is not None and (content(one), one.sha512, one.media_type) == (
        content(other),
        other.sha512,
        other.media_type,
    )


def content(file: File) -> tuple[str, int]:
    """Return the key that identifies the bytes of a file."""
    return file.sha256, file.size
