"""What the API of an archive says and hears, as types: they check the requests and describe it."""

from __future__ import annotations

from typing import Any

import msgspec

from ibi.archive.exchange.bag_import import Brought
from ibi.archive.rules.handover import HandOver


class Labels(msgspec.Struct, frozen=True, omit_defaults=True):
    """The labels of an item."""

    rep: str = ""
    ibip: str = ""


class FileAnswer(msgspec.Struct, frozen=True):
    """A file of an item."""

    path: str
    size: int
    sha256: str
    sha512: str
    modified: str
    media_type: str


class TombstoneAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """What stays of a deleted item."""

    deleted: str
    who: str
    reason: str
    replaced_by: Labels | None = None


class ItemAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """An item."""

    rep: str
    ibip: str
    persistent_url: str
    state: str
    kind: str
    created: str
    updated: str
    url: str = ""
    language: str = ""
    target: str = ""
    service: str = ""
    transferable: bool = True
    list_public: bool = True
    readers: list[str] = []
    """Networks from which its files may be read; everybody may if there are none."""
    origin: str = ""
    """Of a Copy: the address of the archive that it came from."""
    transfer: str = ""
    """The transfer that it is in, if it is in one."""
    custody: list[str] = []
    """The transfers by which its Original came here."""
    further_names: list[str] = []
    metadata: Labels | None = None
    record: dict[str, Any] | None = None
    previous_edition: Labels | None = None
    next_edition: Labels | None = None
    translations: dict[str, Labels] = {}
    tombstone: TombstoneAnswer | None = None
    files: list[FileAnswer] = []
    """Of a deposit that was just completed: its files, the first hundred."""


class ItemsAnswer(msgspec.Struct, frozen=True):
    """A page of items."""

    items: list[ItemAnswer]
    after: str = ""
    """Continue after this; empty at the end."""


class FilesAnswer(msgspec.Struct, frozen=True):
    """A page of files."""

    files: list[FileAnswer]
    after: str = ""


class StagedAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file of an open deposit."""

    path: str
    size: int
    whole: bool
    sha256: str = ""


class DepositAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """A deposit."""

    id: str
    opened: str
    completed: str = ""
    files: list[StagedAnswer] = []


class UnpackRequest(msgspec.Struct, forbid_unknown_fields=True):
    """A zip or tar file of a deposit, to be taken apart."""

    path: str
    folder: str = ""


class UnpackAnswer(msgspec.Struct, frozen=True):
    """What came out of it."""

    files: list[str]


class CompletionRequest(msgspec.Struct, forbid_unknown_fields=True):
    """The end of a deposit."""

    target: str = ""
    """The file that the label leads to, if it was not known before."""


class DeletionRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Why an item is deleted, and what replaces it."""

    reason: str
    replaced_by: str = ""
    with_metadata: bool = False


class ReservationRequest(msgspec.Struct, forbid_unknown_fields=True):
    """How many labels to reserve, and for what."""

    count: int = 1
    note: str = ""


class ReservationAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """A label that waits for its item."""

    rep: str
    ibip: str
    reserved: str
    note: str = ""


class ReservationsAnswer(msgspec.Struct, frozen=True):
    """Labels that wait for their items."""

    labels: list[ReservationAnswer]
    after: str = ""


class LinkRequestBody(msgspec.Struct, forbid_unknown_fields=True):
    """A resolver to link the archive to."""

    resolver: str
    key: str = ""
    """A registration key that the operator has already; empty for a new one."""
    service: str = ""


class LinkAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """How the archive stands with a resolver."""

    resolver: str
    state: str
    since: str
    service_ibi: str
    """Of this archive: what the operator registers, with the key."""
    registration_key: str = ""
    """Shown only when the link is made."""
    failures: int = 0
    reason: str = ""


class LinksAnswer(msgspec.Struct, frozen=True):
    """All resolvers that the archive is linked to."""

    links: list[LinkAnswer]


class ArchiveAnswer(msgspec.Struct, frozen=True):
    """The archive itself."""

    name: str
    address: str
    service: Labels
    items: int
    formats: list[str]
    version: str
    key: str
    """By which it signs what it hands over: Ed25519, in hexadecimal."""


class ManifestsEntry(msgspec.Struct, frozen=True):
    """An item as it stands in a bag: its manifest, and that of what describes it."""

    label: str
    item: msgspec.Raw
    metadata: msgspec.Raw
    """Null if nothing does."""


class ManifestsAnswer(msgspec.Struct, frozen=True):
    """A page of items."""

    items: list[ManifestsEntry]
    after: str = ""
    """Continue after this; empty at the end."""
    left_out: int = 0
    """Items of this page of which only a tombstone is left."""
    contact: str = ""
    """Whom to ask about them: an e-mail address."""


class HandOverRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Items whose Originals another archive is to have."""

    recipient: str
    """The label of its archive service."""
    items: list[str]
    leave_copies: bool = False
    """Whether to pass over those of which others have the Original."""


class ImportRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Items that are brought."""

    items: list[Brought]
    key: str = ""
    """By which the hand-overs of Originals have to be signed."""


class ReceptionAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """What becomes of an item that was brought."""

    label: str
    outcome: str
    """open, here, refused; imported or updated once it is completed."""
    detail: str = ""
    id: str = ""
    """Of a deposit: there its files go."""
    needed: list[str] = []
    staged: list[StagedAnswer] = []


class ReceptionsAnswer(msgspec.Struct, frozen=True):
    """What becomes of items, in the order in which they were brought."""

    items: list[ReceptionAnswer]


class ImportEnd(msgspec.Struct, forbid_unknown_fields=True):
    """An import whose files have come; small ones may come with this."""

    id: str
    files: dict[str, bytes] = {}
    """By path, in base64."""


class ImportCompletionRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Imports that are to be completed."""

    imports: list[ImportEnd]


class KeyAnswer(msgspec.Struct, frozen=True):
    """An archive, and the key by which it signs."""

    address: str
    service: str
    key: str


TYPES = (
    HandOver,
    HandOverRequest,
    ImportCompletionRequest,
    ImportRequest,
    KeyAnswer,
    ManifestsAnswer,
    ReceptionsAnswer,
)
