"""Who may read the files of an item, by the network that they read from.

What describes an item is everybody's. An address is only ever as true as whoever tells it: that of
a connection decides over the files, one that a resolver tells only chooses a page (threats, row
16).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from typing import Final, TypeAlias

from ibi.errors import ArchiveRequestError, shown
from ibi.identifier.label import Label
from ibi.model.item import Item
from ibi.wire.url_list import UrlList

MayRead: TypeAlias = Callable[[Item], bool]
"""Tells whether somebody may read the files of an item."""

MOST_NETWORKS: Final = 1000
"""Of one item: a consortium of universities has a few hundred."""

_Address: TypeAlias = IPv4Address | IPv6Address
_Network: TypeAlias = IPv4Network | IPv6Network

# No zone, as in fe80::1%eth0: it means nothing on another machine.
_NETWORK: Final = re.compile(r"[0-9A-Fa-f:.]{2,45}(?:/[0-9.]{1,15})?")
_MAPPED: Final = IPv6Network("::ffff:0:0/96")


def networks(texts: Sequence[str]) -> tuple[str, ...]:
    """Read the networks of a licence, each in its one spelling and once."""
    if len(texts) > MOST_NETWORKS:
        msg = f"{len(texts)} networks are too many for one item: {MOST_NETWORKS} are the most."
        raise ArchiveRequestError(msg)
    return tuple(dict.fromkeys(str(_network(text)) for text in texts))


def _network(text: str) -> _Network:
    if _NETWORK.fullmatch(text) is None:
        raise _refusal(text)
    try:
        network = ip_network(text, strict=False)
    except ValueError:
        raise _refusal(text) from None
    if network.network_address != ip_address(text.partition("/")[0]):
        # Nobody is let in whom it is not certain that the administrator meant.
        raise _refusal(text, f"does it mean {network}, or a part of that?")
    return _plain(network)


def _refusal(text: str, why: str = "expected 10.0.0.0/8, or 2001:db8::/32.") -> ArchiveRequestError:
    return ArchiveRequestError(f"{shown(text)} is not a network: {why}")


def _plain(network: _Network) -> _Network:
    """Write a network of IPv4 addresses in IPv6 (RFC 4291, 2.5.5.2) as what it is."""
    if isinstance(network, IPv6Network) and network.subnet_of(_MAPPED):
        first = IPv4Address(int(network.network_address) & 0xFFFF_FFFF)
        return IPv4Network((first, network.prefixlen - _MAPPED.prefixlen))
    return network


def may_read(item: Item, addresses: Sequence[str]) -> bool:
    """Tell whether the files of an item may be read by a reader.

    Addresses are the reader's and then those of proxies on the way. The first that is in a network
    of the licence admits; the first that others can tell from all others, and is in none, ends it:
    what stands behind that is no longer the reader's.
    """
    if not item.readers:
        return True
    licensed = _networks(item.readers)
    for address in map(_address, addresses):
        if address is None or address.is_unspecified:  # nobody's: it was not told
            return False
        if any(address in network for network in licensed):
            return True
        if not address.is_private:
            return False
    return False


def reads_from(*addresses: str) -> MayRead:
    """Return what a reader at an address may read."""
    return lambda item: may_read(item, addresses)


def anyone(_: Item) -> bool:
    """Let everybody read."""
    return True


def depends_on_reader(listed: UrlList, find: Callable[[Label], Item | None]) -> bool:
    """Tell whether another reader may be sent elsewhere than an answer says."""
    items = (find(each.forms.label) for each in listed.related.values() if each.url and each.forms)
    return any(item.readers for item in items if item is not None)


@lru_cache(maxsize=1024)
def _networks(readers: tuple[str, ...]) -> tuple[_Network, ...]:
    """Read networks as they are kept; one that cannot be read lets nobody in."""
    found = []
    for text in readers:
        try:
            found.append(_network(text))
        except ArchiveRequestError:
            continue
    return tuple(found)


def _address(text: str) -> _Address | None:
    try:
        address = ip_address(text)
    except ValueError:
        return None
    if isinstance(address, IPv6Address):
        return None if address.scope_id else address.ipv4_mapped or address
    return address
