"""Archives as a resolver has them on record: registered, and perhaps included (004, chapter 5)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from ibi.identifier.label import Label


class ArchiveState(StrEnum):
    """How an archive stands with a resolver."""

    PENDING = "pending"
    """It asked to be registered; nobody has confirmed it yet."""
    INCLUDED = "included"
    EXCLUDED = "excluded"
    """Registered, and switched off or not yet on."""
    DOWN = "down"
    """Included, and it does not answer."""


Origin = Literal["operator", "mail", "domain"]
"""Who asked for a registration: the operator, an e-mail, or who controls the domain name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inclusion:
    """What an archive said of itself when it was switched on (Table 5.2)."""

    address: str
    """Host and port, as they stand in a URL."""
    ip: str
    platform_version: str
    administrator: str
    since: int
    """When it was included at this address, in nanoseconds of POSIX time, as all times here."""
    seen: int
    """When it last announced itself."""
    confirmed: bool = False
    """Whether it confirmed, when asked, that it is there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """An included archive that does not answer."""

    since: int
    failures: int
    next_try: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredArchive:
    """An archive that a resolver knows."""

    service: Label
    """The label of its archive service: what it is registered by."""
    key: str
    """What is kept of its registration key; empty if it was revoked."""
    previous_key: str = ""
    previous_until: int = 0
    """After a rotation the key before it is good for a while."""
    administrator: str = ""
    """The e-mail address of whoever looks after it."""
    origin: Origin = "operator"
    registered: int = 0
    confirmed: int = 0
    """When the registration became good; 0 while it is pending."""
    hosts: tuple[str, ...] = ()
    """Further hosts, with or without a port, that its URLs may be on."""
    inclusion: Inclusion | None = None
    excluded: int = 0
    """When it was last excluded."""
    outage: Outage | None = None

    @property
    def id(self) -> str:
        """Its service, in the one spelling that all spellings of it share."""
        return self.service.canonical

    @property
    def state(self) -> ArchiveState:
        """How it stands."""
        if not self.confirmed:
            return ArchiveState.PENDING
        if self.inclusion is None:
            return ArchiveState.EXCLUDED
        return ArchiveState.INCLUDED if self.outage is None else ArchiveState.DOWN

    @property
    def since(self) -> int:
        """Since when."""
        if not self.confirmed:
            return self.registered
        if self.inclusion is None:
            return max(self.excluded, self.confirmed)
        return self.inclusion.since if self.outage is None else self.outage.since

    @property
    def address(self) -> str:
        """Where it is; empty while it is not included."""
        return self.inclusion.address if self.inclusion is not None else ""
