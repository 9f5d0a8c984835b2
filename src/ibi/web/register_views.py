"""What the pages show on which archives are registered, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from ibi.archive.announcement import DEFAULT_SERVICE
from ibi.identifier.label import Label
from ibi.model.archive_record import RegistrationKey
from ibi.model.registration import RegisteredArchive
from ibi.ports import Challenge
from ibi.resolver.domain_proof import Proof, http_proof, text_proof
from ibi.web.page_views import ProblemView


@dataclass(frozen=True, slots=True, kw_only=True)
class FilledForm:
    """What somebody filled in, but for a token, which no page repeats."""

    origin: str = "operator"
    """Which of the forms it is, by who may send it: `operator` or `domain`."""
    service: str = ""
    administrator: str = ""
    hosts: str = ""
    """As they were written, with blanks, commas or ends of lines between them."""

    @classmethod
    def of(cls, fields: Mapping[str, str]) -> Self:
        """Read the fields of a form; what it does not have is empty."""
        return cls(
            origin="domain" if fields.get("origin") == "domain" else "operator",
            service=fields.get("service", "").strip(),
            administrator=fields.get("administrator", "").strip(),
            hosts=fields.get("hosts", "").strip(),
        )

    @property
    def host_list(self) -> tuple[str, ...]:
        """The further hosts, one by one."""
        return tuple(self.hosts.replace(",", " ").split())


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterView:
    """The forms by which an archive is registered."""

    is_open: bool
    """Whether there is one for strangers."""
    filled: FilledForm = FilledForm()
    fault: ProblemView | None = None
    """Why it was not registered as it was filled in."""

    def filled_as(self, origin: str) -> FilledForm:
        """Return what was filled in in one of the forms."""
        return self.filled if self.filled.origin == origin else FilledForm(origin=origin)

    def fault_of(self, origin: str) -> ProblemView | None:
        """Return what is wrong with one of the forms."""
        return self.fault if self.filled.origin == origin else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChallengeView:
    """How control of a host is shown, and the form to have it looked at."""

    token: str
    challenge: Challenge | None
    """None if it was not looked up: the token can be sent again all the same."""
    fault: ProblemView | None = None

    @property
    def at_host(self) -> Proof | None:
        """What the host may show."""
        return http_proof(self.challenge) if self.challenge else None

    @property
    def in_names(self) -> Proof | None:
        """What the domain name system may have instead; None for an IP address."""
        return text_proof(self.challenge) if self.challenge else None


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyView:
    """An archive that was registered just now, and its key, which is shown this once."""

    archive: RegisteredArchive
    key: RegistrationKey
    resolver: str
    """The address of the resolver."""
    resolver_service: Label

    @property
    def command(self) -> str:
        """What the administrator types; archives know the usual label of a resolver service."""
        service = self.resolver_service
        own = "" if service == DEFAULT_SERVICE else f" --service {service.spelling}"
        return f"ibi archive link {self.resolver} --key {self.key}{own}"
