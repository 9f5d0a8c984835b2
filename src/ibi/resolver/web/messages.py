"""The messages of a resolver's API, as types that check requests and describe the API."""

from __future__ import annotations

from typing import Literal

import msgspec


class ResolverAnswer(msgspec.Struct, frozen=True):
    """The resolver itself."""

    name: str
    address: str
    service: str
    """The label of its own service."""
    version: str
    archives: dict[str, int] = {}
    """How many, by state."""


class DigestAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """How much of an archive's digest is stored."""

    whole: bool
    names: int
    confirmed: str
    """When the archive last reported the end of its digest; empty if it has not yet."""
    refused: str = ""
    """Why the digest was refused, if it was: the archive counts as one that publishes none."""


class ArchiveAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """A registered archive; without a token, the fields after `reason` are omitted."""

    service_ibi: str
    address: str
    """Host and port; empty while it is not included."""
    state: str
    since: str
    confirmed: bool
    """Whether the archive confirmed its inclusion when it was asked."""
    seen: str = ""
    """When it last announced itself."""
    reason: str = ""
    """Why it is down."""
    administrator: str = ""
    origin: str = ""
    hosts: list[str] = []
    key: str = ""
    """`good` or `revoked`."""
    previous_key_until: str = ""
    digest: DigestAnswer | None = None
    response_seconds: float = 0.0
    """How long it takes to answer, as this process has measured it; 0 before it has."""


class ArchivesAnswer(msgspec.Struct, frozen=True):
    """All registered archives."""

    archives: list[ArchiveAnswer]


class RegistrationRequest(msgspec.Struct, forbid_unknown_fields=True):
    """An archive that the operator registers."""

    service_ibi: str
    administrator: str = ""
    hosts: list[str] = []
    """Further hosts, with or without a port, that its URLs may be on."""
    key: str = ""
    """A registration key that its administrator has chosen; empty for a new one."""


class KeyAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """An archive and its registration key, which is shown only now."""

    service_ibi: str
    registration_key: str
    previous_key_until: str = ""
    """The time until which the previous key is valid as well."""


class HostsRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Further hosts that the URLs of an archive may be on, replacing those before."""

    hosts: list[str]


class NoticeAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """The state of a registration, and whether its administrator was notified by e-mail."""

    service_ibi: str
    state: str
    administrator: str
    mail_sent: bool
    reason: str = ""
    """Why no message was sent."""


class ClaimAnswer(msgspec.Struct, frozen=True):
    """The claim of one archive to an Original."""

    archive: str
    address: str
    url: str
    timestamp: str
    first_seen: str
    last_seen: str
    answer: str
    """The pair list of the first such answer, without its key."""


class ConflictAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """Rival claims to one Original, the most trusted one first."""

    number: int
    label: str
    claims: list[ClaimAnswer]
    opened: str
    last_seen: str
    seen: int
    """How often the conflict was seen."""
    settled: str = ""
    owner: str = ""
    note: str = ""


class ConflictsAnswer(msgspec.Struct, frozen=True):
    """A page of conflicts."""

    conflicts: list[ConflictAnswer]
    after: str = ""
    """Where the next page begins; empty on the last."""


class SettlementRequest(msgspec.Struct, forbid_unknown_fields=True):
    """The archive that has an Original, in the operator's judgement."""

    owner: str
    """The label of an archive service."""
    note: str = ""


class HistoryLine(msgspec.Struct, frozen=True):
    """An entry of the history: an actor and an act."""

    number: int
    at: str
    who: str
    act: str
    archive: str
    detail: str


class HistoryAnswer(msgspec.Struct, frozen=True):
    """A page of the history."""

    history: list[HistoryLine]
    after: str = ""


class OpenRegistrationRequest(msgspec.Struct, forbid_unknown_fields=True):
    """An archive to be registered by proof of control of its host."""

    service_ibi: str
    administrator: str


class ProofRequest(msgspec.Struct, forbid_unknown_fields=True):
    """A challenge to be checked."""

    token: str
    signature: str = ""
    """The proof, signed with the key in the record of the domain name; hexadecimal."""


class ProofAnswer(msgspec.Struct, frozen=True):
    """One way to prove control of a host."""

    way: Literal["http", "dns", "key"]
    place: str
    """A URL, or the name of a TXT record."""
    text: str
    """The text that must be there; of `key`, the proof to sign."""
    instruction: str


class ChallengeAnswer(msgspec.Struct, frozen=True):
    """The next step: any one of the proofs, then `next`."""

    token: str
    service_ibi: str
    host: str
    until: str
    proofs: list[ProofAnswer]
    next: str
