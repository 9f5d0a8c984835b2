"""The settings of a resolver: the file `resolver.toml` in its folder."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Literal

from ibi.errors import LabelError, ResolverRequestError, shown
from ibi.foundation import settings_file
from ibi.foundation.accounts.openid_settings import openid_checks
from ibi.foundation.pages.identity_settings import identity_checks
from ibi.foundation.settings_file import (
    DESTINATIONS,
    MAX_WORKERS,
    NETWORKS,
    are_destinations,
    are_networks,
    is_address,
    is_mail_address,
    is_place,
    place_of,
    place_to_listen,
    raising,
    refuse_bad,
)
from ibi.identifier.label import Label, parse
from ibi.resolver.rules.scopes import ROLE_SCOPES
from ibi.wire.requests import DEFAULT_SERVICE

RESOLVER_FILE: Final = "resolver.toml"
ClientAddress = Literal["network", "full", "none"]


def _gateways() -> dict[str, str]:
    return {
        "doi": "https://doi.org/",
        "hdl": "https://hdl.handle.net/",
        "ark": "https://n2t.net/ark:",
        "urn": "https://nbn-resolving.org/urn:",
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolverSettings:
    """The settings of a resolver."""

    folder: Path
    name: str
    address: str
    """The address where readers find the resolver: http://resolver.example.org"""
    listen: str = "127.0.0.1:8800"
    service: str = DEFAULT_SERVICE.spelling
    """The label of the resolver's own service (004, section 4.1)."""
    operator: str = ""
    """The e-mail address of the operator."""
    database: str = "registry.sqlite"
    """The path of a file, or a postgresql:// URL."""
    client_address: ClientAddress = "network"
    """The part of a reader's address that archives get: its network, all of it, or nothing."""
    trusted_proxies: list[str] = field(default_factory=list)
    """Networks of proxies whose X-Forwarded-For is trusted."""
    allowed_networks: list[str] = field(default_factory=list)
    """Private networks in which archives are allowed, at all ports or at one."""
    gateways: dict[str, str] = field(default_factory=_gateways)
    """URLs to which identifiers of other systems are redirected; an empty text closes one."""
    open_registration: bool = False
    """Whether an archive may be registered by proof of control of its domain name."""
    archive_seconds: float = 2.0
    """Seconds that one archive may take to answer."""
    hot_seconds: float = 10.0
    """Seconds for which an answer is reused without asking: the bound on staleness."""
    known: int = 1_000_000
    """Answers in memory that are reused until the log of their archive has a change."""
    known_seconds: float = 3600.0
    """Seconds for which such an answer is reused at most."""
    absent_seconds: float = 2.0
    """Seconds for which it is reused that no archive has an item."""
    digest_seconds: float = 60.0
    """Seconds after which the digest of a changing archive is fetched again."""
    digest_names: int = 50_000_000
    """Names that an archive may list in its digest; an archive with more counts as publishing
    none."""
    messages_a_second: int = 200
    """Messages to archives a second that searches for one client's network may cost, with bursts of
    ten times that."""
    requests_a_second: int = 100
    """API requests a second of one token."""
    smtp: str = ""
    """HOST:PORT of the mail server; empty if messages are not sent."""
    mail_from: str = ""
    openid_issuer: str = ""
    """The OpenID provider at which people may sign in; empty for passwords only."""
    openid_client: str = ""
    """The id of this site at the provider."""
    openid_secret_file: str = ""
    """The path of a file with the secret of this site there, relative to the folder."""
    openid_name: str = ""
    """The name of the provider, on the page for signing in."""
    openid_claim: str = "sub"
    """The claim by which the provider identifies a person for good."""
    openid_join: str = "none"
    """The people that get an account uninvited: `none`, `all`, or a domain of addresses."""
    openid_role: str = "viewer"
    """The role of an account that is made without an invitation."""
    logo: str = ""
    """The path of an image: SVG, PNG, WebP or JPEG, relative to the folder."""
    accent: str = ""
    """The accent colour of the pages, such as #1351b4."""
    contact: str = ""
    """The e-mail address or the URL to which readers turn."""
    imprint: str = ""
    """The text of the imprint, or the URL of a page."""
    workers: int = 1
    """Processes that serve requests, all of them alike."""

    @property
    def place(self) -> str:
        """The place of the database: a path or a URL."""
        return place_of(self.folder, self.database)

    @property
    def service_label(self) -> Label:
        """The label of the resolver's own service."""
        return parse(self.service, strict=True)


