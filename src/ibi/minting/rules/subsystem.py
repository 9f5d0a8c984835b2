"""The identification subsystem: the prefixes under which it mints (003, Algorithms 1 and 5)."""

from __future__ import annotations

from dataclasses import dataclass

from ibi.errors import MintingRequestError, ReadingError, Sentence, shown
from ibi.identifier import address, ibip, repository_name
from ibi.identifier.description import address_warnings
from ibi.identifier.ibip import Ibip
from ibi.identifier.instant import Instant
from ibi.identifier.label import Label
from ibi.identifier.limits import MAX_PORT
from ibi.identifier.repository_name import RepositoryName

_SOME_INSTANT = Instant(1_000_000_000, "000000001")
"""An instant whose suffix is as long as any that is minted in this millennium."""


@dataclass(frozen=True, slots=True)
class Subsystem:
    """A host and port, an IP address and port, or both; with only one, only one form is minted.

    The address may be private only if the operator allows it: such labels are unique in one network
    at the most.
    """

    host: str | None = None
    port: int = repository_name.DEFAULT_PORT
    ip: str | None = None
    ip_port: int = ibip.DEFAULT_PORT
    allow_private: bool = False

    def __post_init__(self) -> None:
        """Check all fields, so that no label is ever refused later."""
        if not self.host and not self.ip:
            msg = Sentence("A subsystem needs a host name, an IP address, or both.")
            raise MintingRequestError(msg)
        for port in (self.port, self.ip_port):
            if not 1 <= port <= MAX_PORT:
                msg = Sentence(
                    "%(port)s is not a port: expected a number from 1 to %(most)s.",
                    port=port,
                    most=MAX_PORT,
                )
                raise MintingRequestError(msg)
        if self.host is not None:
            object.__setattr__(self, "host", self._canonical_host(self.host))
        if self.ip is not None:
            object.__setattr__(self, "ip", self._canonical_ip(self.ip))

    def _canonical_host(self, host: str) -> str:
        try:
            return RepositoryName.mount(host, self.port, _SOME_INSTANT).host
        except ReadingError:
            msg = Sentence(
                "%(host)s is not a host name that a label can be made of: expected a domain name "
                "of at least two words, such as mtc-m19.sid.inpe.br.",
                host=shown(host),
            )
            raise MintingRequestError(msg) from None

    def _canonical_ip(self, ip: str) -> str:
        try:
            canonical = address.canonical(ip)
        except ValueError:
            msg = Sentence(
                "%(ip)s is not an IP address: expected one such as 150.163.34.243.", ip=shown(ip)
            )
            raise MintingRequestError(msg) from None
        if address_warnings(canonical) and not self.allow_private:
            msg = Sentence(
                "%(canonical)s is not a public address, so others may mint the same labels: "
                "take the public one, or allow it with --allow-private (allow_private=True).",
                canonical=canonical,
            )
            raise MintingRequestError(msg)
        return canonical

    @property
    def rep_prefix(self) -> str | None:
        """The prefix of its repository names."""
        return None if self.host is None else repository_name.mount_prefix(self.host, self.port)

    @property
    def ibip_prefix(self) -> str | None:
        """The prefix of its IBIps."""
        return None if self.ip is None else ibip.mount_prefix(self.ip, self.ip_port)

    @property
    def prefixes(self) -> tuple[str, ...]:
        """All its prefixes, none of which another subsystem may have."""
        return tuple(prefix for prefix in (self.rep_prefix, self.ibip_prefix) if prefix)

    def owns(self, label: Label) -> bool:
        """Return whether a label has one of its prefixes."""
        match label:
            case RepositoryName(host=host, port=port):
                return (host, port) == (self.host, self.port)
            case Ibip(ip=ip, port=port):
                return (ip, port) == (self.ip, self.ip_port)
            case _:
                return False
