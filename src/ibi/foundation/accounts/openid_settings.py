"""The settings of an OpenID provider, the same for an archive and a resolver."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from ibi.errors import OpenIdError, RequestError, shown

_DOMAIN: Final = re.compile(r"[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,10}")
_ISSUER: Final = re.compile(r"https?://[^\s?#]{1,500}")


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenIdSettings:
    """An OpenID provider, and who may join by it."""

    issuer: str
    client: str
    secret: str
    name: str
    """The name of the provider on the page for signing in."""
    claim: str = "sub"
    """The claim by which the provider identifies a person for good."""
    join: str = "none"
    """The people that get an account uninvited: `none`, `all`, or those whose verified
    address is in this domain."""
    role: str = "viewer"
    """The role of an account that is made so."""

    def may_join(self, claims: Mapping[str, Any]) -> bool:
        """Return whether a person without an account gets one."""
        if self.join in {"none", "all"}:
            return self.join == "all"
        mail = str(claims.get("email", "")).lower()
        return claims.get("email_verified") is True and mail.endswith(f"@{self.join.lower()}")

    def subject(self, claims: Mapping[str, Any]) -> str:
        """Return issuer and person, as an account keeps them."""
        value = claims.get(self.claim)
        if not isinstance(value, str) or not value or not value.isprintable():
            raise OpenIdError(f"no claim {self.claim}")
        return f"{self.issuer} {value}"


class OpenIdFile(Protocol):
    """The settings of a program that name an OpenID provider."""

    @property
    def folder(self) -> Path:
        """The folder of the instance."""

    @property
    def openid_issuer(self) -> str:
        """The issuer, as the provider writes it; empty if people sign in by passwords only."""

    @property
    def openid_client(self) -> str:
        """The id of this site at the provider."""

    @property
    def openid_secret_file(self) -> str:
        """The path of a file with the secret of this site, relative to the folder."""

    @property
    def openid_name(self) -> str:
        """The name of the provider on pages."""

    @property
    def openid_claim(self) -> str:
        """The claim by which the provider identifies a person for good."""

    @property
    def openid_join(self) -> str:
        """The people that get an account uninvited: `none`, `all`, or a domain."""

    @property
    def openid_role(self) -> str:
        """The role of an account that is made so."""


def openid_checks(
    settings: OpenIdFile, roles: tuple[str, ...]
) -> Iterator[tuple[str, object, str]]:
    """Yield the name of each setting, whether it is valid, and what is expected."""
    used = bool(settings.openid_issuer)
    yield (
        "openid_issuer",
        not used or _ISSUER.fullmatch(settings.openid_issuer),
        "the http(s) URL of an OpenID provider",
    )
    yield "openid_client", not used or settings.openid_client, "the id of this site there"
    yield "openid_secret_file", not used or settings.openid_secret_file, "a file with the secret"
    yield "openid_name", settings.openid_name.isprintable(), "the name of the provider"
    yield "openid_claim", settings.openid_claim.isidentifier(), "the name of a claim, as sub"
    yield (
        "openid_join",
        settings.openid_join in {"none", "all"} or _DOMAIN.fullmatch(settings.openid_join),
        "none, all, or a domain of e-mail addresses",
    )
    yield "openid_role", settings.openid_role in roles, " or ".join(roles)


def openid_of(settings: OpenIdFile) -> OpenIdSettings | None:
    """Return the provider that the settings name, with the secret; None if they name none."""
    if not settings.openid_issuer:
        return None
    try:
        secret = (settings.folder / settings.openid_secret_file).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        msg = f"openid_secret_file = {shown(settings.openid_secret_file)} cannot be read."
        raise RequestError(msg) from None
    return OpenIdSettings(
        issuer=settings.openid_issuer,
        client=settings.openid_client,
        secret=secret,
        name=settings.openid_name or settings.openid_issuer,
        claim=settings.openid_claim,
        join=settings.openid_join,
        role=settings.openid_role,
    )