def read_resolver(folder: Path) -> ResolverSettings:
    """Read the settings of the resolver in a folder."""
    nothing = f"There is no resolver in {shown(str(folder))}: make one with 'ibi resolver init'."
    with raising(ResolverRequestError):
        return settings_file.read(
            folder / RESOLVER_FILE, ResolverSettings, checked_resolver, nothing
        )


def checked_resolver(settings: ResolverSettings) -> ResolverSettings:
    """Return normalized settings; raise ResolverRequestError if one is invalid."""
    settings = replace(
        settings,
        address=settings.address.lower().rstrip("/"),
        gateways=_gateways() | settings.gateways,
    )
    with raising(ResolverRequestError):
        _check(settings)
    return settings


def _check(settings: ResolverSettings) -> None:
    refuse_bad(
        settings,
        (
            ("name", settings.name.strip() and settings.name.isprintable(), "one line, for people"),
            ("address", is_address(settings.address), "http://host[:port]"),
            ("service", _is_label(settings.service), "a label"),
            (
                "operator",
                not settings.operator or is_mail_address(settings.operator),
                "an e-mail address",
            ),
            ("database", settings.database, "a file, or a postgresql:// URL"),
            ("trusted_proxies", are_networks(settings.trusted_proxies), NETWORKS),
            ("allowed_networks", are_destinations(settings.allowed_networks), DESTINATIONS),
            ("gateways", _are_gateways(settings.gateways), "http(s) URLs by doi, hdl, ark and urn"),
            ("archive_seconds", 0 < settings.archive_seconds <= _MAX_SECONDS, "seconds, up to 60"),
            ("hot_seconds", 0 <= settings.hot_seconds <= _MAX_SECONDS, "seconds, up to 60"),
            ("known", 1 <= settings.known <= _MAX_KNOWN, "1 to 100,000,000"),
            ("known_seconds", 0 < settings.known_seconds <= _DAY, "seconds, up to 86,400"),
            ("absent_seconds", 0 <= settings.absent_seconds <= _MAX_SECONDS, "seconds, up to 60"),
            ("digest_seconds", 1 <= settings.digest_seconds <= _HOUR, "seconds, from 1 to 3600"),
            ("digest_names", settings.digest_names >= 0, "0 or more"),
            ("messages_a_second", settings.messages_a_second >= 1, "1 or more"),
            ("requests_a_second", settings.requests_a_second >= 1, "1 or more"),
            ("smtp", not settings.smtp or is_place(settings.smtp), "HOST:PORT"),
            *openid_checks(settings, tuple(ROLE_SCOPES)),
            *identity_checks(settings),
            ("workers", 1 <= settings.workers <= MAX_WORKERS, f"1 to {MAX_WORKERS}"),
            (
                "mail_from",
                is_mail_address(settings.mail_from) if settings.smtp else True,
                "an e-mail address, if `smtp` is set",
            ),
        ),
    )
    place_to_listen(settings.listen)


_MAX_SECONDS: Final = 60.0
_HOUR: Final = 3600.0
_DAY: Final = 86_400.0
_MAX_KNOWN: Final = 100_000_000


def _is_label(text: str) -> bool:
    try:
        parse(text, strict=True)
    except LabelError:
        return False
    return True


def _are_gateways(gateways: dict[str, str]) -> bool:
    return gateways.keys() == _gateways().keys() and all(
        not url or url.startswith(("http://", "https://")) for url in gateways.values()
    )
