"""Archives in the register of a resolver: registered, and perhaps included (004, chapter 5)."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Literal

from ibi.identifier.label import Label


class ArchiveState(StrEnum):
    """The state of an archive in the register."""

    PENDING = "pending"
    """A registration was requested, but is not confirmed yet."""
    INCLUDED = "included"
    EXCLUDED = "excluded"
    """Registered, but switched off or not switched on yet."""
    DOWN = "down"
    """Included, but it does not answer."""


Origin = Literal["operator", "mail", "domain"]
"""How a registration was requested: by the operator, by e-mail, or by control of the domain."""


EVERY_PORT: Final = 0
"""The port of a place that means all ports of its host."""


@dataclass(frozen=True, slots=True)
class ProvedPlace:
    """A host or an IP address, and the port at which an archive has proved that it controls it."""

    host: str
    """Spelled as in labels."""
    port: int
    """EVERY_PORT if the proof is one for the whole host."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inclusion:
    """What an archive announced when it was switched on (Table 5.2)."""

    address: str
    """Host and port, as in a URL."""
    ip: str
    platform_version: str
    administrator: str
    since: int
    """When it was included at this address, in nanoseconds of POSIX time, as all times here."""
    seen: int
    """When it last announced itself."""
    confirmed: bool = False
    """Whether it answered the confirmation request of the resolver."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """The failures of an included archive to answer."""

    since: int
    failures: int
    next_try: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredArchive:
    """An archive in the register of a resolver."""

    service: Label
    """The label of its archive service, which identifies it."""
    key: str
    """The scrypt hash of its registration key; empty if the key was revoked."""
    previous_key: str = ""
    previous_until: int = 0
    """Until when the previous key is accepted after a rotation."""
    administrator: str = ""
    """The e-mail address of its administrator."""
    origin: Origin = "operator"
    registered: int = 0
    confirmed: int = 0
    """When the registration was confirmed; 0 while it is pending."""
    seniority: int = 0
    """The number of the change that confirmed the registration, in the order of the database; the
    lowest is the most senior. 0 while it is pending, and for all archives that were confirmed
    before these numbers were stored."""
    hosts: tuple[str, ...] = ()
    """Further hosts, with or without a port, that its URLs may have."""
    inclusion: Inclusion | None = None
    excluded: int = 0
    """When it was last excluded; 0 if never."""
    outage: Outage | None = None
    link_secret: str = field(default="", repr=False)
    """The secret that proves counts of accesses to the archive; empty if it has received none."""
    proofs: tuple[ProvedPlace, ...] = ()
    """The places of which its administrator proved control when it was registered."""
    confirmed_at: tuple[ProvedPlace, ...] = ()
    """The places at which it last confirmed its inclusion, also while it is switched off."""

    @property
    def id(self) -> str:
        """The canonical label of its archive service."""
        return self.service.canonical

    @property
    def state(self) -> ArchiveState:
        """The state that follows from registration, inclusion and outage."""
        if not self.confirmed:
            return ArchiveState.PENDING
        if self.inclusion is None:
            return ArchiveState.EXCLUDED
        return ArchiveState.INCLUDED if self.outage is None else ArchiveState.DOWN

    @property
    def since(self) -> int:
        """When the present state began."""
        if not self.confirmed:
            return self.registered
        if self.inclusion is None:
            return max(self.excluded, self.confirmed)
        return self.inclusion.since if self.outage is None else self.outage.since

    @property
    def address(self) -> str:
        """Host and port; empty while it is not included."""
        return self.inclusion.address if self.inclusion is not None else ""
