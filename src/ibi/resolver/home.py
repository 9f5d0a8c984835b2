"""Where labels are at home: the archive whose own label was made in the same place.

The prefix of a label names the host and port, or the IP address, of the subsystem that made it
(003, chapters 6 and 7). The label of an archive's service was looked at when the archive was
registered, so it shows where the archive's items come from. The archiveip of Table 5.2 shows
nothing: an archive writes there what it likes.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from ibi.identifier.ibip import Ibip
from ibi.identifier.label import Label
from ibi.identifier.repository_name import RepositoryName
from ibi.model.registration import RegisteredArchive

Place: TypeAlias = tuple[str, str, int]
"""Kind of label, host or IP address, and port."""
_ANY_PORT: Final = 0


def is_home(archive: RegisteredArchive, label: Label) -> bool:
    """Tell whether an archive is the home of a label."""
    return not places_of(archive).isdisjoint(homes_for(label))


def homes_for(label: Label) -> tuple[Place, ...]:
    """Return the places where a label may be at home; a legacy label is nowhere.

    What a legacy label says of its origin was recovered from examples, and proves nothing.
    """
    if isinstance(label, RepositoryName):
        return _at_port(label), (label.kind, label.host, _ANY_PORT)
    return (_at_address(label),) if isinstance(label, Ibip) else ()


def places_of(archive: RegisteredArchive) -> frozenset[Place]:
    """Return the places where an archive makes the labels that are found there at home."""
    service, inclusion = archive.service, archive.inclusion
    places: set[Place] = set()
    if isinstance(service, RepositoryName):
        places.add(_at_port(service))
    elif isinstance(service, Ibip):
        places.add(_at_address(service))
    if inclusion is not None and inclusion.confirmed:
        # It answered there, by a name that only the owner of the domain can point at it.
        places.add((RepositoryName.kind, host_of(inclusion.address), _ANY_PORT))
    return frozenset(places)


def host_of(address: str) -> str:
    """Return the host of host and port, as the host of a repository name is written."""
    host, colon, port = address.lower().rpartition(":")
    return (host if colon and port.isdigit() else address.lower()).removesuffix(".")


def _at_port(label: RepositoryName) -> Place:
    return label.kind, label.host, label.port


def _at_address(label: Ibip) -> Place:
    return label.kind, label.ip, _ANY_PORT
