"""What searches by words, and look-ups of tombstones, cost the network of a reader."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import Request

from ibi.foundation.web.client_address import ClientAddresses, network_of
from ibi.foundation.web.rate_limit import RateLimit


@dataclass(frozen=True, slots=True)
class SearchLimits:
    """Charges searches by words to the networks of readers."""

    clients: ClientAddresses
    budget: RateLimit
    """Messages to archives by network, as for all other searches."""

    def charge(self, request: Request, messages: int) -> None:
        """Charge messages to the network of a reader."""
        self.budget.admit(network_of(self.clients.of(request)[0]), messages)
