"""What the API says and hears of items that leave in a bag, and of those that come in one."""

from __future__ import annotations

import msgspec

from ibi.archive.hand_over import HandOver
from ibi.archive.importing import Brought
from ibi.web.archive_messages import StagedAnswer


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
