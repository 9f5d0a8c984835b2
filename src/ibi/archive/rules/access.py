"""Access to the files of an item, by the network of the reader.

Metadata is public. Only the address of the connection decides whether a file is delivered; an
address that a resolver reports for a reader chooses the page, and nothing more.
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

from ibi.errors import ArchiveRequestError, Sentence, shown
from ibi.identifier.label import Label
from ibi.model.item import Item
from ibi.wire.url_list import UrlList

MayRead: TypeAlias = Callable[[Item], bool]
"""Whether a reader may read the files of an item."""

MOST_NETWORKS: Final = 1000
"""The most networks of one item; a consortium of universities has a few hundred."""

_Address: TypeAlias = IPv4Address | IPv6Address
_Network: TypeAlias = IPv4Network | IPv6Network

# No zone, as in fe80::1%eth0: it means nothing on another machine.
_NETWORK: Final = re.compile(r"[0-9A-Fa-f:.]{2,45}(?:/[0-9.]{1,15})?")
_MAPPED: Final = IPv6Network("::ffff:0:0/96")


def networks(texts: Sequence[str]) -> tuple[str, ...]:
    """Read the networks of readers, each in its one spelling and once."""
    if len(texts) > MOST_NETWORKS:
        msg = Sentence(
            "%(texts)s networks are too many for one item: %(most)s are the most.",
            texts=len(texts),
            most=MOST_NETWORKS,
        )
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
        # 10.0.0.1/8 is refused: it is not certain which network the administrator means.
        raise _refusal(text, f"does it mean {network}, or a part of that?")
    return _plain(network)


def _refusal(text: str, why: str = "expected 10.0.0.0/8, or 2001:db8::/32.") -> ArchiveRequestError:
    return ArchiveRequestError(
        Sentence("%(text)s is not a network: %(why)s", text=shown(text), why=why)
    )


def _plain(network: _Network) -> _Network:
    """Return a network of IPv4-mapped IPv6 addresses (RFC 4291, 2.5.5.2) as a network of IPv4."""
    if isinstance(network, IPv6Network) and network.subnet_of(_MAPPED):
        first = IPv4Address(int(network.network_address) & 0xFFFF_FFFF)
        return IPv4Network((first, network.prefixlen - _MAPPED.prefixlen))
    return network


def may_read(item: Item, addresses: Sequence[str]) -> bool:
    """Return whether a reader may read the files of an item.

    Addresses are the reader's, then those of the proxies on the way. They are checked in order:
    the first one in a network of readers grants access; the first public one in none
    denies it, because the addresses after it belong to proxies and not to the reader.
    """
    if not item.readers:
        return True
    allowed = _networks(item.readers)
    for address in map(_address, addresses):
        if address is None or address.is_unspecified:  # the address was not disclosed
            return False
        if any(address in network for network in allowed):
            return True
        if not address.is_private:
            return False
    return False


def reads_from(*addresses: str) -> MayRead:
    """Return the access of a reader at these addresses."""
    return lambda item: may_read(item, addresses)


def anyone(_: Item) -> bool:
    """Grant access to every reader."""
    return True


def depends_on_reader(listed: UrlList, find: Callable[[Label], Item | None]) -> bool:
    """Return whether another reader may get another answer than this one."""
    items = (find(each.forms.label) for each in listed.related.values() if each.url and each.forms)
    return any(item.readers for item in items if item is not None)


@lru_cache(maxsize=1024)
def _networks(readers: tuple[str, ...]) -> tuple[_Network, ...]:
    """Parse stored networks; one that cannot be parsed grants no access."""
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
