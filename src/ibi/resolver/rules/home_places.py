"""The home of a label: the archive at the host and port, or address and port, that the label names.

A label names the subsystem that made it. An archive is at home there if it has shown that it
controls the place: the operator of the resolver registered it under a label of that place, its
administrator published a text there, or it confirmed its inclusion there. Every user of a machine
may listen at some port, so a proof at a port is one for this port alone. But the ports of HTTP and
HTTPS, and the name in the DNS, belong to the party that controls the whole host (docs/adr/0018).
"""

from __future__ import annotations

from typing import Final, TypeAlias

from ibi.identifier.address import canonical
from ibi.identifier.ibip import Ibip
from ibi.identifier.instant import EPOCH, Instant
from ibi.identifier.label import Label
from ibi.identifier.repository_name import RepositoryName
from ibi.model.registration import EVERY_PORT, ProvedPlace, RegisteredArchive

Place: TypeAlias = tuple[str, int]
"""Host or IP address as in labels, and port; EVERY_PORT for all ports."""
_HTTP: Final = 80
_HTTPS: Final = 443
SECONDS_OF_STRANGERS: Final = 400_000_000
"""Seconds from 1995 on of which labels are taken that no archive has."""
_STRANGERS_HOST: Final = "ibi.example.org"


def homes_for(label: Label) -> tuple[Place, ...]:
    """Return the places whose archives are homes of a label; a legacy label has none.

    The origin in a legacy label was recovered from examples, and proves nothing.
    """
    named = _named(label)
    return () if named is None else (named, (named[0], EVERY_PORT))


def places_of(archive: RegisteredArchive) -> frozenset[Place]:
    """Return the places of an archive: it is the home of the labels that are made there.

    While it is switched off, it is at home where it last confirmed its inclusion.
    """
    places = {(each.host, each.port) for each in (*archive.proofs, *archive.confirmed_at)}
    named = _named(archive.service)
    return frozenset(places if named is None else {*places, named})


def proved_at(address: str) -> ProvedPlace:
    """Return what an answer at an address proves, given as host and port as in a URL."""
    host, port = host_and_port(address)
    return ProvedPlace(host, EVERY_PORT if port in {_HTTP, _HTTPS} else port)


def proved_by_name(address: str) -> ProvedPlace:
    """Return what a record of the host of an address in the domain name system proves."""
    return ProvedPlace(host_and_port(address)[0], EVERY_PORT)


def host_and_port(address: str) -> tuple[str, int]:
    """Return host and port of an address, the host spelled as in labels."""
    host, colon, port = address.lower().rpartition(":")
    if not colon or not port.isdigit():
        host, port = address.lower(), str(_HTTP)
    host = host.removesuffix(".").removeprefix("[").removesuffix("]")
    try:
        return canonical(host), int(port)
    except ValueError:
        return host, int(port)


def at_ip(address: str, ip: str) -> str:
    """Return the address with its host replaced by an IP address; "" if it has it already.

    It is "" too if the IP address is none. Another archive may be found by another name at the same
    IP address and port, so only an answer without a name proves control of the IP address.
    """
    host, port = host_and_port(address)
    try:
        number = canonical(ip)
    except ValueError:
        return ""
    if number == host:
        return ""
    return f"[{number}]:{port}" if ":" in number else f"{number}:{port}"


def another_service(service: Label, number: int) -> Label:
    """Return a label as that of a service, from the same place, that no archive has.

    `number` is less than SECONDS_OF_STRANGERS.
    """
    instant = Instant(EPOCH.seconds + number, "5")
    if isinstance(service, Ibip):
        return Ibip.mount(service.ip, service.port, instant)
    host, port = _named(service) or (_STRANGERS_HOST, _HTTP)
    return RepositoryName.mount(host, port, instant)


def _named(label: Label) -> Place | None:
    if isinstance(label, RepositoryName):
        return label.host, label.port
    return (label.ip, label.port) if isinstance(label, Ibip) else None
