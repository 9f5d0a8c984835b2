"""Sign-in at an OpenID provider (OpenID Connect Core 1.0, code flow with PKCE).

The only module that uses authlib, joserfc and requests. The provider is named by a setting, so its
address is trusted; what it answers is not: a token must be signed by its keys, for this client, and
for the sign-in that this browser began.
"""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock
from typing import Any, Final

import msgspec
import requests
from authlib.common.errors import AuthlibBaseError
from authlib.integrations.requests_client import OAuth2Session
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from ibi.errors import OpenIdError
from ibi.foundation.accounts.openid_settings import OpenIdSettings
from ibi.model.clock import SECOND, Clock

SECONDS: Final = 10.0
"""Seconds that the provider may take for each answer."""
_KEPT: Final = 600 * SECOND
"""Nanoseconds for which metadata and keys of the provider are kept."""
_LEEWAY: Final = 60
"""Seconds by which the clocks of provider and site may differ."""
_LARGEST: Final = 1 << 20
"""Bytes of the largest answer."""
_DISCOVERY: Final = "/.well-known/openid-configuration"
_ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512",
                      "ES256", "ES384", "ES512", "EdDSA")  # fmt: skip
"""Algorithms of signatures: neither `none`, nor those whose key a client would share."""


class OpenIdProvider:
    """One provider, of which this site is a client."""

    def __init__(self, settings: OpenIdSettings, redirect: str, clock: Clock) -> None:
        """Have the provider lead people back to the address `redirect`."""
        self.settings = settings
        self._redirect = redirect
        self._clock = clock
        self._lock = Lock()
        self._read = -_KEPT
        self._metadata: dict[str, Any] = {}
        self._keys: KeySet | None = None

    def begin(self, state: str, nonce: str, verifier: str) -> str:
        """Return the address at the provider where the person signs in."""
        metadata, _ = self._configuration()
        try:
            url, _ = self._session().create_authorization_url(
                _endpoint(metadata, "authorization_endpoint"),
                state=state,
                nonce=nonce,
                code_verifier=verifier,
            )
        except AuthlibBaseError as fault:
            raise OpenIdError(type(fault).__name__) from fault
        return str(url)

    def complete(self, code: str, nonce: str, verifier: str) -> dict[str, Any]:
        """Exchange a code, and return the claims of the person."""
        metadata, keys = self._configuration()
        try:
            token = self._session().fetch_token(
                _endpoint(metadata, "token_endpoint"),
                code=code,
                grant_type="authorization_code",
                code_verifier=verifier,
                timeout=SECONDS,
                allow_redirects=False,
            )
        except (AuthlibBaseError, requests.RequestException, ValueError) as fault:
            raise OpenIdError(type(fault).__name__) from fault
        text = token.get("id_token") if isinstance(token, dict) else None
        if not isinstance(text, str):
            raise OpenIdError("no id_token")
        return self.checked(text, nonce, keys)

    def checked(self, text: str, nonce: str, keys: KeySet) -> dict[str, Any]:
        """Return the claims of an ID token (Core 1.0, 3.1.3.7); OpenIdError if it is not valid."""
        settings = self.settings
        rules = jwt.JWTClaimsRegistry(
            now=self._clock.wall() // SECOND,
            leeway=_LEEWAY,
            iss={"essential": True, "value": settings.issuer},
            aud={"essential": True, "value": settings.client},
            sub={"essential": True},
            exp={"essential": True},
            iat={"essential": True},
            nonce={"essential": True, "value": nonce},
        )
        try:
            claims = jwt.decode(text, keys, algorithms=list(_ALGORITHMS)).claims
            rules.validate(claims)
        except (JoseError, ValueError, TypeError) as fault:
            raise OpenIdError(type(fault).__name__) from fault
        if claims.get("azp", settings.client) != settings.client:
            raise OpenIdError("another client's token")
        return dict(claims)

    def _session(self) -> OAuth2Session:
        return OAuth2Session(
            self.settings.client,
            self.settings.secret,
            redirect_uri=self._redirect,
            scope="openid profile email",
            code_challenge_method="S256",
        )

    def _configuration(self) -> tuple[dict[str, Any], KeySet]:
        """Return metadata and keys of the provider, read again every few minutes."""
        with self._lock:
            now = self._clock.uptime()
            if self._keys is None or now - self._read > _KEPT:
                metadata = _json(self.settings.issuer.rstrip("/") + _DISCOVERY)
                if metadata.get("issuer") != self.settings.issuer:
                    raise OpenIdError("another issuer")
                try:
                    self._keys = KeySet.import_key_set(_json(_endpoint(metadata, "jwks_uri")))  # type: ignore[arg-type]  # as it came
                except (JoseError, ValueError, TypeError, KeyError) as fault:
                    raise OpenIdError(type(fault).__name__) from fault
                self._metadata, self._read = metadata, now
            return self._metadata, self._keys


def _endpoint(metadata: Mapping[str, Any], name: str) -> str:
    address = metadata.get(name)
    if not isinstance(address, str) or not address.startswith(("https://", "http://")):
        raise OpenIdError(f"no {name}")
    return address


def _json(address: str) -> dict[str, Any]:
    try:
        with requests.get(address, timeout=SECONDS, allow_redirects=False, stream=True) as answer:
            answer.raise_for_status()
            content = answer.raw.read(_LARGEST, decode_content=True)
        found = msgspec.json.decode(content)
    except (requests.RequestException, msgspec.MsgspecError, OSError) as fault:
        raise OpenIdError(type(fault).__name__) from fault
    if not isinstance(found, dict):
        raise OpenIdError("no JSON object")
    return found
