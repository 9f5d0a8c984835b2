"""Client addresses: the address of a reader, and which part of it archives get.

Anyone can write X-Forwarded-For. It is trusted if it comes from a proxy that the operator named,
and is read from its end, where the proxies wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final

from starlette.requests import Request

UNKNOWN_ADDRESS: Final = "0.0.0.0"  # noqa: S104  # archives get it instead of an address
_MAX_PROXIES: Final = 16
_MAX_CACHED: Final = 256
_BITS: Final = {4: 24, 6: 48}
"""Bits of the network of a reader: as much of an address as limits by network need."""


class ClientAddresses:
    """Determines the addresses of clients, and which part of them is disclosed to archives."""

    def __init__(self, trusted_proxies: Sequence[str], reveal: str) -> None:
        """Trust proxies in these networks; reveal `full`, `network` or `none`."""
        self._trusted = [ip_network(network) for network in trusted_proxies]
        self._disclosed = _REVEALED[reveal]
        self._discloses_more = reveal == "network"
        self._trusts = lru_cache(maxsize=4096)(self._is_trusted_peer)
        self._disclosed_of_peer = lru_cache(maxsize=4096)(
            lambda peer, forwarded: self.disclosed(self.of_peer(peer, forwarded))
        )

    def of(self, request: Request) -> tuple[str, ...]:
        """Return the addresses of a reader and of the proxies between, the reader's first."""
        return self.of_peer(peer_of(request), ",".join(request.headers.getlist("x-forwarded-for")))

    def of_peer(self, peer: str, forwarded: str) -> tuple[str, ...]:
        """Return the same for the address of a connection and its X-Forwarded-For."""
        nearest = _read(peer)
        if nearest is None:
            return (UNKNOWN_ADDRESS,)
        found = [str(nearest)]
        if not self._is_trusted(nearest):
            return tuple(found)
        for text in reversed(forwarded.split(",")[-_MAX_PROXIES:]):
            address = _read(text.strip())
            if address is None:
                break
            found.insert(0, str(address))
            if not self._is_trusted(address):
                break
        return tuple(found)

    def reader(self, request: Request) -> str:
        """Return the address of a reader, for decisions about access; 0.0.0.0 if it is not known.

        It is the last address that is not a proxy's. A reader whose proxy sends no readable address
        is not taken for the proxy.
        """
        address = self.of(request)[0]
        return UNKNOWN_ADDRESS if self._trusts(address) else address

    def disclosed_of_peer(self, peer: str, forwarded: str) -> tuple[str, ...]:
        """Return the disclosed addresses, by the peer's address and its X-Forwarded-For."""
        if not self._trusts(peer):
            forwarded = ""  # it is not trusted, and need not be cached
        if len(forwarded) > _MAX_CACHED:
            return self.disclosed(self.of_peer(peer, forwarded))
        return self._disclosed_of_peer(peer, forwarded)

    @property
    def has_trusted_proxies(self) -> bool:
        """Whether X-Forwarded-For of some peers is trusted."""
        return bool(self._trusted)

    def _is_trusted_peer(self, peer: str) -> bool:
        address = _read(peer)
        return address is not None and self._is_trusted(address)

    def _is_trusted(self, address: IPv4Address | IPv6Address) -> bool:
        return any(address in network for network in self._trusted)

    def disclosed(self, addresses: Sequence[str]) -> tuple[str, ...]:
        """Return the part of addresses that is disclosed to archives."""
        return tuple(dict.fromkeys(map(self._disclosed, addresses)))

    def disclosed_to_holder(self, addresses: Sequence[str]) -> tuple[str, ...]:
        """Return the addresses that an archive gets if it has an item for some readers only.

        They are whole where other archives get the network: a licence may be for one address.
        """
        return tuple(addresses) if self._discloses_more else self.disclosed(addresses)


def peer_of(request: Request) -> str:
    """Return the address that a request comes from; empty if it is not known."""
    return request.client.host if request.client else ""


@lru_cache(maxsize=4096)
def network_of(address: str) -> str:
    """Return the first address of the network that an address is in."""
    version = ip_address(address).version
    return str(ip_network((address, _BITS[version]), strict=False).network_address)


_REVEALED: Final[dict[str, Callable[[str], str]]] = {
    "full": str,
    "network": network_of,
    "none": lambda _: UNKNOWN_ADDRESS,
}


def _read(text: str) -> IPv4Address | IPv6Address | None:
    try:
        address = ip_address(text)
    except ValueError:
        return None
    inner = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    if isinstance(address, IPv6Address) and address.scope_id:
        return None
    return inner or address
