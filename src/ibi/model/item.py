"""Identified items as one archive has them (004, section 3.2; spec part 4)."""

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
"""Of the giving side: `offered`, still the Original, and `handed`, no more; of the other: `ready`,
a Copy that waits to become the Original."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """What an item says of its own transfer; it stands in the manifest, and holds no secret."""

    id: str
    peer: str
    """The address of the other archive."""
    phase: Phase
    since: int
    """Nanoseconds of POSIX time."""
    receipt: str = ""
    """What the receiving side made up when it was ready: nobody can accept without it."""
    was_here: bool = False
    """Of the receiving side: whether it had a Copy before, which stays if nothing comes of it."""


class State(StrEnum):
    """How an archive has an item. The Original of an item is in one archive of the system."""

    ORIGINAL = "Original"
    COPY = "Copy"
    DELETED = "Deleted"


class ContentType(StrEnum):
    """What a URL leads to."""

    DATA = "Data"
    METADATA = "Metadata"


@dataclass(frozen=True, slots=True)
class File:
    """A file of an item: its path below `doc/`, and what was found when it was deposited."""

    path: str
    size: int
    sha256: str
    sha512: str
    modified: int
    """Nanoseconds of POSIX time, as the file system has it."""
    media_type: str = ""
    """As declared by the depositor; empty: by the name."""


@dataclass(frozen=True, slots=True)
class Tombstone:
    """What stays of an item that was deleted, for ever."""

    deleted: int
    """Nanoseconds of POSIX time."""
    who: str
    reason: str
    replaced_by: Forms | None = None


Kind = Literal["data", "metadata", "service"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """An identified item."""

    forms: Forms
    further_names: tuple[Label, ...] = ()
    """Labels by which it is found too: older ones, or of another archive."""
    state: State = State.ORIGINAL
    kind: Kind = "data"
    """`metadata` describes another item; `service` is the archive service itself."""
    transferable: bool = True
    language: Language | None = None
    target: str = ""
    """The path of its target file; empty if it has no file."""
    runs_at: str = ""
    """The address of a web service that runs elsewhere; empty for all that is not one."""
    created: int = 0
    updated: int = 0
    """Nanoseconds of POSIX time."""
    metadata: Forms | None = None
    """The item that describes this one."""
    describes: Forms | None = None
    """The item that this one describes, of a metadata item."""
    previous_edition: Forms | None = None
    next_edition: Forms | None = None
    """Possibly held elsewhere."""
    translations: tuple[tuple[Language, Forms], ...] = ()
    """By language; possibly held elsewhere. Its own language need not be among them."""
    list_public: bool = True
    """Whether anybody may see which files it has."""
    readers: tuple[str, ...] = ()
    """IP networks from which its files may be read; everybody may if there are none."""
    origin: str = ""
    """The address of the archive that a Copy came from."""
    transfer: Transfer | None = None
    """How far its transfer has come, while there is one."""
    custody: tuple[str, ...] = ()
    """The transfers and hand-overs by which its Original came here, one after the other."""
    record: MetadataRecord | None = field(default=None)
    """What a metadata item says."""
    tombstone: Tombstone | None = None

    @property
    def names(self) -> Iterator[Label]:
        """All labels by which it is found."""
        yield from self.forms
        yield from self.further_names


def is_same(one: File | None, other: File) -> bool:
    """Tell whether two files of one path are the same, whenever they were written."""
    return one is not None and (content(one), one.sha512, one.media_type) == (
        content(other),
        other.sha512,
        other.media_type,
    )


def content(file: File) -> tuple[str, int]:
    """Return by what the bytes of a file are known."""
    return file.sha256, file.size
