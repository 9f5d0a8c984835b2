"""Access to the API of a resolver without a token: open registration of archives."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request

from ibi.errors import Sentence
from ibi.foundation.web.authorization import (
    Authenticator,
    Authorizer,
    Policy,
    SessionAccess,
    TokenLimits,
)
from ibi.foundation.web.client_address import ClientAddresses, network_of
from ibi.foundation.web.rate_limit import RateLimit
from ibi.model.clock import Clock

OPEN_REGISTRATION: Final = Policy("open registration")
"""Access for every client, if the operator opened registration, limited by its network."""

_HOUR: Final = 3600
REGISTRATIONS_AN_HOUR: Final = 10
"""Registrations an hour of one client's network: more are not plausible."""


def resolver_authorizer(  # noqa: PLR0913  # its parts
    authenticator: Authenticator,
    clients: ClientAddresses,
    clock: Clock,
    rate: int,
    *,
    is_open: bool,
    sessions: SessionAccess,
) -> Authorizer:
    """Return the authorizer of a resolver; `is_open` if registration is open."""
    registrations = RateLimit(clock, 1, _HOUR)

    def network(request: Request) -> str:
        return network_of(clients.of(request)[0])

    def check_registration(request: Request) -> None:
        if not is_open:
            msg = Sentence("Registration is not open at this resolver: ask its operator for a key.")
            raise HTTPException(HTTPStatus.FORBIDDEN, msg)
        registrations.admit(network(request), _HOUR // REGISTRATIONS_AN_HOUR)

    limits = TokenLimits(clock, rate, network)
    return Authorizer(authenticator, limits, {OPEN_REGISTRATION: check_registration}, sessions)
