"""The messages of the API of an archive, as types, which validate requests and describe the API."""

from __future__ import annotations

from typing import Any

import msgspec

from ibi.archive.exchange.bag_import import Brought


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
    """The tombstone of a deleted item."""

    deleted: str
    who: str
    reason: str
    replaced_by: Labels | None = None


class HolderAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """Another archive that holds an item."""

    address: str
    state: str
    """Original or Copy, of the item there."""
    name: str = ""
    """The name by which it calls itself; empty if it does not say."""
    seen: str = ""
    """When it was last seen to hold the same files; empty if never, or if it lost the item."""


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
    target_chosen: bool = True
    """Whether the depositor chose the target among several files."""
    service: str = ""
    transferable: bool = True
    """Whether its Original may be transferred to another archive."""
    list_public: bool = True
    readers: list[str] = []
    """Networks from which its files may be read; none if that is not restricted."""
    platform_software: Labels | None = None
    """The software that runs it, if that is not the software of the archive."""
    origin: str = ""
    """Of a Copy: the address of the archive from which it was copied."""
    holders: list[HolderAnswer] = []
    """In the answer about one item: other archives that hold it, of a Copy the Original first."""
    transfer: str = ""
    """The current transfer of the item, if there is one."""
    custody: list[str] = []
    """The transfers by which its Original came here."""
    further_names: list[str] = []
    metadata: Labels | None = None
    describes: Labels | None = None
    """Of metadata: the item that they describe."""
    record: dict[str, Any] | None = None
    previous_edition: Labels | None = None
    next_edition: Labels | None = None
    translations: dict[str, Labels] = {}
    collections: list[Labels] = []
    """The collections to which this archive has added it."""
    tombstone: TombstoneAnswer | None = None
    title: str = ""
    """The title of its description, in a list of items; elsewhere the record has it."""
    files: list[FileAnswer] = []
    """The first hundred files, in the answer to a completed deposit."""


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
    stored: int = 0
    """Bytes that were sent to the object store by now, while the deposit is being completed."""


class UnpackRequest(msgspec.Struct, forbid_unknown_fields=True):
    """A zip or tar file of a deposit, to be unpacked."""

    path: str
    folder: str = ""


class UnpackAnswer(msgspec.Struct, frozen=True):
    """The files that were unpacked."""

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
    """A reserved label."""

    rep: str
    ibip: str
    reserved: str
    note: str = ""


class ReservationsAnswer(msgspec.Struct, frozen=True):
    """A page of reserved labels."""

    labels: list[ReservationAnswer]
    after: str = ""


class LinkRequestBody(msgspec.Struct, forbid_unknown_fields=True):
    """A resolver to link the archive to."""

    resolver: str
    key: str = ""
    """A registration key that the operator has already; empty for a new one."""
    service: str = ""


class LinkAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """The link of the archive to a resolver."""

    resolver: str
    state: str
    since: str
    service_ibi: str
    """The label of this archive's service, which the operator registers with the key."""
    registration_key: str = ""
    """The key, shown only when the link is made."""
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
    """The public key of its hand-overs: Ed25519, in hexadecimal."""
    instance: str
    """The random identity of its ledger of labels; restored from a backup, it has another one."""


class ManifestsEntry(msgspec.Struct, frozen=True):
    """An item as an entry of a bag: its manifest, and that of its metadata item."""

    label: str
    item: msgspec.Raw
    metadata: msgspec.Raw
    """The manifest of the metadata item; null if there is none."""


class ManifestsAnswer(msgspec.Struct, frozen=True):
    """A page of items."""

    items: list[ManifestsEntry]
    after: str = ""
    """Continue after this; empty at the end."""
    left_out: int = 0
    """The number of deleted items on this page."""
    contact: str = ""
    """The e-mail address of the administrator."""


class HandOverRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Items whose Originals another archive is to have."""

    recipient: str
    """The label of its archive service."""
    items: list[str]
    leave_copies: bool = False
    """Whether to skip items whose Original another archive has."""


class ImportRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Items to import."""

    items: list[Brought]
    key: str = ""
    """The public key that must verify the hand-overs of Originals."""


class ReceptionAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """The state of an item that is imported."""

    label: str
    outcome: str
    """open, here or refused; imported or updated once it is completed."""
    detail: str = ""
    id: str = ""
    """The id of the deposit that receives its files."""
    needed: list[str] = []
    staged: list[StagedAnswer] = []


class ReceptionsAnswer(msgspec.Struct, frozen=True):
    """The states of imported items, in the order of the request."""

    items: list[ReceptionAnswer]


class ImportEnd(msgspec.Struct, forbid_unknown_fields=True):
    """An import to be completed, with the small files that were not sent yet."""

    id: str
    files: dict[str, bytes] = {}
    """The content of files by path, in base64."""


class ImportCompletionRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Imports to be completed."""

    imports: list[ImportEnd]


class KeyAnswer(msgspec.Struct, frozen=True):
    """An archive and its public key."""

    address: str
    service: str
    key: str
