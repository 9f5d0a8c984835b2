"""Protection against SSRF: connections go only to addresses that are public.

Archives declare their own addresses, and the resolver connects to them. Without this guard they
could make it connect to its own machine, to its neighbours, or to the metadata service of a cloud.
What counts is the address of the socket, never a name or the spelling of a number: a name is looked
up once, its addresses are checked, and each is checked again when its socket is made.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Any, Final, TypeAlias

from aiohttp.abc import AbstractResolver, ResolveResult

from ibi.foundation.settings_file import destination

Address: TypeAlias = IPv4Address | IPv6Address
_Place: TypeAlias = tuple[int, int, int, str, tuple[Any, ...]]

# The registries of special-purpose addresses (RFC 6890, as IANA keeps them). `is_global` is not
# enough: its result for some of these differs between versions of Python.
_NOT_PUBLIC_4: Final = tuple(
    IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # shared by the customers of a provider
        "127.0.0.0/8",  # loopback
        "169.254.0.0/16",  # link-local
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments
        "192.0.2.0/24",  # documentation
        "192.31.196.0/24",  # AS112
        "192.52.193.0/24",  # automatic multicast tunneling
        "192.88.99.0/24",  # relays of 6to4
        "192.168.0.0/16",  # private
        "192.175.48.0/24",  # AS112
        "198.18.0.0/15",  # benchmarking
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
    )
)
# All unicast ever assigned (RFC 4291, 2.4); the rest is special in one way or another.
_UNICAST_6: Final = IPv6Network("2000::/3")
_NOT_PUBLIC_6: Final = tuple(
    IPv6Network(network)
    for network in (
        "2001::/23",  # protocol assignments, Teredo and benchmarking among them
        "2001:db8::/32",  # documentation
        "2620:4f:8000::/48",  # AS112
        "3ffe::/16",  # a test network, given back (RFC 3701)
        "3fff::/20",  # documentation
    )
)
# Prefixes that lead to an IPv4 address, with the number of bits that follow it. The prefix for
# the local use of NAT64 (64:ff9b:1::/48) is left out: its destination is not known outside.
_LEADS_TO_4: Final = (
    (IPv6Network("::ffff:0:0/96"), 0),  # mapped
    (IPv6Network("64:ff9b::/96"), 0),  # NAT64
    (IPv6Network("2002::/16"), 80),  # 6to4
)
# Threads for look-ups: one that hangs keeps its thread, and must not delay those of other names.
_LOOKUPS: Final = 64


class OutboundGuard:
    """Allows public addresses, and networks that the operator names."""

    def __init__(self, allowed_networks: Sequence[str] = ()) -> None:
        """Take the allowed networks: 10.0.0.0/8 for all ports, 127.0.0.1:8801 for one."""
        self._allowed = tuple(map(destination, allowed_networks))

    def allows(self, address: str, port: int) -> bool:
        """Return whether connections to a port of an IP address are allowed."""
        read = _read(address)
        if read is None:
            return False
        return _is_public(read) or any(
            only in {None, port} and _unmapped(read) in network for network, only in self._allowed
        )

    def socket_to(self, place: _Place) -> socket.socket:
        """Return a socket for one address; PermissionError if the address is not allowed."""
        family, kind, protocol, _, address = place
        if not self.allows(address[0], address[1]):
            raise _refusal()
        return socket.socket(family, kind, protocol)


class GuardedResolver(AbstractResolver):
    """Looks names up in threads of its own, and returns the addresses that are allowed."""

    def __init__(self, guard: OutboundGuard) -> None:
        self._guard = guard
        self._threads = ThreadPoolExecutor(_LOOKUPS, "names")

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Look a name up, once; PermissionError if none of its addresses is allowed."""
        places = await asyncio.get_running_loop().run_in_executor(
            self._threads, socket.getaddrinfo, host, port, family, socket.SOCK_STREAM
        )
        found = [
            ResolveResult(
                hostname=host,
                host=str(address[0]),
                port=port,
                family=kind,
                proto=protocol,
                flags=socket.AI_NUMERICHOST,
            )
            for kind, _, protocol, _, address in places
            if self._guard.allows(str(address[0]), port)
        ]
        if not found:
            raise _refusal()
        return found

    async def close(self) -> None:
        """End the threads, without waiting for those that hang."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def _refusal() -> PermissionError:
    return PermissionError(errno.EACCES, "the address is not public")


def _read(text: str) -> Address | None:
    """Parse an address; None for other texts, and for a zone, which means nothing elsewhere."""
    try:
        return ip_address(text) if "%" not in text else None
    except ValueError:
        return None


def _is_public(address: Address) -> bool:
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _NOT_PUBLIC_4)
    for prefix, bits_after in _LEADS_TO_4:
        if address in prefix:
            return _is_public(IPv4Address(int(address) >> bits_after & 0xFFFF_FFFF))
    return address in _UNICAST_6 and not any(address in network for network in _NOT_PUBLIC_6)


def _unmapped(address: Address) -> Address:
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address
