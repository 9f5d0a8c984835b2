"""Who asks: the address of a reader, how much of it archives are told, and whose share it is.

X-Forwarded-For is what anybody can write. It is believed of proxies that the operator named, and
read from its end, where they wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final

from starlette.requests import Request

NOBODY: Final = "0.0.0.0"  # noqa: S104  # what archives are told of whom they are told nothing
_MOST_PROXIES: Final = 16
_LONGEST_KEPT: Final = 256
_BITS: Final = {4: 24, 6: 48}
"""The network of a reader: as much of an address as a licence of an institution needs."""


class ClientAddresses:
    """Tells readers apart, and to archives as much of them as a setting says."""

    def __init__(self, trusted_proxies: Sequence[str], reveal: str) -> None:
        """Believe these networks; reveal `full`, `network` or `none`."""
        self._trusted = [ip_network(network) for network in trusted_proxies]
        self._told = _REVEALED[reveal]
        self._trusts = lru_cache(maxsize=4096)(self._is_trusted_peer)
        self._told_of_peer = lru_cache(maxsize=4096)(
            lambda peer, forwarded: self.told(self.of_peer(peer, forwarded))
        )

    def of(self, request: Request) -> tuple[str, ...]:
        """Return the addresses of a reader and of the proxies between, the reader's first."""
        return self.of_peer(peer_of(request), ",".join(request.headers.getlist("x-forwarded-for")))

    def of_peer(self, peer: str, forwarded: str) -> tuple[str, ...]:
        """Return the same of who is connected, and of what it says for whom."""
        nearest = _read(peer)
        if nearest is None:
            return (NOBODY,)
        found = [str(nearest)]
        if not self._is_trusted(nearest):
            return tuple(found)
        for text in reversed(forwarded.split(",")[-_MOST_PROXIES:]):
            address = _read(text.strip())
            if address is None:
                break
            found.insert(0, str(address))
            if not self._is_trusted(address):
                break
        return tuple(found)

    def reader(self, request: Request) -> str:
        """Return the address of a reader who is to be let in by it; nobody's if it is not known.

        It is the last one that is not a proxy's. Who comes by a proxy that says nothing of him, or
        nothing that can be read, is not taken for the proxy.
        """
        address = self.of(request)[0]
        return NOBODY if self._trusts(address) else address

    def told_of_peer(self, peer: str, forwarded: str) -> tuple[str, ...]:
        """Return what archives are told of them."""
        if not self._trusts(peer):
            forwarded = ""  # it is not believed, and need not be remembered
        if len(forwarded) > _LONGEST_KEPT:
            return self.told(self.of_peer(peer, forwarded))
        return self._told_of_peer(peer, forwarded)

    @property
    def believes_anybody(self) -> bool:
        """Whether it matters what anybody says for whom he asks."""
        return bool(self._trusted)

    def _is_trusted_peer(self, peer: str) -> bool:
        address = _read(peer)
        return address is not None and self._is_trusted(address)

    def _is_trusted(self, address: IPv4Address | IPv6Address) -> bool:
        return any(address in network for network in self._trusted)

    def told(self, addresses: Sequence[str]) -> tuple[str, ...]:
        """Return what archives are told of them."""
        return tuple(dict.fromkeys(map(self._told, addresses)))


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
    "none": lambda _: NOBODY,
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
